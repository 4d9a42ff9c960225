// Views of tensors around the anchor of a kernel, which the kernel accesses in place. Reshapes, transposes, slices
// and splits make them; strides describe them, so they need no copies.
#pragma once

#include "codegen/builder/RunTimeDims.h"
#include "ir/SymbolicShapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe {

/// A factor of an axis of a view: `extent` positions with distance `stride` in elements. An axis that a reshape merged
/// from axes that are not contiguous has several factors, outermost first. An axis of extent 1 has no factor.
struct ViewFactor {
  Dim extent, stride;
};
using ViewAxis = llvm::SmallVector<ViewFactor, 2>;

/// Where each element [i, j, ...] of a value lies in a buffer of the kernel (arguments, then results).
struct TensorView {
  unsigned buffer = 0;
  ElementType type = ElementType::invalid;
  Dims dims;
  Dim base = 0;
  std::vector<ViewAxis> axes; // factors of each axis of `dims`
};

/// Returns the view of `value`, which reshapes, transposes, slices (with positive steps), splits and expands make from
/// a kernel argument. Throws Declined for other operators, for blocked layouts, and for reshapes that no strides
/// describe.
TensorView operandView(mlir::func::FuncOp function, const nn::SymbolicShapes &shapes, mlir::Value value);

/// Returns where the kernel stores the elements of `value`: a view of the kernel's only result, which reshapes and
/// transposes make from `value`.
TensorView resultView(mlir::func::FuncOp function, const nn::SymbolicShapes &shapes, mlir::Value value);

/// True for operators that operandView and resultView can handle.
bool isViewOperator(mlir::Operation *op);

/// Axes that several views of equal extents share: every axis is divided at the factors of all views, and
/// strides[view][axis] belong to `extents`. Adjacent axes that are contiguous in every view are merged; axes of extent
/// 1 are removed. Throws Declined if the factors do not divide each other.
struct CommonAxes {
  Dims extents;
  std::vector<Dims> strides;
};
CommonAxes commonAxes(std::vector<ViewAxis> walks);

/// Returns the stride of an axis of a view that has exactly one factor. Throws Declined, with `what`, for other axes.
Dim soleStride(const ViewAxis &axis, const char *what);

} // namespace lathe
