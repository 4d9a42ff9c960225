#include "support/Table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

using namespace lathe;

namespace {

Table kernels() {
  Table table({numberColumn("#"), numberColumn("time", "ms"), textColumn("nodes").shrink(12),
               textColumn("shapes").drop(1).shrink(10), textColumn("schedule").drop(2).shrink(12)});
  table.row({"0", "1.25", "conv1_with_a_long_name+relu1_with_a_long_name", "1x64x56x56 -> 1x64x56x56",
             "direct/1 oc=2 px=14 unroll=8"});
  table.row({"1", "12.5", "fc", "1x64", "gemm/1"});
  return table;
}

size_t widest(const std::string &text) {
  size_t width = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    width = std::max(width, displayWidth(line));
  return width;
}

} // namespace

TEST(Table, withoutALimitEverythingIsWhole) {
  EXPECT_EQ(kernels().str(),
            "#  time ms  nodes                                          shapes                    schedule\n"
            "0     1.25  conv1_with_a_long_name+relu1_with_a_long_name  1x64x56x56 -> 1x64x56x56  direct/1 oc=2 px=14 "
            "unroll=8\n"
            "1     12.5  fc                                             1x64                      gemm/1\n");
}

TEST(Table, cellsAreShortenedBeforeTheTableIsTooWide) {
  EXPECT_EQ(kernels().str({.width = 80}),
            "#  time ms  nodes                   shapes                 schedule\n"
            "0     1.25  conv1_with_a_...g_name  1x64x56x56 -...x56x56  direct/1 oc=...roll=8\n"
            "1     12.5  fc                      1x64                   gemm/1\n"
            "shortened: nodes, shapes, schedule; --wide shows all\n")
      << widest(kernels().str({.width = 80}));
}

TEST(Table, columnsAreLeftOutInTheirOrder) {
  std::string narrow = kernels().str({.width = 44});
  EXPECT_LE(widest(narrow.substr(0, narrow.find("left out"))), 44u);
  EXPECT_NE(narrow.find("left out: schedule; shortened: nodes, shapes; --wide shows all\n"), narrow.npos) << narrow;
  std::string narrower = kernels().str({.width = 30});
  EXPECT_NE(narrower.find("left out: shapes, schedule; shortened: nodes; --wide shows all\n"), narrower.npos)
      << narrower;
  EXPECT_EQ(narrower.find("1x64"), narrower.npos);
}

TEST(Table, noWidthMakesItFail) {
  for (size_t width = 1; width < 130; ++width) {
    std::string text = kernels().str({.width = width});
    size_t body = text.find("left out");
    if (width >= 25) // columns that are never left out, at their least widths
      EXPECT_LE(widest(text.substr(0, std::min(body, text.find("shortened")))), width) << text;
    EXPECT_NE(text.find("12.5"), text.npos) << text;
  }
}

TEST(Table, rowsBeyondTheLimitAreCounted) {
  std::string text = kernels().str({.rows = 1});
  EXPECT_EQ(text.find("fc"), text.npos);
  EXPECT_NE(text.find("... and 1 more (--rows 0 shows all)\n"), text.npos);
}

TEST(Table, textIsMeasuredInColumnsOfTheTerminal) {
  EXPECT_EQ(displayWidth("naïve"), 5u);
  EXPECT_EQ(displayWidth("畳み込み"), 8u);
  EXPECT_EQ(displayWidth("e\u0301"), 1u);
  EXPECT_EQ(shortened("畳み込み畳み込み畳み込み", 13), "畳み込...み");
  EXPECT_EQ(shortened("ééééééééééé", 9), "éééé...éé");
  EXPECT_EQ(shortened("abcdef", 2), "..");
  Table table({textColumn("name"), numberColumn("n")});
  table.row({"畳み", "1"});
  table.row({"é", "12"});
  EXPECT_EQ(table.str(), "name   n\n畳み   1\né     12\n");
}

TEST(Table, noCellReachesTheTerminalAsACommand) {
  Table table({textColumn("a\x1b[31m"), textColumn("b")});
  table.row({"\x1b]0;x\x07", "two\nlines"});
  std::string text = table.str();
  EXPECT_EQ(text.find('\x1b'), text.npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(Csv, TextIsNoFormula) {
  EXPECT_EQ(csvCell("=HYPERLINK(A1)"), "'=HYPERLINK(A1)");
  EXPECT_EQ(csvCell("@sum"), "'@sum");
  EXPECT_EQ(csvCell("-2+3"), "'-2+3");
  EXPECT_EQ(csvCell("-2.5e-3"), "-2.5e-3"); // a number
  EXPECT_EQ(csvCell("a=b"), "a=b");
  for (const char *text : {"=1,2", "-x", "'=1", "''=1", "'-5", "'", "it's", "+1", "-5", "=\"a\""})
    EXPECT_THAT(csvCells(csvCell(text)), testing::ElementsAre(text));
  EXPECT_THAT(csvCells("'quoted',it's"), testing::ElementsAre("'quoted'", "it's")); // of others
}

TEST(Table, csvIsQuotedAndNamesUnits) {
  Table table({textColumn("first node"), numberColumn("median", "ms")});
  table.row({"a,b", "1.5"});
  table.row({"say \"x\""});
  EXPECT_EQ(table.csv(), "first_node,median_ms\n\"a,b\",1.5\n\"say \"\"x\"\"\",\n");
}

TEST(Table, aKeyIsTheNameOutsideTheTerminal) {
  Table table({textColumn("runs because").key("reason"), numberColumn("", "ms")});
  table.row({"x", "1"});
  EXPECT_EQ(table.csv(), "reason,ms\nx,1\n");
  EXPECT_EQ(table.str(), "runs because  ms\nx              1\n");
}

TEST(Csv, readsCells) {
  EXPECT_THAT(csvCells("a,b"), testing::ElementsAre("a", "b"));
  EXPECT_THAT(csvCells("a,\r"), testing::ElementsAre("a", ""));
  EXPECT_THAT(csvCells(R"("hotdog, hot dog",935)"), testing::ElementsAre("hotdog, hot dog", "935"));
  EXPECT_THAT(csvCells(R"(,"5"" disk",6" nail,"")"), testing::ElementsAre("", "5\" disk", "6\" nail", ""));
  EXPECT_THAT(csvCells("\"open, cell"), testing::ElementsAre("open, cell"));
  EXPECT_TRUE(csvCells("\r").empty());
}

TEST(Csv, readsWhatItWrites) {
  for (const char *text : {"", "plain", "a,b", "\"", "\"\"", "x\"y", "\",\""})
    EXPECT_THAT(csvCells(csvCell(text) + "," + csvCell(text)), testing::ElementsAre(text, text));
}
