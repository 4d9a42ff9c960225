#include "codegen/contraction/ContractionPlan.h"

#include "codegen/cost/Cost.h"
#include "codegen/cost/LoopNest.h"

#include <span>

namespace lathe {
namespace {

/// In the order in which their priors are asked.
std::span<const ContractionAlgorithm> algorithmRows() {
  using enum ContractionAlgorithm::Computes;
  using Plan = ContractionPlan;
  using Prior = std::optional<Schedule>;
  static constexpr ContractionAlgorithm rows[] = {
      {"separable", pair,
       [](auto &facts, auto &schedule) -> Plan { return makeSeparablePlan(facts, *facts.separable, schedule); },
       [](auto &facts, auto) -> Prior { return separablePrior(facts, *facts.separable); }},
      {"lanewise", convolution,
       [](auto &facts, auto &schedule) -> Plan { return makeLanewisePlan(facts.target, *facts.conv, schedule); },
       [](auto &facts, auto only) {
         return only || needsLanewise(facts.target, *facts.conv) ? lanewisePrior(facts, *facts.conv) : Prior();
       }},
      {"amx", convolution | product, [](auto &facts, auto &schedule) -> Plan { return makeTilePlan(facts, schedule); },
       [](auto &facts, auto only) { return only ? tilePriorOf(facts) : tilePrior(facts); }},
      {"winograd", convolution,
       [](auto &facts, auto &schedule) -> Plan { return makeWinogradPlan(facts, *facts.conv, schedule); },
       [](auto &facts, auto only) {
         return only ? winogradPriorOf(facts, *facts.conv, only->m) : winogradPrior(facts, *facts.conv);
       }},
      {"direct", convolution,
       [](auto &facts, auto &schedule) -> Plan { return makeDirectPlan(facts, *facts.conv, schedule); },
       [](auto &facts, auto) -> Prior { return chooseDirect(facts, *facts.conv).schedule; }},
      {"gemm", product,
       [](auto &facts, auto &schedule) -> Plan { return makeGemmPlan(facts.target, *facts.gemm, schedule); },
       [](auto &facts, auto) -> Prior { return gemmPrior(facts, *facts.gemm); }},
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

Prediction ContractionFacts::predict(const Schedule &schedule) const {
  return std::visit([&](const auto &plan) { return lathe::predict(*this, plan); }, planOf(*this, schedule));
}

std::vector<LoopNest> ContractionFacts::loopNests(const Schedule &schedule) const {
  return std::visit([](const auto &plan) { return nestsOf(plan); }, planOf(*this, schedule));
}

std::array<double, loopAxes> ContractionFacts::problemExtents() const {
  if (gemm)
    return {atLeastOne(gemm->m), double(gemm->n), double(gemm->k), 1, atLeastOne(gemm->batch)};
  const ConvGeometry &of = conv ? *conv : separable->pointwise;
  return {double(of.outPixels()), double(of.outChannels), double(of.inChannels), double(of.taps()),
          atLeastOne(of.images) * double(of.groups)};
}

} // namespace lathe
