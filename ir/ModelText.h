// Modules as files that people read and edit: textual IR, with the weights in a file beside it.
//
// `model.mlir` holds the operations, locations included; constants of 1 KiB or more (dense resources) lie under
// their names in `model.mlir.safetensors`, the format of github.com/huggingface/safetensors, which other tools read
// too. Element types safetensors has no name for are stored as bytes.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <string_view>

namespace lathe::nn {

/// Writes any module of the nn dialect (graph or kernels level). The weights' file is only written where there are
/// such constants. Throws Error; nothing is left behind then.
void writeModelText(mlir::ModuleOp module, const std::string &path);

/// Reads what `writeModelText` wrote, or was edited since; parsed and verified. Errors read
/// "model.mlir: line 12: ...". `context` must have the dialects the text uses (nn and func are loaded here).
mlir::OwningOpRef<mlir::ModuleOp> readModelText(mlir::MLIRContext &context, const std::string &path);

/// True when `bytes` (of a file of unknown kind) can only be text.
bool looksLikeText(std::string_view bytes);

} // namespace lathe::nn
