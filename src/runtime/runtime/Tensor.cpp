#include "runtime/Tensor.h"

#include "runtime/SmallFloat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace lathe {
namespace {

int64_t checkedElements(const std::vector<int64_t> &dims) {
  int64_t count = 1;
  bool overflow = false;
  for (int64_t extent : dims) {
    require(extent >= 0, "tensor {}: an extent is negative", fmt::join(dims, "x"));
    overflow |= extent != 0 && __builtin_mul_overflow(count, extent, &count);
  }
  if (std::find(dims.begin(), dims.end(), 0) != dims.end())
    return 0;
  require(!overflow && count <= (int64_t(1) << 56), "tensor {}: absurdly large", fmt::join(dims, "x"));
  return count;
}

// Conversion goes block by block through one of three wide types, so that twenty types need forty small functions.
constexpr int64_t block = 512;
struct Wide {
  enum Kind { real, integer, natural } kind; // natural: u64, whose upper half i64 cannot hold
  double reals[block];
  int64_t integers[block];
};

template <class T> void readReals(const T *from, int64_t count, Wide &wide) {
  wide.kind = Wide::real;
  for (int64_t i = 0; i < count; ++i)
    wide.reals[i] = from[i];
}
template <class T> void readIntegers(const T *from, int64_t count, Wide &wide) {
  wide.kind = std::is_same_v<T, uint64_t> ? Wide::natural : Wide::integer;
  for (int64_t i = 0; i < count; ++i)
    wide.integers[i] = static_cast<int64_t>(from[i]);
}

/// Reads elements [at, at + count) of storage of a numeric type; `at` is even.
void read(ElementType type, const void *data, int64_t at, int64_t count, Wide &wide) {
  auto bytes = static_cast<const uint8_t *>(data);
  auto typed = [&]<class T>(T) { return reinterpret_cast<const T *>(bytes) + at; };
  switch (type) {
  case ElementType::f32:
    return readReals(typed(float()), count, wide);
  case ElementType::f64:
    return readReals(typed(double()), count, wide);
  case ElementType::i8:
    return readIntegers(typed(int8_t()), count, wide);
  case ElementType::i16:
    return readIntegers(typed(int16_t()), count, wide);
  case ElementType::i32:
    return readIntegers(typed(int32_t()), count, wide);
  case ElementType::i64:
    return readIntegers(typed(int64_t()), count, wide);
  case ElementType::u8:
    return readIntegers(typed(uint8_t()), count, wide);
  case ElementType::u16:
    return readIntegers(typed(uint16_t()), count, wide);
  case ElementType::u32:
    return readIntegers(typed(uint32_t()), count, wide);
  case ElementType::u64:
    return readIntegers(typed(uint64_t()), count, wide);
  case ElementType::boolean:
    wide.kind = Wide::integer;
    for (int64_t i = 0; i < count; ++i)
      wide.integers[i] = bytes[at + i] != 0;
    return;
  case ElementType::i4:
  case ElementType::u4:
    wide.kind = Wide::integer;
    for (int64_t i = 0; i < count; ++i) {
      int nibble = bytes[(at + i) / 2] >> ((at + i) % 2 * 4) & 15;
      wide.integers[i] = type == ElementType::i4 && nibble >= 8 ? nibble - 16 : nibble;
    }
    return;
  default: {
    const SmallFloat *format = smallFloat(type);
    require(format != nullptr, "elements of type {} have no numeric value", name(type));
    wide.kind = Wide::real;
    for (int64_t i = 0; i < count; ++i)
      wide.reals[i] =
          format->decode(bitWidth(type) == 16 ? reinterpret_cast<const uint16_t *>(bytes)[at + i] : bytes[at + i]);
  }
  }
}

/// Truncates. Numbers out of range become the nearest number in range, and NaN becomes 0.
template <class T> T toInteger(double value) {
  constexpr T lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
  if (std::isnan(value))
    return 0;
  if (value <= static_cast<double>(lowest))
    return lowest;
  if (value >= static_cast<double>(highest)) // for 64 bits this is 2^63 or 2^64, just beyond
    return highest;
  return static_cast<T>(value);
}

template <class T> void writeNumbers(T *to, int64_t count, const Wide &wide) {
  for (int64_t i = 0; i < count; ++i)
    if constexpr (std::is_floating_point_v<T>)
      to[i] = wide.kind == Wide::real      ? static_cast<T>(wide.reals[i])
              : wide.kind == Wide::integer ? static_cast<T>(wide.integers[i])
                                           : static_cast<T>(static_cast<uint64_t>(wide.integers[i]));
    else
      to[i] = wide.kind == Wide::real ? toInteger<T>(wide.reals[i]) : static_cast<T>(wide.integers[i]);
}

double realAt(const Wide &wide, int64_t i) {
  return wide.kind == Wide::real      ? wide.reals[i]
         : wide.kind == Wide::integer ? static_cast<double>(wide.integers[i])
                                      : static_cast<double>(static_cast<uint64_t>(wide.integers[i]));
}

/// Writes elements [at, at + count); `at` is even and a block's end is even or the tensor's end.
void write(ElementType type, void *data, int64_t at, int64_t count, const Wide &wide, bool saturate) {
  auto bytes = static_cast<uint8_t *>(data);
  auto typed = [&]<class T>(T) { return reinterpret_cast<T *>(bytes) + at; };
  switch (type) {
  case ElementType::f32:
    return writeNumbers(typed(float()), count, wide);
  case ElementType::f64:
    return writeNumbers(typed(double()), count, wide);
  case ElementType::i8:
    return writeNumbers(typed(int8_t()), count, wide);
  case ElementType::i16:
    return writeNumbers(typed(int16_t()), count, wide);
  case ElementType::i32:
    return writeNumbers(typed(int32_t()), count, wide);
  case ElementType::i64:
    return writeNumbers(typed(int64_t()), count, wide);
  case ElementType::u8:
    return writeNumbers(typed(uint8_t()), count, wide);
  case ElementType::u16:
    return writeNumbers(typed(uint16_t()), count, wide);
  case ElementType::u32:
    return writeNumbers(typed(uint32_t()), count, wide);
  case ElementType::u64:
    return writeNumbers(typed(uint64_t()), count, wide);
  case ElementType::boolean:
    for (int64_t i = 0; i < count; ++i)
      bytes[at + i] = wide.kind == Wide::real ? wide.reals[i] != 0 : wide.integers[i] != 0;
    return;
  case ElementType::i4:
  case ElementType::u4:
    for (int64_t i = 0; i < count; ++i) {
      // As in ONNX's conformance cases, floats keep the low bits here instead of saturating.
      int64_t whole = wide.kind == Wide::real ? toInteger<int64_t>(wide.reals[i]) : wide.integers[i];
      int value = static_cast<int>(whole & 15);
      uint8_t &byte = bytes[(at + i) / 2];
      byte = static_cast<uint8_t>(i % 2 == 0 ? value : byte | value << 4);
    }
    return;
  default: {
    const SmallFloat *format = smallFloat(type);
    require(format != nullptr, "numbers cannot be converted to {}", name(type));
    for (int64_t i = 0; i < count; ++i) {
      uint16_t bits = format->encode(realAt(wide, i), saturate);
      if (bitWidth(type) == 16)
        reinterpret_cast<uint16_t *>(bytes)[at + i] = bits;
      else
        bytes[at + i] = static_cast<uint8_t>(bits);
    }
  }
  }
}

std::string textOf(ElementType type, const Wide &wide, int64_t i) {
  if (wide.kind != Wide::real)
    return wide.kind == Wide::integer ? fmt::format("{}", wide.integers[i])
                                      : fmt::format("{}", static_cast<uint64_t>(wide.integers[i]));
  double value = wide.reals[i];
  if (std::isnan(value))
    return "NaN";
  if (std::isinf(value))
    return value > 0 ? "INF" : "-INF";
  return type == ElementType::f64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
}

void parse(const std::string &text, ElementType type, int64_t i, Wide &wide) {
  const char *begin = text.c_str();
  char *end = nullptr;
  if (isFloat(type) || type == ElementType::boolean) {
    wide.kind = Wide::real;
    wide.reals[i] = std::strtod(begin, &end);
  } else if (type == ElementType::u64) {
    wide.kind = Wide::natural;
    wide.integers[i] = static_cast<int64_t>(std::strtoull(begin, &end, 10));
  } else {
    wide.kind = Wide::integer;
    wide.integers[i] = std::strtoll(begin, &end, 10);
  }
  require(end != begin && *end == 0, "'{}' is not a number of type {}", text, name(type));
}

} // namespace

