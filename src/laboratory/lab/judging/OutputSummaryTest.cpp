#include "lab/judging/OutputSummary.h"

#include <gtest/gtest.h>

#include <limits>

namespace lathe::lab {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();

OutputSummary of(const std::vector<float> &values) {
  return summarizeOutput(Tensor::of<float>({static_cast<int64_t>(values.size())}, values));
}

TEST(OutputSummary, MeasuresFiniteElements) {
  OutputSummary summary = of({1, nan, -3, infinite, 8});
  EXPECT_EQ(summary.min, -3);
  EXPECT_EQ(summary.max, 8);
  EXPECT_EQ(summary.mean, 2);
  EXPECT_EQ(summary.mistrust, "");
  EXPECT_EQ(summary.str(), "min -3, max 8, mean 2; NaN in 1 of 5 elements; infinity in 1 of 5 elements");
}

TEST(OutputSummary, MistrustsWhatSaysNothing) {
  EXPECT_EQ(of({0, -0.0f, 0}).mistrust, "all zero");
  EXPECT_EQ(of({2.5, 2.5}).mistrust, "constant (2.5)");
  EXPECT_EQ(of({2.5}).mistrust, "") << "one element is constant by nature";
  EXPECT_EQ(of({nan, nan}).mistrust, "NaN everywhere");
  EXPECT_EQ(of({infinite, -infinite}).mistrust, "infinite everywhere");
  EXPECT_EQ(of({infinite, nan}).mistrust, "without a finite element");
  EXPECT_EQ(of({1, 1, nan}).mistrust, "constant (1)");
  EXPECT_EQ(of({}).mistrust, "");
  EXPECT_EQ(summarizeOutput(Tensor::of<int64_t>({2}, {0, 0})).mistrust, "") << "integers may well be equal";
}

} // namespace
} // namespace lathe::lab
