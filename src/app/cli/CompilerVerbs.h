// Verbs that need the compiler, in liblathe_cli_compiler.so.
#pragma once

#include "cli/Inputs.h"
#include "cli/ModelFlags.h"
#include "cli/print/Progress.h"
#include "compile/Compile.h"
#include "import/Import.h"
#include "ir/Main.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace lathe::cli {

#define LATHE_COMPILER_VERB(name, function, summary) int function(const Arguments &arguments);
#define LATHE_INNER_VERB(name, function, said) int function(const Arguments &arguments);
#include "cli/Verbs.inc"

/// A model in memory, together with its MLIR context.
struct Source {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  uint64_t fileBytes = 0; // size of all files of the model; for a zoo network, of its constants
};

/// Builds or imports `flags.model`. Diagnostics of the IR parser and verifier become an Error. The
/// graph and weights of a zoo network are hashed into the module attribute nn.content.
Source loadSource(const ModelFlags &flags);
/// Like loadSource, but leaves out nodes that are not supported (ImportOptions::leaveOut) and appends them to `issues`.
/// Throws UnsupportedError if no node is left.
Source loadPart(const ModelFlags &flags, std::vector<ImportIssue> &issues);
/// Converts the flags to options of the importer.
ImportOptions importOptions(const ModelFlags &flags);
/// What a package compiled from `source` states as its source: "zoo:resnet50@83a1...", or the name of a file.
std::string sourceText(const ModelFlags &flags, const Source &source);

/// Converts the flags to options of the compiler; `progress` may be null.
CompileOptions compileOptions(const ModelFlags &flags, Progress *progress);

} // namespace lathe::cli
