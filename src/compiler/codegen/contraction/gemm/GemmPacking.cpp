#include "codegen/contraction/common/WeightPacking.h"
#include "codegen/contraction/gemm/GemmPlan.h"

namespace lathe {

namespace {

/// K x N (or N x K) to [pass][tile][unit of steps][lane of all vectors of the tile], columns beyond the last zero. Behind
/// them the sums of the columns, where sums are corrected.
std::vector<char> packColumns(const nn::ConstantData &data, const GemmPlan &plan) {
  const GemmGeometry &gemm = plan.gemm;
  const ContractionFormat &format = plan.format;
  PackedElements elements(data, format);
  int64_t size = format.unitBytes();
  std::vector<char> packed(plan.columnVectors() * plan.lanes * plan.allSteps() * size);
  PackedSums sums(data, format, plan.columnVectors() * plan.lanes);
  char *to = packed.data();
  for (int64_t begin = 0; begin < plan.allSteps(); begin += plan.kc)
    for (int64_t tile = 0; tile < plan.tiles(); ++tile) {
      int64_t first = tile * plan.vectors * plan.lanes, steps = std::min(plan.kc, plan.allSteps() - begin);
      int64_t wide = (tile + 1 < plan.tiles() ? plan.vectors : plan.tailVectors()) * plan.lanes;
      int64_t real = std::min(wide, gemm.n - first), low = begin * format.group,
              high = std::min(gemm.k, low + steps * format.group);
      auto copy = [&](int64_t k, int64_t j) {
        int64_t from = gemm.transB ? (first + j) * gemm.k + k : k * gemm.n + first + j;
        elements.write(from, to + ((k - low) / format.group * wide + j) * size, k % format.group);
        sums.add(first + j, from);
      };
      if (gemm.transB) // a row of the source at a time: it is as long as the reduction
        for (int64_t j = 0; j < real; ++j)
          for (int64_t k = low; k < high; ++k)
            copy(k, j);
      else
        for (int64_t k = low; k < high; ++k)
          for (int64_t j = 0; j < real; ++j)
            copy(k, j);
      to += wide * steps * size;
    }
  sums.appendTo(packed);
  return packed;
}

} // namespace

Packing packingOf(const GemmPlan &plan) {
  return {[plan](const nn::ConstantData &data) { return packColumns(data, plan); },
          fmt::format("{}/{}x{} kc={}{}", plan.gemm.transB ? "nk" : "kn", plan.vectors, plan.lanes, plan.kc,
                      suffix(plan.format)),
          plan.format.element};
}

} // namespace lathe
