#include "cli/flags/Options.h"
#include "support/archive/RecordArchive.h"

#include <gtest/gtest.h>

using namespace lathe;
using namespace lathe::cli;

TEST(Common, tasksWithoutOpenExtents) {
  EXPECT_EQ(withoutOpenExtents("task/2 | matmul | f32 ?x64; f32 64x32 constant -> f32 ?x32 | none | 1 thread | znver4"),
            "task/2 | matmul | f32 1x64; f32 64x32 constant -> f32 1x32 | none | 1 thread | znver4");
  EXPECT_EQ(withoutOpenExtents("task/2 | matmul | f32 1x64 -> f32 1x32 | none | 1 thread | znver4"), std::nullopt);
  // The code of a convolution depends on its height and width, so they must be known.
  EXPECT_EQ(withoutOpenExtents("task/2 | conv | f32 ?x3x?224x?224 -> f32 ?x8x?224x?224 | none | 1 thread | znver4"),
            std::nullopt);
}

TEST(Common, tablesAsJson) {
  Table table({textColumn("node"), textColumn("operator").key("op"), numberColumn("time", "ms"), textColumn("note")});
  table.row({"a\x1b", "conv", "1.5", "12"});
  table.row({"b", "relu", "", ""});
  table.row({"c", "add", "1.5 %", ""});
  EXPECT_EQ(toJson(table), nlohmann::json::parse(R"([
    {"node": "a\u001b", "op": "conv", "time_ms": 1.5, "note": "12"},
    {"node": "b", "op": "relu", "time_ms": null, "note": ""},
    {"node": "c", "op": "add", "time_ms": "1.5 %", "note": ""}])"));
  EXPECT_EQ(toJson(Table({textColumn("node")})), nlohmann::json::array());
}

TEST(Common, shortTimesKeepTheirDigits) {
  EXPECT_EQ(millisecondsText(1.5), "1500.0000");
  EXPECT_EQ(millisecondsText(0.01234e-3), "0.0123");
  EXPECT_EQ(millisecondsText(0.0042e-3), "0.00420");
  EXPECT_EQ(millisecondsText(42e-12), "0.000000042");
  EXPECT_EQ(millisecondsText(-42e-9), "-0.0000420");
  EXPECT_EQ(millisecondsText(0), "0.0000");
}

TEST(Common, cellsWithValuesOfTheirOwn) {
  Table table({textColumn("size").key("size_bytes"), textColumn("share").onlyText(), textColumn("nodes").onlyData()});
  table.row({valueCell("12.3 MB", 12345678), "3 %", valueCell("a+b", {"a", "b"})});
  EXPECT_EQ(toJson(table), nlohmann::json::parse(R"([{"size_bytes": 12345678, "nodes": ["a", "b"]}])"));
  EXPECT_EQ(table.str(), "size     share\n12.3 MB  3 %\n");
  EXPECT_EQ(table.csv(), "size_bytes,nodes\n12.3 MB,a+b\n");
}
