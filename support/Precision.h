// How precisely a model is computed: what `--precision` says, packages record and kernels are generated for.
#pragma once

#include <string>

namespace lathe {

enum class Precision {
  fp32, // as the model says
  bf16, // fp32 operands of convolutions and matrix products are rounded to bf16 (to nearest, ties to even); sums and
        // all else stay fp32
};

/// "fp32", "bf16"
inline std::string name(Precision precision) { return precision == Precision::bf16 ? "bf16" : "fp32"; }
/// The inverse; anything that is not "bf16" is fp32 (the command line has checked).
inline Precision precisionOf(const std::string &name) { return name == "bf16" ? Precision::bf16 : Precision::fp32; }

} // namespace lathe
