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

/// How quantised TFLite models round: like TensorFlow Lite's reference kernels, or like its optimised kernels, which
/// round sums of int8 convolutions and fully connected layers once instead of twice.
enum class RequantizeRounding { reference, optimised };

struct ImportOptions {
  /// Extents of the model's inputs, by name of the input; -1 keeps the extent of the model. A symbol in several inputs
  /// is bound in all of them. An extent that the model states is replaced; if a node does not allow the new extent, an
  /// Error names the node.
  std::map<std::string, std::vector<int64_t>> shapes;
  RequantizeRounding requantizeRounding = RequantizeRounding::reference;
  /// The signature to import, of a SavedModel ("": "serving_default", or the only one) or of a TFLite file with several
  /// signatures ("": its first subgraph).
  std::string signature = {};
  /// The user's definitions of Keras layers, by class name: files of textual IR at graph level. @main takes the layer's
  /// inputs, then its weights in the order of the file.
  std::map<std::string, std::string> custom = {};
  /// Names of ONNX inputs that stay inputs although they have a default value; inputs with a default value that are
  /// not named here become constants. A name after '?' may be missing in the model.
  std::set<std::string> overrides = {};
  /// Values of the symbols in input extents, by name of the symbol. A name that no input has is ignored.
  std::map<std::string, int64_t> extents = {};
  /// True: leave out nodes that are not supported, and the nodes that depend on them if no extents are known. Results
  /// of these nodes become inputs of the module if the file or `shapes` give the extents, and their operands become
  /// outputs.
  bool leaveOut = false;
};

/// Attribute of a module: a sentence that says what the import assumed about open extents.
inline constexpr const char *assumptionAttribute = "nn.assumption";
/// Attribute of a module: names of values whose extents are unknown and whose node was left out.
inline constexpr const char *unknownValuesAttribute = "nn.unknown_values";
/// Attribute of a module: number of its last outputs that are operands of nodes which were left out.
inline constexpr const char *addedOutputsAttribute = "nn.added_outputs";
/// Attribute of a module: number of nodes that were left out because they depend on a value of unknown extents.
inline constexpr const char *leftBehindAttribute = "nn.left_behind";

/// Imports a model: ONNX protobuf, TFLite, a TensorFlow graph, Keras or textual IR, recognised by content, or the
/// folder of a TensorFlow SavedModel. Returns a verified module at graph level (for textual IR: at the level of the
/// text). Throws Error or UnsupportedError.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context, const std::string &path,
                                              const ImportOptions &options = {});

/// The file that importModel reads first: `path`, or the file inside the folder of a SavedModel. Throws Error for a
/// folder that holds no SavedModel.
std::string modelFileOf(const std::string &path);

/// Origins of the tensors that the nodes of a model file write. A node that only passes a value on (Identity, Dropout)
/// has the origin of this value. Empty for textual IR. Throws Error if the file cannot be read.
TensorOrigins tensorOrigins(const std::string &path, const ImportOptions &options = {});

/// Imports a model from memory and recognises its format: ONNX, TFLite, Keras or a TensorFlow graph. External data is
/// not available.
mlir::OwningOpRef<mlir::ModuleOp> importModelBytes(mlir::MLIRContext &context, std::string_view bytes,
                                                   const std::string &nameForMessages,
                                                   const ImportOptions &options = {});

/// Imports an ONNX model from memory; external data is not available then.
mlir::OwningOpRef<mlir::ModuleOp> importOnnxBytes(mlir::MLIRContext &context, std::string_view bytes,
                                                  const std::string &nameForMessages,
                                                  const ImportOptions &options = {});

} // namespace lathe
