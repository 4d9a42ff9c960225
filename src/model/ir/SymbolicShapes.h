// Shapes of all values of a function, with formulas for open extents ("N*56" where the type says `?`).
#pragma once

#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

namespace lathe::nn {

/// Attribute of an operation that computes extents of its results at run time. Its value
/// is a list of texts, one for each axis of each result: the symbol of the extent, or "" if the shape function computes
/// that extent.
inline constexpr const char *extentsAttribute = "nn.extents";
/// Attribute of a kernel's argument that holds extents: the elements of the argument, as texts like those of
/// `nn.dims`.
inline constexpr const char *contentsAttribute = "nn.contents";

/// The symbol that the attribute `nn.extents` of `op` gives axis `axis` of result `result`; "" if there is none.
llvm::StringRef nameOfExtent(mlir::Operation *op, unsigned result, size_t axis);

/// Descriptions of all values of a function, found by running the shape functions over its body in order. Extents of
/// arguments come from their attribute `nn.dims`, or from their types. Extents that no shape function gives have the
/// names in `nn.extents`. Follows func.call into its callee, and nn.if and nn.loop into their bodies. Does not change
/// the IR.
class SymbolicShapes {
public:
  /// Describes the values of `function`. Throws Error with the node if a constraint is violated.
  explicit SymbolicShapes(mlir::func::FuncOp function);
  /// Describes the values of `function` like the constructor above, with given descriptions of the function's
  /// arguments.
  SymbolicShapes(mlir::func::FuncOp function, llvm::ArrayRef<TensorInfo> arguments);

  /// Describes a value: extents and, for small integer tensors, contents. Data-dependent extents are unknownDim(). A
  /// value that was added to the IR later is described by its type.
  TensorInfo of(mlir::Value value) const;

  /// Descriptions of the values that the function returns.
  std::vector<TensorInfo> results() const;

  /// Sets the description of `value`, for passes that create values.
  void set(mlir::Value value, TensorInfo info) { known[value] = std::move(info); }
  /// Describes the results of an operator again, after it was added or after its operands' descriptions have changed.
  void refresh(mlir::Operation &op) { visit(op); }

private:
  llvm::DenseMap<mlir::Value, TensorInfo> known;
  mlir::func::FuncOp function;
  void walk(mlir::Block &block);
  void visit(mlir::Operation &op);
  void infer(mlir::Operation &op);
  void nameExtents(mlir::Operation &op);
  void visitControlFlow(mlir::Operation &op);
};

/// Attribute of arguments and results of kernels: the extents in memory, if they differ from the value's extents. A
/// value that grows in place (passes/kernels/GrowInPlace.h) has more room than elements.
inline constexpr const char *storedAttribute = "nn.stored";

/// Extents of argument `index` of a function: its `nn.dims` if present, else the extents of its
/// type.
Dims argumentDims(mlir::func::FuncOp function, unsigned index);

/// Extents in memory of buffer `buffer` of a kernel (its arguments, then its results) with the extents `dims`: its
/// attribute `nn.stored` if present, else `dims`.
Dims storedDims(mlir::func::FuncOp kernel, unsigned buffer, const Dims &dims);

/// The array attribute `nn.dims` for `dims`: ["N", "3", "224", "224"].
mlir::ArrayAttr dimsAttr(mlir::MLIRContext *context, const Dims &dims);

} // namespace lathe::nn
