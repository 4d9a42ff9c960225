#include "quantize/Fidelity.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace lathe;
using namespace lathe::quantize;

namespace {

Tensor row(std::initializer_list<float> values) {
  return Tensor::of<float>({1, static_cast<int64_t>(values.size())}, values);
}

TEST(Fidelity, equalOutputsAreAlike) {
  std::vector<Tensor> outputs{row({1, 2, 3}), row({3, 2, 1})};
  Fidelity fidelity = fidelityOf(outputs, outputs);
  EXPECT_DOUBLE_EQ(fidelity.cosine, 1);
  EXPECT_DOUBLE_EQ(fidelity.centred, 1);
  EXPECT_EQ(fidelity.changed, 0u);
  EXPECT_EQ(fidelity.drop(), 0);
}

/// A common part of all outputs hides a wrong difference from the plain cosine, but not from the centred cosine.
TEST(Fidelity, centredSeesWhatTheMeanHides) {
  std::vector<Tensor> expected{row({100, 101}), row({100, 99})}, found{row({100, 99}), row({100, 101})};
  Fidelity fidelity = fidelityOf(expected, found);
  EXPECT_GT(fidelity.cosine, 0.999);
  EXPECT_DOUBLE_EQ(fidelity.centred, -1);
  EXPECT_DOUBLE_EQ(fidelity.leastCentred, -1);
  EXPECT_EQ(fidelity.changed, 2u);
  EXPECT_EQ(fidelity.drop(), 100);
}

TEST(Fidelity, plainCosineByHand) {
  Fidelity fidelity = fidelityOf({row({1, 0})}, {row({1, 1})});
  EXPECT_NEAR(fidelity.cosine, 1 / std::sqrt(2.0), 1e-12);
  EXPECT_EQ(fidelity.centred, 1); // one input has no differences to compare
}

TEST(Fidelity, aMeanErrorIsTakenAway) {
  std::vector<Tensor> expected{row({1, 2}), row({3, 4})}, found{row({2, 3}), row({4, 7})};
  std::vector<Tensor> corrected = withoutMeanError(expected, found);
  EXPECT_EQ(corrected[0].asDouble(0), 1);
  EXPECT_EQ(corrected[0].asDouble(1), 1); // the mean error of the second number is 2
  EXPECT_EQ(corrected[1].asDouble(1), 5);
}

/// The number of boxes that a detector selects may change: such inputs are left out, and means are taken by extents.
TEST(Fidelity, outputsOfOtherExtentsAreLeftOut) {
  std::vector<Tensor> expected{row({1, 2, 3}), row({1, 0}), row({0, 1})}, found{row({1, 2}), row({1, 0}), row({1, 0})};
  Fidelity fidelity = fidelityOf(expected, found);
  EXPECT_EQ(fidelity.inputs, 3u);
  EXPECT_EQ(fidelity.compared(), 2u);
  EXPECT_EQ(fidelity.difference, "1x2 instead of 1x3");
  EXPECT_DOUBLE_EQ(fidelity.cosine, 0.5);
  EXPECT_EQ(fidelity.decisions, 2u);
  EXPECT_EQ(fidelity.changed, 1u);
  EXPECT_EQ(withoutMeanError(expected, found)[0].dims(), found[0].dims());
  EXPECT_DOUBLE_EQ(noiseToSignal(expected, found), 1); // from the second and the third input
  Fidelity none = fidelityOf({row({1})}, {row({1, 2})});
  EXPECT_EQ(none.compared(), 0u);
  EXPECT_TRUE(std::isnan(none.cosine));
  EXPECT_EQ(none.drop(), 0);
}

/// Each row of a batch is a decision.
TEST(Fidelity, rowsOfABatchDecideOneByOne) {
  std::vector<Tensor> expected{Tensor::of<float>({3, 2}, std::vector<float>{1, 0, 0, 1, 5, 4})},
      found{Tensor::of<float>({3, 2}, std::vector<float>{1, 0, 1, 0, 5, 4})};
  Fidelity fidelity = fidelityOf(expected, found, true);
  EXPECT_EQ(fidelity.inputs, 1u);
  EXPECT_EQ(fidelity.decisions, 3u);
  EXPECT_EQ(fidelity.changed, 1u);
  EXPECT_EQ(fidelityOf(expected, found).decisions, 1u);
}

TEST(Fidelity, noiseToSignalByHand) { EXPECT_DOUBLE_EQ(noiseToSignal({row({3, 4})}, {row({3, 5})}), 1.0 / 25); }

} // namespace
