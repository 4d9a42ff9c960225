// The places where `lathe segments` cuts a network.
#pragma once

#include "passes/Extract.h"

namespace lathe::cli {

class SegmentPlaces {
public:
  /// `origins` belong to the tensors of the model file. Keeps a reference to the module.
  SegmentPlaces(mlir::ModuleOp module, TensorOrigins origins) : module(module), origins(std::move(origins)) {}

  /// The part behind `from` up to and including `to`; empty names mean the network's own ends.
  Cut cut(const std::string &from, const std::string &to) const;

  /// The places of --at: nodes and tensors stay, a scope becomes its last node. Throws Error for an unknown name, and
  /// for places that are not in the order of the graph.
  std::vector<std::string> resolved(const std::vector<std::string> &names) const;

private:
  mlir::ModuleOp module;
  TensorOrigins origins;
};

} // namespace lathe::cli
