// The arithmetic precision of a model: chosen by `--precision`, recorded in packages.
#pragma once

#include <string>

namespace lathe {

enum class Precision {
  fp32, // operators compute in the types of the model
  bf16, // fp32 operands of convolutions, matrix products and attention are rounded to bf16 (to
        // nearest, ties to even); sums and all other operators stay fp32
};

/// Names of the precisions, in the order of their numbers.
inline constexpr const char *precisionNames[] = {"fp32", "bf16"};
inline std::string name(Precision precision) { return precisionNames[static_cast<int>(precision)]; }
/// The precision with this name: the inverse of the function above. Every text but "bf16" gives fp32; the command line
/// has checked the text.
inline Precision precisionOf(const std::string &name) { return name == "bf16" ? Precision::bf16 : Precision::fp32; }

} // namespace lathe
