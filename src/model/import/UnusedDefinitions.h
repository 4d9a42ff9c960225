// Error about user definitions of layers and activations that a Keras model does not use.
#pragma once

#include "support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace lathe {

/// Thrown if ImportOptions::custom defines names that are neither a class of a layer nor an activation in the model.
class UnusedDefinitions : public Error {
public:
  UnusedDefinitions(const std::string &message, std::vector<std::string> unused)
      : Error(message), classes(std::move(unused)) {}
  std::vector<std::string> classes; // the unused names: classes of layers, and activations
};

} // namespace lathe
