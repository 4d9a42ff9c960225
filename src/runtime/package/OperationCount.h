// Tells which operations a package counts for its kernels (Kernel.flops of package/plan.fbs).
#pragma once

#include <string>
#include <string_view>

namespace lathe::package {

/// The text that Program.options contains if the package counts neither taps in padding nor biases as operations
/// (ops/WindowTaps.h).
inline constexpr std::string_view withoutPadding = "operations without padding";

/// Returns a note for the user about packages of older versions, which count taps in padding and biases as operations;
/// "" for other packages.
inline std::string paddingNote(const std::string &options) {
  return options.find(withoutPadding) == std::string::npos
             ? "an older version made the package: its operations include taps in padding and biases; compile it again"
             : "";
}

} // namespace lathe::package
