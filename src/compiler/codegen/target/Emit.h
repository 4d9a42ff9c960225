// Lowers loops to machine code: MLIR lowering, a short LLVM pipeline, object code, and the linked code of a package,
// which imports nothing.
#pragma once

#include "codegen/target/Target.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe {

enum class EmitStage { loops, llvm, assembly };

/// Lowers `module`, which is consumed, to a relocatable object. Several threads may call it, each with its own
/// MLIRContext.
std::vector<char> emitObject(mlir::ModuleOp module, const Target &target);

/// Returns the text of a module at a stage of the lowering, for `--emit`.
std::string emitText(mlir::ModuleOp module, const Target &target, EmitStage stage);

/// Code of several objects, linked so that it runs at any address. `entries[i]`: offset of the symbol `kernel` of
/// objects[i] in `bytes`. linkImage throws Error if an object imports a symbol or needs a relocation that cannot be
/// resolved inside the image.
struct CodeImage {
  std::vector<char> bytes;
  std::vector<uint64_t> entries;
};
CodeImage linkImage(const std::vector<std::vector<char>> &objects, const Target &target);

} // namespace lathe
