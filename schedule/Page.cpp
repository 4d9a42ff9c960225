// docs/generated/schedules.md from the table of algorithms.
#include "schedule/Algorithms.h"
#include "support/Error.h"

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
      "out has its default; the choice that Lathe makes without a schedule is often another one. A value within its\n"
      "range can still be declined, with the reason, where the problem or the target does not allow it.\n";
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
      page += fmt::format("| `{}` | {} | {} | {} |\n", parameter.name, parameter.meaning, parameter.values(),
                          defaultOf(parameter));
  }
  return page;
}

} // namespace lathe
