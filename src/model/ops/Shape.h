// Shape functions of operators: from the types of the operands (and the contents of small integer tensors) to the
// types of the results.
//
// They do not use MLIR, so the IR's verifier, shape inference and the runtime's plan share them. An extent is a `Dim`:
// a number or a formula over symbols. A shape function checks the operator's numbered constraints and throws `Error`
// with the number: "conv_c3: ...".
#pragma once

#include "ops/Attrs.h"
#include "support/Dim.h"
#include "support/Error.h"
#include "support/ValueKind.h"

#include <optional>
#include <vector>

namespace lathe {

/// What a shape function knows of a value: type, extents and possibly contents of a tensor, or the type of a sequence
/// or an optional.
struct TensorInfo {
  ElementType type = ElementType::invalid;
  Dims dims;
  /// Elements of the tensor in row-major order, for integer tensors of at most 64 elements whose contents shape
  /// arithmetic knows: constants, results of `shape`, and results of slice, gather, concat, ... on known contents.
  std::optional<std::vector<Dim>> contents;

  /// Kind of the value. If it is not a tensor, `type` is the element type of the tensors in it, and `dims` are empty.
  ValueKind kind = ValueKind::tensor;
  /// For a sequence or an optional: extents of its tensors, each a number or unknownDim(); nothing if the tensors may
  /// differ in rank.
  std::optional<Dims> items = std::nullopt;
  bool noItems = false; // the sequence or optional holds no tensors yet, so `items` are unknown

  size_t rank() const { return dims.size(); }
  bool isTensor() const { return kind == ValueKind::tensor; }
};

/// An extent that depends on data, such as an extent of the result of NonZero: the symbol "?". The executor allocates
/// the result when the reference returns.
Dim unknownDim();
bool isUnknown(const Dim &dim);

/// Operands of a shape function in the order of the record; null: absent optional operand. Values of a variadic
/// operand come last.
using InferInputs = std::vector<const TensorInfo *>;
using InferResult = std::vector<TensorInfo>;

/// The extents to which two shapes broadcast, by the rules of NumPy and ONNX. Throws Error with both shapes if they do
/// not.
Dims broadcast(const Dims &a, const Dims &b);

/// Maps `axis` from [-rank, rank) to [0, rank). Throws Error with `what` for an axis outside the range.
int64_t normalizeAxis(int64_t axis, int64_t rank, const char *what);

/// Maps a list of axes to [0, rank). Throws Error with `what` for an axis outside the range [-rank, rank) or given
/// twice.
std::vector<int64_t> normalizeAxes(const std::vector<int64_t> &axes, int64_t rank, const char *what);

/// Operand `index` of a shape function; null if absent.
inline const TensorInfo *operand(const InferInputs &in, size_t index) {
  return index < in.size() ? in[index] : nullptr;
}

/// False if two extents are constant and differ, else true. If the answer depends on symbols, the active RuleRecorder
/// keeps the comparison as a rule (ops/ShapeRules.h).
bool mayAgree(const Dim &a, const Dim &b);
/// True if the formula of an extent shows that it cannot be negative. Symbols are never negative.
bool isNonNegative(const Dim &dim);

/// Throw Error, starting with `constraint`, unless the type is a float (requireFloat), a number, which excludes bool
/// and string (requireNumber), or an 8-bit integer (requireByte).
void requireFloat(ElementType type, const char *constraint);
void requireNumber(ElementType type, const char *constraint);
void requireByte(ElementType type, const char *constraint);

/// Describes a value that may be either of two sequences or optionals: where extents of their tensors differ, they are
/// unknown.
TensorInfo commonItems(const TensorInfo &a, const TensorInfo &b);
/// The extents `dims` of a tensor, in the form that describes all tensors of a sequence: extents that depend on
/// symbols become unknown.
Dims itemDims(const Dims &dims);

/// Extents of a tensor of rank `rank` whose extents are all unknown.
Dims unknownDims(size_t rank);

/// maxContents: largest number of elements of a tensor whose contents shape functions know; maxRank: largest rank of a
/// tensor.
constexpr size_t maxContents = 64;
constexpr size_t maxRank = 32;

/// Returns `info` with the contents that `make` returns, if they are few and of an integer type or bool. Returns it
/// without contents if `make` throws Error (overflow).
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

/// Returns `results` of the operator `op` unchanged. Throws Error if an extent is negative or a result has too many
/// elements to address.
InferResult checkedResults(const char *op, InferResult results);

/// Returns the known contents of operand `index` of a shape function if it is present, else `attribute`. Throws Error
/// if the operand is present and its contents are unknown.
std::vector<int64_t> staticOperand(const InferInputs &in, size_t index, const std::vector<int64_t> &attribute,
                                   const char *what);

} // namespace lathe
