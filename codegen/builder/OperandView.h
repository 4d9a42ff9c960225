// Tensors read and written in place through the reshapes, transposes, slices and splits around a kernel's anchor: no
// copy, only strides.
#pragma once

#include "codegen/builder/RunTimeDims.h"
#include "ir/SymbolicShapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe {

/// Part of an axis: `extent` positions `stride` elements apart. An axis that a reshape merged from others that are not
/// neighbours in memory has several, outermost first; one of extent 1 has none.
struct ViewFactor {
  Dim extent, stride;
};
using ViewAxis = llvm::SmallVector<ViewFactor, 2>;

/// Element [i, j, ...] of a value as a place in one of the kernel's buffers (arguments, then results).
struct TensorView {
  unsigned buffer = 0;
  ElementType type = ElementType::invalid;
  Dims dims;
  Dim base = 0;
  std::vector<ViewAxis> axes; // by axis of dims
};

/// `value` seen through the operators that make it from a kernel argument: reshape, transpose, slice (forwards), split
/// and expand. Throws Declined for others, blocked layouts, and reshapes that no strides describe.
TensorView operandView(mlir::func::FuncOp function, const nn::SymbolicShapes &shapes, mlir::Value value);

/// Where the elements of `value` go: the kernel's only result, which reshapes and transposes make from it.
TensorView resultView(mlir::func::FuncOp function, const nn::SymbolicShapes &shapes, mlir::Value value);

/// Operators operandView and resultView look through.
bool isViewOperator(mlir::Operation *op);

/// Several walks over one range, cut at each other's factors: strides[walk][axis] over `extents`. Neighbouring axes
/// that every walk takes as one are merged; axes of extent 1 are gone. Throws Declined where the cuts do not meet.
struct CommonAxes {
  Dims extents;
  std::vector<Dims> strides;
};
CommonAxes commonAxes(std::vector<ViewAxis> walks);

/// The stride of an axis that has one; throws Declined for others.
Dim soleStride(const ViewAxis &axis, const char *what);

} // namespace lathe
