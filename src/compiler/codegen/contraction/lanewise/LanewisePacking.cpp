#include "codegen/contraction/common/WeightPacking.h"
#include "codegen/contraction/lanewise/LanewisePlan.h"

namespace lathe {

namespace {

/// C x 1 x kernel to [block of channels][kernel row][unit of columns][lane], the last unit whole. Behind them the sums of the
/// kernel rows: [block][kernel row][lane].
std::vector<char> packJoined(const nn::ConstantData &data, const LanewisePlan &plan) {
  const ContractionFormat &format = plan.format;
  PackedElements elements(data, format);
  int64_t columns = plan.conv.kernel[2], rows = plan.conv.taps() / columns;
  int64_t before = plan.rowVectors() * format.group - columns; // steps without a column
  std::vector<char> packed(plan.sumsAt() * format.unitBytes());
  PackedSums sums(data, format, plan.blocks() * rows * plan.lanes);
  for (int64_t c = 0; c < plan.channels(); ++c)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        int64_t step = before + column, line = c / plan.lanes * rows + row, from = (c * rows + row) * columns + column;
        int64_t unit = (line * plan.rowVectors() + step / format.group) * plan.lanes + c % plan.lanes;
        elements.write(from, packed.data() + unit * format.unitBytes(), step % format.group);
        sums.add(line * plan.lanes + c % plan.lanes, from);
      }
  sums.appendTo(packed);
  return packed;
}

/// O x I x kernel to [block of output channels][tap][channel of the group][lane]. Of bytes each lane is a unit, whose
/// elements behind the first are zero.
std::vector<char> packLanewiseWeights(const nn::ConstantData &data, const LanewisePlan &plan) {
  if (plan.joined)
    return packJoined(data, plan);
  int64_t taps = plan.conv.taps(), depth = plan.conv.inChannels, from = bitWidth(data.type) / 8;
  int64_t size = plan.convertsBytes() ? plan.format.unitBytes() : from;
  std::vector<char> packed(plan.blocks() * plan.blockStride() * size);
  for (int64_t o = 0; o < plan.channels(); ++o)
    for (int64_t c = 0; c < depth; ++c)
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t to = o / plan.lanes * plan.blockStride() + (tap * depth + c) * plan.lanes + o % plan.lanes;
        plan.format.write(data.bytes.data() + (data.splat ? 0 : ((o * depth + c) * taps + tap) * from), data.type,
                          packed.data() + to * size);
      }
  return packed;
}

} // namespace

Packing packingOf(const LanewisePlan &plan) {
  return {[plan](const nn::ConstantData &data) { return packLanewiseWeights(data, plan); },
          fmt::format("oihw/lanes={}{}{}", plan.lanes, plan.joined ? " columns" : "", suffix(plan.format)),
          plan.convertsBytes() ? plan.format.element : ElementType::invalid};
}

} // namespace lathe
