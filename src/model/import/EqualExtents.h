// Gives one name to symbols of model inputs that stand for the same extent.
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

/// Records that the model demands two extents to be equal, as an assertion in the file does. Has no effect inside a
/// branch or a loop, which may not run.
void demandEqual(mlir::OpBuilder &builder, const Dim &a, const Dim &b);

/// Gives two symbols of inputs of @main the name of the first one, if an operator demands that they are equal (such as
/// ReverseSequence of its batch and its lengths, or a concatenation of its other axes) or `demandEqual` has stated it.
/// A run in which the extents differ fails in any case; after this its error names the input. Operators inside branches
/// and loops demand nothing: they may not run. With `numbers`, a symbol that must equal a number is replaced by the
/// number.
void uniteEqualExtents(mlir::ModuleOp module, bool numbers);

/// Thrown by a failed import if a second import may succeed: imported operators demand numbers for extents of inputs
/// that the user did not give.
struct ExtentsDemanded : UnsupportedError {
  ExtentsDemanded(const UnsupportedError &error, std::map<std::string, std::vector<int64_t>> shapes)
      : UnsupportedError(error), shapes(std::move(shapes)) {}
  // numbers for the extents by input, in the form of ImportOptions::shapes
  std::map<std::string, std::vector<int64_t>> shapes;
};

/// The extents of the inputs of @main by name, -1 for symbols, if the imported operators demand numbers for some
/// symbols; otherwise empty. Call it only after a failed import: `main` has no terminator yet, and its module is
/// discarded.
std::map<std::string, std::vector<int64_t>> demandedShapes(mlir::func::FuncOp main);

} // namespace lathe::source
