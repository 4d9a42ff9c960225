#include "tune/ModelSearcher.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

namespace lathe::tune {
namespace {

constexpr size_t chainCount = 64, annealingSteps = 40;
constexpr double startTemperature = 0.5; // in standard deviations of the chains' scores
constexpr size_t batchSize = 32, poolSize = 128;
constexpr double newValueGain = 0.02; // added score for each parameter whose value is new in the batch
constexpr double randomShare = 0.05;
constexpr size_t enoughTrials = 8;  // passed trials that are enough to judge a model of other tasks
constexpr double apart = 1.05;      // trials whose times differ by less are not compared
constexpr double failureFactor = 2; // a failed trial counts as this many times slower than the slowest passed one

/// Options for few trials of one task; models of other tasks use the defaults.
LearnedModelOptions localOptions(Objective objective, uint64_t seed, std::shared_ptr<const LearnedModel> start) {
  LearnedModelOptions options;
  options.objective = objective;
  options.rounds = 60;
  options.depth = 4;
  options.seed = seed;
  options.start = std::move(start);
  return options;
}

double deviation(const std::vector<double> &values) {
  double sum = 0, squares = 0, count = double(std::max<size_t>(1, values.size()));
  for (double value : values) {
    sum += value;
    squares += value * value;
  }
  return std::sqrt(std::max(0.0, squares / count - sum * sum / count / count));
}

} // namespace

std::string name(const ModelKind &kind) {
  return fmt::format("xgb_{}{}", kind.objective == Objective::ranking ? "rank_" : "", name(kind.features));
}

std::optional<ModelKind> modelKindOf(const std::string &given) {
  std::string searcher = given;
  std::replace(searcher.begin(), searcher.end(), '-', '_');
  for (auto [base, objective] : {std::pair("xgb", Objective::regression), std::pair("xgb_rank", Objective::ranking)}) {
    if (searcher == base)
      return ModelKind{ModelKind().features, objective};
    for (FeatureSet set : featureSets)
      if (searcher == base + std::string("_") + std::string(name(set)))
        return ModelKind{set, objective};
  }
  return std::nullopt;
}

ModelSearcher::ModelSearcher(const Space &space, uint64_t seed, std::vector<Point> starts, const ModelKind &kind,
                             StartModel startModel)
    : Searcher(space, seed, std::move(starts)), kind(kind), seed(seed), features(space.kernel(), kind.features),
      startModel(std::move(startModel)) {}

void ModelSearcher::learn(const std::vector<Trial> &trials) {
  for (const Trial &trial : trials) {
    reported.push_back(trial);
    examples.push_back({features.example(space.schedule(trial.point)), trial.seconds});
  }
  if (passed.empty())
    return;
  model.reset();
  batch.clear();
}

/// True if the analytic model orders more pairs of trials correctly.
bool ModelSearcher::startIsWorse() const {
  std::vector<Example> measured;
  std::vector<double> seconds;
  for (size_t i = 0; i < reported.size(); ++i)
    if (reported[i].passed()) {
      measured.push_back(examples[i]);
      seconds.push_back(reported[i].seconds);
    }
  std::vector<double> learned = start->score(measured);
  size_t byLearned = 0, byPrediction = 0;
  for (size_t i = 0; i < measured.size(); ++i)
    for (size_t j = 0; j < measured.size(); ++j)
      if (seconds[j] > apart * seconds[i]) {
        byLearned += learned[i] > learned[j];
        byPrediction += measured[i].cycles < measured[j].cycles;
      }
  return byPrediction > byLearned;
}

void ModelSearcher::makeModel(std::shared_ptr<const LearnedModel> from) {
  base = std::move(from);
  model.emplace(localOptions(kind.objective, seed, base));
  scores.clear();
  if (passed.empty())
    return;
  for (size_t i = 0; i < reported.size(); ++i)
    if (!reported[i].passed())
      examples[i].seconds = passed.back().seconds * failureFactor;
  model->fit(examples);
}

std::vector<double> ModelSearcher::scoresOf(const std::vector<Point> &points) {
  std::vector<Example> fresh;
  std::vector<std::pair<double *, size_t>> places; // positions in the fresh ones
  for (const Point &point : points)
    if (auto [found, added] = scores.try_emplace(point, 0); added) {
      places.emplace_back(&found->second, fresh.size());
      fresh.push_back(features.example(space.schedule(point)));
    }
  std::vector<double> values = model->score(fresh);
  for (auto [place, index] : places)
    *place = values[index];
  std::vector<double> result;
  for (const Point &point : points)
    result.push_back(scores.at(point));
  return result;
}

/// A quarter of the chains start at the fastest points, the others where annealing stopped, or at random points.
void ModelSearcher::startChains() {
  for (size_t i = chains.size(); i < chainCount; ++i)
    if (std::optional<Point> point = space.draw(random))
      chains.push_back(std::move(*point));
  for (size_t i = 0; i < std::min(passed.size(), chains.size() / 4); ++i)
    chains[i] = passed[i].point;
}

void ModelSearcher::anneal() {
  startChains();
  std::vector<double> current = scoresOf(chains);
  double start = startTemperature * deviation(current);
  for (size_t step = 0; step < annealingSteps; ++step) {
    double temperature = start * (1 - double(step) / annealingSteps);
    std::vector<Point> moved = chains;
    for (Point &point : moved)
      if (std::optional<Point> neighbour = space.drawNeighbour(point, random))
        point = std::move(*neighbour);
    std::vector<double> reached = scoresOf(moved);
    for (size_t i = 0; i < chains.size(); ++i) {
      double gain = reached[i] - current[i];
      if (gain >= 0 || (temperature > 0 && drawnShare(random) < std::exp(gain / temperature))) {
        chains[i] = std::move(moved[i]);
        current[i] = reached[i];
      }
    }
  }
}

/// From the best visited point of each algorithm, moves to the best neighbour until there is no better one.
void ModelSearcher::descend() {
  std::map<size_t, Scored> best; // by algorithm
  for (const auto &[point, score] : scores)
    if (auto [found, added] = best.try_emplace(point.algorithm, Scored{score, point}); score > found->second.score)
      found->second = {score, point};
  for (auto &[algorithm, top] : best)
    for (bool better = true; better;) {
      better = false;
      std::vector<Point> neighbours = space.neighbours(top.point);
      std::vector<double> reached = scoresOf(neighbours);
      for (size_t i = 0; i < neighbours.size(); ++i)
        if (reached[i] > top.score) {
          top = {reached[i], neighbours[i]};
          better = true;
        }
    }
}

std::vector<Point> ModelSearcher::chooseBatch() const {
  std::vector<Point> best;
  std::vector<Scored> pool;
  for (const auto &[point, score] : scores)
    if (isNew(point))
      pool.push_back({score, point});
  std::sort(pool.begin(), pool.end(),
            [](auto &a, auto &b) { return std::tie(b.score, a.point) < std::tie(a.score, b.point); });
  pool.resize(std::min(pool.size(), poolSize));
  std::set<std::array<size_t, 3>> values; // algorithm, knob, value
  while (!pool.empty() && best.size() < batchSize) {
    size_t chosen = 0;
    double most = -INFINITY;
    for (size_t i = 0; i < pool.size(); ++i) {
      double worth = pool[i].score;
      for (size_t knob = 0; knob < pool[i].point.values.size(); ++knob)
        worth += values.contains({pool[i].point.algorithm, knob, pool[i].point.values[knob]}) ? 0 : newValueGain;
      if (worth > most) {
        most = worth;
        chosen = i;
      }
    }
    for (size_t knob = 0; knob < pool[chosen].point.values.size(); ++knob)
      values.insert({pool[chosen].point.algorithm, knob, pool[chosen].point.values[knob]});
    best.push_back(std::move(pool[chosen].point));
    pool.erase(pool.begin() + static_cast<ptrdiff_t>(chosen));
  }
  return best;
}

/// Returns the best proposals first.
std::vector<Point> ModelSearcher::proposalsFrom(const std::shared_ptr<const LearnedModel> &from) {
  if (!model || base != from)
    makeModel(from);
  anneal();
  descend();
  return chooseBatch();
}

void ModelSearcher::takeStart() {
  if (startModel)
    start = std::exchange(startModel, {})();
}

std::optional<double> ModelSearcher::expectedSpeedup() {
  takeStart();
  if (!start || kind.objective != Objective::regression || passed.empty())
    return std::nullopt;
  if (batch.empty())
    fillBatch();
  std::vector<Example> examples = {features.example(space.schedule(passed.front().point))};
  for (const Point &point : batch)
    examples.push_back(features.example(space.schedule(point)));
  std::vector<double> scores = start->score(examples); // logarithms of speeds
  return std::exp(*std::max_element(scores.begin(), scores.end()) - scores.front());
}

void ModelSearcher::fillBatch() {
  takeStart();
  std::vector<Point> best;
  if (!start || passed.size() >= enoughTrials) {
    best = proposalsFrom(start && startIsWorse() ? nullptr : start);
  } else {
    std::vector<Point> predicted = proposalsFrom(nullptr);
    chains.clear(); // the chains belong to another start model
    std::vector<Point> learned = proposalsFrom(start);
    for (size_t i = 0; i < std::max(learned.size(), predicted.size()); ++i)
      for (const std::vector<Point> *side : {&learned, &predicted})
        if (i < side->size())
          best.push_back((*side)[i]);
  }
  batch.assign(best.rbegin(), best.rend());
}

std::optional<Point> ModelSearcher::drawNew() {
  constexpr int tries = 500; // in a space that is nearly exhausted most draws are known
  for (int i = 0; i < tries; ++i)
    if (std::optional<Point> point = space.draw(random); point && isNew(*point))
      return point;
  return std::nullopt;
}

std::optional<Point> ModelSearcher::next() {
  if (drawnShare(random) < randomShare)
    if (std::optional<Point> point = drawNew())
      return point;
  if (batch.empty())
    fillBatch();
  while (!batch.empty()) {
    Point point = std::move(batch.back());
    batch.pop_back();
    if (isNew(point)) // otherwise it was already drawn at random
      return point;
  }
  return drawNew();
}

} // namespace lathe::tune
