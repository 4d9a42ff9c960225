// Symbols of inputs that stand for one extent.
#pragma once

#include "import/Problems.h"
#include "support/Dim.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace lathe::source {

/// States that the model demands two extents to be equal, as an assertion of the file does. Inside of a branch or a loop,
/// which may not run, the statement is dropped.
void demandEqual(mlir::OpBuilder &builder, const Dim &a, const Dim &b);

/// Gives two symbols of inputs of @main one name, that of the first input, where an operator demands that they are equal
/// (ReverseSequence of a batch and its lengths, a concatenation of the other axes), and where `demandEqual` has stated it.
/// A run in which they differ is refused either way; now the error names the input. Operators inside of branches and loops
/// demand nothing: they may not run. With `numbers` a symbol that must be equal to a number is that number.
void uniteEqualExtents(mlir::ModuleOp module, bool numbers);

/// Thrown where another try may succeed: operators that could be imported demand extents of inputs that were not given.
struct ExtentsDemanded : UnsupportedError {
  ExtentsDemanded(const UnsupportedError &error, std::map<std::string, std::vector<int64_t>> shapes)
      : UnsupportedError(error), shapes(std::move(shapes)) {}
  std::map<std::string, std::vector<int64_t>> shapes; // as ImportOptions::shapes
};

/// The extents of the inputs of @main by name, -1 for symbols, where the operators that could be imported demand numbers of
/// symbols; empty where they demand none. `main` has no terminator yet: the import has failed, and the module goes.
std::map<std::string, std::vector<int64_t>> demandedShapes(mlir::func::FuncOp main);

} // namespace lathe::source
