// Finds the states that stateful recurrent layers keep between runs.
#include "import/keras/Flatten.h"

namespace lathe::keras {
namespace {

constexpr int mostNested = 8;

/// Appends the sizes of the states of a cell, or of a layer that is one cell.
void addStates(const std::string &className, const json &config, std::vector<int64_t> &units, int depth = 0) {
  require(depth < mostNested, "cells are nested more than {} deep", mostNested);
  auto inner = [&](const json &cell) {
    addStates(textMember(cell, "class_name"), member(cell, "config"), units, depth + 1);
  };
  if (className == "RNN")
    return inner(member(config, "cell"));
  if (className == "StackedRNNCells") {
    for (const json &cell : member(config, "cells"))
      inner(cell);
    return;
  }
  int64_t count = integerMember(config, "units", 0);
  units.push_back(count);
  if (className.starts_with("LSTM") || className == "CuDNNLSTM")
    units.push_back(count);
}

bool isStateful(const json &config) { return flagMember(config, "stateful", false); }

} // namespace

std::vector<int64_t> keptStates(const LayerConfig &layer) {
  std::vector<int64_t> units;
  const std::string &name = layer.className;
  if (name == "Bidirectional") {
    const json &forward = member(layer.config, "layer"), &own = member(layer.config, "backward_layer");
    if (isStateful(member(forward, "config")))
      for (const json *each : {&forward, own.is_null() ? &forward : &own})
        addStates(textMember(*each, "class_name"), member(*each, "config"), units);
  } else if ((name == "LSTM" || name == "GRU" || name == "SimpleRNN" || name == "RNN" || name.starts_with("CuDNN")) &&
             isStateful(layer.config)) {
    addStates(name, layer.config, units);
  }
  return units;
}

} // namespace lathe::keras
