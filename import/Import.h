// Imports trained models as nn operators with source locations.
#pragma once

#include "import/Problems.h"
#include "ir/TensorOrigin.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Rounding of quantised TFLite models: that of TensorFlow Lite's reference kernels, or of its optimised ones, which round
/// sums of int8 convolutions and fully connected layers once instead of twice.
enum class RequantizeRounding { reference, optimised };

struct ImportOptions {
  /// Extents of inputs by name, for models with symbolic extents; -1 keeps an extent symbolic.
  /// Static extents of the model must agree. A symbol in several inputs is bound in all of them.
  std::map<std::string, std::vector<int64_t>> shapes;
  RequantizeRounding requantizeRounding = RequantizeRounding::reference;
  /// The signature of a SavedModel to import; "": "serving_default", or the only one.
  std::string signature;
};

/// Reads a model: ONNX protobuf, TFLite, a TensorFlow graph or textual IR, recognised by content, or the folder of a
/// TensorFlow SavedModel. Returns a verified module at
/// graph level (for textual IR: at the level of the text). Throws Error or UnsupportedError.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context, const std::string &path,
                                              const ImportOptions &options = {});

/// The file that importModel reads first: `path`, or the file inside of the folder of a SavedModel. Throws
/// Error for other folders.
std::string modelFileOf(const std::string &path);

/// Origins of the tensors that the nodes of a model file write. A node that only passes a value on
/// (Identity, Dropout) is replaced by the origin of the value. Empty for textual IR. Throws Error
/// if the file cannot be read.
TensorOrigins tensorOrigins(const std::string &path);

/// Imports a model from memory, of the format that its bytes tell: ONNX, TFLite or a TensorFlow graph. Data
/// outside of it is not available.
mlir::OwningOpRef<mlir::ModuleOp> importModelBytes(mlir::MLIRContext &context, std::string_view bytes,
                                                   const std::string &nameForMessages,
                                                   const ImportOptions &options = {});

/// Imports ONNX bytes from memory; external data is not available then.
mlir::OwningOpRef<mlir::ModuleOp> importOnnxBytes(mlir::MLIRContext &context, std::string_view bytes,
                                                  const std::string &nameForMessages,
                                                  const ImportOptions &options = {});

} // namespace lathe
