#include "jobs/Variants.h"

#include <fmt/format.h>

#include <algorithm>

namespace lathe::jobs {

std::map<std::string, int64_t> variantExtents(const runtime::Program &program, const runtime::Plan &plan) {
  std::map<std::string, int64_t> extents;
  const runtime::Plan &general = program.plans.back();
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const runtime::ValueInfo &fixed = plan.values[plan.inputs[i]], &open = general.values[general.inputs[i]];
    for (size_t axis = 0; axis < std::min(fixed.dims.size(), open.dims.size()); ++axis) {
      std::string symbol = runtime::loneSymbol(general.extents[open.dims[axis]]);
      if (const Dim &dim = plan.extents[fixed.dims[axis]]; !symbol.empty() && dim.isConstant())
        extents[symbol] = dim.constant();
    }
  }
  return extents;
}

std::string variantText(const runtime::Program &program, const runtime::Plan &plan) {
  std::string text;
  for (const auto &[symbol, extent] : variantExtents(program, plan))
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", symbol, extent);
  return text;
}

std::vector<std::string> symbolTexts(const runtime::Program &program) {
  const runtime::Plan &general = program.plans.back();
  std::vector<std::string> symbols;
  for (uint32_t input : general.inputs)
    for (runtime::Extent extent : general.values[input].dims)
      general.extents[extent].collectSymbols(symbols);
  for (std::string &symbol : symbols)
    for (const runtime::Range &range : general.ranges)
      if (range.symbol == symbol) {
        symbol += fmt::format(" from {} to {}", range.min, range.max);
        break;
      }
  return symbols;
}

} // namespace lathe::jobs
