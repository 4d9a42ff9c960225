// 16-bit and 8-bit floating-point formats: one table of formats, one encoder and one decoder.
#pragma once

#include "support/ElementType.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lathe {

/// A floating-point format of 16 or 8 bits: sign | exponent | mantissa, with value 2^(exponent - bias) * 1.mantissa
/// and subnormals. The FN and FNUZ formats (OCP; "Float8 formats for deep learning") have no infinity. FNUZ has no
/// negative zero and uses the bit pattern of negative zero for NaN.
struct SmallFloat {
  int bits, mantissa, bias;
  uint16_t greatest; // bit pattern of the largest finite value
  uint16_t infinity; // bit pattern of infinity; 0: the format has none
  uint16_t nan;
  bool fnuz;
  bool saturates; // true if a conversion to the format can request saturation (8-bit formats)

  /// Returns the bit pattern of a number in this format, rounded to nearest even. Overflow gives the largest value if
  /// `saturate` is set and the format allows it, else infinity or NaN.
  uint16_t encode(double value, bool saturate) const {
    uint64_t pattern = std::bit_cast<uint64_t>(value);
    uint16_t sign = static_cast<uint16_t>(pattern >> 63 << (bits - 1));
    if (value != value)
      return fnuz ? nan : sign | nan;
    int exponent = static_cast<int>(pattern >> 52 & 0x7ff) - 1023;
    uint64_t fraction = (pattern & ((uint64_t(1) << 52) - 1)) | uint64_t(1) << 52;
    uint64_t code = 0;
    int shift = 52 - mantissa + (exponent < 1 - bias ? 1 - bias - exponent : 0);
    if (shift <= 54) {
      uint64_t rest = fraction & ((uint64_t(1) << shift) - 1), half = uint64_t(1) << (shift - 1);
      code = fraction >> shift;
      code += rest > half || (rest == half && (code & 1));
      if (exponent >= 1 - bias) // the implicit one becomes part of the exponent; a carry does the right thing
        code += static_cast<uint64_t>(exponent + bias - 1) << mantissa;
    }
    if (code > greatest) {
      if (saturate && saturates)
        code = greatest;
      else if (infinity)
        code = infinity;
      else
        return fnuz ? nan : sign | nan;
    }
    return fnuz && code == 0 ? 0 : sign | static_cast<uint16_t>(code);
  }

  double decode(uint16_t pattern) const {
    uint16_t magnitude = pattern & ((1u << (bits - 1)) - 1);
    bool negative = pattern >> (bits - 1) & 1;
    double value;
    if (fnuz && pattern == nan)
      value = std::numeric_limits<double>::quiet_NaN();
    else if (infinity && magnitude == infinity)
      value = std::numeric_limits<double>::infinity();
    else if (magnitude > greatest)
      value = std::numeric_limits<double>::quiet_NaN();
    else if (int exponent = magnitude >> mantissa; exponent > 0) // assembled bit by bit: exact and quick
      value = std::bit_cast<double>(static_cast<uint64_t>(exponent - bias + 1023) << 52 |
                                    static_cast<uint64_t>(magnitude & ((1u << mantissa) - 1)) << (52 - mantissa));
    else
      value = magnitude * std::bit_cast<double>(static_cast<uint64_t>(1 - bias - mantissa + 1023) << 52);
    return negative ? -value : value;
  }
};

/// Returns the small floating-point format of an element type; null for other types.
inline const SmallFloat *smallFloat(ElementType type) {
  static constexpr SmallFloat f16{16, 10, 15, 0x7bff, 0x7c00, 0x7e00, false, false};
  static constexpr SmallFloat bf16{16, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, false, false};
  static constexpr SmallFloat f8e4m3fn{8, 3, 7, 0x7e, 0, 0x7f, false, true};
  static constexpr SmallFloat f8e4m3fnuz{8, 3, 8, 0x7f, 0, 0x80, true, true};
  static constexpr SmallFloat f8e5m2{8, 2, 15, 0x7b, 0x7c, 0x7f, false, true};
  static constexpr SmallFloat f8e5m2fnuz{8, 2, 16, 0x7f, 0, 0x80, true, true};
  switch (type) {
  case ElementType::f16:
    return &f16;
  case ElementType::bf16:
    return &bf16;
  case ElementType::f8e4m3fn:
    return &f8e4m3fn;
  case ElementType::f8e4m3fnuz:
    return &f8e4m3fnuz;
  case ElementType::f8e5m2:
    return &f8e5m2;
  case ElementType::f8e5m2fnuz:
    return &f8e5m2fnuz;
  default:
    return nullptr;
  }
}

} // namespace lathe
