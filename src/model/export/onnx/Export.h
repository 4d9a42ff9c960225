// Exports nn graphs as ONNX models. The zoo, cut segments, single operators and quantised models
// use this writer.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>

namespace lathe {

/// The usual opset of exported models, and their IR version. A model with a newer operator gets the opset of that
/// operator.
inline constexpr int64_t exportedOpset = 20;
inline constexpr int64_t exportedIrVersion = 9;

struct ExportOptions {
  /// If all constants have more bytes than this together, they go into `<file>.data` beside the model, because a
  /// protobuf message cannot exceed 2 GB.
  int64_t externalDataThreshold = (int64_t(1) << 31) - (int64_t(64) << 20);
};

/// Exports a module as an ONNX model and returns the model's bytes. Names of nodes, weights, inputs and outputs are
/// kept; open extents become dim_param. Operators of quantised TFLite models are spelled out (SpellOut.h). Throws
/// Error for constructs that ONNX cannot express (layouts, kernels, 4-bit types other than weights of matrix products)
/// and for models beyond 2 GB.
std::string exportOnnx(mlir::ModuleOp module);

/// Throws the Error of exportOnnx if the module has constructs that ONNX cannot express, with the node and the file
/// `model`, without writing any weights.
void requireOnnxForm(mlir::ModuleOp module, const std::string &model);

/// Exports a module to the ONNX file `path`, and to `<path>.data` if necessary. Leaves no file behind on failure.
void exportOnnxFile(mlir::ModuleOp module, const std::string &path, const ExportOptions &options = {});

} // namespace lathe
