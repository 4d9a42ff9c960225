#include "lab/problems/OnnxTypes.h"

#include <array>

namespace lathe::lab {

/// By number. 14 and 15 are complex numbers; 23 and above have no counterpart.
static constexpr std::array types = {
    ElementType::invalid,    ElementType::f32,  ElementType::u8,       ElementType::i8,         ElementType::u16,
    ElementType::i16,        ElementType::i32,  ElementType::i64,      ElementType::string,     ElementType::boolean,
    ElementType::f16,        ElementType::f64,  ElementType::u32,      ElementType::u64,        ElementType::invalid,
    ElementType::invalid,    ElementType::bf16, ElementType::f8e4m3fn, ElementType::f8e4m3fnuz, ElementType::f8e5m2,
    ElementType::f8e5m2fnuz, ElementType::u4,   ElementType::i4,
};

ElementType elementTypeFromOnnx(int number) {
  return number >= 0 && size_t(number) < types.size() ? types[size_t(number)] : ElementType::invalid;
}

int onnxNumber(ElementType type) {
  for (size_t number = 1; number < types.size(); ++number)
    if (types[number] == type && type != ElementType::invalid)
      return int(number);
  return 0;
}

std::string onnxTypeName(int number) {
  ElementType type = elementTypeFromOnnx(number);
  return type == ElementType::invalid ? "type " + std::to_string(number) : std::string(name(type));
}

} // namespace lathe::lab
