// Cuts a part out of a graph, for segments, single operators and bug reports.
#pragma once

#include "ir/TensorOrigin.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace lathe {

struct CutOptions {
  // A name is the name of a node, "NODE:1" for the second result of a node, or the name of a tensor.

  /// Where the cut begins. A node given here belongs to the cut, and its operands become inputs of the
  /// cut unless they depend on another node of the list. A tensor becomes an input itself. Empty: the
  /// cut begins at the inputs of the graph.
  std::vector<std::string> from;
  /// Nodes and tensors that become the outputs. Empty: the outputs of the graph.
  std::vector<std::string> to;
  /// Origins of the tensors of the model file.
  TensorOrigins tensors;
  /// Names of `from` and `to` in messages. If both names are equal, messages treat them as places in one list.
  std::string fromFlag = "--from", toFlag = "--to";
};

struct Cut {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The graph from its inputs to the inputs and outputs of the cut: computes their values in a run
  /// of the whole graph.
  mlir::OwningOpRef<mlir::ModuleOp> whole;
  std::vector<std::string> inputs, outputs; // names
  size_t nodes = 0;                         // number of operators in the cut
};

/// Cuts the operators on the way from `options.from` to `options.to`. On paths without a `from` the
/// cut reaches back to the inputs of the graph. Weights, and values that depend on weights and
/// static extents alone, belong to the cut. Throws Error if a name is unknown or a `to` does not
/// depend on `from`. `module` must be at graph level and is not changed.
Cut cutGraph(mlir::ModuleOp module, const CutOptions &options);

/// True if the graph has a node called `name`.
bool hasNode(mlir::ModuleOp module, const std::string &name);

} // namespace lathe
