// A builder of operators for the files of pass bind-extents, which describes the shapes of results at once.
#pragma once

#include "passes/rewrites/MovedElements.h"
#include "support/UniqueNames.h"

namespace lathe {

/// Inserts operators before `op`, and describes the shapes of their results at once.
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
  /// Returns the elements of an integer tensor as an i64 vector. Their number must be known.
  mlir::Value vectorOf(mlir::Value value);
  /// Returns the extents of `value` as an i64 vector, which is a constant if they are known.
  mlir::Value extentsOf(mlir::Value value);
  mlir::Value where(mlir::Value condition, mlir::Value x, mlir::Value y);

  /// Makes each element of `vector` an extent: a new symbol named after `op` and `what`. `most`: upper bound of each
  /// element; empty: no bounds.
  mlir::Value bind(mlir::Value vector, llvm::StringRef what, const Dims &most = {});
  /// Returns a vector of the elements of `vector` at `positions`. Elements whose values are known stay known.
  mlir::Value elements(mlir::Value vector, const std::vector<int64_t> &positions);
  /// Returns the elements of an integer tensor as extents in an i64 vector. Their number must be known. Elements whose
  /// values are known stay as they are; the others become symbols.
  mlir::Value bindUnknown(mlir::Value value, llvm::StringRef what) {
    return bindUnknown(value, what, vectorOf(value), [](const Dim &) { return true; });
  }
  /// Returns the elements of the integer tensor `value` as extents. An element whose value is known stays as it is
  /// only if `counts` returns true for the value. The other elements are taken from `vector` and become symbols.
  mlir::Value bindUnknown(mlir::Value value, llvm::StringRef what, mlir::Value vector,
                          llvm::function_ref<bool(const Dim &)> counts);
  /// Returns a vector made of the elements of `parts`: element j of parts[i] goes to position at[i][j].
  mlir::Value joined(const std::vector<mlir::Value> &parts, const std::vector<std::vector<int64_t>> &at);
  /// Returns the sum of the elements of an i64 tensor as an extent, which is at most `most`.
  mlir::Value bindSum(mlir::Value counts, const Dim &most);

  const TensorInfo info(mlir::Value value) const { return shapes.of(value); }
  /// Returns the value of an element as a formula over symbols; nothing if it is not known as one.
  std::optional<Dim> content(const MovedElement &element) const { return contentOf(element, shapes); }

private:
  nn::SymbolicShapes &shapes;
  UniqueNames &symbols;
  mlir::Operation *op;
  mlir::OpBuilder b;
  /// Describes a constant that was just made, and returns it. This replaces the description of an erased value that
  /// had the same address.
  mlir::Value described(mlir::Value constant);
};

/// Returns a new name for the extent `what` of a result of `op`. It consists of the name of the first source node of
/// `op`, in the characters that a symbol may have, and `what`.
std::string extentName(mlir::Operation *op, llvm::StringRef what, UniqueNames &symbols);

/// These functions replace the unknown extents in the results of `op` by symbols, and add operators that compute the
/// symbols' values. They return the results, or nothing if only the reference function of `op` can compute the
/// extents. bindShape (BindShapes.cpp): operands state the extents. bindSelection (BindSelection.cpp): elements of the
/// operands decide the extents.
std::optional<llvm::SmallVector<mlir::Value>> bindShape(mlir::Operation *op, ExtentBuilder &b);
/// Like bindShape, for the operator resize. Defined in BindResize.cpp.
std::optional<llvm::SmallVector<mlir::Value>> bindResize(mlir::Operation *op, ExtentBuilder &b);
std::optional<llvm::SmallVector<mlir::Value>> bindSelection(mlir::Operation *op, ExtentBuilder &b);

} // namespace lathe
