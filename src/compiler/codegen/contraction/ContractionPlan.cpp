#include "codegen/space/ContractionPlan.h"

#include <span>

namespace lathe {
namespace {

/// In the order in which their priors are asked.
std::span<const ContractionAlgorithm> algorithmRows() {
  using enum ContractionAlgorithm::Computes;
  using Facts = ContractionFacts;
  using Only = const AlgorithmChoice *;
  using Prior = std::optional<Schedule>;
  static constexpr ContractionAlgorithm rows[] = {
      {"separable", pair,
       [](const Facts &facts, const Schedule &schedule) -> ContractionPlan {
         return makeSeparablePlan(facts, *facts.separable, schedule);
       },
       [](const Facts &facts, Only) -> Prior { return separablePrior(facts, *facts.separable); }},
      {"lanewise", convolution,
       [](const Facts &facts, const Schedule &schedule) -> ContractionPlan {
         return makeLanewisePlan(facts.target, *facts.conv, schedule);
       },
       [](const Facts &facts, Only only) -> Prior {
         return only || needsLanewise(facts.target, *facts.conv) ? Prior(lanewisePrior(facts, *facts.conv)) : Prior();
       }},
      {"amx", convolution | product,
       [](const Facts &facts, const Schedule &schedule) -> ContractionPlan { return makeTilePlan(facts, schedule); },
       [](const Facts &facts, Only only) { return only ? Prior(tilePriorOf(facts)) : tilePrior(facts); }},
      {"winograd", convolution,
       [](const Facts &facts, const Schedule &schedule) -> ContractionPlan {
         return makeWinogradPlan(facts, *facts.conv, schedule);
       },
       [](const Facts &facts, Only only) {
         return only ? Prior(winogradPriorOf(facts, *facts.conv, only->m)) : winogradPrior(facts, *facts.conv);
       }},
      {"direct", convolution,
       [](const Facts &facts, const Schedule &schedule) -> ContractionPlan {
         return makeDirectPlan(facts, *facts.conv, schedule);
       },
       [](const Facts &facts, Only) -> Prior { return chooseDirect(facts, *facts.conv).schedule; }},
      {"gemm", product,
       [](const Facts &facts, const Schedule &schedule) -> ContractionPlan {
         return makeGemmPlan(facts.target, *facts.gemm, schedule);
       },
       [](const Facts &facts, Only) -> Prior { return gemmPrior(facts, *facts.gemm); }},
  };
  return rows;
}

unsigned kindOf(const ContractionFacts &facts) {
  using enum ContractionAlgorithm::Computes;
  return facts.separable ? pair : facts.gemm ? product : convolution;
}

/// The row of an algorithm of the family. Throws Illegal if it does not compute what the kernel does.
const ContractionAlgorithm &rowFor(const ContractionFacts &facts, const std::string &name) {
  using enum ContractionAlgorithm::Computes;
  const ContractionAlgorithm *row = findContractionAlgorithm(name);
  unsigned kind = kindOf(facts);
  if (row && row->computes & kind)
    return *row;
  if (row && row->computes == pair)
    illegal("computes", "{} is for a depthwise convolution and a pointwise one behind it", name);
  illegal("computes", "algorithm '{}' does not compute {}", name,
          kind == pair      ? "two convolutions"
          : kind == product ? "matrix products"
                            : "convolutions");
}

} // namespace

const ContractionAlgorithm *findContractionAlgorithm(std::string_view name) {
  for (const ContractionAlgorithm &row : algorithmRows())
    if (row.name == name)
      return &row;
  return nullptr;
}

ContractionPlan planOf(const ContractionFacts &facts, const Schedule &schedule) {
  return rowFor(facts, schedule.algorithm).plan(facts, schedule);
}

bool isForPairs(const Schedule &schedule) {
  const ContractionAlgorithm *row = findContractionAlgorithm(schedule.algorithm);
  return row && row->computes == ContractionAlgorithm::pair;
}

Schedule ContractionFacts::prior() const {
  for (const ContractionAlgorithm &row : algorithmRows())
    if (row.computes & kindOf(*this))
      if (std::optional<Schedule> schedule = row.prior(*this, nullptr))
        return *schedule;
  throw std::logic_error("no algorithm computes every contraction of this kind");
}

Schedule ContractionFacts::priorOf(const AlgorithmChoice &choice) const {
  return *rowFor(*this, choice.algorithm).prior(*this, &choice);
}

void ContractionFacts::require(const Schedule &schedule) const { planOf(*this, schedule); }

} // namespace lathe
