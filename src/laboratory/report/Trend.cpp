#include "report/Trend.h"

#include "lab/StoreRecords.h"
#include "lab/judging/Turns.h"
#include "lab/judging/Verdict.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace lathe::report {
namespace {

constexpr size_t leastPart = 3; // observations
constexpr int randomOrders = 1999;

void centre(std::vector<double> &values) {
  double mean = std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
  for (double &value : values)
    value -= mean;
}

/// Ranks; equal values share the mean of their ranks.
std::vector<double> ranksOf(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]])
      ++end;
    for (size_t i = begin; i < end; ++i)
      ranks[order[i]] = double(begin + end) / 2;
  }
  return ranks;
}

/// Scores with mean 0, which do not depend on the order of the times.
std::vector<double> scoresOf(std::span<const double> times) {
  std::vector<double> scores, distances;
  for (double time : times)
    scores.push_back(std::log(time));
  double middle = lab::median(scores);
  for (double score : scores)
    distances.push_back(std::abs(score - middle));
  double deviation = lab::median(distances) / 0.6745;
  if (deviation > 0)
    for (double &score : scores)
      score = std::clamp((score - middle) / deviation, -3.0, 3.0);
  else // most times are equal
    scores = ranksOf(times);
  centre(scores);
  return scores;
}

struct Split {
  size_t at = 0;     // observations in the first part
  double square = 0; // square of its sum of scores / variance over all orders
};

/// The split whose first part has the most unusual sum of scores.
Split bestSplit(std::span<const double> scores) {
  double squares = 0, sum = 0;
  for (double score : scores)
    squares += score * score;
  size_t n = scores.size();
  Split best;
  for (size_t k = 1; k + leastPart <= n; ++k) {
    sum += scores[k - 1];
    // Variance of the sum of k of n values drawn without replacement; also valid for ties.
    double variance = double(k) * double(n - k) / (double(n) * double(n - 1)) * squares;
    if (k >= leastPart && variance > 0 && sum * sum / variance > best.square)
      best = {k, sum * sum / variance};
  }
  return best;
}

/// Share of random orders with an equally good split; if it is not below `level`, some number above `level`.
double pValue(std::vector<double> scores, double square, double level) {
  std::mt19937_64 random(scores.size());
  int asGood = 1;
  for (int turn = 0; turn < randomOrders; ++turn) {
    for (size_t i = scores.size() - 1; i > 0; --i)
      std::swap(scores[i], scores[random() % (i + 1)]);
    // Sums in another order may differ in the last bit.
    asGood += bestSplit(scores).square >= square * (1 - 1e-9);
    if (asGood > level * (randomOrders + 1))
      return 1;
  }
  return double(asGood) / (randomOrders + 1);
}

void split(std::span<const double> times, size_t offset, double level, std::vector<ChangePoint> &changes) {
  if (times.size() < 2 * leastPart)
    return;
  std::vector<double> scores = scoresOf(times);
  Split best = bestSplit(scores);
  if (!best.at)
    return;
  double p = pValue(std::move(scores), best.square, level);
  if (p > level)
    return;
  split(times.first(best.at), offset, level, changes);
  changes.push_back({offset + best.at, 0, p});
  split(times.subspan(best.at), offset + best.at, level, changes);
}

} // namespace

std::vector<ChangePoint> changePoints(std::span<const double> times, double level) {
  std::vector<ChangePoint> changes;
  split(times, 0, level, changes);
  auto partFrom = [&](size_t i) { return i == 0 ? 0 : changes[i - 1].index; };
  auto partTo = [&](size_t i) { return i == changes.size() ? times.size() : changes[i].index; };
  // The other changes are known now: searches each change again, between its neighbours.
  for (size_t i = 0; i < changes.size(); ++i)
    if (Split best = bestSplit(scoresOf(times.subspan(partFrom(i), partTo(i + 1) - partFrom(i)))); best.at)
      changes[i].index = partFrom(i) + best.at;
  for (size_t i = 0; i < changes.size(); ++i) {
    auto medianOf = [&](size_t part) {
      return lab::median(times.subspan(partFrom(part), partTo(part) - partFrom(part)));
    };
    changes[i].ratio = medianOf(i + 1) / medianOf(i);
  }
  return changes;
}

