// Lowers loops to machine code: MLIR lowering, a short LLVM pipeline, object code, and the linked
// image of a package, which imports nothing.
#pragma once

#include "codegen/target/Target.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe {

enum class EmitStage { loops, llvm, assembly };

/// Lowers `module`, which is consumed, to a relocatable object. Thread-safe if each call has its
/// own MLIRContext.
std::vector<char> emitObject(mlir::ModuleOp module, const Target &target);

/// Returns the text of a stage for `--emit`.
std::string emitText(mlir::ModuleOp module, const Target &target, EmitStage stage);

/// A position-independent image of several objects: `entries[i]` is the offset of the symbol
/// `kernel` of objects[i]. linkImage throws Error if an object imports a symbol or needs a
/// relocation that cannot be resolved in the image.
struct CodeImage {
  std::vector<char> bytes;
  std::vector<uint64_t> entries;
};
CodeImage linkImage(const std::vector<std::vector<char>> &objects, const Target &target);

} // namespace lathe
