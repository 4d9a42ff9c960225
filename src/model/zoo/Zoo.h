// Built-in architectures with seeded random weights, for use without downloads.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lathe {

struct ZooOptions {
  int64_t batch = 1;
  /// True: the batch is open, the symbol "N", and `batch` is ignored.
  bool dynamicBatch = false;
  /// Number of steps or tokens for networks that read sequences; 0: the network's default.
  int64_t sequence = 0;
  uint64_t seed = 0;
};

struct ZooEntry {
  std::string name;    // name of the architecture, such as "resnet50"
  std::string summary; // such as "residual network, 50 layers (He et al. 2015, arXiv:1512.03385)"
};

/// All built-in architectures, in the order of `lathe zoo --list`.
const std::vector<ZooEntry> &zooEntries();

/// Builds the network `name` at graph level, with named nodes and weights. Weights are drawn so that the second moment
/// of every layer's values stays near one; outputs depend on the input and stay finite at any depth. Equal name,
/// options and seed give equal bits on every machine. Throws Error with the valid names if `name` is unknown.
mlir::OwningOpRef<mlir::ModuleOp> buildZoo(mlir::MLIRContext &context, const std::string &name,
                                           const ZooOptions &options = {});

} // namespace lathe
