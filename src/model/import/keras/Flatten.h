// Turns the calls of a model's layers into nodes.
#pragma once

#include "import/keras/Keras.h"
#include "import/keras/Weights.h"

#include <deque>

namespace lathe::keras {

/// Owns the data that the nodes of a flattened model point to.
struct FlatNodes {
  std::deque<LayerNode> nodes;
  std::deque<LayerConfig> layers; // layers that the flattening adds to the layers of the file
  std::deque<Call> calls;
};

/// Throws UnsupportedError that lists all layers which neither Lathe nor `options` defines. If there are none, throws
/// UnusedDefinitions for definitions in `options` that are neither a class of a layer nor an activation in the model.
void checkLayers(const ModelConfig &model, int version, const ImportOptions &options, const std::string &fileName);

/// Fills in the graph of a model. `model` and `nodes` must outlive the graph.
void flatten(const ModelConfig &model, const Weights &weights, int version, const ImportOptions &options,
             FlatNodes &nodes, GraphRecord &graph);

/// Sizes of the states that a stateful recurrent layer keeps between runs; empty for other layers (States.cpp).
std::vector<int64_t> keptStates(const LayerConfig &layer);

/// Why a layer of keras.layers is not imported; null if there is no special reason (Support.cpp).
const char *reasonAgainst(const std::string &className);

/// The name by which a layer is looked up: its class, or the function that it calls ("ops.Add", "tf.math.add").
std::string operatorName(const LayerConfig &layer);

} // namespace lathe::keras
