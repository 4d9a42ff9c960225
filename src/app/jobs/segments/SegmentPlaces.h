// The places where `lathe segments` cuts a network.
#pragma once

#include "passes/Extract.h"

namespace lathe::jobs {

class SegmentPlaces {
public:
  /// `origins`: of the tensors of the model file. Keeps a reference to the module.
  SegmentPlaces(mlir::ModuleOp module, TensorOrigins origins) : module(module), origins(std::move(origins)) {}

  /// The part from behind `from` to behind `to`; empty names: the network's own ends.
  Cut cut(const std::string &from, const std::string &to) const;

  /// The places of --at: nodes and tensors as they are, scopes as their last nodes. Throws Error for a name that is
  /// neither, and for places that are not in the order of the graph.
  std::vector<std::string> resolved(const std::vector<std::string> &names) const;

private:
  mlir::ModuleOp module;
  TensorOrigins origins;
};

} // namespace lathe::jobs
