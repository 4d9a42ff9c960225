// Modules as files that people read and edit: textual IR, with the weights in a file beside it.
//
// `model.mlir` holds the operations, locations included; constants of 1 KiB or more (dense resources) lie under
// their names in `model.mlir.safetensors`, the format of github.com/huggingface/safetensors, which other tools read
// too. Element types safetensors has no name for are stored as bytes. The module's attribute `nn.weights` names that
// file, relative to the text's folder, so that a renamed text still finds it.
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

/// Writes any module of the nn dialect (graph or kernels level): the text, and a file of weights where there are such
/// constants. Returns what it wrote. Throws Error; nothing is left behind then.
std::vector<WrittenFile> writeModelText(mlir::ModuleOp module, const std::string &path);

/// Reads what `writeModelText` wrote, or was edited since; parsed, verified, and checked for what would be ignored or
/// not understood. Errors read "model.mlir: line 12: ... (m.onnx: node 3 'conv1' (Conv))". nn and func are loaded here.
mlir::OwningOpRef<mlir::ModuleOp> readModelText(mlir::MLIRContext &context, const std::string &path);

/// True when `bytes` (of a file of unknown kind) can only be text.
bool looksLikeText(std::string_view bytes);

} // namespace lathe::nn
