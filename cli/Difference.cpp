#include "cli/Difference.h"

#include <cmath>

namespace lathe::cli {

Tolerance toleranceOf(Precision precision) {
  return precision == Precision::bf16 ? Tolerance{5e-2, 1e-1} : Tolerance{};
}

Precision precisionOfPackage(const std::string &options) {
  return options.find("--precision " + name(Precision::bf16)) != std::string::npos ? Precision::bf16 : Precision::fp32;
}

std::string Difference::str() const {
  if (!broken.empty())
    return broken;
  return fmt::format("relative error {:.2e}, largest difference {:.2e} of the maximum", relative, maximum);
}

Difference difference(const Tensor &computed, const Tensor &reference) {
  Difference result;
  if (computed.dims() != reference.dims()) {
    result.broken = fmt::format("has shape {}, the reference {}", fmt::join(computed.dims(), "x"),
                                fmt::join(reference.dims(), "x"));
    return result;
  }
  if (computed.type() == ElementType::string || reference.type() == ElementType::string) {
    if (computed.type() != reference.type() || computed.strings() != reference.strings())
      result.broken = "texts differ";
    return result;
  }
  double squares = 0, referenceSquares = 0, largest = 0, referenceLargest = 0;
  int64_t odd = 0;
  bool floats = isFloat(computed.type());
  for (int64_t i = 0; i < computed.elements(); ++i) {
    double x = computed.asDouble(i), y = reference.asDouble(i);
    if (!std::isfinite(x) || !std::isfinite(y)) {
      odd += !(x == y || (std::isnan(x) && std::isnan(y)));
      continue;
    }
    double d = std::abs(x - y);
    squares += d * d;
    referenceSquares += y * y;
    referenceLargest = std::max(referenceLargest, std::abs(y));
    if (d > largest || result.worst < 0) {
      largest = std::max(largest, d);
      result.worst = i;
      result.computed = x;
      result.expected = y;
    }
  }
  if (odd)
    result.broken = fmt::format("{} elements are not finite on one side", odd);
  else if (!floats && largest > 0)
    result.broken =
        fmt::format("element {} is {}, the reference has {}", result.worst, result.computed, result.expected);
  auto ratio = [](double x, double y) { return x == 0 ? 0 : y == 0 ? INFINITY : x / y; };
  result.relative = ratio(std::sqrt(squares), std::sqrt(referenceSquares));
  result.maximum = ratio(largest, referenceLargest);
  return result;
}

} // namespace lathe::cli
