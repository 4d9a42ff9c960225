#include "process/ShellWords.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::process {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ShellWords, splitsAtBlanks) {
  EXPECT_THAT(splitShellWords("ssh  board\t-p 22\n").words, ElementsAre("ssh", "board", "-p", "22"));
  EXPECT_THAT(splitShellWords("  ").words, IsEmpty());
}

TEST(ShellWords, quotesKeepWordsTogether) {
  EXPECT_THAT(splitShellWords("ssh 'my host'").words, ElementsAre("ssh", "my host"));
  EXPECT_THAT(splitShellWords(R"(ssh "my host" a\ b)").words, ElementsAre("ssh", "my host", "a b"));
  EXPECT_THAT(splitShellWords(R"(a'b c'"d e"f)").words, ElementsAre("ab cd ef"));
  EXPECT_THAT(splitShellWords(R"('' "")").words, ElementsAre("", ""));
}

TEST(ShellWords, backslashesAsPosixHasThem) {
  EXPECT_THAT(splitShellWords(R"('a\b')").words, ElementsAre(R"(a\b)"));
  EXPECT_THAT(splitShellWords(R"("a\b \" \\ \$x")").words, ElementsAre(R"(a\b " \ $x)"));
  EXPECT_THAT(splitShellWords("a\\\nb \"c\\\nd\"").words, ElementsAre("ab", "cd"));
}

TEST(ShellWords, nothingIsExpanded) {
  EXPECT_THAT(splitShellWords("echo $HOME *.c ~ | x").words, ElementsAre("echo", "$HOME", "*.c", "~", "|", "x"));
}

TEST(ShellWords, saysWhatIsNotClosed) {
  EXPECT_THAT(splitShellWords("ssh 'my host").problem, HasSubstr("' is not closed"));
  EXPECT_THAT(splitShellWords("ssh \"my host").problem, HasSubstr("\" is not closed"));
  EXPECT_THAT(splitShellWords("ssh host\\").problem, HasSubstr("backslash"));
  EXPECT_EQ(splitShellWords("ssh 'my host'").problem, "");
}

TEST(ShellWords, commandsAreReadBack) {
  std::vector<std::string> words = {"lathe", "it's", "a b", "", "$x", "conv1:0", "\"q\"", "a\\b", "line\nend"};
  EXPECT_THAT(splitShellWords(shellCommand(words)).words, words);
  EXPECT_EQ(shellCommand({"ssh", "my host"}), "ssh 'my host'");
}

} // namespace
} // namespace lathe::process
