// Graphs out: nn operations as a standard ONNX model. Every file Lathe writes for other runtimes (the zoo, cut
// segments, single operators, quantised models) goes through here.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>

namespace lathe {

/// The opset written, and the IR version that goes with it. A model with an operator that is newer gets that one's
/// opset.
inline constexpr int64_t exportedOpset = 20;
inline constexpr int64_t exportedIrVersion = 9;

struct ExportOptions {
  /// Where the constants take more bytes than this they go into `<file>.data` beside the model (a protobuf message
  /// cannot exceed 2 GB).
  int64_t externalDataThreshold = (int64_t(1) << 31) - (int64_t(64) << 20);
};

/// The model's bytes. Names of nodes, weights, inputs and outputs are kept; symbolic extents become dim_param.
/// Throws Error for what ONNX cannot say (layouts, kernels, 4-bit types) and for models beyond 2 GB.
std::string exportOnnx(mlir::ModuleOp module);

/// Writes `path`, and `<path>.data` where needed; nothing is left behind when it fails.
void exportOnnxFile(mlir::ModuleOp module, const std::string &path, const ExportOptions &options = {});

} // namespace lathe
