// Conversion between records (store/Fields.h) and database rows: lists of columns, values to bind, values that
// are read.
#pragma once

#include "store/Fields.h"
#include "store/Row.h"

namespace lathe::store {

/// The id of the row of `table` whose `column` has the value `key`. Throws Error if there is none.
int64_t idOf(Database &database, const char *table, const char *column, const std::string &key);

/// The JSON text of a document, as a column stores it.
std::string dump(const nlohmann::json &document);

/// Visitor that lists the columns of a record's fields. With a table, the list is "table.column, ..." for a
/// query, where a field that links to another table is the key of that table; without a table, it is "column,
/// ..." for an insertion.
struct Columns {
  const char *table;
  bool withLarge;
  std::string list = {};

  void add(const char *of, const char *column) {
    list += (list.empty() ? "" : ", ") + (of ? std::string(of) + "." : "") + column;
  }
  void operator()(const char *key, const auto &, int = 0) { add(table, key); }
  void known(const char *key, const auto &, const char *column = nullptr) { add(table, column ? column : key); }
  void ended(const char *key, const auto &) { add(table, key); }
  void large(const char *key, const auto &) {
    if (withLarge)
      add(table, key);
  }
  void link(const char *key, const std::string &, const char *other, const char *column, bool = false) {
    table ? add(other, column) : add(nullptr, key);
  }
  void part(const Problem &problem) { nested(problem, "problem"); }
  void part(const Setting &setting) { nested(setting, "setting"); }

private:
  void nested(const auto &record, const char *of) {
    if (!table)
      return; // a nested record has a row of its own
    std::swap(table, of);
    visitFields(record, *this);
    std::swap(table, of);
  }
};

template <class Record> std::string columnsOf(const char *table, bool withLarge = true) {
  Columns columns{table, withLarge};
  const Record record;
  visitFields(record, columns);
  return columns.list;
}

/// Binds the fields of a record in the order of an insertion (columnsOf without a table), after parameter `at`.
struct Binder {
  Database &database;
  Statement &statement;
  int at = 0;

  void bind(const std::string &text) { statement.bindOne(++at, validUtf8(text)); }
  void bind(const Named auto &value) { statement.bindOne(++at, name(value)); }
  void bind(const auto &value) {
    if constexpr (requires { statement.bindOne(at, value); })
      statement.bindOne(++at, value);
    else
      statement.bindOne(++at, dump(asJson(value)));
  }
  void operator()(const char *, const auto &value, int = 0) { bind(value); }
  void known(const char *, const auto &value, const char * = nullptr) { bind(value); }
  void large(const char *, const auto &value) { bind(value); }
  void ended(const char *, const std::string &text) {
    text.empty() ? statement.bindOne(++at, std::nullopt) : bind(text);
  }
  void link(const char *, const std::string &key, const char *table, const char *column, bool optional = false) {
    if (optional && key.empty())
      statement.bindOne(++at, std::nullopt);
    else
      statement.bindOne(++at, idOf(database, table, column, key));
  }
  void part(const auto &) {}
};

/// Placeholders for an SQL list of columns: "?, ?" for "a, b".
inline std::string placesOf(const std::string &columns) {
  std::string places = "?";
  for (char c : columns)
    places += c == ',' ? ", ?" : "";
  return places;
}

/// The SQL of an insertion: "INSERT INTO table(first, ..., fields of a Record) VALUES (?, ...)".
template <class Record> std::string insertionOf(const char *table, const std::string &first) {
  std::string columns = first + (first.empty() ? "" : ", ") + columnsOf<Record>(nullptr);
  return fmt::format("INSERT INTO {}({})\nVALUES ({})", table, columns, placesOf(columns));
}

/// Inserts a row with `values` for the columns `first`, and the fields of a record. `clause` is appended to the SQL.
/// Returns the result of "RETURNING id".
template <class Record, class... Values>
int64_t insertRow(Database &database, const char *table, const char *first, const Record &record, const char *clause,
                  const Values &...values) {
  Statement insert(database, insertionOf<Record>(table, first) + clause);
  insert.bind(values...);
  visitFields(record, Binder{database, insert, int(sizeof...(values))});
  int64_t id = 0;
  while (insert.step())
    id = insert.integer(0);
  return id;
}

/// Reads the fields of a record from the columns that columnsOf lists.
struct RowReader {
  Row &row;
  bool withLarge;

  void operator()(const char *, std::string &value) { value = row.text(); }
  void operator()(const char *key, int &value, int least = 0) { value = row.count(key, least); }
  void operator()(const char *key, int64_t &value) {
    value = row.integer();
    require(value >= 0, "{} is {}, expected 0 or more", key, value);
  }
  void operator()(const char *, bool &value) { value = row.integer() != 0; }
  void operator()(const char *, std::optional<double> &value) { value = row.real(); }
  void operator()(const char *, Named auto &value) { read(row.text(), value); }
  void operator()(const char *key, auto &value) { read(row.document(), key, value); }
  void known(const char *key, auto &value, const char * = nullptr) { (*this)(key, value); }
  void ended(const char *key, std::string &value) { (*this)(key, value); }
  void large(const char *key, nlohmann::json &value) {
    if (withLarge)
      (*this)(key, value);
    if (value.empty())
      value = {};
  }
  void link(const char *key, std::string &value, const char *, const char *, bool = false) { (*this)(key, value); }
  void part(auto &record) { visitFields(record, *this); }
};

template <class Record> Record fieldsOf(Row &row, bool withLarge = true) {
  Record record;
  visitFields(record, RowReader{row, withLarge});
  return record;
}

} // namespace lathe::store
