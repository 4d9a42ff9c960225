// Built-in architectures with seeded random weights, for use without downloads.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lathe {

struct ZooOptions {
  int64_t batch = 1;
  /// True: leave the batch open as symbol "N", and ignore `batch`.
  bool dynamicBatch = false;
  /// Steps or tokens of networks that read sequences; 0: the network's default.
  int64_t sequence = 0;
  uint64_t seed = 0;
};

struct ZooEntry {
  std::string name;    // "resnet50"
  std::string summary; // "residual network, 50 layers (He et al. 2015, arXiv:1512.03385)"
};

/// All architectures, in the order of `lathe zoo --list`.
const std::vector<ZooEntry> &zooEntries();

/// Builds the network at graph level, with named nodes and weights. Weights are drawn so that the
/// second moment of every layer stays near one; outputs depend on the input and stay finite at any
/// depth. Equal name, options and seed give equal bits on every machine. Throws Error with the
/// valid names if `name` is unknown.
mlir::OwningOpRef<mlir::ModuleOp> buildZoo(mlir::MLIRContext &context, const std::string &name,
                                           const ZooOptions &options = {});

} // namespace lathe
