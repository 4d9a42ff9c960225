// Shape functions: from the operands' types (and, for small integer tensors, their contents) to the results'.
//
// Free of MLIR, so the IR's verifier, shape inference and the runtime's plan share them. Extents are symbolic (`Dim`).
// A shape function checks the operator's numbered constraints and throws `Error` with the number: "conv_c3: ...".
#pragma once

#include "ops/Attrs.h"
#include "support/Dim.h"
#include "support/Error.h"

#include <optional>
#include <vector>

namespace lathe {

/// What is known of a tensor before it exists.
struct TensorInfo {
  ElementType type = ElementType::invalid;
  Dims dims;
  /// Elements in row-major order, for integer tensors of at most 64 elements whose contents shape arithmetic
  /// knows (`shape` of a symbolic tensor, constants, and what slice/gather/concat/... make of them).
  std::optional<std::vector<Dim>> contents;

  size_t rank() const { return dims.size(); }
};

/// A result's extents that no formula gives (NonZero): the executor allocates it when the reference returns.
/// Such a Dim is the symbol "?"; see `unknownDim`.
Dim unknownDim();
bool isUnknown(const Dim &dim);

/// Operands in the order of the record; null where an optional one is absent. A variadic operand comes last.
using InferInputs = std::vector<const TensorInfo *>;
using InferResult = std::vector<TensorInfo>;

/// Row-major broadcast of two shapes as NumPy and ONNX define it; throws Error naming both shapes.
Dims broadcast(const Dims &a, const Dims &b);

/// `axis` in [-rank, rank) mapped to [0, rank); throws Error with `what` otherwise.
int64_t normalizeAxis(int64_t axis, int64_t rank, const char *what);

/// Axes mapped to [0, rank); throws Error with `what` for one outside or twice.
std::vector<int64_t> normalizeAxes(const std::vector<int64_t> &axes, int64_t rank, const char *what);

/// Operand `index`, null where it is absent.
inline const TensorInfo *operand(const InferInputs &in, size_t index) {
  return index < in.size() ? in[index] : nullptr;
}

/// False when the extents are known to differ: both constant and unequal.
bool mayAgree(const Dim &a, const Dim &b);
/// True when the extent cannot be negative, as far as its form tells (symbols are extents).
bool isNonNegative(const Dim &dim);

/// Throw Error, starting with `constraint`, unless the type is floating-point / a number (not bool or string) / an
/// 8-bit integer.
void requireFloat(ElementType type, const char *constraint);
void requireNumber(ElementType type, const char *constraint);
void requireByte(ElementType type, const char *constraint);

/// Extents of a result whose value nobody knows yet.
Dims unknownDims(size_t rank);

/// Most elements whose contents are followed, and the greatest rank of a tensor.
constexpr size_t maxContents = 64;
constexpr size_t maxRank = 32;

/// `info` with contents where they are few and of an integer type or bool; `make` may throw Error (overflow): then
/// without.
template <class Make> TensorInfo withContents(TensorInfo info, Make &&make) {
  try {
    if (isInteger(info.type) || info.type == ElementType::boolean)
      info.contents = make();
  } catch (const Error &) {
    info.contents.reset();
  }
  if (info.contents &&
      (info.contents->size() > maxContents || Dim(static_cast<int64_t>(info.contents->size())) != product(info.dims)))
    info.contents.reset();
  return info;
}

/// Throws Error unless every result has sane extents: none negative, not too many elements to address.
InferResult checkedResults(const char *op, InferResult results);

/// The static value of operand `index` if present and known, otherwise `attribute`. Throws Error if the operand is
/// present but its contents are not known and `optionalContents` is false.
std::vector<int64_t> staticOperand(const InferInputs &in, size_t index, const std::vector<int64_t> &attribute,
                                   const char *what);

} // namespace lathe
