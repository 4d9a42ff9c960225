// Imports trained models as nn operators with source locations.
#pragma once

#include "import/Problems.h"
#include "ir/TensorOrigin.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Rounding of quantised TFLite models: that of TensorFlow Lite's reference kernels, or of its optimised ones, which round
/// sums of int8 convolutions and fully connected layers once instead of twice.
enum class RequantizeRounding { reference, optimised };

struct ImportOptions {
  /// Extents of inputs by name; -1 keeps the extent of the model. A symbol in several inputs is bound in all of them. An
  /// extent that the model states is replaced: an Error names the node that does not allow it.
  std::map<std::string, std::vector<int64_t>> shapes;
  RequantizeRounding requantizeRounding = RequantizeRounding::reference;
  /// Of a SavedModel ("": "serving_default", or the only one) or of a TFLite file with several ones ("": its first subgraph):
  /// the signature to import.
  std::string signature = {};
  /// The user's definitions of Keras layers, by the name of the class: files of textual IR at graph level. @main takes the
  /// layer's inputs, then its weights in the order of the file.
  std::map<std::string, std::string> custom = {};
  /// Inputs of an ONNX file that have a default value, to be inputs nevertheless. Others are constants. A name behind '?'
  /// need not be one.
  std::set<std::string> overrides = {};
  /// Extents of symbols by name, where inputs have them.
  std::map<std::string, int64_t> extents = {};
  /// Leave out nodes of the graph that are not supported, and those behind them of which nothing is known. Their results
  /// are inputs where the file or `shapes` tell the extents, and their operands are outputs.
  bool leaveOut = false;
};

/// Attribute of a module: what the import took for granted of extents that the model leaves open, as a sentence.
inline constexpr const char *assumptionAttribute = "nn.assumption";
/// Attribute of a module: names of values that a node which was left out gives and of which the extents are not known.
inline constexpr const char *unknownValuesAttribute = "nn.unknown_values";
/// Attribute of a module: number of its last outputs, which are operands of nodes that were left out.
inline constexpr const char *addedOutputsAttribute = "nn.added_outputs";
/// Attribute of a module: number of nodes that were left out because they depend on such a value.
inline constexpr const char *leftBehindAttribute = "nn.left_behind";

/// Reads a model: ONNX protobuf, TFLite, a TensorFlow graph, Keras or textual IR, recognised by content, or the folder of a
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
TensorOrigins tensorOrigins(const std::string &path, const ImportOptions &options = {});

/// Imports a model from memory, of the format that its bytes tell: ONNX, TFLite, Keras or a TensorFlow graph. Data outside
/// of it is not available.
mlir::OwningOpRef<mlir::ModuleOp> importModelBytes(mlir::MLIRContext &context, std::string_view bytes,
                                                   const std::string &nameForMessages,
                                                   const ImportOptions &options = {});

/// Imports ONNX bytes from memory; external data is not available then.
mlir::OwningOpRef<mlir::ModuleOp> importOnnxBytes(mlir::MLIRContext &context, std::string_view bytes,
                                                  const std::string &nameForMessages,
                                                  const ImportOptions &options = {});

} // namespace lathe
