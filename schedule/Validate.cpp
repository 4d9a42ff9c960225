// Schedules from outside against the table of algorithms.
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

bool allows(const Parameter &parameter, int64_t value) {
  return value >= parameter.least && value <= parameter.most && (!parameter.powerOfTwo || (value & (value - 1)) == 0);
}

/// The declaration of a parameter that was given; throws Error.
const Parameter &given(const Algorithm &algorithm, const std::string &name, const std::string &text) {
  const Parameter *parameter = algorithm.find(name);
  require(parameter != nullptr, "schedule '{}': {} has no parameter '{}'; it has {}{}", text, algorithm.str(),
          printable(name), listed(namesOf(algorithm)), suggestion(name, namesOf(algorithm)));
  return *parameter;
}

} // namespace

std::string Parameter::values() const {
  if (kind == Kind::name)
    return "the name of a node";
  std::vector<std::string> all(words.begin(), words.end());
  if (kind == Kind::number && !powerOfTwo && most - least > 1)
    return most == int64_t(1) << 40 ? fmt::format("a whole number from {} to 2^40", least)
                                    : fmt::format("a whole number from {} to {}", least, most);
  for (int64_t value = least; kind == Kind::number && value <= most; ++value)
    if (allows(*this, value))
      all.push_back(std::to_string(value));
  return listed(all, "or");
}

const Parameter *Algorithm::find(std::string_view parameter) const {
  for (const Parameter &candidate : parameters)
    if (candidate.name == parameter)
      return &candidate;
  return nullptr;
}

std::string Algorithm::str() const { return fmt::format("{}/{}", name, version); }

const Algorithm *findAlgorithm(std::string_view name, int version) {
  for (const Algorithm &algorithm : algorithms())
    if (algorithm.name == name && algorithm.version == version)
      return &algorithm;
  return nullptr;
}

const Algorithm &validate(const Schedule &schedule) {
  std::string text = printable(schedule.str());
  const Algorithm *algorithm = findAlgorithm(schedule.algorithm, schedule.version);
  if (!algorithm) {
    std::vector<std::string> all, versions, names;
    for (const Algorithm &known : algorithms()) {
      all.push_back(known.str());
      names.push_back(known.name);
      if (known.name == schedule.algorithm)
        versions.push_back(known.str());
    }
    if (!versions.empty())
      fail("schedule '{}': version {} of {} is unknown, expected {}", text, schedule.version, schedule.algorithm,
           listed(versions, "or"));
    fail("schedule '{}': there is no algorithm '{}'; there are {}{}", text, printable(schedule.algorithm), listed(all),
         suggestion(schedule.algorithm, names));
  }
  for (const auto &[name, value] : schedule.numbers) {
    const Parameter &parameter = given(*algorithm, name, text);
    require(parameter.kind == Parameter::Kind::name ||
                (parameter.kind == Parameter::Kind::number && allows(parameter, value)),
            "schedule '{}': got {}={}, expected {}", text, name, value, parameter.values());
  }
  for (const auto &[name, value] : schedule.words) {
    const Parameter &parameter = given(*algorithm, name, text);
    bool known = std::any_of(parameter.words.begin(), parameter.words.end(),
                             [&value = value](const char *word) { return value == word; });
    require(parameter.kind == Parameter::Kind::name || (parameter.kind == Parameter::Kind::word && known),
            "schedule '{}': got {}={}, expected {}", text, name, printable(value), parameter.values());
  }
  return *algorithm;
}

Schedule readSchedule(const std::string &text) {
  Schedule schedule = Schedule::parse(text);
  validate(schedule);
  return schedule;
}

} // namespace lathe
