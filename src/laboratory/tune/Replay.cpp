#include "tune/Replay.h"

#include <algorithm>

namespace lathe::tune {
namespace {

constexpr size_t neighbourCount = 16;

std::vector<Schedule> schedulesOf(const std::vector<MeasuredSchedule> &table) {
  std::vector<Schedule> schedules;
  for (const MeasuredSchedule &one : table)
    schedules.push_back(one.schedule);
  return schedules;
}

size_t differences(const Point &a, const Point &b) {
  size_t count = 0;
  for (size_t knob = 0; knob < a.values.size(); ++knob)
    count += a.values[knob] != b.values[knob];
  return count;
}

} // namespace

TableSpace::TableSpace(const KernelFacts &facts, const std::vector<MeasuredSchedule> &table)
    : Space(facts, schedulesOf(table), 0), byAlgorithm(algorithms().size()) {
  for (const MeasuredSchedule &one : table)
    if (std::optional<Point> found = point(one.schedule))
      if (times.try_emplace(*found, one.best()).second)
        byAlgorithm[found->algorithm].push_back(*found);
  std::erase_if(byAlgorithm, [](const std::vector<Point> &points) { return points.empty(); });
}

double TableSpace::leastSeconds() const {
  double least = INFINITY;
  for (const auto &[point, seconds] : times)
    least = std::min(least, seconds);
  return least;
}

std::optional<Point> TableSpace::draw(Random &random, size_t) const {
  if (byAlgorithm.empty())
    return std::nullopt;
  const std::vector<Point> &points = byAlgorithm[drawn(random, byAlgorithm.size())];
  return points[drawn(random, points.size())];
}

const std::vector<Point> &TableSpace::nearest(const Point &point) const {
  auto [found, added] = near.try_emplace(point);
  if (added) {
    std::vector<std::pair<size_t, Point>> others;
    for (const auto &[other, seconds] : times)
      if (other.algorithm == point.algorithm && other != point)
        others.emplace_back(differences(point, other), other);
    std::sort(others.begin(), others.end());
    for (size_t i = 0; i < std::min(others.size(), neighbourCount); ++i)
      found->second.push_back(others[i].second);
  }
  return found->second;
}

std::optional<Point> TableSpace::drawNeighbour(const Point &point, Random &random, size_t) const {
  const std::vector<Point> &points = nearest(point);
  return points.empty() ? std::nullopt : std::optional(points[drawn(random, points.size())]);
}

std::vector<Point> TableSpace::neighbours(const Point &point) const { return nearest(point); }

InterpolatedMachine::InterpolatedMachine(const Space &space, const std::vector<MeasuredSchedule> &table)
    : space(space), byAlgorithm(space.algorithms().size()) {
  double count = 0;
  for (const MeasuredSchedule &one : table)
    if (std::optional<Point> point = space.point(one.schedule)) {
      double error = std::log(one.best() / space.kernel().predict(one.schedule).total());
      byAlgorithm[point->algorithm].push_back({placeOf(*point), error});
      meanError += error;
      ++count;
    }
  meanError /= std::max(1.0, count);
}

/// Coordinates: logarithms of numbers, indices of words.
std::vector<double> InterpolatedMachine::placeOf(const Point &point) const {
  const Subspace &subspace = space.algorithms()[point.algorithm];
  std::vector<double> place;
  for (size_t i = 0; i < point.values.size(); ++i) {
    const Knob &knob = subspace.knobs[i];
    bool isNumber = knob.parameter->kind == Parameter::Kind::number && point.values[i] < knob.size();
    place.push_back(isNumber ? std::log2(1 + double(knob.numbers[point.values[i]])) : double(point.values[i]));
  }
  return place;
}

double InterpolatedMachine::secondsOf(const Point &point) const {
  constexpr size_t nearest = 8;
  constexpr double close = 0.25; // nearer schedules all count the same
  std::vector<double> place = placeOf(point);
  std::vector<std::pair<double, double>> found; // distance, error
  for (const Measured &one : byAlgorithm[point.algorithm]) {
    double distance = 0;
    for (size_t i = 0; i < place.size(); ++i)
      distance += std::abs(place[i] - one.place[i]);
    found.emplace_back(distance, one.error);
  }
  std::sort(found.begin(), found.end());
  found.resize(std::min(found.size(), nearest));
  double error = 0, weights = 0;
  for (auto [distance, of] : found) {
    double weight = std::pow(close + distance, -2);
    error += weight * of;
    weights += weight;
  }
  error = weights > 0 ? error / weights : meanError;
  Schedule schedule = space.schedule(point);
  uint64_t hash = 14695981039346656037u; // FNV-1a
  for (char letter : schedule.str())
    hash = (hash ^ uint64_t(letter)) * 1099511628211u;
  constexpr double own = 0.03; // limit of the deviation that depends only on the schedule
  return space.kernel().predict(schedule).total() * std::exp(error) * (1 + own * (double(hash >> 40) * 0x1p-23 - 1));
}

std::vector<double> replay(const Space &space, const std::function<double(const Point &)> &secondsOf,
                           const std::string &searcher, uint64_t seed, const ReplayOptions &options,
                           const StartModel &startModel) {
  std::unique_ptr<Searcher> search = makeSearcher(searcher, space, seed, {}, startModel);
  std::vector<double> seconds;
  while (seconds.size() < options.trials && !(search->best() && search->best()->seconds <= options.enough)) {
    std::vector<Trial> trials;
    for (Point &point : search->propose(std::min(options.batch, options.trials - seconds.size()))) {
      seconds.push_back(secondsOf(point));
      trials.push_back({std::move(point), seconds.back()});
    }
    if (trials.empty())
      break;
    search->report(trials);
  }
  return seconds;
}

double trialsUntil(const std::vector<double> &trials, double seconds) {
  auto found = std::find_if(trials.begin(), trials.end(), [&](double one) { return one <= seconds; });
  return found == trials.end() ? INFINITY : double(found - trials.begin() + 1);
}

Spread spreadOf(std::vector<double> values) {
  if (values.empty())
    return {NAN, NAN, NAN};
  std::sort(values.begin(), values.end());
  auto at = [&](double share) { return values[size_t(std::lround(share * double(values.size() - 1)))]; };
  return {at(0.25), at(0.5), at(0.75)};
}

} // namespace lathe::tune
