#include "lab/compare/RealNumbers.h"

#include "runtime/QuantizedTensor.h"

#include <algorithm>

namespace lathe::lab {

std::vector<RunnerPort> realPorts(std::vector<RunnerPort> ports, const Scales &scales) {
  for (RunnerPort &port : ports)
    if (scales.contains(port.name))
      port.type = name(ElementType::f32);
  return ports;
}

Tensor realNumbers(const Scales &scales, const std::string &name, const Tensor &tensor) {
  auto scale = scales.find(name);
  return scale == scales.end() || isFloat(tensor.type()) ? tensor : dequantized(scale->second, tensor);
}

Tensor elementsFor(const Scales &scales, const RunnerPort &port, const Tensor &real) {
  auto scale = scales.find(port.name);
  auto type = elementTypeFromName(port.type);
  return scale == scales.end() || !type || isFloat(*type) ? real : quantized(scale->second, real, *type);
}

bool allPaired(const std::vector<RunnerPort> &ours, const std::vector<RunnerPort> &theirs) {
  auto pairs = pairPorts(ours, theirs);
  return std::all_of(pairs.begin(), pairs.end(), [](auto &pair) { return pair.has_value(); });
}

} // namespace lathe::lab
