// docs/generated/schedules.md from the table of algorithms.
#include "schedule/Algorithms.h"
#include "support/Error.h"
#include "support/Text.h"

namespace lathe {
namespace {

std::string defaultOf(const Parameter &parameter) {
  if (!parameter.hasDefault())
    return parameter.defaultText;
  return parameter.kind == Parameter::Kind::word ? parameter.words.front() : std::to_string(*parameter.defaultNumber);
}

} // namespace

std::string schedulesPage() {
  std::string page =
      "<!-- Written from schedule/Algorithms.cpp by `ninja schedules-page`; do not edit. -->\n"
      "# Schedules\n\n"
      "A schedule says how one kernel is computed: an algorithm with its version, then parameters, such as\n"
      "`direct/1 px=14 oc=2 unroll=8`. This page lists every algorithm and every parameter. A parameter that is left\n"
      "out has its default; the choice that Lathe makes without a schedule is often another one. A parameter of one\n"
      "name has one meaning in every algorithm; additions for one algorithm are in parentheses. A value within its "
      "range\n"
      "can still be illegal for a problem or a target: the constraints are listed with each algorithm, and\n"
      "`lathe compile --export-space FILE` writes the values worth trying for every kernel of a model.\n";
  std::string family = "none yet";
  for (const Algorithm &algorithm : algorithms()) {
    if (family != algorithm.family) {
      family = algorithm.family;
      page += family.empty() ? "\n## Choices above kernels\n" : fmt::format("\n## Kernel family {}\n", family);
    }
    page += fmt::format("\n### {}\n\n{} {}.\n\n", algorithm.str(), *algorithm.family ? "Computes" : "Chooses",
                        algorithm.summary);
    page += "| parameter | meaning | values | default |\n|---|---|---|---|\n";
    for (const Parameter &parameter : algorithm.parameters)
      page += fmt::format("| `{}` | {} | {} | {} |\n", parameter.name, parameter.description(), parameter.values(),
                          defaultOf(parameter));
    if (algorithm.constraints.empty())
      continue;
    page += "\nA schedule is legal if:\n\n";
    for (const Constraint &constraint : algorithm.constraints)
      page += fmt::format("- {}\n", constraint.text);
  }
  return page;
}

std::string schedulesHelp() {
  std::string text = "A schedule says how one kernel is computed: direct/1 px=14 oc=2 unroll=8. The algorithms:\n";
  std::string family = "none yet";
  for (const Algorithm &algorithm : algorithms()) {
    if (family != algorithm.family) {
      family = algorithm.family;
      text += fmt::format("\n{}\n", family.empty() ? "Choices above kernels" : "Kernel family " + family);
    }
    text += fmt::format("  {:<13} {}\n", algorithm.str(), algorithm.summary);
  }
  return text + "\nlathe help schedules NAME lists an algorithm's parameters and constraints.\n";
}

std::string schedulesHelp(const std::string &name) {
  std::vector<std::string> names;
  for (const Algorithm &algorithm : algorithms()) {
    names.push_back(algorithm.name);
    if (name != algorithm.name && name != algorithm.str())
      continue;
    std::string text = fmt::format("{}: {}\n\nParameters:\n", algorithm.str(), algorithm.summary);
    for (const Parameter &parameter : algorithm.parameters)
      text += fmt::format("  {:<11} {}; {}; default {}\n", parameter.name, parameter.description(), parameter.values(),
                          defaultOf(parameter));
    if (!algorithm.constraints.empty())
      text += "\nA schedule is legal if:\n";
    for (const Constraint &constraint : algorithm.constraints)
      text += fmt::format("  {}\n", constraint.text);
    return text;
  }
  fail("there is no algorithm '{}'{}; lathe help schedules lists them", printable(name), suggestion(name, names));
}

} // namespace lathe
