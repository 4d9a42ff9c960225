#include "predict/Points.h"

#include "predict/PredictTesting.h"

#include <gmock/gmock.h>

namespace lathe::predict {
namespace {

using testing::HasSubstr;

const std::string header =
    R"({"lathe_predictions": 1, "machine": "m1", "vector_bits": 256, "facts": {"cpu": "znver4", "architecture": "x86_64", "clock_ghz": [{"vector_bits": 256, "ghz": [4, 3]}]}})";
const std::string network =
    R"({"network": "a0", "family": "a", "threads": 2, "batch": 4, "seconds": 0.5, "kernels": [["gemm", 8, 16, 1000, 0.25, 4]]})";

TEST(PredictionPoints, areRead) {
  for (const char *name : {"points.jsonl", "points.jsonl.gz"}) {
    PointsFile file(name, {header, network});
    MachinePoints points = readPoints(file.path);
    EXPECT_EQ(points.machine, "m1");
    EXPECT_EQ(points.clockHz(1), 4e9);
    EXPECT_EQ(points.clockHz(2), 3e9);
    ASSERT_EQ(points.networks.size(), 1u);
    const MeasuredNetwork &one = points.networks[0];
    EXPECT_EQ(one.name, "a0");
    EXPECT_EQ(one.family, "a");
    EXPECT_EQ(one.threads, 2);
    EXPECT_EQ(one.batch, 4);
    EXPECT_EQ(one.seconds, 0.5);
    EXPECT_FALSE(one.heldOut);
    ASSERT_EQ(one.kernels.size(), 1u);
    EXPECT_EQ(one.kernels[0].algorithm, "gemm");
    EXPECT_EQ(one.kernels[0].flops, 8);
    EXPECT_EQ(one.kernels[0].bytes, 16);
    EXPECT_EQ(one.kernels[0].cycles, 1000);
    EXPECT_EQ(one.kernels[0].seconds, 0.25);
    EXPECT_EQ(one.kernels[0].constantBytes, 4);
  }
}

std::string errorOf(const std::vector<std::string> &lines) {
  PointsFile file("points.jsonl", lines);
  try {
    readPoints(file.path);
  } catch (const Error &error) {
    return std::string(error.what()).substr(file.path.size());
  }
  return "";
}

TEST(PredictionPoints, errorsNameTheLine) {
  auto with = [](std::string line, const std::string &from, const std::string &to) {
    return line.replace(line.find(from), from.size(), to);
  };
  EXPECT_EQ(errorOf({header, network}), "");
  EXPECT_THAT(errorOf({}), HasSubstr(": is empty"));
  EXPECT_THAT(errorOf({network}), HasSubstr(", line 1: is no archive of measured networks of version 1"));
  EXPECT_THAT(errorOf({with(header, "s\": 1", "s\": 2")}), HasSubstr(", line 1: is no archive"));
  EXPECT_THAT(errorOf({with(header, "[{\"vector_bits\": 256, \"ghz\": [4, 3]}]", "[]")}),
              HasSubstr(", line 1: its facts have no 'clock_ghz'"));
  EXPECT_THAT(errorOf({header, "{"}), HasSubstr(", line 2: "));
  EXPECT_THAT(errorOf({header, network, with(network, "0.5", "0")}), HasSubstr(", line 3: seconds is 0"));
  EXPECT_THAT(errorOf({header, with(network, "1000", "-1")}), HasSubstr(", line 2: predicted cycles is -1"));
  EXPECT_THAT(errorOf({header, with(network, "0.25", "0")}), HasSubstr(", line 2: seconds of a kernel is 0"));
  EXPECT_THAT(errorOf({header, with(network, "\"threads\": 2", "\"threads\": 0")}), HasSubstr("threads is 0"));
  EXPECT_THAT(errorOf({header, with(network, "[\"gemm\", 8, 16, 1000, 0.25, 4]", "")}), HasSubstr("has no kernels"));
  EXPECT_THAT(errorOf({header, with(network, "\"family\"", "\"kind\"")}), HasSubstr("family"));
}

} // namespace
} // namespace lathe::predict
