// Level (c) to machine code: MLIR lowering, LLVM's quick pipeline, object code, and the import-free image of a package.
#pragma once

#include "codegen/target/Target.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe {

enum class EmitStage { loops, llvm, assembly };

/// Lowers `module` (consumed) to a relocatable object. Thread-safe when each call has its own MLIRContext.
std::vector<char> emitObject(mlir::ModuleOp module, const Target &target);

/// Text of a stage for `--emit`.
std::string emitText(mlir::ModuleOp module, const Target &target, EmitStage stage);

/// One position-independent image of all kernels' objects: `entries[i]` is the offset of symbol `kernel` of objects[i].
/// Throws Error when an object imports a symbol or needs a relocation that cannot be resolved inside the image.
struct CodeImage {
  std::vector<char> bytes;
  std::vector<uint64_t> entries;
};
CodeImage linkImage(const std::vector<std::vector<char>> &objects, const Target &target);

} // namespace lathe
