// Collects the rules over extents of a function's arguments from all of its operators.
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

/// Returns the comparisons of extents that hold for some values of the symbols only, from the shape functions of all
/// operators of `function` and of the functions it calls. They are in order, without duplicates. Throws Error like
/// SymbolicShapes.
std::vector<NodeRule> extentRules(mlir::func::FuncOp function);

/// Describes the values of `function` (SymbolicShapes). `rules` receives the rules over its symbols, also over unknown
/// extents.
SymbolicShapes shapesWithRules(mlir::func::FuncOp function, std::vector<NodeRule> &rules);

} // namespace lathe::nn
