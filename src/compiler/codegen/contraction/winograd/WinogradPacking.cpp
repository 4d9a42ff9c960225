#include "codegen/contraction/common/WeightPacking.h"
#include "codegen/contraction/winograd/WinogradPlan.h"

namespace lathe {

namespace {

double numberAt(const nn::ConstantData &data, int64_t index) {
  index = data.splat ? 0 : index;
  if (data.type == ElementType::i8)
    return static_cast<int8_t>(data.bytes[index]);
  float value;
  std::memcpy(&value, data.bytes.data() + index * int64_t(sizeof value), sizeof value);
  return value;
}

/// Writes a value at a point, of integers a whole number, as an element of a unit.
void writePoint(double value, const WinogradPlan &plan, char *to) {
  auto number = static_cast<float>(value);
  auto whole = static_cast<int16_t>(plan.integers() ? value : 0);
  if (plan.integers())
    plan.format.write(reinterpret_cast<const char *>(&whole), ElementType::i16, to);
  else
    plan.format.write(reinterpret_cast<const char *>(&number), ElementType::f32, to);
}

/// O x I x 3 x 3 to G g G^T as [tile of channels][point][unit of input channels][lane of the tile's vectors].
std::vector<char> packWinogradWeights(const nn::ConstantData &data, const WinogradPlan &plan) {
  const ConvGeometry &conv = plan.conv;
  int64_t alpha = plan.alpha(), wide = plan.wide();
  const CoefficientRows &g = plan.transform.filter;
  int64_t panel = plan.steps() * wide, unit = plan.format.unitBytes();
  std::vector<char> packed(plan.channelTiles() * plan.points() * panel * unit);
  std::vector<double> half(alpha * 3);
  for (int64_t o = 0; o < conv.outChannels; ++o)
    for (int64_t c = 0; c < conv.inChannels; ++c) {
      double taps[9];
      for (int64_t i = 0; i < 9; ++i)
        taps[i] = numberAt(data, (o * conv.inChannels + c) * 9 + i);
      for (int64_t i = 0; i < alpha; ++i)
        for (int64_t x = 0; x < 3; ++x)
          half[i * 3 + x] = g[i][0] * taps[x] + g[i][1] * taps[3 + x] + g[i][2] * taps[6 + x];
      char *to = packed.data() + (o / wide * plan.points() * panel + c / plan.format.group * wide + o % wide) * unit;
      for (int64_t i = 0; i < alpha; ++i)
        for (int64_t j = 0; j < alpha; ++j, to += panel * unit)
          writePoint(g[j][0] * half[i * 3] + g[j][1] * half[i * 3 + 1] + g[j][2] * half[i * 3 + 2], plan,
                     to + c % plan.format.group * plan.format.elementBytes());
    }
  return packed;
}

} // namespace

Packing packingOf(const WinogradPlan &plan) {
  return {[plan](const nn::ConstantData &data) { return packWinogradWeights(data, plan); },
          fmt::format("winograd m={} oc={}x{}{}", plan.m(), plan.oc, plan.lanes, suffix(plan.format)),
          plan.format.element};
}

} // namespace lathe
