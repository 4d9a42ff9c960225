// Built-in networks through the pipeline: how many conversions of layout and kernels come out. Nothing is compiled
// here; every candidate kernel is accepted.
#include "codegen/Generate.h"
#include "ir/Context.h"
#include "passes/Pipeline.h"
#include "passes/interpret/Evaluate.h"
#include "passes/kernels/Layout.h"
#include "zoo/Zoo.h"

#include <gtest/gtest.h>

#include <map>

namespace lathe {
namespace {

struct Expected {
  int conversions; // that move bytes
  int kernels;     // at most
};

// A fully connected layer behind an image with an extent above 1 needs its input row-major, as does a gather between
// shuffled halves (shufflenet_v2): there a conversion is cheaper than a convolution that writes row-major. Transposed
// convolutions (unet) interleave row-major values.
const std::map<std::string, Expected> expectations = {
    {"alexnet", {1, 12}},       {"vgg16", {1, 22}},
    {"vgg19", {1, 25}},         {"resnet18", {0, 23}},
    {"resnet34", {0, 39}},      {"resnet50", {0, 56}},
    {"resnet101", {0, 107}},    {"resnet152", {0, 158}},
    {"densenet121", {0, 246}},  {"googlenet", {0, 83}},
    {"inception_v3", {0, 120}}, {"squeezenet", {0, 38}},
    {"mobilenet_v1", {0, 29}},  {"mobilenet_v2", {0, 54}},
    {"mobilenet_v3", {0, 81}},  {"shufflenet_v2", {25, 129}},
    {"inception_v2", {0, 93}},  {"efficientnet_b0", {0, 115}},
    {"unet", {9, 44}},
};

class ZooLayout : public testing::TestWithParam<std::pair<const std::string, Expected>> {};

TEST_P(ZooLayout, ConversionsAndKernels) {
  auto &[name, expected] = GetParam();
  const Target target = Target::parse("x86-64-v4");
  for (bool dynamicBatch : {false, true}) {
    SCOPED_TRACE(dynamicBatch ? "symbolic batch" : "batch 1");
    auto context = makeContext();
    ZooOptions zoo;
    zoo.dynamicBatch = dynamicBatch;
    auto module = buildZoo(*context, name, zoo);
    PipelineOptions options;
    options.predictCycles = [&](mlir::func::FuncOp kernel) { return predictCycles({{}, kernel, target}); };
    optimizeGraph(*module, options);
    PipelineReport report = formKernels(*module, options);
    EXPECT_LE(static_cast<int>(report.conversions.size()), expected.conversions);
    EXPECT_LE(report.kernels, expected.kernels);
    EXPECT_TRUE(report.references.empty())
        << report.references.front().node << ": " << report.references.front().reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooLayout, testing::ValuesIn(expectations.begin(), expectations.end()),
                         [](const auto &info) { return info.param.first; });

} // namespace
} // namespace lathe
