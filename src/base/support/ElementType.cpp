#include "support/ElementType.h"

#include <iterator>

namespace lathe {
namespace {
struct Row {
  ElementType type;
  std::string_view name;
  unsigned bits;
};
constexpr Row table[] = {
    {ElementType::invalid, "invalid", 0},
    {ElementType::f32, "f32", 32},
    {ElementType::f64, "f64", 64},
    {ElementType::f16, "f16", 16},
    {ElementType::bf16, "bf16", 16},
    {ElementType::i8, "i8", 8},
    {ElementType::i16, "i16", 16},
    {ElementType::i32, "i32", 32},
    {ElementType::i64, "i64", 64},
    {ElementType::u8, "u8", 8},
    {ElementType::u16, "u16", 16},
    {ElementType::u32, "u32", 32},
    {ElementType::u64, "u64", 64},
    {ElementType::boolean, "bool", 8},
    {ElementType::string, "string", 0},
    {ElementType::f8e4m3fn, "f8e4m3fn", 8},
    {ElementType::f8e4m3fnuz, "f8e4m3fnuz", 8},
    {ElementType::f8e5m2, "f8e5m2", 8},
    {ElementType::f8e5m2fnuz, "f8e5m2fnuz", 8},
    {ElementType::i4, "i4", 4},
    {ElementType::u4, "u4", 4},
};
static_assert(std::size(table) == lastElementType + 1);

const Row &row(ElementType type) {
  auto index = static_cast<size_t>(type);
  return table[index < std::size(table) ? index : 0];
}
} // namespace

unsigned bitWidth(ElementType type) { return row(type).bits; }
std::string_view name(ElementType type) { return row(type).name; }

std::optional<ElementType> elementTypeFromName(std::string_view text) {
  for (const Row &r : table)
    if (r.name == text && r.type != ElementType::invalid)
      return r.type;
  return std::nullopt;
}

bool isFloat(ElementType type) {
  switch (type) {
  case ElementType::f32:
  case ElementType::f64:
  case ElementType::f16:
  case ElementType::bf16:
  case ElementType::f8e4m3fn:
  case ElementType::f8e4m3fnuz:
  case ElementType::f8e5m2:
  case ElementType::f8e5m2fnuz:
    return true;
  default:
    return false;
  }
}

bool isSignedInteger(ElementType type) {
  return type == ElementType::i4 || (type >= ElementType::i8 && type <= ElementType::i64);
}
bool isUnsignedInteger(ElementType type) {
  return type == ElementType::u4 || (type >= ElementType::u8 && type <= ElementType::u64);
}
} // namespace lathe
