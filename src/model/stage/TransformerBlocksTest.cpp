// The blocks of transformers. A separate program, because drawing their weights takes long.
#include "ir/Context.h"
#include "ir/Main.h"
#include "stage/BlockTesting.h"
#include "zoo/Zoo.h"

#include <gmock/gmock.h>

using namespace lathe;

namespace {

TEST(TransformerBlocksTest, OneLayerOccursTwelveTimes) {
  const std::tuple<const char *, const char *, size_t> networks[] = {
      {"gpt2_small", "h", 55}, {"bert_base", "layer", 50}, {"vit_b_16", "layer", 26}};
  for (auto [network, name, operations] : networks) {
    auto context = makeContext();
    auto module = buildZoo(*context, network);
    std::vector<Block> blocks = findBlocks(mainFunction(*module));
    checkBlocks(mainFunction(*module), blocks);
    ASSERT_EQ(blocks.size(), 1u) << network;
    EXPECT_EQ(blocks[0].name, name);
    EXPECT_EQ(blocks[0].occurrences.size(), 12u) << network;
    EXPECT_EQ(blocks[0].occurrences[0].operations.size(), operations) << network;
  }
}

} // namespace
