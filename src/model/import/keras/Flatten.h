// The calls of a model's layers as nodes.
#pragma once

#include "import/keras/Keras.h"
#include "import/keras/Weights.h"

#include <deque>

namespace lathe::keras {

/// What the nodes point to.
struct FlatNodes {
  std::deque<LayerNode> nodes;
  std::deque<LayerConfig> layers; // layers that the file does not have as such
  std::deque<Call> calls;
};

/// Throws UnsupportedError for the layers of which neither Lathe nor `options` has a definition, all of them. If there are
/// none, throws UnusedDefinitions for what `options` define and no layer has as its class or activation.
void checkLayers(const ModelConfig &model, int version, const ImportOptions &options, const std::string &fileName);

/// Fills in the graph of a model. `model` and `nodes` must live as long as the graph.
void flatten(const ModelConfig &model, const Weights &weights, int version, const ImportOptions &options,
             FlatNodes &nodes, GraphRecord &graph);

/// Units of the states that a stateful recurrent layer keeps from run to run; empty for other layers (States.cpp).
std::vector<int64_t> keptStates(const LayerConfig &layer);

/// Why a layer of keras.layers is not imported; null where there is no reason of its own (Support.cpp).
const char *reasonAgainst(const std::string &className);

/// The name by which a layer is looked up: its class, or the function that it calls ("ops.Add", "tf.math.add").
std::string operatorName(const LayerConfig &layer);

} // namespace lathe::keras
