#include "codegen/contraction/common/WeightPacking.h"
#include "codegen/contraction/direct/DirectPlan.h"

namespace lathe {

namespace {

/// O x I x kernel to [group][tile][pass][tap][unit of channels][lane of all vectors of the tile], channels beyond the
/// last zero. Behind them the sums over channels, where sums are corrected, or, where operands are added, minus those of
/// products of two units: [group][tile][tap][lane].
std::vector<char> packDirectWeights(const nn::ConstantData &data, const DirectPlan &plan) {
  const ConvGeometry &conv = plan.conv;
  const ContractionFormat &format = plan.format;
  PackedElements elements(data, format);
  int64_t size = format.unitBytes(), taps = conv.taps();
  bool adds = addsOperands(format);
  std::vector<char> packed(conv.groups * plan.groupStride() * size);
  PackedSums sums(data, format, conv.groups * plan.groupStride() / plan.steps);
  char *to = packed.data();
  int64_t line = 0; // of sums
  for (int64_t g = 0; g < conv.groups; ++g)
    for (int64_t t = 0; t < plan.tiles.perGroup(); ++t) {
      int64_t wide = (t < plan.tiles.full ? plan.tiles.vectors : plan.tiles.tailVectors) * plan.lanes;
      int64_t first = t * plan.tiles.vectors * plan.lanes;
      int64_t real = std::min(wide, conv.outChannels - first);
      for (int64_t pass = 0; pass < plan.passes(); ++pass)
        for (int64_t tap = 0; tap < taps; ++tap, line += wide)
          for (int64_t unit = pass * plan.kc; unit < (pass + 1) * plan.kc; ++unit, to += wide * size)
            for (int64_t o = 0; o < real; ++o)
              for (int64_t c = unit * format.group; c < std::min(conv.inChannels, (unit + 1) * format.group); ++c) {
                int64_t from = ((g * conv.outChannels + first + o) * conv.inChannels + c) * taps + tap;
                elements.write(from, to + o * size, c % format.group);
                if (!adds)
                  sums.add(line + o, from);
                else if (c % (2 * format.group) < format.group && c + format.group < conv.inChannels)
                  sums.takeProduct(line + o, from, from + format.group * taps);
              }
    }
  sums.appendTo(packed);
  return packed;
}

} // namespace

Packing packingOf(const DirectPlan &plan) {
  return {[plan](const nn::ConstantData &data) { return packDirectWeights(data, plan); },
          fmt::format("goihw/oc={}x{} kc={}{}{}", plan.tiles.vectors, plan.lanes, plan.kc,
                      plan.conv.groups > 1 ? fmt::format(" g={}", plan.conv.groups) : "", suffix(plan.format)),
          plan.format.element};
}

} // namespace lathe
