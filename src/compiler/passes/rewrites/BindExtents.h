// Shared by the files of pass bind-extents: a builder that adds operators and describes their shapes at once.
#pragma once

#include "passes/rewrites/MovedElements.h"
#include "support/UniqueNames.h"

namespace lathe {

/// Writes operators before `op`. The shapes of the new operators are known at once.
class ExtentBuilder {
public:
  ExtentBuilder(nn::SymbolicShapes &shapes, UniqueNames &symbols, mlir::Operation *op)
      : shapes(shapes), symbols(symbols), op(op), b(op) {}

  llvm::SmallVector<mlir::Value> emitAll(llvm::StringRef mnemonic, llvm::ArrayRef<mlir::Value> operands, Attrs &attrs);
  mlir::Value emit(llvm::StringRef mnemonic, llvm::ArrayRef<mlir::Value> operands, Attrs &&attrs) {
    return emitAll(mnemonic, operands, attrs).front();
  }
  template <class A = AddAttrs> mlir::Value emit(llvm::StringRef mnemonic, llvm::ArrayRef<mlir::Value> operands) {
    return emit(mnemonic, operands, A());
  }
  mlir::Value numbers(std::vector<int64_t> values);
  mlir::Value reals(const std::vector<double> &values);
  mlir::Value cast(mlir::Value value, ElementType type);
  mlir::Value reshaped(mlir::Value value, std::vector<int64_t> shape);
  /// The elements of an integer tensor of known count as an i64 vector.
  mlir::Value vectorOf(mlir::Value value);
  /// The extents of `value` as an i64 vector: a constant where they are known.
  mlir::Value extentsOf(mlir::Value value);
  mlir::Value where(mlir::Value condition, mlir::Value x, mlir::Value y);

  /// The vector as extents: symbols named after `op` and `what`. `most`: bounds by element; empty: none.
  mlir::Value bind(mlir::Value vector, llvm::StringRef what, const Dims &most = {});
  /// Elements of a vector, with their contents.
  mlir::Value elements(mlir::Value vector, const std::vector<int64_t> &positions);
  /// An integer tensor of known count as an i64 vector of extents: elements that are known stay as they are, the others
  /// become symbols.
  mlir::Value bindUnknown(mlir::Value value, llvm::StringRef what) {
    return bindUnknown(value, what, vectorOf(value), [](const Dim &) { return true; });
  }
  /// Like the function above. An element keeps its known extent only if it `counts`; the others come from `vector`.
  mlir::Value bindUnknown(mlir::Value value, llvm::StringRef what, mlir::Value vector,
                          llvm::function_ref<bool(const Dim &)> counts);
  /// The vector whose element `at[i][j]` is element j of parts[i].
  mlir::Value joined(const std::vector<mlir::Value> &parts, const std::vector<std::vector<int64_t>> &at);
  /// The sum of an i64 tensor as an extent of at most `most`.
  mlir::Value bindSum(mlir::Value counts, const Dim &most);

  const TensorInfo info(mlir::Value value) const { return shapes.of(value); }
  /// The element as a formula over symbols, if it is one.
  std::optional<Dim> content(const MovedElement &element) const { return contentOf(element, shapes); }

private:
  nn::SymbolicShapes &shapes;
  UniqueNames &symbols;
  mlir::Operation *op;
  mlir::OpBuilder b;
  /// Describes a constant anew: it may have the address of an erased value, whose description is kept.
  mlir::Value described(mlir::Value constant);
};

/// A new symbol for `what` of `op`: the name of its first source node, in characters that texts of extents may have,
/// and `what`.
std::string extentName(mlir::Operation *op, llvm::StringRef what, UniqueNames &symbols);

/// The results of `op` with symbols for all extents, computed by new operators; empty if only the reference of `op`
/// knows the extents. BindShapes.cpp: operands state the result's extents. BindSelection.cpp: elements of the operands
/// decide them.
std::optional<llvm::SmallVector<mlir::Value>> bindShape(mlir::Operation *op, ExtentBuilder &b);
std::optional<llvm::SmallVector<mlir::Value>> bindResize(mlir::Operation *op, ExtentBuilder &b); // BindResize.cpp
std::optional<llvm::SmallVector<mlir::Value>> bindSelection(mlir::Operation *op, ExtentBuilder &b);

} // namespace lathe
