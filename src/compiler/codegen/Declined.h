// The exception by which a family declines a kernel function.
#pragma once

#include <string>

namespace lathe {

/// Thrown while a kernel function is read, by a family or lowering that cannot compute it with any
/// schedule. `readFacts` and `generate` convert it to NotApplicable.
struct Declined {
  std::string reason;
};

} // namespace lathe
