// The exception by which a family declines a kernel function.
#pragma once

#include <string>

namespace lathe {

/// Thrown by a kernel family or a lowering, while it reads a kernel function, if no schedule can compute the function.
/// `readFacts` and `generate` convert it to NotApplicable.
struct Declined {
  std::string reason;
};

} // namespace lathe
