// Which operations a package counts for its kernels (Kernel.flops of package/plan.fbs).
#pragma once

#include <string>
#include <string_view>

namespace lathe::package {

/// Part of Program.options of packages that count no taps in padding and no biases (ops/WindowTaps.h).
inline constexpr std::string_view withoutPadding = "operations without padding";

/// What to say of a package of an older version, which counts them; "" for others.
inline std::string paddingNote(const std::string &options) {
  return options.find(withoutPadding) == std::string::npos
             ? "an older version made the package: its operations include taps in padding and biases; compile it again"
             : "";
}

} // namespace lathe::package