Tensor::Tensor(ElementType type, std::vector<int64_t> dims) : elementType(type), extents(std::move(dims)) {
  int64_t count = checkedElements(extents);
  if (type == ElementType::string) {
    text = std::make_shared<std::vector<std::string>>(count);
    return;
  }
  size_t size = static_cast<size_t>(std::max<int64_t>(byteSize(type, count), 1) + 63) / 64 * 64;
  void *memory = std::aligned_alloc(64, size);
  require(memory != nullptr, "tensor {} of {}: cannot allocate {} bytes", fmt::join(extents, "x"), name(type), size);
  storage = std::shared_ptr<void>(memory, std::free);
  pointer = memory;
}

Tensor Tensor::borrow(ElementType type, std::vector<int64_t> dims, void *data) {
  Tensor result;
  result.elementType = type;
  result.extents = std::move(dims);
  result.pointer = data;
  return result;
}

ValueKind kindOf(const Value &value) {
  if (!value.isOptional())
    return value.isTensor() ? ValueKind::tensor : ValueKind::sequence;
  const std::shared_ptr<Value> &held = value.optional().value;
  return held && held->isSequence() ? ValueKind::optionalSequence : ValueKind::optional;
}

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  return count;
}

Tensor Tensor::clone() const {
  if (!defined())
    return {};
  Tensor result(elementType, extents);
  if (elementType == ElementType::string)
    *result.text = *text;
  else if (bytes() > 0)
    std::memcpy(result.pointer, pointer, static_cast<size_t>(bytes()));
  return result;
}

