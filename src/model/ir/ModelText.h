// Textual IR files of modules, with the weights in a second file.
//
// `model.mlir` holds the operations with their locations. Constants of 1 KiB or more (dense
// resources) are under their names in `model.mlir.safetensors`, in the format of
// github.com/huggingface/safetensors. Element types without a safetensors name are stored as bytes.
// The module attribute `nn.weights` names the second file, relative to the folder of the text, so a
// renamed text still finds its weights.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <string_view>
#include <vector>

namespace lathe::nn {

struct WrittenFile {
  std::string path;
  uint64_t bytes;
};

/// Writes a module of the nn dialect (graph or kernels level) as textual IR, and a file of weights if there are large
/// constants. Returns the written files. Throws Error and leaves no file behind.
std::vector<WrittenFile> writeModelText(mlir::ModuleOp module, const std::string &path);

/// Reads a module from textual IR that `writeModelText` wrote, possibly edited. The text is parsed, verified, and
/// checked for attributes and operators that would be ignored. Errors read "model.mlir: line 12: ... (m.onnx: node 3
/// 'conv1' (Conv))". Loads the dialects nn and func.
mlir::OwningOpRef<mlir::ModuleOp> readModelText(mlir::MLIRContext &context, const std::string &path);
/// Reads a module from textual IR in memory. `path` appears in errors; the file of weights is searched beside it.
mlir::OwningOpRef<mlir::ModuleOp> parseModelText(mlir::MLIRContext &context, const std::string &text,
                                                 const std::string &path);

} // namespace lathe::nn
