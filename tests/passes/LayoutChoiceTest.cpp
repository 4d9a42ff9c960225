// Layouts that were asked for, on built-in networks: what holds of every value, and that the report leaves out no
// operator. Nothing is compiled here; every candidate kernel is accepted.
#include "codegen/Generate.h"
#include "ir/Bridge.h"
#include "ir/Context.h"
#include "ir/Main.h"
#include "passes/Pipeline.h"
#include "zoo/Zoo.h"

#include "llvm/ADT/StringSet.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

struct Case {
  const char *network;
  LayoutChoice layout;
  int level;
};

bool hasLayout(mlir::Operation &op) {
  auto layouts = [](mlir::ValueRange values) {
    return llvm::any_of(values, [](mlir::Value value) { return nn::layoutOf(value) != nullptr; });
  };
  return layouts(op.getOperands()) || layouts(op.getResults());
}

class LayoutChoices : public testing::TestWithParam<Case> {
protected:
  const Target target = Target::parse("x86-64-v4");

  PipelineOptions options() const {
    PipelineOptions result;
    result.level = GetParam().level;
    result.layout = GetParam().layout;
    result.channelBlocks.last = result.layout == LayoutChoice::channelsLast;
    result.predictCycles = [this](mlir::func::FuncOp kernel) { return predictCycles({{}, kernel, target}); };
    return result;
  }
};

TEST_P(LayoutChoices, HoldAndAreReported) {
  auto context = makeContext();
  auto module = buildZoo(*context, GetParam().network);
  PipelineOptions pipeline = options();
  PipelineReport report = optimizeGraph(*module, pipeline);
  llvm::StringSet<> reported;
  for (const PipelineReport::Declined &one : report.unconverted) {
    EXPECT_FALSE(one.reason.empty()) << one.node;
    reported.insert(one.node);
  }
  int convolutions = 0, blockedOnes = 0;
  for (mlir::Operation &op : mainFunction(*module).getBody().front()) {
    if (!nn::recordOf(&op))
      continue;
    EXPECT_TRUE(hasLayout(op) || reported.contains(nn::describe(op.getLoc()))) << nn::describe(op.getLoc());
    bool conv = op.getName().stripDialect() == "conv";
    convolutions += conv;
    nn::BlockedAttr layout = nn::layoutOf(op.getResult(0));
    blockedOnes += conv && layout;
    if (!layout)
      continue;
    int64_t channels = llvm::cast<mlir::RankedTensorType>(op.getResult(0).getType()).getDimSize(1);
    EXPECT_EQ(layout.getSize(), pipeline.channelBlocks.last ? (channels + 15) / 16 * 16 : 16);
  }
  EXPECT_GT(convolutions, 10);
  EXPECT_EQ(blockedOnes, pipeline.layout == LayoutChoice::planes ? 0 : convolutions);
  report = formKernels(*module, pipeline);
  for (const PipelineReport::Conversion &one : report.conversions)
    EXPECT_FALSE(one.kernel.empty()) << one.node;
  if (pipeline.layout == LayoutChoice::planes)
    EXPECT_TRUE(report.conversions.empty());
  EXPECT_TRUE(report.references.empty());
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (LayoutChoice layout : {LayoutChoice::planes, LayoutChoice::channelsLast, LayoutChoice::blocked}) {
    for (const char *network : {"mobilenet_v2", "squeezenet", "shufflenet_v2"})
      all.push_back({network, layout, 3});
    all.push_back({"mobilenet_v2", layout, 0});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Zoo, LayoutChoices, testing::ValuesIn(cases()), [](const auto &info) {
  return std::string(info.param.network) + "_" + name(info.param.layout) + "_" + std::to_string(info.param.level);
});

} // namespace
} // namespace lathe
