#include "codegen/contraction/amx/AmxPlan.h"
#include "codegen/contraction/common/WeightPacking.h"

namespace lathe {

namespace {

/// Weights in units of channels, to [tile of outputs][tap][block of channels][vector][unit of channels][output]. Behind
/// them the sums of each output's weights, where sums are corrected.
std::vector<char> packTiles(const nn::ConstantData &data, const TilePlan &plan) {
  const ContractionFormat &format = plan.format;
  PackedElements elements(data, format);
  PackedSums sums(data, format, plan.vectors() * tileLanes);
  int64_t taps = plan.taps.size();
  std::vector<char> packed(taps * plan.blocks() * plan.vectors() * tileBytes);
  auto place = [&](int64_t output, int64_t tap, int64_t channel) {
    int64_t tile = output / (plan.oc * tileLanes), count = tile + 1 < plan.tiles() ? plan.oc : plan.tailVectors();
    int64_t in = channel % plan.depth();
    return tile * plan.panel(plan.oc) +
           ((tap * plan.blocks() + channel / plan.depth()) * count + output / tileLanes % plan.oc) * tileBytes +
           in / format.group * tileLineBytes + output % tileLanes * format.unitBytes();
  };
  auto copy = [&](int64_t output, int64_t tap, int64_t channel, int64_t from) {
    elements.write(from, packed.data() + place(output, tap, channel), channel % format.group);
    sums.add(output, from);
  };
  bool columnsLast = plan.gemm && !plan.gemm->transB; // K x N; all others: outputs x channels x taps
  for (int64_t i = 0; i < (columnsLast ? plan.channels : plan.outputs); ++i)
    for (int64_t j = 0; j < (columnsLast ? plan.outputs : plan.channels); ++j)
      for (int64_t tap = 0; tap < taps; ++tap)
        columnsLast ? copy(j, tap, i, i * plan.outputs + j) : copy(i, tap, j, (i * plan.channels + j) * taps + tap);
  sums.appendTo(packed);
  return packed;
}

} // namespace

Packing packingOf(const TilePlan &plan) {
  return {[plan](const nn::ConstantData &data) { return packTiles(data, plan); },
          fmt::format("tiles/oc={}{}{}", plan.oc, plan.gemm && !plan.gemm->transB ? " kn" : "", suffix(plan.format)),
          plan.format.element};
}

} // namespace lathe
