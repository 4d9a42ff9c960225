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

/// The static value of operand `index` if present and known, otherwise `attribute`. Throws Error if the operand is
/// present but its contents are not known and `optionalContents` is false.
std::vector<int64_t> staticOperand(const InferInputs &in, size_t index, const std::vector<int64_t> &attribute, const char *what);

} // namespace lathe
