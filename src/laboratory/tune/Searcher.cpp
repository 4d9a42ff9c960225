#include "tune/Searcher.h"

#include "support/Text.h"
#include "tune/ModelSearcher.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace lathe::tune {
namespace {

class RandomSearcher : public Searcher {
public:
  using Searcher::Searcher;

private:
  std::optional<Point> next() override {
    constexpr int repeats = 1000; // in a space that is nearly exhausted most draws are known
    for (int i = 0; i < repeats; ++i) {
      std::optional<Point> point = space.draw(random);
      if (!point)
        return std::nullopt;
      if (isNew(*point))
        return point;
    }
    return std::nullopt;
  }
};

/// The searcher `grid`. The first knob changes fastest.
class GridSearcher : public Searcher {
public:
  using Searcher::Searcher;

private:
  Point current;
  bool begun = false;

  /// Goes to the next point. Returns false after the last one.
  bool advance() {
    const auto &algorithms = space.algorithms();
    if (!begun) {
      begun = true;
      if (algorithms.empty())
        return false;
      current = {0, std::vector<uint32_t>(algorithms[0].knobs.size())};
      return true;
    }
    for (size_t knob = 0; knob < current.values.size(); ++knob) {
      if (++current.values[knob] < algorithms[current.algorithm].values(knob))
        return true;
      current.values[knob] = 0;
    }
    if (current.algorithm + 1 == algorithms.size())
      return false;
    size_t algorithm = current.algorithm + 1;
    current = {algorithm, std::vector<uint32_t>(algorithms[algorithm].knobs.size())};
    return true;
  }

  std::optional<Point> next() override {
    while (advance())
      if (isNew(current) && space.isLegal(current))
        return current;
    return std::nullopt;
  }
};

/// A steady-state genetic algorithm: most proposals are a child of one or two parents. Parents are drawn from the
/// fastest points by rank; a child of parents with different algorithms takes only the first parent's knobs. A share of
/// random points prevents the search from staying with the first fast algorithm.
class GeneticSearcher : public Searcher {
public:
  using Searcher::Searcher;

private:
  static constexpr size_t population = 32, elders = 32; // elders: random points before the first child
  static constexpr double mutation = 0.15;              // probability of each knob to change
  static constexpr double immigrants = 0.2;             // share of random points among the proposals

  const Point &parent() {
    size_t size = std::min(passed.size(), population);
    // Squaring the share prefers low ranks.
    double share = drawnShare(random);
    return passed[static_cast<size_t>(share * share * static_cast<double>(size))].point;
  }

  Point child() {
    Point result = parent();
    const Point &other = parent();
    const Subspace &subspace = space.algorithms()[result.algorithm];
    for (size_t knob = 0; knob < result.values.size(); ++knob) {
      if (other.algorithm == result.algorithm && drawn(random, 2))
        result.values[knob] = other.values[knob];
      if (drawnShare(random) < mutation)
        result.values[knob] = static_cast<uint32_t>(drawn(random, subspace.values(knob)));
    }
    return result;
  }

  std::optional<Point> next() override {
    constexpr int children = 500;
    if (passed.size() >= elders && drawnShare(random) >= immigrants)
      for (int i = 0; i < children; ++i)
        if (Point point = child(); isNew(point) && space.isLegal(point))
          return point;
    for (int i = 0; i < children; ++i)
      if (std::optional<Point> point = space.draw(random); point && isNew(*point))
        return point;
    return std::nullopt;
  }
};

/// Best-first search: considers the new neighbours of the fastest points, and of the fastest point of each algorithm,
/// and takes the one with the lowest expected time. The expected time is the cost model's prediction, corrected by its
/// error at the measured point.
class DescentSearcher : public Searcher {
public:
  using Searcher::Searcher;

private:
  static constexpr size_t expanded = 4; // points whose neighbours are considered, besides the first of each algorithm
  static constexpr double chance = 0.1; // share of random proposals: an algorithm may be mispredicted

  std::map<Point, double> cycles; // predictions

  double predicted(const Point &point) {
    auto [found, added] = cycles.try_emplace(point);
    if (added)
      found->second = space.kernel().predict(space.schedule(point)).total();
    return found->second;
  }

  std::optional<Point> drawNew() {
    constexpr int tries = 200;
    for (int i = 0; i < tries; ++i)
      if (std::optional<Point> point = space.draw(random); point && isNew(*point))
        return point;
    return std::nullopt;
  }

