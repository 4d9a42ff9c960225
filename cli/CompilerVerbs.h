// Verbs that need the compiler: liblathe_cli_compiler.so.
#pragma once

#include "cli/Inputs.h"
#include "cli/ModelFlags.h"
#include "cli/print/Progress.h"
#include "compile/Compile.h"
#include "ir/Main.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace lathe::cli {

int checkVerb(const Arguments &arguments);
int inspectVerb(const Arguments &arguments);
int compileVerb(const Arguments &arguments);
int extractVerb(const Arguments &arguments);
int verifyVerb(const Arguments &arguments);
int zooVerb(const Arguments &arguments);
int segmentsVerb(const Arguments &arguments);
int problemsVerb(const Arguments &arguments);
/// `run --reference`: the whole model on the reference operators.
int referenceVerb(const Arguments &arguments);

/// A model in memory with the context it lives in.
struct Source {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  uint64_t fileBytes = 0; // of the file, or of the constants where these lie elsewhere
};

/// Builds or imports `flags.model`. Diagnostics of the IR's parser and verifier become an Error. A zoo network's graph
/// and weights are hashed: the module's nn.content.
Source loadSource(const ModelFlags &flags);
/// What a package compiled from it says that it is: "zoo:resnet50@83a1...", or the name of a file.
std::string sourceText(const ModelFlags &flags, const Source &source);

/// The compiler's options from the flags; `progress` may be null.
CompileOptions compileOptions(const ModelFlags &flags, Progress *progress);

} // namespace lathe::cli
