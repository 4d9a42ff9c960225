#include "support/csv/Csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

using testing::ElementsAre;

TEST(Csv, readsCells) {
  EXPECT_THAT(csvCells("a,b"), ElementsAre("a", "b"));
  EXPECT_THAT(csvCells("a,\r"), ElementsAre("a", ""));
  EXPECT_THAT(csvCells(R"("hotdog, hot dog",935)"), ElementsAre("hotdog, hot dog", "935"));
  EXPECT_THAT(csvCells(R"(,"5"" disk",6" nail,"")"), ElementsAre("", "5\" disk", "6\" nail", ""));
  EXPECT_THAT(csvCells("\"open, cell"), ElementsAre("open, cell"));
  EXPECT_TRUE(csvCells("\r").empty());
}

TEST(Csv, readsWhatItWrites) {
  for (const char *text : {"", "plain", "a,b", "\"", "\"\"", "x\"y", "\",\""})
    EXPECT_THAT(csvCells(csvCell(text) + "," + csvCell(text)), ElementsAre(text, text));
}

} // namespace
} // namespace lathe