  /// Of some random points of one algorithm, the one with the lowest predicted cost.
  std::optional<Point> drawPromising() {
    constexpr int draws = 32;
    std::optional<Point> best = drawNew();
    for (int i = 0; i < draws && best; ++i)
      if (std::optional<Point> point = space.draw(random);
          point && point->algorithm == best->algorithm && isNew(*point) && predicted(*point) < predicted(*best))
        best = std::move(point);
    return best;
  }

  std::optional<Point> next() override {
    if (passed.empty() || drawnShare(random) < chance)
      if (std::optional<Point> point = drawPromising())
        return point;
    std::optional<Point> best;
    double least = INFINITY;
    std::set<size_t> algorithms;
    for (size_t from = 0; from < passed.size(); ++from) {
      const Trial &trial = passed[from];
      bool first = algorithms.insert(trial.point.algorithm).second;
      if (from >= expanded && best && !first)
        continue;
      double own = predicted(trial.point);
      for (Point &neighbour : space.neighbours(trial.point)) {
        if (!isNew(neighbour))
          continue;
        double expected = own > 0 ? trial.seconds * predicted(neighbour) / own : trial.seconds;
        if (expected < least) {
          least = expected;
          best = std::move(neighbour);
        }
      }
    }
    return best ? best : drawNew();
  }
};

} // namespace

Searcher::Searcher(const Space &space, uint64_t seed, std::vector<Point> starts)
    : space(space), random(seed), starts(std::move(starts)) {
  std::reverse(this->starts.begin(), this->starts.end());
}

std::vector<Point> Searcher::propose(size_t count) {
  std::vector<Point> points;
  while (points.size() < count) {
    std::optional<Point> point;
    while (!starts.empty() && !point) {
      if (isNew(starts.back()))
        point = starts.back();
      starts.pop_back();
    }
    if (!point)
      point = next();
    if (!point)
      break;
    known.insert(*point);
    points.push_back(std::move(*point));
  }
  return points;
}

void Searcher::report(const std::vector<Trial> &trials) {
  for (const Trial &trial : trials) {
    known.insert(trial.point);
    if (trial.passed())
      passed.push_back(trial);
  }
  std::sort(passed.begin(), passed.end(),
            [](const Trial &a, const Trial &b) { return std::tie(a.seconds, a.point) < std::tie(b.seconds, b.point); });
  learn(trials);
}

const std::vector<std::pair<std::string, std::string>> &searcherNames() {
  static const std::vector<std::pair<std::string, std::string>> names = {
      {"xgb_itervar", "annealing over a learned cost model of loops; xgb is short for it"},
      {"xgb_knob", "annealing over a learned cost model of parameters"},
      {"xgb_curve", "annealing over a learned cost model of reuse curves"},
      {"xgb_rank_itervar", "as xgb_itervar, with a model that learns the order of pairs; xgb_rank is short for it"},
      {"xgb_rank_knob", "as xgb_knob, with a model that learns the order of pairs"},
      {"xgb_rank_curve", "as xgb_curve, with a model that learns the order of pairs"},
      {"descent", "neighbours of the fastest schedules so far, in the order of their predicted costs"},
      {"ga", "a genetic algorithm"},
      {"grid", "all schedules in order"},
      {"random", "schedules at random"}};
  return names;
}

static std::string plainName(const std::string &name) {
  std::string plain = name;
  std::replace(plain.begin(), plain.end(), '-', '_');
  return plain == "gridsearch" ? "grid" : plain;
}

void requireSearcher(const std::string &name) {
  std::vector<std::string> known;
  for (const auto &[one, summary] : searcherNames())
    known.push_back(one);
  std::string plain = plainName(name);
  require(modelKindOf(plain) || std::find(known.begin(), known.end(), plain) != known.end(),
          "unknown searcher '{}', expected {}", printable(name), listed(known, "or"));
}

std::unique_ptr<Searcher> makeSearcher(const std::string &name, const Space &space, uint64_t seed,
                                       std::vector<Point> starts, StartModel startModel) {
  requireSearcher(name);
  std::string plain = plainName(name);
  if (plain == "random")
    return std::make_unique<RandomSearcher>(space, seed, std::move(starts));
  if (plain == "grid")
    return std::make_unique<GridSearcher>(space, seed, std::move(starts));
  if (plain == "ga")
    return std::make_unique<GeneticSearcher>(space, seed, std::move(starts));
  if (plain == "descent")
    return std::make_unique<DescentSearcher>(space, seed, std::move(starts));
  return std::make_unique<ModelSearcher>(space, seed, std::move(starts), modelKindOf(plain).value(),
                                         std::move(startModel));
}

} // namespace lathe::tune
