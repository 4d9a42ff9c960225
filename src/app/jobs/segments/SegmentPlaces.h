// Finds the places where `lathe segments` cuts a network into parts.
#pragma once

#include "passes/Extract.h"

namespace lathe::jobs {

class SegmentPlaces {
public:
  /// `origins`: where the tensors of the module come from in the model file. Keeps a reference to the module.
  SegmentPlaces(mlir::ModuleOp module, TensorOrigins origins) : module(module), origins(std::move(origins)) {}

  /// Returns the part of the network behind the place `from`, up to and including the place `to`. An empty name means
  /// the beginning or the end of the network.
  Cut cut(const std::string &from, const std::string &to) const;

  /// Returns the places that --at names, in the same order: nodes and tensors stay as they are, a scope becomes its
  /// last node. Throws Error for an unknown name, and for places that are not in the order of the graph.
  std::vector<std::string> resolved(const std::vector<std::string> &names) const;

private:
  mlir::ModuleOp module;
  TensorOrigins origins;
};

} // namespace lathe::jobs
