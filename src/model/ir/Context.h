// Creates MLIR contexts; all other files get their contexts from here.
#pragma once

#include "mlir/IR/MLIRContext.h"

#include <memory>

namespace lathe {

/// Creates an MLIR context with all dialects of Lathe and the translations to LLVM IR. The context is single-threaded:
/// kernels are compiled in parallel with one context each. Diagnostics of parser and verifier go to the installed
/// handler, else to stderr.
std::unique_ptr<mlir::MLIRContext> makeContext();

} // namespace lathe
