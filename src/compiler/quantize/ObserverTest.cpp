// Ranges, compared with brute force over the values.
#include "quantize/Observer.h"
#include "quantize/Scales.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace lathe;
using namespace lathe::quantize;

namespace {

std::vector<float> normals(size_t count, unsigned seed, float spread = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(random);
  return values;
}

Observer observed(const std::vector<float> &values, std::vector<int64_t> dims, int64_t axis = -1) {
  Tensor tensor = Tensor::of<float>(std::move(dims), values);
  Observer observer(axis);
  observer.addLimits(tensor);
  observer.beginDistribution(std::max(-observer.limits().least, observer.limits().most));
  observer.addDistribution(tensor);
  return observer;
}

TEST(Observer, limitsAndChannelMeans) {
  Observer observer(1);
  observer.addLimits(Tensor::of<float>({2, 2, 3}, {1, 2, 3, -4, 5, 8, 7, 8, 9, 0, 1, 2}));
  observer.addLimits(Tensor::of<float>({1, 2, 3}, {0, 0, 0, 6, 6, 6}));
  EXPECT_EQ(observer.limits().least, -4);
  EXPECT_EQ(observer.limits().most, 9);
  EXPECT_EQ(observer.channelMeans(), (std::vector<double>{30.0 / 9, 30.0 / 9}));
}

TEST(Observer, zeroIsInTheRange) {
  Observer observer;
  observer.addLimits(Tensor::of<float>({2}, {3, 5}));
  EXPECT_EQ(observer.limits().least, 0);
  EXPECT_EQ(observer.limits().most, 5);
}

TEST(Observer, refusesValuesThatAreNotFinite) {
  Observer observer;
  EXPECT_THROW(observer.addLimits(Tensor::of<float>({2}, {1, std::nanf("")})), Error);
  EXPECT_THROW(observer.addLimits(Tensor::of<float>({1}, {INFINITY})), Error);
}

TEST(Observer, histogramCountsEveryValueInItsBin) {
  std::vector<float> values = normals(20000, 1);
  Observer observer = observed(values, {20000});
  const Histogram &histogram = observer.distribution();
  EXPECT_EQ(histogram.total(), values.size());
  std::vector<uint64_t> expected(Histogram::binCount, 0);
  for (float value : values) {
    size_t bin = 0;
    while (bin + 1 < expected.size() && value >= static_cast<double>(bin + 1) * histogram.width() - histogram.extent())
      ++bin;
    ++expected[bin];
  }
  size_t different = 0; // a value on an edge may be rounded into the next bin
  for (size_t i = 0; i < expected.size(); ++i)
    different += expected[i] != histogram.bins()[i];
  EXPECT_LE(different, 2u);
}

TEST(Observer, percentileIsThatOfTheSortedValues) {
  for (double percent : {99.0, 99.9, 99.99}) {
    std::vector<float> values = normals(100000, 2);
    Observer observer = observed(values, {100000});
    Range range = percentileRange(observer.distribution(), percent, observer.limits());
    std::sort(values.begin(), values.end());
    auto outside = static_cast<size_t>(values.size() * (100 - percent) / 100);
    EXPECT_NEAR(range.least, values[outside], 2 * observer.distribution().width()) << percent;
    EXPECT_NEAR(range.most, values[values.size() - 1 - outside], 2 * observer.distribution().width()) << percent;
  }
}

TEST(Observer, aHundredPercentAreMinMax) {
  std::vector<float> values = normals(5000, 3);
  Observer observer = observed(values, {5000});
  Range range = percentileRange(observer.distribution(), 100, observer.limits());
  EXPECT_NEAR(range.least, observer.limits().least, observer.distribution().width());
  EXPECT_NEAR(range.most, observer.limits().most, observer.distribution().width());
}

/// A few large values, for which minmax would use most integers.
TEST(Observer, entropyClipsOutliersAndKeepsUniformValues) {
  std::vector<float> values = normals(200000, 4);
  values[0] = 60;
  Observer peaked = observed(values, {200000});
  Range clipped = entropyRange(peaked.distribution(), 128, peaked.limits());
  EXPECT_LT(clipped.most, 20);
  EXPECT_GT(clipped.most, 2.5); // but not the bulk of the values
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float &value : values)
    value = uniform(random);
  Observer flat = observed(values, {200000});
  EXPECT_GT(entropyRange(flat.distribution(), 128, flat.limits()).most, 0.95);
}

TEST(Scales, activationsRepresentZeroAndBothLimits) {
  for (auto type : {ElementType::u8, ElementType::i8})
    for (Range range : {Range{-1, 3}, Range{0, 6}, Range{-2, 0}, Range{0.5, 4}}) {
      nn::QuantizedScale scale = activationScale(range, type, false);
      auto [lowest, highest] = nn::integerLimits(type);
      double zero = scale.zeroPoint[0], step = scale.scale[0];
      EXPECT_EQ(zero, std::nearbyint(zero));
      EXPECT_GE(zero, lowest);
      EXPECT_LE(zero, highest);
      EXPECT_NEAR((lowest - zero) * step, std::min(range.least, 0.0), step * 0.51);
      EXPECT_NEAR((highest - zero) * step, std::max(range.most, 0.0), step * 0.51);
    }
  EXPECT_EQ(activationScale({0, 0}, ElementType::u8, false).scale[0], 1);
  EXPECT_EQ(activationScale({-1, 3}, ElementType::i8, true).zeroPoint[0], 0);
  EXPECT_EQ(activationScale({-1, 3}, ElementType::u8, true).zeroPoint[0], 128);
}

TEST(Scales, weightsAreWithinHalfAStepOfTheirChannel) {
  std::vector<int64_t> dims{3, 4, 5};
  std::vector<float> weights = normals(60, 6);
  for (size_t i = 0; i < 20; ++i)
    weights[i] *= 100;
  for (std::optional<int64_t> axis : {std::optional<int64_t>(0), std::optional<int64_t>(1), std::optional<int64_t>()}) {
    QuantizedWeights quantized = quantizeWeights(weights, dims, axis);
    EXPECT_EQ(quantized.scale.scale.size(), axis ? static_cast<size_t>(dims[*axis]) : 1u);
    std::vector<float> back = dequantized(quantized, dims);
    AxisIndex index(dims, axis);
    for (size_t i = 0; i < weights.size(); ++i)
      EXPECT_NEAR(back[i], weights[i], quantized.scale.scale[index.of(i)] * 0.501);
    EXPECT_EQ(*std::max_element(quantized.values.begin(), quantized.values.end(),
                                [](int8_t a, int8_t b) { return std::abs(a) < std::abs(b); }) == 127 ||
                  std::count(quantized.values.begin(), quantized.values.end(), -127) > 0,
              true);
  }
}

TEST(Scales, aLargeBiasOfSmallWeightsFits) {
  std::vector<float> weights{1e-12F, 1e-12F, 1, 1};
  std::vector<double> bias{1000, 1000};
  QuantizedWeights quantized = quantizeWeights(weights, {2, 2}, 0, 127, leastScales(bias, 0.01, true));
  std::vector<double> units{quantized.scale.scale[0] * 0.01, quantized.scale.scale[1] * 0.01};
  std::vector<int32_t> ints = quantizeBias(bias, units);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(ints[i] * units[i], bias[i], units[i]);
}

} // namespace
