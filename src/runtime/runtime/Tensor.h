// Values of a plan: tensors of any element type, sequences and optionals.
#pragma once

#include "support/ElementType.h"
#include "support/Error.h"
#include "support/ValueKind.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace lathe {

/// A dense row-major tensor. Copies share storage; `clone` copies the data. Owned storage is
/// aligned to 64 bytes.
class Tensor {
public:
  Tensor() = default;
  /// Allocates an uninitialised tensor (strings: empty).
  Tensor(ElementType type, std::vector<int64_t> dims);
  /// Makes a tensor over the memory at `data`, which must outlive every copy of the tensor.
  static Tensor borrow(ElementType type, std::vector<int64_t> dims, void *data);
  /// Allocates a tensor with the elements `values`; their number must equal the product of `dims`.
  template <class T> static Tensor of(std::vector<int64_t> dims, std::span<const T> values);
  template <class T> static Tensor of(std::vector<int64_t> dims, std::initializer_list<T> values) {
    return of<T>(std::move(dims), std::span<const T>(values.begin(), values.size()));
  }

  ElementType type() const { return elementType; }
  const std::vector<int64_t> &dims() const { return extents; }
  int64_t dim(size_t axis) const { return extents[axis]; }
  size_t rank() const { return extents.size(); }
  int64_t elements() const;
  int64_t bytes() const { return byteSize(elementType, elements()); }
  bool defined() const { return elementType != ElementType::invalid; }

  void *data() { return pointer; }
  const void *data() const { return pointer; }
  /// The elements as an array of T, which must have the size of the element type.
  template <class T> T *as() { return static_cast<T *>(pointer); }
  template <class T> const T *as() const { return static_cast<const T *>(pointer); }
  std::vector<std::string> &strings() { return *text; }
  const std::vector<std::string> &strings() const { return *text; }

  Tensor clone() const;
  /// Returns a tensor with the same storage and other extents; the number of elements must stay the same.
  Tensor reshaped(std::vector<int64_t> dims) const;
  /// Converts the tensor element by element as ONNX Cast does: floats truncate to integers and saturate, casts to
  /// four-bit integers keep the low bits. `saturate`: overflow of 8-bit floats gives the largest value, else infinity
  /// or NaN. Returns the tensor itself if the type is equal.
  Tensor convertedTo(ElementType type, bool saturate = true) const;
  /// Element `index` of the tensor (in row-major order) as double or int64, for messages, shape arithmetic and tests.
  double asDouble(int64_t index) const;
  int64_t asInteger(int64_t index) const;

private:
  ElementType elementType = ElementType::invalid;
  std::vector<int64_t> extents;
  std::shared_ptr<void> storage; // owner of the memory; null if the memory is borrowed
  std::shared_ptr<std::vector<std::string>> text;
  void *pointer = nullptr;
};

class Value;
struct Sequence {
  /// Element type of the tensors in the sequence; known for an empty sequence, too.
  ElementType elementType = ElementType::invalid;
  std::vector<Value> items;
};
struct Optional {
  std::shared_ptr<Value> value; // the contained value; null: the optional is empty
};

/// A value of any kind: a tensor, a sequence or an optional.
class Value {
public:
  Value() = default;
  Value(Tensor tensor) : state(std::move(tensor)) {}
  Value(Sequence sequence) : state(std::move(sequence)) {}
  Value(Optional optional) : state(std::move(optional)) {}
  bool isTensor() const { return state.index() == 0; }
  bool isSequence() const { return state.index() == 1; }
  bool isOptional() const { return state.index() == 2; }
  Tensor &tensor() { return std::get<0>(state); }
  const Tensor &tensor() const { return std::get<0>(state); }
  Sequence &sequence() { return std::get<1>(state); }
  const Sequence &sequence() const { return std::get<1>(state); }
  Optional &optional() { return std::get<2>(state); }
  const Optional &optional() const { return std::get<2>(state); }

private:
  std::variant<Tensor, Sequence, Optional> state;
};

/// Kind of a value: tensor, sequence or optional. An empty optional is ValueKind::optional, because it does not tell
/// what it would hold.
ValueKind kindOf(const Value &value);

/// ElementType of a C++ type (float, double, int8_t ... uint64_t, bool).
template <class T> constexpr ElementType elementTypeOf();
template <> constexpr ElementType elementTypeOf<float>() { return ElementType::f32; }
template <> constexpr ElementType elementTypeOf<double>() { return ElementType::f64; }
template <> constexpr ElementType elementTypeOf<int8_t>() { return ElementType::i8; }
template <> constexpr ElementType elementTypeOf<int16_t>() { return ElementType::i16; }
template <> constexpr ElementType elementTypeOf<int32_t>() { return ElementType::i32; }
template <> constexpr ElementType elementTypeOf<int64_t>() { return ElementType::i64; }
template <> constexpr ElementType elementTypeOf<uint8_t>() { return ElementType::u8; }
template <> constexpr ElementType elementTypeOf<uint16_t>() { return ElementType::u16; }
template <> constexpr ElementType elementTypeOf<uint32_t>() { return ElementType::u32; }
template <> constexpr ElementType elementTypeOf<uint64_t>() { return ElementType::u64; }
template <> constexpr ElementType elementTypeOf<bool>() { return ElementType::boolean; }

template <class T> Tensor Tensor::of(std::vector<int64_t> dims, std::span<const T> values) {
  Tensor result(elementTypeOf<T>(), std::move(dims));
  require(result.elements() == static_cast<int64_t>(values.size()), "tensor of {} elements filled with {} values",
          result.elements(), values.size());
  std::copy(values.begin(), values.end(), result.as<T>());
  return result;
}

/// A 16-bit floating-point number (IEEE half) as its bit pattern. Conversions to it round to nearest even.
struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
float toFloat(Half value);
float toFloat(BFloat16 value);
Half toHalf(float value);
BFloat16 toBFloat16(float value);

} // namespace lathe
