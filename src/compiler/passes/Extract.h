// Cuts a part out of a graph; used for segments, single operators and bug reports.
#pragma once

#include "ir/TensorOrigin.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace lathe {

struct CutOptions {
  // Names in the lists below: the name of a node, "NODE:1" for the second result of a node, or the name of a tensor.

  /// Where the cut begins. A node given here belongs to the cut, and its operands become inputs of the cut unless they
  /// depend on another node of the list. A tensor given here becomes an input itself. Empty: the cut begins at the
  /// inputs of the graph.
  std::vector<std::string> from;
  /// Nodes and tensors that become the outputs of the cut. Empty: the outputs of the graph are the outputs of the cut.
  std::vector<std::string> to;
  /// For each tensor of the model file, by its name: the node that computes it.
  TensorOrigins tensors;
  /// Names for the lists `from` and `to` in error messages. If both names are equal, messages speak of places in one
  /// list.
  std::string fromFlag = "--from", toFlag = "--to";
};

struct Cut {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The part of the graph that computes the inputs and outputs of the cut from the graph's own inputs. Running it
  /// gives the values that the whole graph has there.
  mlir::OwningOpRef<mlir::ModuleOp> whole;
  std::vector<std::string> inputs, outputs; // names of the inputs and outputs of the cut
  size_t nodes = 0;                         // number of operators in the cut
};

/// Cuts the operators on the way from `options.from` to `options.to` out of a graph. On paths without a `from` the cut
/// reaches back to the inputs of the graph. Weights, and values that depend only on weights and static extents, belong
/// to the cut. Throws Error if a name is unknown or a `to` does not depend on `from`. `module` must be at graph level
/// and is not changed.
Cut cutGraph(mlir::ModuleOp module, const CutOptions &options);

/// True if the graph has a node called `name`.
bool hasNode(mlir::ModuleOp module, const std::string &name);

} // namespace lathe
