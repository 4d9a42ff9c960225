// What the sources of GraphBuilder share.
#pragma once

#include "stage/GraphBuilder.h"
#include "support/Text.h"

#include "mlir/IR/Diagnostics.h"

namespace lathe {

struct GraphBuilder::Shared {
  std::unique_ptr<mlir::MLIRContext> own;
  mlir::MLIRContext *context = nullptr;
  mlir::OwningOpRef<mlir::ModuleOp> root;
  std::string weightsPath;
  Safetensors file;
  std::map<std::string, const Safetensors::Entry *> entries;
  /// Values of the graph and its bodies by number, each with the graph or body that it belongs to.
  std::vector<std::pair<mlir::Value, const GraphBuilder *>> values;
};

/// Calls `f`; stores the first error that MLIR reports during the call in `said`.
template <class F> auto listening(mlir::MLIRContext *context, std::string &said, F &&f) {
  mlir::ScopedDiagnosticHandler collect(context, [&](mlir::Diagnostic &diagnostic) {
    if (said.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      said = printable(diagnostic.str());
    return mlir::success();
  });
  return f();
}

} // namespace lathe
