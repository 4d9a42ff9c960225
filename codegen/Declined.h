// How a family says that it has no code for a kernel function.
#pragma once

#include <string>

namespace lathe {

/// Thrown while a kernel function is read, by a family or lowering that has no code for it under any schedule; `read`
/// and `generate` turn it into NotApplicable.
struct Declined {
  std::string reason;
};

} // namespace lathe
