// A model as a graph in memory, and the compiler's options for it.
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

/// A model in memory as an MLIR module with its context.
struct Source {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  uint64_t fileBytes = 0; // bytes of all files of the model; of a zoo network, bytes of its constants
};

/// Builds or imports `flags.model`. Diagnostics of the IR parser and verifier become an Error. The
/// graph and weights of a zoo network are hashed into the module attribute nn.content.
Source loadSource(const ModelOptions &flags);
/// Builds or imports a model like loadSource, but leaves out nodes that are not supported (ImportOptions::leaveOut);
/// `issues` receives them. Throws the UnsupportedError if no node is left.
Source loadPart(const ModelOptions &flags, std::vector<ImportIssue> &issues);
/// The options of the importer that follow from the job's model options.
ImportOptions importOptions(const ModelOptions &flags);
/// Text about the source in a package compiled from it: "zoo:resnet50@83a1...", or the name of a file.
std::string sourceText(const ModelOptions &flags, const Source &source);

/// The options of the compiler that follow from the job's model options; `progress` may be null.
CompileOptions compileOptions(const ModelOptions &flags, Progress *progress);

} // namespace lathe::jobs
