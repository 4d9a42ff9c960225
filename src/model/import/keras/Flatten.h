// Turns the calls of a Keras model's layers into nodes of a graph.
#pragma once

#include "import/keras/Keras.h"
#include "import/keras/Weights.h"

#include <deque>

namespace lathe::keras {

/// Owns the data that the nodes of a flattened model point to.
struct FlatNodes {
  std::deque<LayerNode> nodes;
  std::deque<LayerConfig> layers; // layers that the flattening adds to those of the file
  std::deque<Call> calls;
};

/// Throws UnsupportedError that lists all layers of a Keras model which neither Lathe nor `options` defines. If there
/// are none, throws UnusedDefinitions for definitions in `options` that are neither a class of a layer nor an
/// activation in the model.
void checkLayers(const ModelConfig &model, int version, const ImportOptions &options, const std::string &fileName);

/// Fills in `graph` with the nodes of a Keras model. `model` and `nodes` must outlive the graph.
void flatten(const ModelConfig &model, const Weights &weights, int version, const ImportOptions &options,
             FlatNodes &nodes, GraphRecord &graph);

/// Sizes of the states that a stateful recurrent Keras layer keeps between runs; empty for other layers (States.cpp).
std::vector<int64_t> keptStates(const LayerConfig &layer);

/// The reason why a class of keras.layers is not imported; null if there is no special reason (Support.cpp).
const char *reasonAgainst(const std::string &className);

/// The name by which the importers table lists a layer: its class, or the function that it calls ("ops.Add",
/// "tf.math.add").
std::string operatorName(const LayerConfig &layer);

} // namespace lathe::keras
