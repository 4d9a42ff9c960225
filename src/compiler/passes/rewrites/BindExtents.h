// Shared by the files of pass bind-extents: a builder that adds operators and describes their shapes at once.
#pragma once

#include "passes/rewrites/MovedElements.h"
#include "support/UniqueNames.h"

namespace lathe {

/// Adds operators before `op`, and describes the shapes of their results at once.
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
  /// The elements of an integer tensor as an i64 vector. Their number must be known.
  mlir::Value vectorOf(mlir::Value value);
  /// The extents of `value` as an i64 vector; a constant if they are known.
  mlir::Value extentsOf(mlir::Value value);
  mlir::Value where(mlir::Value condition, mlir::Value x, mlir::Value y);

  /// Makes the elements of `vector` extents: symbols named after `op` and `what`. `most`: upper bound of each element;
  /// empty: there are none.
  mlir::Value bind(mlir::Value vector, llvm::StringRef what, const Dims &most = {});
  /// The elements of `vector` at these positions, as a vector. Their values stay known if they were known.
  mlir::Value elements(mlir::Value vector, const std::vector<int64_t> &positions);
  /// The elements of an integer tensor, whose number is known, as extents in an i64 vector. Elements that are known
  /// stay as they are; the others become symbols.
  mlir::Value bindUnknown(mlir::Value value, llvm::StringRef what) {
    return bindUnknown(value, what, vectorOf(value), [](const Dim &) { return true; });
  }
  /// The same, but a known element stays as it is only if `counts` returns true for it. The others are taken from
  /// `vector` and become symbols.
  mlir::Value bindUnknown(mlir::Value value, llvm::StringRef what, mlir::Value vector,
                          llvm::function_ref<bool(const Dim &)> counts);
  /// A vector that joins elements of `parts`: element j of parts[i] goes to position at[i][j].
  mlir::Value joined(const std::vector<mlir::Value> &parts, const std::vector<std::vector<int64_t>> &at);
  /// The sum of the elements of an i64 tensor as an extent, which is at most `most`.
  mlir::Value bindSum(mlir::Value counts, const Dim &most);

  const TensorInfo info(mlir::Value value) const { return shapes.of(value); }
  /// The value of the element as a formula over symbols, if it is one.
  std::optional<Dim> content(const MovedElement &element) const { return contentOf(element, shapes); }

private:
  nn::SymbolicShapes &shapes;
  UniqueNames &symbols;
  mlir::Operation *op;
  mlir::OpBuilder b;
  /// Describes a constant that was just made. An erased value may have had the same address, whose description is still
  /// kept.
  mlir::Value described(mlir::Value constant);
};

/// Returns a new name for the extent `what` of `op`: the name of its first source node, in the characters that texts of
/// extents allow, and `what`.
std::string extentName(mlir::Operation *op, llvm::StringRef what, UniqueNames &symbols);

/// Return the results of `op` with symbols for all extents, which new operators compute; empty if only the reference of
/// `op` knows the extents. In BindShapes.cpp, operands state the result's extents. In BindSelection.cpp, elements of
/// the operands decide them.
std::optional<llvm::SmallVector<mlir::Value>> bindShape(mlir::Operation *op, ExtentBuilder &b);
/// Returns the results of a resize in the same way. Defined in BindResize.cpp.
std::optional<llvm::SmallVector<mlir::Value>> bindResize(mlir::Operation *op, ExtentBuilder &b);
std::optional<llvm::SmallVector<mlir::Value>> bindSelection(mlir::Operation *op, ExtentBuilder &b);

} // namespace lathe
