// A table of text that fits a terminal: columns are declared with title, unit, alignment and what happens to them where
// there is not enough room.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct TableColumn {
  std::string title, unit;  // shown as "median ms"
  bool alignsRight = false; // numbers
  int dropOrder = 0;        // columns of the largest order are left out first; 0: never left out
  size_t leastWidth = 0;    // cells may be shortened to this many characters; 0: never shortened

  TableColumn drop(int order) const;
  TableColumn shrink(size_t least) const;
  std::string heading() const;
};

TableColumn textColumn(std::string title);
TableColumn numberColumn(std::string title, std::string unit = "");

/// How a table is printed.
struct TableStyle {
  size_t width = 0; // characters of a line; 0: no limit
  size_t rows = 0;  // at most; 0: all
};

class Table {
public:
  explicit Table(std::vector<TableColumn> columns) : columns(std::move(columns)) {}
  /// Missing cells at the end are empty. Cells are made `printable` (support/Text.h).
  void row(std::vector<std::string> cells);
  size_t rowCount() const { return rows.size(); }

  /// Where the table is wider than the style allows, columns are left out until the rest fits with its longest cells
  /// shortened as little as possible. A last line says which columns that were, and how many rows are missing.
  std::string str(const TableStyle &style = {}) const;
  /// The same rows as CSV (RFC 4180), whole. Columns are named title_unit, with _ for spaces.
  std::string csv() const;

private:
  std::vector<TableColumn> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Columns of a terminal that valid UTF-8 takes: 2 for East Asian wide characters, 0 for combining marks.
size_t displayWidth(std::string_view text);

/// `text` where it takes at most `width` columns; else its beginning and its end around "...".
std::string shortened(std::string_view text, size_t width);

/// One cell of CSV, in quotes where it needs them.
std::string csvCell(std::string_view text);

} // namespace lathe
