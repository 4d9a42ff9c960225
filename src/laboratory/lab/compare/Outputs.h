// Compares the outputs of two sides of a comparison.
#pragma once

#include "lab/compare/Compare.h"

namespace lathe::lab {

struct NamedOutput {
  std::string name;
  Tensor tensor;
};

/// Compares each output of a peer with our output that pairPorts (lab/compare/Ports.h) pairs with it. `oursName` is the
/// name of our side, for reasons.
std::vector<Agreement> agreementsOf(const std::string &oursName, const std::vector<NamedOutput> &ours,
                                    const std::vector<NamedOutput> &theirs, const CompareOptions &options);

} // namespace lathe::lab
