// Keras as a source format: its table of layers, and a layer that is being imported.
#pragma once

#include "import/keras/Config.h"
#include "import/keras/Mask.h"
#include "import/parts/Emitter.h"

#include <map>

namespace lathe::keras {

using namespace source;

const Format &format();
/// Reads a Keras file into records (Reader.cpp).
ModelRecord readModel(std::string_view bytes, const std::string &fileName, const std::filesystem::path &folder,
                      const ImportOptions &options);

/// A call of a Keras layer, to which NodeRecord::source points. The operands of the node are the tensors of the call,
/// then a mask for each of them (or no mask at all), then the weights. If `masked`, the last result is a mask.
struct LayerNode {
  const LayerConfig *layer = nullptr;
  const Call *call = nullptr;
  int version = 0; // version of Keras that wrote the file: 1, 2 or 3
  size_t tensors = 0, masks = 0, weights = 0;
  bool masked = false;    // true: the last result of the node is a mask
  bool stateful = false;  // true: the last tensors are the layer's states, the last results their new values
  std::string definition; // file of the user's definition of the layer; "": none
};

/// A Keras layer that is being imported: one call of it, with its node.
class Layer {
public:
  explicit Layer(Node &node);

  Node &node;
  const LayerNode &source;
  const json &config;
  int version() const { return source.version; }
  /// The type in which the layer computes: f64 if its policy says so, otherwise f32. Policies with 16-bit types
  /// compute in f32, too.
  ElementType computeType() const { return compute; }

  // ---- Operands of the layer.
  size_t tensorCount() const { return source.tensors; }
  /// Tensor `index` of the call. Floats are cast to the compute type, as Keras does.
  mlir::Value in(size_t index = 0);
  mlir::Value raw(size_t index) const;
  /// The mask of tensor `index` of the call; null if there is none.
  mlir::Value mask(size_t index = 0) const;
  size_t weightCount() const { return source.weights; }
  void expectWeights(size_t count) const;
  /// Weight `index` of the layer, cast to the compute type.
  mlir::Value weight(size_t index);
  /// An argument of the call, found by position or by name; null if the call does not give it.
  const json &argument(size_t position, const char *name) const;
  /// The tensor that an argument of the call stands for; null if the argument is not a tensor.
  mlir::Value tensorOf(const json &argument);
  /// The indices of all tensors that occur in an argument of the call.
  std::vector<size_t> tensorsIn(const json &argument) const;

  // ---- The layer's configuration. A member of another kind is an Error; null counts as absent.
  bool has(const char *key) const { return !member(config, key).is_null(); }
  bool flag(const char *key, bool fallback) const;
  int64_t integer(const char *key, int64_t fallback) const;
  double number(const char *key, double fallback) const;
  std::string text(const char *key, const std::string &fallback) const { return textMember(config, key, fallback); }
  /// `count` integers of the configuration; a single integer in the file stands for all of them.
  std::vector<int64_t> integers(const char *key, size_t count, int64_t fallback) const;
  /// True unless the layer's data_format is channels_first.
  bool channelsLast() const;

  // ---- Results of the layer.
  void set(mlir::Value value, size_t index = 0) { node.set(index, value); }
  bool hasMaskResult() const { return source.masked; }
  void setMask(mlir::Value mask) { node.set(node.outputCount() - 1, mask); }

  // ---- Often used.
  mlir::Value emit(const char *mnemonic, const Values &operands, const Fields &fields = {}) {
    return node.emit(mnemonic, operands, fields);
  }
  mlir::Value scalar(double value) { return node.constantScalar(compute, value); }
  const Dims &dims(mlir::Value value) const { return node.info(value).dims; }
  int64_t rank(mlir::Value value) const { return node.rank(value); }
  [[noreturn]] void unsupported(std::string reason) const { node.unsupported(std::move(reason)); }

private:
  ElementType compute = ElementType::f32;
  mlir::Value asCompute(mlir::Value value);
};

/// These functions read members of any configuration, like the functions of Layer with similar names.
int64_t integerMember(const json &object, const char *key, int64_t fallback);
double numberMember(const json &object, const char *key, double fallback);
bool flagMember(const json &object, const char *key, bool fallback);
std::vector<int64_t> integersMember(const json &object, const char *key, size_t count, int64_t fallback);

/// How a class of Keras layers is imported, its description in docs/generated/keras.md, and its use of masks.
struct Importer {
  void (*run)(Layer &) = nullptr;
  std::string becomes = {};
  MaskUse masks = MaskUse::drops;
};
using Importers = std::map<std::string, Importer>;
/// Importers by class of layer. Functions of keras.ops are "ops.Add", functions of TensorFlow "tf.math.add", and nodes
/// that the reader adds "$...".
const Importers &importers();

void addActivationImporters(Importers &table); // Activation.cpp
void addAttentionImporters(Importers &table);  // Attention.cpp
void addDenseImporters(Importers &table);      // Dense.cpp: matrix products and embeddings
void addLayerImporters(Importers &table);      // Layers.cpp: layers that pass their operand on, and wrappers
void addLookupImporters(Importers &table);     // Lookup.cpp: layers that turn numbers into categories
void addMaskImporters(Importers &table);       // Mask.cpp
void addMergeImporters(Importers &table);      // Merge.cpp: layers and functions with several operands
void addMovementImporters(Importers &table);   // Movement.cpp: reshape, crop, pad, repeat
void addNormalizeImporters(Importers &table);  // Normalize.cpp
void addPoolImporters(Importers &table);       // Pool.cpp
void addPreprocessImporters(Importers &table); // Preprocess.cpp
void addRecurrentImporters(Importers &table);  // Recurrent.cpp
void addSignalImporters(Importers &table);     // Signal.cpp: spectrograms
void addWindowImporters(Importers &table);     // Window.cpp: convolutions

/// True for Keras layers that only pass their operand on in inference, such as Dropout.
bool passesOn(const std::string &className);
/// Imports a Keras layer that the user has defined (Custom.cpp).
void importDefined(StructureNode &node);
/// Makes the text of docs/generated/keras.md (Support.cpp).
std::string supportPage();

/// Emits an activation applied to `x`. `activation` describes it in a configuration: a name, a class with its options,
/// or null for none.
mlir::Value activate(Layer &layer, mlir::Value x, const json &activation);

/// The name of the activation function in a configuration; "" if there is none.
std::string activationName(const json &activation);

} // namespace lathe::keras
