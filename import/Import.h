// Trained models in: from a file to nn operations with source locations.
#pragma once

#include "import/Problems.h"
#include "ir/TensorOrigin.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct ImportOptions {
  /// Extents of inputs by name, for models that leave some symbolic; -1 keeps one symbolic. Extents the model
  /// states must agree. A symbol that occurs in several inputs is bound in all of them.
  std::map<std::string, std::vector<int64_t>> shapes;
};

/// Reads a model: ONNX protobuf or textual IR, told apart by content. The result is a graph-level module (or, from
/// textual IR, whatever level the text is at), verified. Throws Error, UnsupportedError among them.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context, const std::string &path,
                                              const ImportOptions &options = {});

/// The tensors that nodes of a model's file write; what only passes a value on (Identity, Dropout) stands for what it
/// passes on. Empty for textual IR. Throws Error when the file cannot be read.
TensorOrigins tensorOrigins(const std::string &path);

/// Likewise from ONNX bytes in memory; external data cannot be resolved then.
mlir::OwningOpRef<mlir::ModuleOp> importOnnxBytes(mlir::MLIRContext &context, std::string_view bytes,
                                                  const std::string &nameForMessages,
                                                  const ImportOptions &options = {});

} // namespace lathe
