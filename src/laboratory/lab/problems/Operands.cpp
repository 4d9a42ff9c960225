#include "lab/problems/Operands.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace lathe::lab {

std::vector<Tensor> makeOperands(const Problem &problem, uint64_t seed) {
  std::vector<Tensor> operands;
  for (const auto &operand : problem.inputs()) {
    operands.emplace_back();
    std::mt19937_64 random(seed * 1000003 + operands.size());
    if (!operand)
      continue;
    bool whole = isInteger(operand->type) || operand->type == ElementType::boolean;
    double low = operand->low, high = operand->high;
    if (low == high)
      low = whole ? 0 : -1, high = whole ? 2 : 1;
    Tensor values(ElementType::f64, operand->dims);
    for (int64_t i = 0; i < values.elements(); ++i) {
      double value = low + (high - low) * (double(random() >> 11) * 0x1p-53);
      // Rounding to float must not reach the upper end.
      values.as<double>()[i] = whole ? std::floor(value) : std::min(value, high - (high - low) * 0x1p-20);
    }
    operands.back() = values.convertedTo(operand->type);
  }
  return operands;
}

} // namespace lathe::lab
