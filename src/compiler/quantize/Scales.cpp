#include "quantize/Scales.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe::quantize {
namespace {

/// Makes a scale a normal float32, because kernels flush denormals to zero. If all values are zero, any scale serves.
float usableScale(double scale) {
  constexpr float least = 1e-30F;
  return scale > 0 ? std::max(static_cast<float>(scale), least) : 1.0F;
}

} // namespace

nn::QuantizedScale activationScale(Range range, ElementType type, bool symmetric) {
  auto [lowest, highest] = nn::integerLimits(type);
  nn::QuantizedScale result;
  result.type = type;
  double least = std::min(range.least, 0.0), most = std::max(range.most, 0.0);
  if (symmetric) {
    double middle = (lowest + highest + 1) / 2;
    double magnitude = std::max(-least, most);
    result.scale = {usableScale(magnitude / (highest - middle))};
    result.zeroPoint = {middle};
    return result;
  }
  float scale = usableScale((most - least) / (highest - lowest));
  result.scale = {scale};
  result.zeroPoint = {std::clamp(std::nearbyint(lowest - least / scale), lowest, highest)};
  return result;
}

AxisIndex::AxisIndex(const std::vector<int64_t> &dims, std::optional<int64_t> axis) {
  if (!axis)
    return;
  extent = dims.at(static_cast<size_t>(*axis));
  for (size_t i = static_cast<size_t>(*axis) + 1; i < dims.size(); ++i)
    inner *= dims[i];
}

QuantizedWeights quantizeWeights(const std::vector<float> &weights, const std::vector<int64_t> &dims,
                                 std::optional<int64_t> axis, int most, const std::vector<double> &least) {
  AxisIndex index(dims, axis);
  std::vector<float> largest(static_cast<size_t>(index.extent), 0.0F);
  for (size_t i = 0; i < weights.size(); ++i)
    largest[index.of(i)] = std::max(largest[index.of(i)], std::abs(weights[i]));
  QuantizedWeights result;
  result.scale.type = ElementType::i8;
  result.scale.axis = axis;
  for (size_t i = 0; i < largest.size(); ++i) {
    double scale = static_cast<double>(largest[i]) / most;
    result.scale.scale.push_back(usableScale(std::max(scale, least.empty() ? 0.0 : least[i])));
    result.scale.zeroPoint.push_back(0);
  }
  result.values.resize(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    double quotient = weights[i] / result.scale.scale[index.of(i)];
    result.values[i] = static_cast<int8_t>(std::clamp(std::nearbyint(quotient), -double(most), double(most)));
  }
  return result;
}

std::vector<double> leastScales(const std::vector<double> &bias, double inputScale, bool perChannel) {
  const double units = std::exp2(30) * inputScale;
  std::vector<double> scales;
  for (double value : bias)
    scales.push_back(std::abs(value) / units);
  if (!perChannel && !scales.empty())
    scales = {*std::max_element(scales.begin(), scales.end())};
  return scales;
}

std::vector<float> dequantized(const QuantizedWeights &weights, const std::vector<int64_t> &dims) {
  AxisIndex index(dims, weights.scale.axis);
  std::vector<float> result(weights.values.size());
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<float>(weights.values[i] * weights.scale.scale[index.of(i)]);
  return result;
}

std::vector<int32_t> quantizeBias(const std::vector<double> &bias, const std::vector<double> &scales) {
  constexpr double highest = std::numeric_limits<int32_t>::max(), lowest = std::numeric_limits<int32_t>::min();
  std::vector<int32_t> result(bias.size());
  for (size_t i = 0; i < bias.size(); ++i)
    result[i] =
        static_cast<int32_t>(std::clamp(std::nearbyint(bias[i] / scales[scales.size() == 1 ? 0 : i]), lowest, highest));
  return result;
}

} // namespace lathe::quantize
