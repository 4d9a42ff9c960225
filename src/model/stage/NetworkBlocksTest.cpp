// The blocks of networks whose published structure consists of blocks.
#include "ir/Context.h"
#include "ir/Main.h"
#include "ir/Nn.h"
#include "passes/Passes.h"
#include "stage/BlockTesting.h"
#include "zoo/Zoo.h"

#include "mlir/IR/Builders.h"

#include <gmock/gmock.h>

using namespace lathe;

namespace {

/// The blocks of a network as "layer 16x10": name, occurrences, operations.
std::vector<std::string> blocksOf(mlir::func::FuncOp main) {
  std::vector<Block> blocks = findBlocks(main);
  checkBlocks(main, blocks);
  std::vector<std::string> result;
  for (const Block &block : blocks)
    result.push_back(
        fmt::format("{} {}x{}", block.name, block.occurrences.size(), block.occurrences[0].operations.size()));
  return result;
}

std::vector<std::string> blocksOf(const std::string &network, bool named = true) {
  auto context = makeContext();
  auto module = buildZoo(*context, network);
  if (!named)
    module->walk([&](mlir::Operation *op) { op->setLoc(mlir::UnknownLoc::get(context.get())); });
  return blocksOf(mainFunction(*module));
}

using testing::Contains;
using testing::ElementsAre;

TEST(NetworkBlocksTest, OfConvolutionalNetworks) {
  EXPECT_THAT(blocksOf("resnet50"), ElementsAre("layer 16x10", "downsample 5x2"));
  EXPECT_THAT(blocksOf("mobilenet_v2"), ElementsAre("block 10x9", "block_1 6x8")); // with and without a shortcut
  EXPECT_THAT(blocksOf("densenet121"), ElementsAre("block 58x7", "transition 3x4"));
  EXPECT_THAT(blocksOf("googlenet"), ElementsAre("inception 9x14"));
  EXPECT_THAT(blocksOf("squeezenet"), ElementsAre("fire 8x7"));
  EXPECT_THAT(blocksOf("shufflenet_v2"), ElementsAre("stage 13x13", "stage_1 3x17"));
  // Modules A and C have 23 operators in common.
  std::vector<std::string> inception = blocksOf("inception_v3");
  ASSERT_EQ(inception.size(), 4u);
  EXPECT_THAT(inception[0], testing::EndsWith(" 7x23"));
  EXPECT_THAT(inception[1], testing::EndsWith(" 2x31"));
}

TEST(NetworkBlocksTest, OfNetworksWithoutNames) {
  EXPECT_THAT(blocksOf("resnet50", false), Contains(testing::EndsWith(" 16x10")));
  EXPECT_THAT(blocksOf("squeezenet", false), Contains(testing::EndsWith(" 8x7")));
  EXPECT_THAT(blocksOf("densenet121", false), Contains(testing::EndsWith(" 58x7")));
}

TEST(NetworkBlocksTest, ABottleneckHasSevenOperatorsBehindFoldedNormalisations) {
  auto context = makeContext();
  auto module = buildZoo(*context, "resnet50");
  foldBatchNorm(*module, false, false);
  mlir::func::FuncOp main = mainFunction(*module);
  std::vector<Block> blocks = findBlocks(main);
  checkBlocks(main, blocks);
  ASSERT_EQ(blocks.size(), 1u);
  ASSERT_EQ(blocks[0].occurrences.size(), 16u);
  std::vector<std::string> operators;
  for (mlir::Operation *op : blocks[0].occurrences[0].operations)
    operators.push_back(op->getName().stripDialect().str());
  EXPECT_THAT(operators, ElementsAre("conv", "relu", "conv", "relu", "conv", "add", "relu"));
  for (const BlockOccurrence &occurrence : blocks[0].occurrences) {
    EXPECT_EQ(occurrence.inputs.size(), 2u);
    EXPECT_EQ(occurrence.weights.size(), 6u);
    EXPECT_EQ(occurrence.outputs.size(), 1u);
  }
}

} // namespace
