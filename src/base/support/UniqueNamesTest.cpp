#include "support/UniqueNames.h"

#include <gtest/gtest.h>

using lathe::UniqueNames;

TEST(UniqueNames, TheLeastFreeNumberFollows) {
  UniqueNames names("_");
  names.reserve("conv_2");
  EXPECT_EQ(names.take("conv"), "conv");
  EXPECT_EQ(names.take("conv"), "conv_1");
  EXPECT_EQ(names.take("conv"), "conv_3");
  EXPECT_EQ(names.take("conv_1"), "conv_1_1");
  EXPECT_EQ(names.take("other"), "other");
}

TEST(UniqueNames, AReleasedNameIsTakenAgain) {
  UniqueNames names("_");
  for (const char *wanted : {"k", "k_1", "k_2", "k_3"})
    EXPECT_EQ(names.take("k"), wanted);
  names.release("k_2");
  EXPECT_EQ(names.take("k"), "k_2");
  EXPECT_EQ(names.take("k"), "k_4");
  names.release("k");
  EXPECT_EQ(names.take("k"), "k");
}
