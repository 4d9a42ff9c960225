// Trained models in: from a file to nn operations with source locations.
#pragma once

#include "ir/TensorOrigin.h"
#include "support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct ImportOptions {
  /// Extents of inputs by name, for models that leave some symbolic; -1 keeps one symbolic. Extents the model
  /// states must agree. A symbol that occurs in several inputs is bound in all of them.
  std::map<std::string, std::vector<int64_t>> shapes;
};

/// One node that cannot be imported.
struct ImportIssue {
  std::string node; // name; "" for an input of the graph
  std::string op;   // ONNX operator
  int64_t opset = 0;
  std::string type; // element type of its first operand; "" where unknown
  std::string reason;
};

/// The model is well-formed, but these nodes (all of them) are beyond the operator set.
class UnsupportedError : public Error {
public:
  UnsupportedError(const std::string &message, std::vector<ImportIssue> found)
      : Error(message), issues(std::move(found)) {}
  std::vector<ImportIssue> issues;
};

/// Reads a model: ONNX protobuf or textual IR, told apart by content. The result is a graph-level module (or, from
/// textual IR, whatever level the text is at), verified. Throws Error, UnsupportedError among them.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context, const std::string &path,
                                              const ImportOptions &options = {});

/// The tensors that nodes of an ONNX file write; what only passes a value on (Identity, Dropout) stands for what it
/// passes on. Empty for textual IR. Throws Error when the file cannot be read.
TensorOrigins tensorOrigins(const std::string &path);

/// Likewise from ONNX bytes in memory; external data cannot be resolved then.
mlir::OwningOpRef<mlir::ModuleOp> importOnnxBytes(mlir::MLIRContext &context, std::string_view bytes,
                                                  const std::string &nameForMessages,
                                                  const ImportOptions &options = {});

} // namespace lathe
