#include "report/Correlation.h"
#include "report/ReportTesting.h"

#include <algorithm>
#include <cmath>

using namespace lathe;
using namespace lathe::report;

namespace {

TEST(Correlation, pearsonInClosedForm) {
  std::vector<double> x{1, 2, 3, 4}, line{3, 5, 7, 9}, falling{8, 6, 4, 2}, other{1, 3, 2, 4};
  EXPECT_DOUBLE_EQ(*pearson(x, line), 1);
  EXPECT_DOUBLE_EQ(*pearson(x, falling), -1);
  EXPECT_DOUBLE_EQ(*pearson(x, other), 0.8); // 4 / sqrt(5 * 5)
  EXPECT_FALSE(pearson(x, std::vector<double>{2, 2, 2, 2}));
  EXPECT_FALSE(pearson(std::vector<double>{1, 2}, std::vector<double>{1, 2}));
}

TEST(Correlation, ranksShareTheirMean) {
  EXPECT_EQ(ranks(std::vector<double>{10, 20, 20, 5}), (std::vector<double>{2, 3.5, 3.5, 1}));
  std::vector<double> x{1, 2, 3, 4}, grows{1, 10, 1000, 1e9}, tied{1, 2, 2, 3};
  EXPECT_DOUBLE_EQ(*spearman(x, grows), 1);
  EXPECT_DOUBLE_EQ(*spearman(x, tied), 4.5 / std::sqrt(5 * 4.5)); // of ranks 1, 2.5, 2.5, 4
}

TEST(Correlation, featuresOfAConvolution) {
  Row row = report::rowOf(convText(4, 8), "lathe", 1e-3, 2);
  row.implementation = "direct/1 px=14 oc=2 parallel=rows blocked";
  auto features = featuresOf(row);
  EXPECT_EQ(features.at("threads"), 2);
  EXPECT_EQ(features.at("input_elements"), 4 * 64);
  EXPECT_EQ(features.at("output_elements"), 8 * 64);
  EXPECT_EQ(features.at("in_channels"), 4);
  EXPECT_EQ(features.at("out_channels"), 8);
  EXPECT_EQ(features.at("kernel_area"), 9);
  EXPECT_EQ(features.at("direct px"), 14);
  EXPECT_EQ(features.at("direct oc"), 2);
  EXPECT_EQ(features.at("direct unroll"), 8); // the default, which texts omit
  EXPECT_FALSE(features.count("direct parallel"));
  row.implementation = "jit_avx512 something=3";
  auto others = featuresOf(row);
  EXPECT_TRUE(std::none_of(others.begin(), others.end(), [](auto &entry) { // regardless of its meaning
    return entry.first.starts_with("direct") || entry.first.ends_with("something");
  }));
}

TEST(Correlation, ofTimesThatFollowAPower) {
  // time = flops squared, and decreasing in px: both exact, in logarithms.
  std::vector<Row> rows;
  for (int out : {8, 16, 32, 64}) {
    Row row = report::rowOf(convText(4, out), "lathe:auto", 1e-6 * out * out);
    row.implementation = fmt::format("direct/1 px={} pad=0", 128 / out);
    rows.push_back(row);
  }
  rows.push_back(report::rowOf(convText(4, 128), "lathe:auto", 0));
  auto found = correlations(rows);
  auto of = [&](const std::string &feature) {
    return std::find_if(found.begin(), found.end(), [&](auto &c) { return c.feature == feature; });
  };
  ASSERT_NE(of("flops"), found.end());
  EXPECT_EQ(of("flops")->points, 4u);
  EXPECT_EQ(of("flops")->context, "ops, conv by lathe:auto");
  EXPECT_NEAR(*of("flops")->pearson, 1, 1e-9);
  EXPECT_NEAR(*of("flops")->spearman, 1, 1e-12);
  EXPECT_NEAR(*of("direct px")->pearson, -1, 1e-9);
  EXPECT_NEAR(*of("direct px")->spearman, -1, 1e-12);
  EXPECT_EQ(of("in_channels"), found.end()); // does not vary
  EXPECT_EQ(of("direct pad"), found.end());
}

} // namespace
