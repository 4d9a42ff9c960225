// What is known of every value of a function, with symbolic extents kept apart ("N*56" where the type says `?`).
#pragma once

#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

namespace lathe::nn {

/// Runs the shape functions over the body of `function` in order, starting from its arguments: extents from attribute
/// `nn.dims` where present, otherwise from the type. A func.call is followed into its callee. The IR is only read.
class SymbolicShapes {
public:
  /// Throws Error naming the node whose constraint is violated.
  explicit SymbolicShapes(mlir::func::FuncOp function);
  /// Likewise, with what a caller knows of the arguments.
  SymbolicShapes(mlir::func::FuncOp function, llvm::ArrayRef<TensorInfo> arguments);

  /// Dims and, for small integer tensors, contents. Extents no formula gives are unknownDim(). A value the walk did not
  /// meet (added to the IR later) is described from its type.
  TensorInfo of(mlir::Value value) const;

  /// What the function returns.
  std::vector<TensorInfo> results() const;

  /// Records what is known of `value`, for passes that create values as they go.
  void set(mlir::Value value, TensorInfo info) { known[value] = std::move(info); }

private:
  llvm::DenseMap<mlir::Value, TensorInfo> known;
  mlir::func::FuncOp function;
  void walk(mlir::Block &block);
  void visit(mlir::Operation &op);
};

/// Extents of argument `index` of a function: its `nn.dims` where present, otherwise those of its type.
Dims argumentDims(mlir::func::FuncOp function, unsigned index);

/// The array attribute `nn.dims` for `dims`: ["N", "3", "224", "224"].
mlir::ArrayAttr dimsAttr(mlir::MLIRContext *context, const Dims &dims);

} // namespace lathe::nn
