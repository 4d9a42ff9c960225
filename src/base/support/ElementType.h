// Element types of tensors, shared by every room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lathe {

/// The type of a tensor's elements. The numbers are stored in packages: append only, never renumber.
enum class ElementType : uint8_t {
  invalid = 0,
  f32 = 1,
  f64 = 2,
  f16 = 3,
  bf16 = 4,
  i8 = 5,
  i16 = 6,
  i32 = 7,
  i64 = 8,
  u8 = 9,
  u16 = 10,
  u32 = 11,
  u64 = 12,
  boolean = 13, // one byte, 0 or 1
  string = 14,
  f8e4m3fn = 15,
  f8e4m3fnuz = 16,
  f8e5m2 = 17,
  f8e5m2fnuz = 18,
  i4 = 19, // types below one byte pack two elements in a byte, the first element in the low nibble (ONNX)
  u4 = 20,
};

/// Number of bits that one element occupies in memory; 0 for strings.
unsigned bitWidth(ElementType type);

/// Number of bytes that `elements` elements of a type occupy; types below one byte are rounded up to whole bytes.
inline int64_t byteSize(ElementType type, int64_t elements) { return (elements * bitWidth(type) + 7) / 8; }

/// The name of an element type, as it is printed everywhere: "f32", "i64", "bool", ...
std::string_view name(ElementType type);

/// Returns the element type with this name; nothing for other texts.
std::optional<ElementType> elementTypeFromName(std::string_view text);

/// True for the element types i8 and u8.
inline bool isByte(ElementType type) { return type == ElementType::i8 || type == ElementType::u8; }
bool isFloat(ElementType type);
bool isSignedInteger(ElementType type);
bool isUnsignedInteger(ElementType type);
inline bool isInteger(ElementType type) { return isSignedInteger(type) || isUnsignedInteger(type); }

} // namespace lathe
