// A model as a graph in memory, and the options of the compiler for it.
#pragma once

#include "compile/Compile.h"
#include "import/Import.h"
#include "ir/Main.h"
#include "jobs/ModelOptions.h"
#include "jobs/Progress.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace lathe::jobs {

/// A model in memory with its context.
struct Source {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  uint64_t fileBytes = 0; // of all files of the model; of a zoo network those of its constants
};

/// Builds or imports `flags.model`. Diagnostics of the IR parser and verifier become an Error. The
/// graph and weights of a zoo network are hashed into the module attribute nn.content.
Source loadSource(const ModelOptions &flags);
/// Like loadSource. Where nodes are not supported, `issues` receives them, and the model is without them
/// (ImportOptions::leaveOut). Throws the UnsupportedError where nothing is left.
Source loadPart(const ModelOptions &flags, std::vector<ImportIssue> &issues);
/// How the flags say that a file is imported.
ImportOptions importOptions(const ModelOptions &flags);
/// Source text of a package compiled from it: "zoo:resnet50@83a1...", or the name of a file.
std::string sourceText(const ModelOptions &flags, const Source &source);

/// Options of the compiler from the flags; `progress` may be null.
CompileOptions compileOptions(const ModelOptions &flags, Progress *progress);

} // namespace lathe::jobs
