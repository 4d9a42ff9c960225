#include "lab/compare/Outputs.h"

#include "lab/compare/Ports.h"

#include <algorithm>
#include <cmath>

namespace lathe::lab {

/// Why agreement with `expected` is weak evidence, or "".
static std::string mistrustOf(const Tensor &expected, const Difference &found) {
  int64_t finite = expected.elements() - found.nan - found.infinite, saturated = 0;
  if (expected.type() == ElementType::string || expected.elements() < 2)
    return "";
  if (finite == 0)
    return "not finite in any element";
  double low = INFINITY, high = -INFINITY;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    double value = expected.asDouble(i);
    if (!std::isfinite(value))
      continue;
    saturated += std::abs(value) < 1e-6 || std::abs(value - 1) < 1e-6;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (high == low)
    return high == 0 ? "all zero" : "constant";
  // A saturated softmax hides errors before it.
  return isFloat(expected.type()) && saturated == finite ? "only zeros and ones" : "";
}

Agreement agreementOf(const std::string &name, const Tensor &ours, const Tensor &peers, const Tolerance &tolerance) {
  Agreement result;
  result.output = name;
  if (ours.type() != peers.type()) {
    result.reason = fmt::format("{} {} against {} {}", lathe::name(ours.type()), fmt::join(ours.dims(), "x"),
                                lathe::name(peers.type()), fmt::join(peers.dims(), "x"));
    return result;
  }
  Difference found = difference(ours, peers);
  result.relativeL2 = found.relative;
  result.maxDifference = found.maximum;
  result.agrees = found.within(tolerance);
  if (!result.agrees) {
    result.reason = !found.broken.empty()
                        ? found.broken
                        : fmt::format("relative L2 {:.2g} (limit {:.2g}), largest difference {:.2g} of the largest "
                                      "value (limit {:.2g})",
                                      found.relative, tolerance.relative, found.maximum, tolerance.maximum);
    return result;
  }
  result.mistrust = mistrustOf(peers, found);
  return result;
}

std::vector<Agreement> agreementsOf(const std::string &oursName, const std::vector<NamedOutput> &ours,
                                    const std::vector<NamedOutput> &theirs, const CompareOptions &options) {
  auto ports = [](const std::vector<NamedOutput> &outputs) {
    std::vector<RunnerPort> list;
    for (const NamedOutput &output : outputs)
      list.push_back(portOf(output.name, output.tensor));
    return list;
  };
  std::vector<RunnerPort> mine = ports(ours), others = ports(theirs);
  auto pairs = pairPorts(mine, others);
  std::vector<Agreement> agreements;
  for (size_t i = 0; i < theirs.size(); ++i) {
    const std::string &name = theirs[i].name;
    Agreement &agreement = agreements.emplace_back();
    agreement.output = name;
    if (!pairs[i]) {
      agreement.reason =
          fmt::format("{} is not an output of {}, which has {}", extentsText(others[i]), oursName, portsText(mine));
      continue;
    }
    const NamedOutput &own = ours[*pairs[i]];
    PortFit fit = fitOf(others[i], mine[*pairs[i]]);
    if (fit.permutation.empty()) {
      agreement = agreementOf(name, own.tensor, theirs[i].tensor, options.tolerance);
    } else if (!options.adaptLayouts) {
      agreement.reason =
          fmt::format("its shape is {}, '{}' of {} is {}: another layout, give --adapt-layouts to transpose it",
                      extentsText(others[i]), own.name, oursName, extentsText(mine[*pairs[i]]));
    } else {
      agreement = agreementOf(name, own.tensor, transposed(theirs[i].tensor, fit.permutation), options.tolerance);
      agreement.transposed = true;
    }
    if (own.name != name)
      agreement.ours = own.name;
  }
  return agreements;
}

} // namespace lathe::lab
