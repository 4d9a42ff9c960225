// A part of a graph as a graph of its own: for segments, single operators and bug reports.
#pragma once

#include "ir/TensorOrigin.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace lathe {

struct CutOptions {
  /// A name is a node's, "NODE:1" for the second of its results, or a tensor's.
  /// Where the cut begins. A node belongs to the cut and what it reads becomes an input of the cut, but for what
  /// depends on another of these nodes; a tensor becomes an input itself. Empty: at the inputs of the graph.
  std::vector<std::string> from;
  /// Nodes and tensors that become the outputs. Empty: those of the graph.
  std::vector<std::string> to;
  /// Tensors by the names of the model's file, which the graph does not keep.
  TensorOrigins tensors;
};

struct Cut {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// From the graph's inputs to the cut's inputs, then its outputs: what they hold in a run of the whole.
  mlir::OwningOpRef<mlir::ModuleOp> whole;
  std::vector<std::string> inputs, outputs; // names
  size_t nodes = 0;                         // operators in the cut
};

/// What lies between: from `to` backwards as far as `from`, and where no `from` stands in the way as far as the graph's
/// inputs. Weights come along, and so does what depends on weights and static extents alone. Throws Error where a name
/// is unknown or `to` does not depend on `from`. `module` is at graph level and only read.
Cut cutGraph(mlir::ModuleOp module, const CutOptions &options);

/// True when a node of the graph has that name.
bool hasNode(mlir::ModuleOp module, const std::string &name);

} // namespace lathe
