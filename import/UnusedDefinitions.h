// Definitions of layers that a model does not use.
#pragma once

#include "support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace lathe {

/// ImportOptions::custom defines classes that no layer of the model has.
class UnusedDefinitions : public Error {
public:
  UnusedDefinitions(const std::string &message, std::vector<std::string> unused)
      : Error(message), classes(std::move(unused)) {}
  std::vector<std::string> classes;
};

} // namespace lathe
