// Definitions of layers and activations that a model does not use.
#pragma once

#include "support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace lathe {

/// ImportOptions::custom defines names that are neither the class of a layer of the model nor an activation in it.
class UnusedDefinitions : public Error {
public:
  UnusedDefinitions(const std::string &message, std::vector<std::string> unused)
      : Error(message), classes(std::move(unused)) {}
  std::vector<std::string> classes; // and activations
};

} // namespace lathe
