// The arithmetic precision of a model: chosen by `--precision`, recorded in packages.
#pragma once

#include <iterator>
#include <string>
#include <string_view>

namespace lathe {

enum class Precision {
  fp32, // the types of the model
  bf16, // fp32 operands of convolutions, matrix products and attention are rounded to bf16 (to
        // nearest, ties to even); sums and all other operators stay fp32
};

inline constexpr const char *precisionNames[] = {"fp32", "bf16"}; // by the number of the precision
inline std::string name(Precision precision) { return precisionNames[static_cast<int>(precision)]; }
/// Inverse of `name`; fp32 for any other text, which the command line has checked.
inline Precision precisionOf(std::string_view text) {
  for (int number = 0; number < int(std::size(precisionNames)); ++number)
    if (text == precisionNames[number])
      return static_cast<Precision>(number);
  return Precision::fp32;
}

} // namespace lathe
