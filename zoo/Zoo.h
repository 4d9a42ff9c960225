// Built-in architectures with seeded random weights: networks to compile, verify and compare without downloading any.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lathe {

struct ZooOptions {
  int64_t batch = 1;
  /// The batch is left open as symbol "N"; `batch` is ignored.
  bool dynamicBatch = false;
  /// Steps or tokens of networks that read sequences; 0: the network's default.
  int64_t sequence = 0;
  uint64_t seed = 0;
};

struct ZooEntry {
  std::string name;    // "resnet50"
  std::string summary; // "residual network, 50 layers (He et al. 2015, arXiv:1512.03385)"
};

/// Every architecture, in the order they are listed to users.
const std::vector<ZooEntry> &zooEntries();

/// The network at graph level, named nodes and weights included. Weights are drawn so that every layer keeps the second
/// moment of its input near one: outputs depend on the input and stay finite in networks of any depth. The same name,
/// options and seed give the same bits on every machine. Throws Error listing the names when `name` is unknown.
mlir::OwningOpRef<mlir::ModuleOp> buildZoo(mlir::MLIRContext &context, const std::string &name,
                                           const ZooOptions &options = {});

} // namespace lathe
