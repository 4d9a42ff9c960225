#include "tune/Space.h"

#include "codegen/space/ContractionFormat.h"

#include <algorithm>

namespace lathe::tune {
namespace {

/// The number that a schedule gives a parameter, or the declared default; nothing if the default depends on the
/// problem.
std::optional<int64_t> numberOf(const Schedule &schedule, const Parameter &parameter) {
  auto given = schedule.numbers.find(parameter.name);
  return given == schedule.numbers.end() ? parameter.defaultNumber : std::optional(given->second);
}

std::string wordOf(const Schedule &schedule, const Parameter &parameter) {
  auto given = schedule.words.find(parameter.name);
  return given == schedule.words.end() ? parameter.words.front() : given->second;
}

/// Index of the schedule's value in the values of a knob, or the number of values if the parameter is left out; nothing
/// if the knob does not have the value.
std::optional<uint32_t> indexOf(const Schedule &schedule, const Knob &knob, bool mayBeAbsent) {
  auto among = [](const auto &values, const auto &value) {
    auto found = std::find(values.begin(), values.end(), value);
    return found == values.end() ? std::nullopt : std::optional(static_cast<uint32_t>(found - values.begin()));
  };
  if (knob.parameter->kind == Parameter::Kind::word)
    return among(knob.words, wordOf(schedule, *knob.parameter));
  std::optional<int64_t> number = numberOf(schedule, *knob.parameter);
  if (number)
    return among(knob.numbers, *number);
  return mayBeAbsent ? std::optional(static_cast<uint32_t>(knob.size())) : std::nullopt;
}

/// Adds the values of a schedule to the knobs of its algorithm.
void addValues(Subspace &subspace, const Schedule &schedule) {
  for (size_t i = 0; i < subspace.knobs.size(); ++i) {
    Knob &knob = subspace.knobs[i];
    if (knob.parameter->kind != Parameter::Kind::number)
      continue;
    std::optional<int64_t> number = numberOf(schedule, *knob.parameter);
    if (!number)
      subspace.mayBeAbsent[i] = true;
    else if (!std::binary_search(knob.numbers.begin(), knob.numbers.end(), *number))
      knob.numbers.insert(std::lower_bound(knob.numbers.begin(), knob.numbers.end(), *number), *number);
  }
}

/// Takes away the values of words that round operands, unless the kernel's precision allows it: no search may change
/// results.
void removeRounding(const Algorithm &algorithm, std::vector<Knob> &knobs, Precision precision) {
  for (Knob &knob : knobs)
    if (knob.parameter->kind == Parameter::Kind::word)
      std::erase_if(knob.words, [&](const char *word) {
        Schedule schedule = emptySchedule(algorithm.name);
        schedule.words[knob.parameter->name] = word;
        return !allows(precision, schedule);
      });
}

Point drawAny(const std::vector<Subspace> &subspaces, size_t algorithm, Random &random) {
  const Subspace &subspace = subspaces[algorithm];
  Point point{algorithm, std::vector<uint32_t>(subspace.knobs.size())};
  for (size_t knob = 0; knob < point.values.size(); ++knob)
    point.values[knob] = static_cast<uint32_t>(drawn(random, subspace.values(knob)));
  return point;
}

} // namespace

double Subspace::points() const {
  double count = 1;
  for (size_t knob = 0; knob < knobs.size(); ++knob)
    count *= static_cast<double>(values(knob));
  return count;
}

Space::Space(const KernelFacts &facts, const std::vector<Schedule> &starts, size_t probes) : facts(facts) {
  for (const Algorithm &algorithm : lathe::algorithms()) {
    if (algorithm.family != facts.family)
      continue;
    std::vector<Knob> knobs = facts.knobs(algorithm);
    removeRounding(algorithm, knobs, facts.precision);
    if (std::any_of(knobs.begin(), knobs.end(), [](const Knob &knob) { return knob.size() == 0; }))
      continue;
    Subspace subspace{&algorithm, std::move(knobs), {}};
    subspace.mayBeAbsent.resize(subspace.knobs.size());
    bool any = false;
    for (const Schedule &start : starts)
      if (start.algorithm == algorithm.name && start.version == algorithm.version && legal(facts, start)) {
        addValues(subspace, start);
        any = true;
      }
    subspaces.push_back(std::move(subspace));
    Random random(1); // the set of algorithms must not depend on a seed
    for (size_t probe = 0; probe < probes && !any; ++probe)
      any = Space::isLegal(drawAny(subspaces, subspaces.size() - 1, random));
    if (!any)
      subspaces.pop_back();
  }
}

double Space::points() const {
  double count = 0;
  for (const Subspace &subspace : subspaces)
    count += subspace.points();
  return count;
}

Schedule Space::schedule(const Point &point) const {
  const Subspace &subspace = subspaces.at(point.algorithm);
  Schedule result = emptySchedule(subspace.algorithm->name);
  for (size_t i = 0; i < subspace.knobs.size(); ++i)
    if (point.values[i] < subspace.knobs[i].size())
      subspace.knobs[i].apply(result, point.values[i]);
  return result;
}

std::optional<Point> Space::point(const Schedule &schedule) const {
  for (size_t number = 0; number < subspaces.size(); ++number) {
    const Subspace &subspace = subspaces[number];
    if (schedule.algorithm != subspace.algorithm->name || schedule.version != subspace.algorithm->version)
      continue;
    Point point{number, {}};
    for (size_t i = 0; i < subspace.knobs.size(); ++i) {
      std::optional<uint32_t> index = indexOf(schedule, subspace.knobs[i], subspace.mayBeAbsent[i]);
      if (!index)
        return std::nullopt;
      point.values.push_back(*index);
    }
    return point;
  }
  return std::nullopt;
}

std::optional<Point> Space::draw(Random &random, size_t tries) const {
  if (subspaces.empty())
    return std::nullopt;
  // Draws the algorithm first and keeps it. Otherwise an algorithm with few legal points would hardly ever be drawn.
  for (size_t rest = subspaces.size(); rest > 0; --rest) {
    size_t algorithm = drawn(random, subspaces.size());
    for (size_t i = 0; i < tries; ++i)
      if (Point point = drawAny(subspaces, algorithm, random); isLegal(point))
        return point;
  }
  return std::nullopt;
}

std::optional<Point> Space::drawNeighbour(const Point &point, Random &random, size_t tries) const {
  const Subspace &subspace = subspaces.at(point.algorithm);
  std::vector<size_t> changeable;
  for (size_t knob = 0; knob < subspace.knobs.size(); ++knob)
    if (subspace.values(knob) > 1)
      changeable.push_back(knob);
  for (size_t i = 0; i < tries && !changeable.empty(); ++i) {
    Point other = point;
    size_t knob = changeable[drawn(random, changeable.size())];
    auto shift = static_cast<uint32_t>(1 + drawn(random, subspace.values(knob) - 1));
    other.values[knob] = static_cast<uint32_t>((other.values[knob] + shift) % subspace.values(knob));
    if (isLegal(other))
      return other;
  }
  return std::nullopt;
}

std::vector<Point> Space::neighbours(const Point &point) const {
  const Subspace &subspace = subspaces.at(point.algorithm);
  std::vector<Point> result;
  for (size_t knob = 0; knob < subspace.knobs.size(); ++knob)
    for (uint32_t value = 0; value < subspace.values(knob); ++value)
      if (value != point.values[knob]) {
        Point other = point;
        other.values[knob] = value;
        if (isLegal(other))
          result.push_back(std::move(other));
      }
  return result;
}

} // namespace lathe::tune
