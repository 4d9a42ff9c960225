// Collects the rules over the extents of a function's arguments that its operators require.
#pragma once

#include "ir/SymbolicShapes.h"
#include "support/ExtentRule.h"

#include <string>
#include <vector>

namespace lathe::nn {

/// A rule over extents, with the node that needs it: "model.onnx: node 12 'fc' (Gemm, opset 13)".
struct NodeRule {
  ExtentRule rule;
  std::string node;
};

/// Returns the rules of a function: the comparisons of extents that hold only for some values of the symbols, from the
/// shape functions of all operators of `function` and of the functions it calls. They are in order, without
/// duplicates. Throws Error like SymbolicShapes.
std::vector<NodeRule> extentRules(mlir::func::FuncOp function);

/// Describes the values of `function` (SymbolicShapes), and sets `rules` to the rules over its symbols, including
/// rules over unknown extents.
SymbolicShapes shapesWithRules(mlir::func::FuncOp function, std::vector<NodeRule> &rules);

} // namespace lathe::nn
