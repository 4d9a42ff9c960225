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

TEST(Text, ControlsOfDirectionAreSpelledOut) {
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\xe2\\x80\\xaeb")
      << "U+202E, right-to-left override";
  EXPECT_EQ(printable("\xe2\x81\xa6\xd8\x9c\xe2\x80\x8f\xe2\x80\xa8"),
            "\\xe2\\x81\\xa6\\xd8\\x9c\\xe2\\x80\\x8f\\xe2\\x80\\xa8")
      << "isolate, marks, line separator";
  EXPECT_EQ(printable("שלום \u200d \u2027\u202f\u2065\u206a"), "שלום \u200d \u2027\u202f\u2065\u206a")
      << "their neighbours";
}

TEST(Text, NamesInAnyLanguageStay) {
  EXPECT_EQ(printable("größe 卷积 🙂"), "größe 卷积 🙂");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3") << "not UTF-8";
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82") << "cut short";
  EXPECT_EQ(printable("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80") << "overlong, surrogate";
}

TEST(Text, SuggestsTheNearestName) {
  std::vector<std::string> names = {"grain", "rows", "unroll"};
  EXPECT_EQ(suggestion("grian", names), " (did you mean 'grain'?)");
  EXPECT_EQ(suggestion("row", names), " (did you mean 'rows'?)");
  EXPECT_EQ(suggestion("unrol1", names), " (did you mean 'unroll'?)");
  EXPECT_EQ(suggestion("prefetch", names), "");
  EXPECT_EQ(suggestion("", names), "");
  EXPECT_EQ(suggestion("x", {"y"}), "") << "nothing of it is left";
  EXPECT_EQ(suggestion(std::string(100'000, 'x'), names), "");
}

TEST(Text, ListsNames) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"a"}), "a");
  EXPECT_EQ(listed({"a", "b"}), "a and b");
  EXPECT_EQ(listed({"a", "b", "c"}, "or"), "a, b or c");
}

} // namespace lathe
