// The exception by which a family declines a kernel function.
#pragma once

#include <string>

namespace lathe {

/// Thrown by a family or lowering that cannot compute a kernel function with any schedule, while it reads the function.
/// `readFacts` and `generate` convert it to NotApplicable.
struct Declined {
  std::string reason;
};

} // namespace lathe
