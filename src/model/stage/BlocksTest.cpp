#include "stage/Blocks.h"

#include "ir/Context.h"
#include "ir/Main.h"
#include "ir/Nn.h"
#include "stage/BlockTesting.h"
#include "stage/GraphTesting.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

using namespace lathe;

namespace {

class BlocksTest : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;

  std::vector<Block> find(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module) << text;
    std::vector<Block> blocks = findBlocks(mainFunction(*module));
    checkBlocks(mainFunction(*module), blocks);
    return blocks;
  }
  std::vector<std::string> operators(const Block &block) {
    std::vector<std::string> names;
    for (mlir::Operation *op : block.occurrences[0].operations)
      names.push_back(op->getName().stripDialect().str());
    return names;
  }
};

/// A branch and a shortcut; the shortcut is `x` itself, except in every third block.
std::string residual(GraphText &graph, std::string x, int index, bool named) {
  auto name = [&](const char *part) { return named ? fmt::format("stage{}.{}.{}", index / 3, index % 3, part) : ""; };
  std::string shortcut = index % 3 == 0 ? graph.add("neg", {x}, name("projection")) : x;
  std::string y = graph.add("mul", {x, graph.constant(index)}, name("scale"));
  y = graph.add("tanh", {y}, name("tanh"));
  y = graph.add("add", {y, graph.constant(1)}, name("bias"));
  return graph.add("relu", {graph.add("add", {y, shortcut}, name("add"))}, name("relu"));
}

TEST_F(BlocksTest, AShortcutIsAnInputWhetherOrNotItIsTheOtherOne) {
  for (bool named : {false, true}) {
    GraphText graph;
    std::string x = graph.add("sigmoid", {"%x"}, named ? "stem" : "");
    for (int i = 0; i < 6; ++i)
      x = residual(graph, x, i, named);
    std::vector<Block> blocks = find(graph.finish(x));
    ASSERT_EQ(blocks.size(), 1u);
    const Block &block = blocks[0];
    EXPECT_THAT(operators(block), testing::ElementsAre("mul", "tanh", "add", "add", "relu"));
    ASSERT_EQ(block.occurrences.size(), 6u);
    EXPECT_EQ(block.name, named ? "stage" : "mul_tanh_add_add_relu");
    for (size_t i = 0; i < 6; ++i) {
      const BlockOccurrence &occurrence = block.occurrences[i];
      ASSERT_EQ(occurrence.inputs.size(), 2u);
      EXPECT_EQ(occurrence.inputs[0] == occurrence.inputs[1], i % 3 != 0);
      EXPECT_EQ(occurrence.weights.size(), 2u);
      ASSERT_EQ(occurrence.outputs.size(), 1u);
      EXPECT_EQ(occurrence.outputs[0].getDefiningOp(), occurrence.operations[4]);
      EXPECT_EQ(occurrence.scope, named ? fmt::format("stage{}.{}", i / 3, i % 3) : "");
    }
  }
}

TEST_F(BlocksTest, AnOutputOfOneOccurrenceIsAnOutputOfAll) {
  GraphText graph;
  std::string x = "%x", inner;
  for (int i = 0; i < 4; ++i) {
    std::string a = graph.add("tanh", {x}), b = graph.add("mul", {a, graph.constant(i)});
    if (i == 2)
      inner = b;
    x = graph.add("add", {graph.add("sigmoid", {b}), a});
  }
  std::vector<Block> blocks = find(graph.finish(graph.add("div", {x, inner})));
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].occurrences.size(), 4u);
  for (const BlockOccurrence &occurrence : blocks[0].occurrences) {
    ASSERT_EQ(occurrence.outputs.size(), 2u);
    EXPECT_EQ(occurrence.outputs[0].getDefiningOp()->getName().getStringRef(), "nn.mul");
  }
}

TEST_F(BlocksTest, AttributesThatDifferAreListed) {
  GraphText graph;
  std::string x = "%x";
  for (const char *alpha : {"0.1", "0.2", "0.1", "0.1"}) {
    x = graph.add("mul", {graph.add("tanh", {x}), graph.constant(2)});
    x = graph.add("leaky_relu", {x}, "", fmt::format("{{alpha = {} : f64}}", alpha));
  }
  std::vector<Block> blocks = find(graph.finish(x));
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].occurrences.size(), 4u);
  std::vector<BlockDifference> differences = differencesOf(blocks[0]);
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(blocks[0].occurrences[0].operations[differences[0].operation]->getName().getStringRef(), "nn.leaky_relu");
  EXPECT_EQ(differences[0].attribute, "alpha");
}

TEST_F(BlocksTest, NothingRepeatsInAGraphOfDifferentOperators) {
  GraphText graph;
  std::string x = "%x";
  for (const char *op : {"tanh", "sigmoid", "relu", "neg", "exp", "abs"})
    x = graph.add(op, {x});
  EXPECT_TRUE(find(graph.finish(x)).empty());
}

/// A group must not wait for itself through operators outside the group.
TEST_F(BlocksTest, AGroupAroundAnotherOperatorIsNoBlock) {
  const char *between[] = {"neg", "exp", "abs", "floor", "ceil", "erf"};
  GraphText graph;
  std::string x = "%x";
  for (const char *op : between) {
    std::string a = graph.add("tanh", {graph.add("sigmoid", {x})});
    x = graph.add("relu", {graph.add("mul", {graph.add(op, {a}), a})});
  }
  for (const Block &block : find(graph.finish(x))) // checkBlocks looks for cycles
    EXPECT_LE(block.occurrences[0].operations.size(), 2u);
}

TEST_F(BlocksTest, BlocksOfRandomGraphsHoldWhatTheHeaderSays) {
  size_t found = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
    GraphText graph;
    std::vector<std::string> values{"%x"};
    const char *unary[] = {"tanh", "relu", "neg"}, *binary[] = {"add", "mul"};
    for (int i = 0; i < 80; ++i) {
      auto recent = [&] { return values[values.size() - 1 - below(std::min<size_t>(values.size(), 4))]; };
      std::string a = recent(), b = below(4) ? recent() : graph.constant(i);
      values.push_back(below(2) ? graph.add(unary[below(3)], {a}) : graph.add(binary[below(2)], {a, b}));
    }
    found += find(graph.finish(values.back())).size();
  }
  EXPECT_GT(found, 30u);
}

TEST_F(BlocksTest, TheSearchIsDeterministic) {
  auto describe = [&] {
    GraphText graph;
    std::string x = "%x", text;
    for (int i = 0; i < 12; ++i)
      x = residual(graph, x, i, i % 4 != 0);
    for (const Block &block : find(graph.finish(x))) {
      text += block.name + "\n";
      for (const BlockOccurrence &occurrence : block.occurrences)
        text += fmt::format("{} {}\n", occurrence.scope, nn::describe(occurrence.operations[0]->getLoc()));
    }
    return text;
  };
  std::string first = describe();
  EXPECT_FALSE(first.empty());
  module = {};
  context = makeContext();
  EXPECT_EQ(describe(), first);
}

} // namespace
