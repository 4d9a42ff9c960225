#include "support/Text.h"

#include <gtest/gtest.h>

namespace lathe {

TEST(Text, CountsNouns) {
  EXPECT_EQ(counted(1, "operator"), "1 operator");
  EXPECT_EQ(counted(0, "operator"), "0 operators");
  EXPECT_EQ(counted(3, "process", "processes"), "3 processes");
  EXPECT_EQ(counted(1, "process", "processes"), "1 process");
}

TEST(Text, TerminalCommandsAreSpelledOut) {
  EXPECT_EQ(printable("conv\033[2J1"), "conv\\x1b[2J1");
  EXPECT_EQ(printable("a\nb\tc\rd\x7f"), "a\\nb\\tc\\rd\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J")
      << "CSI as one C1 character";
}

TEST(Text, NamesInAnyLanguageStay) {
  EXPECT_EQ(printable("größe 卷积 🙂"), "größe 卷积 🙂");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3") << "not UTF-8";
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82") << "cut short";
  EXPECT_EQ(printable("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80") << "overlong, surrogate";
}

} // namespace lathe
