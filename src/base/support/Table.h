// Text tables that fit the width of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct TableColumn {
  std::string title, unit;  // heading: "median" and "ms" are shown as "median ms"
  bool alignsRight = false; // true for columns of numbers
  int dropOrder = 0;        // in narrow output, columns with the largest number are left out first; 0: never left out
  size_t leastWidth = 0;    // number of characters to which cells may be shortened; 0: never shortened
  std::string keyName;      // name of the column in CSV and JSON; "": made from title and unit
  bool inText = true, inData = true; // inText: the printed table shows the column; inData: CSV and JSON have it

  TableColumn drop(int order) const;
  TableColumn shrink(size_t least) const;
  TableColumn key(std::string name) const;
  TableColumn onlyText() const;
  TableColumn onlyData() const;
  std::string heading() const;
  /// Name of the column in CSV and JSON: the key, or title_unit with _ for spaces.
  std::string name() const;
};

TableColumn textColumn(std::string title);
TableColumn numberColumn(std::string title, std::string unit = "");

/// One cell of a table: the text that is shown, and the value that JSON gets.
struct TableCell {
  std::string text;
  /// JSON text of the value if the cell shows another text ("12.3 MB"); "": the shown text is the value.
  std::string json;

  TableCell(std::string text = {}, std::string json = {}) : text(std::move(text)), json(std::move(json)) {}
  TableCell(const char *text) : text(text) {}
};

/// Style in which a table is printed.
struct TableStyle {
  size_t width = 0; // largest number of characters in a line; 0: no limit
  size_t rows = 0;  // largest number of rows that are printed; 0: all
};

class Table {
public:
  explicit Table(std::vector<TableColumn> columns) : columns(std::move(columns)) {}
  /// Adds a row to the table. Missing cells at the end are empty. In the printed table, cells are made `printable`
  /// (support/Text.h).
  void row(std::vector<TableCell> cells);
  size_t rowCount() const { return rows.size(); }

  /// Returns the table as text. If the table is wider than `style.width`, columns are left out in
  /// drop order until the rest fits with shortened cells. A last line names the missing columns and
  /// the number of missing rows.
  std::string str(const TableStyle &style = {}) const;
  /// Returns all rows and data columns of the table as CSV (RFC 4180), under the names of the columns: the texts of
  /// the cells.
  std::string csv() const;
  const std::vector<TableColumn> &columnList() const { return columns; }
  const std::vector<std::vector<TableCell>> &cells() const { return rows; }

private:
  std::vector<TableColumn> columns;
  std::vector<std::vector<TableCell>> rows;
};

/// Number of terminal columns that valid UTF-8 text occupies: 2 for East Asian wide characters, 0
/// for combining marks.
size_t displayWidth(std::string_view text);

/// Returns `text` if it needs at most `width` terminal columns, else its beginning and end around "...".
std::string shortened(std::string_view text, size_t width);

// The functions below read and write cells of CSV files (RFC 4180), one record per line.

/// One cell of a CSV file, quoted if necessary; text that spreadsheets would compute gets an apostrophe, which
/// csvCells removes.
std::string csvCell(std::string_view text);

/// Returns the cells of a line of a CSV file without their quotes; none for an empty line. Quotes may be missing at
/// the end.
std::vector<std::string> csvCells(std::string_view line);

} // namespace lathe
