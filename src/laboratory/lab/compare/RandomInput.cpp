#include "lab/compare/Compare.h"

#include <random>

namespace lathe::lab {

Tensor randomInput(const RunnerPort &port, const CompareOptions &options, uint64_t number) {
  auto type = elementTypeFromName(port.type);
  require(type.has_value() && (isFloat(*type) || isInteger(*type) || *type == ElementType::boolean) &&
              bitWidth(*type) >= 8,
          "input '{}': cannot make random values of type {}", port.name, port.type);
  std::vector<int64_t> dims;
  for (auto &dim : port.dims) {
    char *end = nullptr;
    int64_t extent = std::strtoll(dim.c_str(), &end, 10);
    if (dim.empty() || *end != 0 || extent < 0) {
      auto given = options.dims.find(dim);
      extent = given == options.dims.end() ? 1 : given->second;
    }
    dims.push_back(extent);
  }
  // Floats uniform in [-1, 1), integers in [0, 10), so that indices into small tables stay valid. Computed from the
  // generator's bits, which are the same on every machine.
  std::mt19937_64 random(options.seed * 1000003 + number);
  Tensor values(ElementType::f32, dims);
  bool fraction = isFloat(*type);
  for (int64_t i = 0; i < values.elements(); ++i)
    values.as<float>()[i] = fraction ? float(double(random() >> 11) * 0x1p-52 - 1)
                                     : float(random() % (*type == ElementType::boolean ? 2 : 10));
  return *type == ElementType::f32 ? values : values.convertedTo(*type);
}

} // namespace lathe::lab
