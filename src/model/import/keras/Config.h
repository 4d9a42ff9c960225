// Reads the configuration of a Keras model: its layers, their calls and the operands of the calls. Independent of MLIR
// and of the file.
#pragma once

#include "support/Error.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lathe::keras {

using nlohmann::json;

/// Names a tensor of a Keras model: result number `tensor` of call number `call` of a layer.
struct TensorRef {
  std::string layer;
  int64_t call = 0, tensor = 0;
};

/// A call of a Keras layer. In `arguments` (a list) and `keywords` (an object) an object {"tensor": i} stands for
/// tensors[i].
struct Call {
  json arguments = json::array(), keywords = json::object();
  std::vector<TensorRef> tensors;
};

struct ModelConfig;

struct LayerConfig {
  std::string className; // Python class of the layer, such as "Conv2D"
  std::string module;    // Python module of the class, such as "keras.layers"; "" if the file does not state it
  std::string name;      // name of the layer, unique in its model
  json config;
  std::vector<Call> calls;
  std::shared_ptr<const ModelConfig> model; // for a model that is called as a layer: its configuration; else null
};

struct ModelConfig {
  std::string name;
  std::vector<LayerConfig> layers; // all layers, including InputLayers, in the order of the file
  std::vector<TensorRef> inputs, outputs;
};

/// Makes the object {"tensor": index} that stands for tensor `index` of a call (Call).
json tensorMark(size_t index);

/// Reads the configuration of a Sequential or Functional model of Keras 1, 2 or 3 from a file's JSON. Throws Error.
ModelConfig readModelConfig(const json &model, int version);

/// Reads the configuration of a layer that is inside another layer's configuration; it has no calls.
LayerConfig readLayer(const json &layer, int version);

/// Member `key` of a JSON object; null if there is none.
const json &member(const json &object, const char *key);
/// The text that is member `key` of a JSON object; `fallback` if there is none. Throws Error if the member is not a
/// text.
std::string textMember(const json &object, const char *key, const std::string &fallback = "");

/// Converts the configuration of a Keras 1 layer to the names and options of Keras 2 (Keras1.cpp). Throws Error for
/// options without a counterpart.
void modernize(LayerConfig &layer);

} // namespace lathe::keras