Tensor Tensor::reshaped(std::vector<int64_t> dims) const {
  require(checkedElements(dims) == elements(), "tensor {} cannot take the shape {}", fmt::join(extents, "x"),
          fmt::join(dims, "x"));
  Tensor result = *this;
  result.extents = std::move(dims);
  return result;
}

Tensor Tensor::convertedTo(ElementType to, bool saturate) const {
  if (to == elementType)
    return *this;
  require(defined() && to != ElementType::invalid, "a tensor of type {} cannot become {}", name(elementType), name(to));
  Tensor result(to, extents);
  auto wide = std::make_unique<Wide>();
  int64_t total = elements();
  for (int64_t at = 0; at < total; at += block) {
    int64_t count = std::min(block, total - at);
    if (elementType == ElementType::string)
      for (int64_t i = 0; i < count; ++i)
        parse((*text)[at + i], to, i, *wide);
    else
      read(elementType, pointer, at, count, *wide);
    if (to == ElementType::string)
      for (int64_t i = 0; i < count; ++i)
        (*result.text)[at + i] = textOf(elementType, *wide, i);
    else
      write(to, result.pointer, at, count, *wide, saturate);
  }
  return result;
}

double Tensor::asDouble(int64_t index) const {
  Wide wide;
  if (elementType == ElementType::string) {
    parse((*text)[index], ElementType::f64, 0, wide);
    return wide.reals[0];
  }
  int64_t even = index & ~int64_t(1);
  read(elementType, pointer, even, index - even + 1, wide);
  return realAt(wide, index - even);
}

int64_t Tensor::asInteger(int64_t index) const {
  Wide wide;
  if (elementType == ElementType::string) {
    parse((*text)[index], ElementType::i64, 0, wide);
    return wide.integers[0];
  }
  int64_t even = index & ~int64_t(1);
  read(elementType, pointer, even, index - even + 1, wide);
  return wide.kind == Wide::real ? toInteger<int64_t>(wide.reals[index - even]) : wide.integers[index - even];
}

float toFloat(Half value) { return static_cast<float>(smallFloat(ElementType::f16)->decode(value.bits)); }
float toFloat(BFloat16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }
Half toHalf(float value) { return {smallFloat(ElementType::f16)->encode(value, false)}; }
BFloat16 toBFloat16(float value) { return {smallFloat(ElementType::bf16)->encode(value, false)}; }

} // namespace lathe
