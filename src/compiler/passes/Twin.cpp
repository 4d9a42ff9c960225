#include "passes/Twin.h"

#include "ir/SymbolicShapes.h"
#include "passes/interpret/Evaluate.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace lathe {

std::vector<Value> randomInputs(mlir::ModuleOp module, uint64_t seed, const std::map<std::string, int64_t> &symbols) {
  mlir::func::FuncOp function = mainFunction(module);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Value> inputs;
  for (mlir::BlockArgument argument : function.getArguments()) {
    std::vector<int64_t> dims;
    for (const Dim &dim : nn::argumentDims(function, argument.getArgNumber()))
      dims.push_back(dim.evaluate([&](const std::string &name) -> int64_t {
        auto found = symbols.find(name);
        return found == symbols.end() ? 2 : found->second;
      }));
    ElementType type = nn::infoOf(argument).type;
    Tensor wide(ElementType::f64, dims);
    for (int64_t i = 0; i < wide.elements(); ++i)
      wide.as<double>()[i] =
          isFloat(type) ? normal(random) : static_cast<double>(random() % (type == ElementType::boolean ? 2 : 4));
    inputs.push_back(type == ElementType::f64 ? wide : wide.convertedTo(type));
  }
  return inputs;
}

TwinResult compareTwins(std::span<const Value> a, std::span<const Value> b) {
  TwinResult result;
  if (a.size() != b.size()) {
    result.mismatch = fmt::format("{} outputs against {}", a.size(), b.size());
    return result;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const Tensor &x = a[i].tensor(), &y = b[i].tensor();
    if (x.type() != y.type() || x.dims() != y.dims()) {
      result.mismatch = fmt::format("output {} is {} {} against {} {}", i, name(x.type()), str(toDims(x.dims())),
                                    name(y.type()), str(toDims(y.dims())));
      return result;
    }
    double scale = 0, difference = 0;
    for (int64_t e = 0; e < x.elements(); ++e) {
      double p = x.asDouble(e), q = y.asDouble(e);
      if (p == q || (std::isnan(p) && std::isnan(q)))
        continue;
      difference = std::max(difference, std::isfinite(p - q) ? std::abs(p - q) : INFINITY);
    }
    for (int64_t e = 0; e < x.elements(); ++e)
      if (double p = std::abs(x.asDouble(e)); std::isfinite(p))
        scale = std::max(scale, p);
    if (difference > 0)
      result.maxRelative = std::max(result.maxRelative, difference / (scale > 0 ? scale : 1));
  }
  return result;
}

} // namespace lathe
