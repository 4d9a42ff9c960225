#include "cli/print/Document.h"

#include <gtest/gtest.h>

using namespace lathe;
using namespace lathe::cli::print;

namespace {

Document example() {
  Table table({textColumn("name"), numberColumn("median", "ms")});
  table.row({"a|b<c>", "1.5"});
  table.row({"short"});
  return {"Title & <more>", {"One *sentence*."}, {{"Rows", {}, table}, {"Picture", {"It."}, table, "<svg></svg>"}}};
}

TEST(DocumentTest, PageEscapesNames) {
  std::string page = htmlOf(example());
  EXPECT_NE(page.find("<h1>Title &amp; &lt;more&gt;</h1>"), std::string::npos);
  EXPECT_NE(page.find("<td>a|b&lt;c&gt;</td><td class=\"number\">1.5</td>"), std::string::npos);
  EXPECT_NE(page.find("<td>short</td><td class=\"number\"></td>"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
}

TEST(DocumentTest, PictureTakesTheTablesPlaceOnThePage) {
  std::string page = htmlOf(example());
  EXPECT_NE(page.find("<p>It.</p>\n<svg></svg>"), std::string::npos);
  EXPECT_EQ(page.find("<table>", page.find("Picture")), std::string::npos);
}

TEST(DocumentTest, MarkdownKeepsCellsApart) {
  EXPECT_EQ(markdownOf(example()), "# Title & \\<more\\>\n\nOne \\*sentence\\*.\n\n## Rows\n\n"
                                   "| name | median ms |\n|---|---:|\n| a\\|b\\<c\\> | 1.5 |\n| short |  |\n"
                                   "\n## Picture\n\nIt.\n\n"
                                   "| name | median ms |\n|---|---:|\n| a\\|b\\<c\\> | 1.5 |\n| short |  |\n");
}

} // namespace
