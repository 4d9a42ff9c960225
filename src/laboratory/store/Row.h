// What the queries of a store share: SQL conditions, and rows read as values.
#pragma once

#include "store/ContentKey.h"
#include "store/Store.h"
#include "support/JsonError.h"
#include "support/Text.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace lathe::store {

/// An SQL condition "WHERE a = ? AND b IN (?, ?)" and its parameters.
struct Where {
  std::string sql;
  std::vector<std::string> values;

  void add(const std::string &condition) { sql += (sql.empty() ? " WHERE " : " AND ") + condition; }
  void equal(const char *column, std::string_view value) {
    if (value.empty())
      return;
    add(std::string(column) + " = ?");
    values.emplace_back(value);
  }
  void bindTo(Statement &statement) const {
    for (size_t i = 0; i < values.size(); ++i)
      statement.bindOne(int(i) + 1, values[i]);
  }
};

/// Reads the columns of a row of a query's result, one after the other.
class Row {
public:
  explicit Row(const Statement &statement) : statement(statement) {}
  /// Reads the next column of the row as text, made valid UTF-8 whatever the file contains, because JSON requires it.
  std::string text() {
    std::string value = statement.text(column++);
    bool ascii = std::all_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x80; });
    return ascii ? value : validUtf8(value);
  }
  int64_t integer() { return statement.integer(column++); }
  /// Reads the next column of the row as an integer. Throws Error unless it is from `least` to 2^20.
  int count(const char *what, int least) {
    int64_t value = integer();
    require(value >= least && value <= 1 << 20, "{} is {}, expected {} to {}", what, value, least, 1 << 20);
    return int(value);
  }
  std::optional<double> real() {
    auto value = statement.optionalReal(column++);
    require(!value || std::isfinite(*value), "column {} is {}, expected a finite number", column, value.value_or(0));
    return value;
  }
  std::optional<int64_t> optionalInteger() { return statement.optionalInteger(column++); }
  nlohmann::json document() {
    nlohmann::json parsed = parseDocument(text());
    require(!parsed.is_discarded(), "column {} holds no JSON", column);
    return parsed;
  }
  Disturbance disturbance() {
    auto other = real(), stolen = real();
    return {other, stolen};
  }

private:
  const Statement &statement;
  int column = 0;
};

/// Calls `read`, which makes a record from a row of the database; errors become an Error that names the file and the
/// row.
template <class Read> auto inRow(const std::string &path, const char *table, const auto &row, Read read) {
  try {
    return read();
  } catch (const Error &error) {
    fail("{}: {} {}: {}", path, table, printable(fmt::format("{}", row)), printable(error.what()));
  } catch (const nlohmann::json::exception &error) {
    fail("{}: {} {}: {}", path, table, printable(fmt::format("{}", row)), printable(messageOf(error)));
  }
}

} // namespace lathe::store
