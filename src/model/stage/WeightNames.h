// Names of the weights in the file of weights beside staged source.
#pragma once

#include "mlir/IR/BuiltinAttributeInterfaces.h"

#include <map>
#include <string>
#include <vector>

namespace lathe::staging {

class WeightNames {
public:
  /// True if `name` is free, or if it already stands for these elements.
  bool fits(const std::string &name, mlir::ElementsAttr elements) const {
    auto found = byName.find(name);
    if (name == "__metadata__") // safetensors uses this name itself
      return false;
    return found == byName.end() || found->second == elements;
  }
  /// Gives the name `name` to these elements. `fits` must be true for them.
  void take(const std::string &name, mlir::ElementsAttr elements) {
    if (byName.emplace(name, elements).second)
      order.emplace_back(name, elements);
  }
  /// All weights with their names, in the order of their first use.
  const std::vector<std::pair<std::string, mlir::ElementsAttr>> &all() const { return order; }

private:
  std::map<std::string, mlir::ElementsAttr> byName;
  std::vector<std::pair<std::string, mlir::ElementsAttr>> order;
};

} // namespace lathe::staging
