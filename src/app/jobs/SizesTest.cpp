#include "jobs/Sizes.h"

#include <gmock/gmock.h>

namespace lathe::jobs {
namespace {

using testing::ElementsAre;

TEST(Sizes, countsAreListedDoubledOrStepped) {
  auto counts = [](const char *text) { return parseCounts("--batch", text); };
  EXPECT_THAT(counts("3"), ElementsAre(3));
  EXPECT_THAT(counts("1,2,4,8..64"), ElementsAre(1, 2, 4, 8, 16, 32, 64));
  EXPECT_THAT(counts("8..40"), ElementsAre(8, 16, 32, 40));
  EXPECT_THAT(counts("8..40:8"), ElementsAre(8, 16, 24, 32, 40));
  EXPECT_THAT(counts("1..4:2,4,1"), ElementsAre(1, 3, 4));
  EXPECT_THAT(counts("5..5"), ElementsAre(5));
  for (const char *wrong : {"", "0", "a", "1,", ",1", "4..1", "1..", "..4", "1..4:0", "1..4:x", "-1", "1 2"})
    EXPECT_THROW(counts(wrong), Error) << wrong;
  EXPECT_THROW(counts("1..5000:1"), Error);
}

TEST(Sizes, shapesOfSeveralInputsGoTogether) {
  auto sizes = sizesOf("1,2", {"a=1x4", "b=3", "a=1x8"});
  ASSERT_EQ(sizes.size(), 4u);
  EXPECT_THAT(sizes[0].shapes, ElementsAre("a=1x4", "b=3"));
  EXPECT_EQ(sizes[1].batch, 2);
  EXPECT_THAT(sizes[3].shapes, ElementsAre("a=1x8", "b=3"));
  EXPECT_EQ(sizesOf("", {}).size(), 1u);
  EXPECT_FALSE(severalShapes({"a=1", "b=2"}));
  EXPECT_TRUE(severalShapes({"a=1", "b=2", "a=3"}));
  EXPECT_THROW(sizesOf("", {"a=1", "a=2", "b=1", "b=2", "b=3"}), Error);
}

} // namespace
} // namespace lathe::jobs
