#include "lab/judging/OutputSummary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lathe::lab {

std::string OutputSummary::str() const {
  if (texts || elements == 0)
    return texts ? "texts" : "no elements";
  std::string text =
      measured() ? fmt::format("min {:.6g}, max {:.6g}, mean {:.6g}", min, max, mean) : "no finite element";
  if (nan)
    text += fmt::format("; NaN in {} of {} elements", nan, elements);
  if (infinite)
    text += fmt::format("; infinity in {} of {} elements", infinite, elements);
  return text;
}

OutputSummary summarizeOutput(const Tensor &tensor) {
  OutputSummary summary;
  summary.elements = tensor.elements();
  summary.texts = tensor.type() == ElementType::string;
  if (summary.texts || summary.elements == 0)
    return summary;
  bool first = true, constant = true;
  double sum = 0;
  for (int64_t i = 0; i < summary.elements; ++i) {
    double value = tensor.asDouble(i);
    summary.nan += std::isnan(value);
    summary.infinite += std::isinf(value);
    if (!std::isfinite(value))
      continue;
    if (first)
      summary.min = summary.max = value;
    constant &= value == summary.min;
    summary.min = std::min(summary.min, value);
    summary.max = std::max(summary.max, value);
    sum += value;
    first = false;
  }
  summary.mean = summary.measured() ? sum / static_cast<double>(summary.elements - summary.nan - summary.infinite) : 0;
  if (!summary.measured())
    summary.mistrust = summary.infinite == 0 ? "NaN everywhere"
                       : summary.nan == 0    ? "infinite everywhere"
                                             : "without a finite element";
  else if (isFloat(tensor.type()) && summary.min == 0 && summary.max == 0)
    summary.mistrust = "all zero";
  else if (isFloat(tensor.type()) && summary.elements > 1 && constant)
    summary.mistrust = fmt::format("constant ({})", summary.min);
  return summary;
}

} // namespace lathe::lab
