// Checks schedules from outside against the table of algorithms.
#include "schedule/Algorithms.h"
#include "support/Error.h"
#include "support/Text.h"

#include <algorithm>

namespace lathe {
namespace {

std::vector<std::string> namesOf(const Algorithm &algorithm) {
  std::vector<std::string> names;
  for (const Parameter &parameter : algorithm.parameters)
    names.push_back(parameter.name);
  return names;
}

/// Throws Error that tells how to update a schedule of a former version.
[[noreturn]] void refuseFormer(const Algorithm &now, const FormerVersion &former, const Schedule &schedule) {
  std::vector<std::string> all, given;
  for (const auto &[old, name] : former.renamed) {
    all.push_back(fmt::format("{} is called {}", old, name));
    if (schedule.numbers.contains(old) || schedule.words.contains(old))
      given.push_back(all.back());
  }
  fail("schedule '{}': {}/{} is {} now, where {}", printable(schedule.str()), schedule.algorithm, schedule.version,
       now.str(), listed(given.empty() ? all : given));
}

/// The declaration of a given parameter. Throws Error if there is none.
const Parameter &given(const Algorithm &algorithm, const std::string &name, const Schedule &schedule) {
  const Parameter *parameter = algorithm.find(name);
  if (!parameter)
    fail("schedule '{}': {} has no parameter '{}'; it has {}{}", printable(schedule.str()), algorithm.str(),
         printable(name), listed(namesOf(algorithm)), suggestion(name, namesOf(algorithm)));
  return *parameter;
}

} // namespace

std::string Parameter::description() const { return *note ? fmt::format("{} ({})", meaning, note) : meaning; }

bool Parameter::allows(int64_t value) const {
  return value >= least && value <= most && (!powerOfTwo || (value & (value - 1)) == 0);
}

std::string Parameter::values() const {
  if (kind == Kind::name)
    return "the name of a node";
  std::vector<std::string> all(words.begin(), words.end());
  if (kind == Kind::number && !powerOfTwo && most - least > 1)
    return most == int64_t(1) << 40 ? fmt::format("a whole number from {} to 2^40", least)
                                    : fmt::format("a whole number from {} to {}", least, most);
  for (int64_t value = least; kind == Kind::number && value <= most; ++value)
    if (allows(value))
      all.push_back(std::to_string(value));
  return listed(all, "or");
}

const Parameter *Algorithm::find(std::string_view parameter) const {
  for (const Parameter &candidate : parameters)
    if (candidate.name == parameter)
      return &candidate;
  return nullptr;
}

const Constraint &Algorithm::constraint(std::string_view id) const {
  for (const Constraint &candidate : constraints)
    if (candidate.id == id)
      return candidate;
  throw std::logic_error(fmt::format("{} declares no constraint '{}'", str(), id));
}

std::string Algorithm::str() const { return fmt::format("{}/{}", name, version); }

const Algorithm *findAlgorithm(std::string_view name, int version) {
  for (const Algorithm &algorithm : algorithms())
    if (algorithm.name == name && algorithm.version == version)
      return &algorithm;
  return nullptr;
}

const Algorithm &validate(const Schedule &schedule) {
  auto text = [&] { return printable(schedule.str()); };
  const Algorithm *algorithm = findAlgorithm(schedule.algorithm, schedule.version);
  if (!algorithm) {
    std::vector<std::string> all, versions, names;
    for (const Algorithm &known : algorithms()) {
      all.push_back(known.str());
      names.push_back(known.name);
      if (known.name != schedule.algorithm)
        continue;
      versions.push_back(known.str());
      for (const FormerVersion &former : known.former)
        if (former.version == schedule.version)
          refuseFormer(known, former, schedule);
    }
    if (!versions.empty())
      fail("schedule '{}': version {} of {} is unknown, expected {}", text(), schedule.version, schedule.algorithm,
           listed(versions, "or"));
    fail("schedule '{}': there is no algorithm '{}'; there are {}{}", text(), printable(schedule.algorithm),
         listed(all), suggestion(schedule.algorithm, names));
  }
  for (const auto &[name, value] : schedule.numbers) {
    const Parameter &parameter = given(*algorithm, name, schedule);
    if (parameter.kind != Parameter::Kind::name &&
        !(parameter.kind == Parameter::Kind::number && parameter.allows(value)))
      fail("schedule '{}': got {}={}, expected {}", text(), name, value, parameter.values());
  }
  for (const auto &[name, value] : schedule.words) {
    const Parameter &parameter = given(*algorithm, name, schedule);
    bool known = std::any_of(parameter.words.begin(), parameter.words.end(),
                             [&value = value](const char *word) { return value == word; });
    if (parameter.kind != Parameter::Kind::name && !(parameter.kind == Parameter::Kind::word && known))
      fail("schedule '{}': got {}={}, expected {}", text(), name, printable(value), parameter.values());
  }
  return *algorithm;
}

Schedule emptySchedule(std::string_view algorithm) {
  for (const Algorithm &known : algorithms())
    if (known.name == algorithm)
      return {known.name, known.version, {}, {}};
  throw std::logic_error(fmt::format("there is no algorithm '{}'", algorithm));
}

Schedule readSchedule(const std::string &text) {
  Schedule schedule = Schedule::parse(text);
  validate(schedule);
  return schedule;
}

std::string canonicalSchedule(const std::string &text) {
  try {
    return readSchedule(text).str();
  } catch (const Error &) {
    return text;
  }
}

} // namespace lathe
