// The one way an MLIRContext is made.
#pragma once

#include "mlir/IR/MLIRContext.h"

#include <memory>

namespace lathe {

/// A context with every dialect Lathe uses loaded and the translations to LLVM IR registered. Single-threaded: kernels
/// are compiled in parallel with one context each. Diagnostics of the parser and the verifier go to the installed
/// handler or stderr.
std::unique_ptr<mlir::MLIRContext> makeContext();

} // namespace lathe
