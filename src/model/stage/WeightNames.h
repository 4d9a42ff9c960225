// Names of the weights in the file beside the source.
#pragma once

#include "mlir/IR/BuiltinAttributeInterfaces.h"

#include <map>
#include <string>
#include <vector>

namespace lathe::staging {

class WeightNames {
public:
  /// True if `name` is free, or if these elements have it already.
  bool fits(const std::string &name, mlir::ElementsAttr elements) const {
    auto found = byName.find(name);
    if (name == "__metadata__") // safetensors uses this name itself
      return false;
    return found == byName.end() || found->second == elements;
  }
  /// Gives the elements the name `name`, for which `fits` is true.
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