namespace {

/// A name for the machine that an update of its system does not change.
std::string machineOf(const store::Platform &platform) {
  return fmt::format("{} {} {} {}", platform.cpu, platform.cores, platform.hardwareThreads, platform.memoryBytes >> 30);
}

store::Setting historical(store::Setting setting) {
  if (setting.extra.is_object() && setting.extra.contains("records"))
    setting.extra["records"] = true; // the set of records belongs to the history
  return setting;
}

/// The share of the processors that other programs kept busy.
double othersOf(const store::Disturbance &disturbance, const store::Platform &platform) {
  return std::clamp(disturbance.otherProcessors.value_or(0) / std::max<double>(platform.hardwareThreads, 1), 0.0, 1.0);
}

Observation observationOf(const store::Point &point, const store::Experiment &experiment,
                          const store::Platform &platform) {
  std::vector<double> seconds = lab::secondsOf(point);
  Observation made{point.experiment, point.measured,      experiment.version, experiment.revision,
                   experiment.build, experiment.platform, seconds.size()};
  made.others = othersOf(point.disturbance, platform);
  made.median = lab::median(seconds);
  made.spread = lab::medianOverStarts(lab::byStart(lab::secondsOf(point.rounds), point.starts, point.rounds.size()));
  return made;
}

/// The median over the observations of the value that `end` returns.
double typical(std::span<const Observation> observations, double (*end)(const Observation &)) {
  std::vector<double> values;
  for (const Observation &observation : observations)
    values.push_back(end(observation));
  return lab::median(values);
}

/// True if the starts of typical observations of both sides differ by more than the indifference band. Other programs
/// may have slowed down the slower observations: without them, these may have taken 1 - Observation::others of their
/// time.
bool areApart(std::span<const Observation> before, std::span<const Observation> after) {
  auto above = [](std::span<const Observation> slow, std::span<const Observation> fast) {
    double low = typical(slow, [](const Observation &one) { return one.spread.interval.low * (1 - one.others); });
    double high = typical(fast, [](const Observation &one) { return one.spread.interval.high; });
    return low > high * (1 + lab::indifference);
  };
  return above(before, after) || above(after, before);
}

/// Removes changes that the spread of the observations on both sides may explain, the smallest change first.
void keepThoseApart(TrendSeries &series) {
  std::vector<ChangePoint> &changes = series.changes;
  std::span<const Observation> all = series.observations;
  auto part = [&](size_t number) { // between two changes
    size_t from = number == 0 ? 0 : changes[number - 1].index;
    size_t to = number == changes.size() ? all.size() : changes[number].index;
    return all.subspan(from, to - from);
  };
  auto medianOf = [&](size_t number) {
    std::vector<double> times;
    for (const Observation &observation : part(number))
      times.push_back(observation.median);
    return lab::median(times);
  };
  while (true) {
    size_t least = changes.size();
    for (size_t i = 0; i < changes.size(); ++i) {
      changes[i].ratio = medianOf(i + 1) / medianOf(i);
      auto size = [&](size_t of) { return std::abs(std::log(changes[of].ratio)); };
      if (!areApart(part(i), part(i + 1)) && (least == changes.size() || size(i) < size(least)))
        least = i;
    }
    if (least == changes.size())
      return;
    changes.erase(changes.begin() + std::ptrdiff_t(least));
  }
}

/// Sorts networks first, then problems, then kernels of profiles; each by the numbers in its text.
void sortForReaders(std::vector<TrendSeries> &all) {
  auto rank = [](const TrendSeries &series) { return series.op == "model" ? 0 : series.op == "kernel" ? 2 : 1; };
  std::stable_sort(all.begin(), all.end(), [&](const TrendSeries &a, const TrendSeries &b) {
    if (rank(a) != rank(b))
      return rank(a) < rank(b);
    return ::strverscmp((a.op + " " + a.problem).c_str(), (b.op + " " + b.problem).c_str()) < 0; // "#2" before "#10"
  });
}

/// Sorts the series, and the observations of each by date, and finds the changes of each.
std::vector<TrendSeries> withChanges(std::map<std::vector<std::string>, TrendSeries> series) {
  std::vector<TrendSeries> found;
  for (auto &[key, one] : series) {
    std::stable_sort(one.observations.begin(), one.observations.end(),
                     [](auto &a, auto &b) { return a.measured < b.measured; });
    std::vector<double> times;
    for (const Observation &observation : one.observations)
      times.push_back(observation.median);
    one.changes = changePoints(times);
    keepThoseApart(one);
    found.push_back(std::move(one));
  }
  sortForReaders(found);
  return found;
}

} // namespace

std::vector<TrendSeries> trendsOf(store::Store &store, const TrendFilter &filter) {
  std::map<std::string, store::Experiment> experiments;
  std::map<std::string, store::Platform> platforms;
  for (auto &summary : store.experiments()) {
    platforms.try_emplace(summary.experiment.platform);
    experiments[summary.experiment.uuid] = std::move(summary.experiment);
  }
  for (auto &[key, platform] : platforms)
    platform = store.platform(key);
  store::Filter each = filter.points;
  std::map<std::vector<std::string>, TrendSeries> series;
  auto add = [&](const store::Point &point) {
    bool counts = point.status == store::PointStatus::passed || point.status == store::PointStatus::mistrusted;
    if (!counts || !point.sampleCount())
      return;
    const store::Experiment &experiment = experiments.at(point.experiment);
    const store::Platform &platform = platforms.at(experiment.platform);
    Observation observation = observationOf(point, experiment, platform);
    if (observation.median <= 0) // has no logarithm
      return;
    store::Setting setting = historical(point.setting);
    TrendSeries &one = series[{point.problem.op, point.problem.text, point.provider, point.variant,
                               std::string(name(experiment.kind)), setting.key(), machineOf(platform)}];
    if (one.observations.empty())
      one = {.op = point.problem.op,
             .problem = point.problem.text,
             .provider = point.provider,
             .variant = point.variant,
             .kind = experiment.kind,
             .setting = setting,
             .cpu = platform.cpu,
             .observations = {},
             .changes = {}};
    one.observations.push_back(std::move(observation));
  };
  if (filter.text.empty()) {
    store.points(each, true, add);
  } else { // reads samples of these problems only
    std::set<std::pair<std::string, std::string>> problems;
    store.points(each, false, [&](const store::Point &point) {
      if (point.problem.op == filter.text || point.problem.text.find(filter.text) != std::string::npos)
        problems.emplace(point.problem.op, point.problem.text);
    });
    for (auto &[op, text] : problems) {
      each.op = op;
      each.problem = text;
      store.points(each, true, add);
    }
  }
  return withChanges(std::move(series));
}

} // namespace lathe::report
