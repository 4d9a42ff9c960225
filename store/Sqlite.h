// RAII wrappers of sqlite3's C API: databases are closed, statements finalised, uncommitted
// transactions rolled back. Every failure is a one-line Error with the file and SQLite's message.
#pragma once

#include "support/Error.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace lathe::store {

/// One connection, used from one thread at a time.
class Database {
public:
  enum class Mode {
    create,   // read and write; create the file and its folder if missing
    existing, // read and write an existing file
    readOnly
  };
  /// `busySeconds` is the time that a statement waits for another process that writes.
  Database(const std::string &path, Mode mode, double busySeconds = 30);
  /// Creates a private database that is removed with the object; SQLite spills it to a temporary
  /// file. Messages call it `name`.
  static Database temporary(const std::string &name);

  const std::string &path() const { return file; }
  /// Executes one or several statements without parameters; rows are ignored.
  void execute(const std::string &sql);
  /// Returns the first column of the first row of a statement without parameters.
  int64_t integer(const std::string &sql);
  std::string text(const std::string &sql);
  /// Number of rows that the last statement changed.
  int64_t changes() const;
  /// Replaces `*this` by a copy of the current state of `source`.
  void copyFrom(Database &source);
  /// Throws Error for the last failed call.
  [[noreturn]] void fail() const;
  sqlite3 *handle() const { return connection.get(); }

private:
  struct Close {
    void operator()(sqlite3 *connection) const;
  };
  Database() = default;
  /// Opens `name` ("": a temporary database).
  void open(const std::string &name, int flags);

  std::string file;
  std::unique_ptr<sqlite3, Close> connection;
};

/// A prepared statement. Parameters are `?`, bound in order; columns count from 0.
class Statement {
public:
  Statement(Database &database, std::string_view sql);

  /// Resets the statement and binds all parameters in order.
  template <class... Values> Statement &bind(const Values &...values) {
    reset();
    int index = 0;
    (bindOne(++index, values), ...);
    return *this;
  }
  void bindOne(int index, int64_t value);
  void bindOne(int index, int value) { bindOne(index, int64_t(value)); }
  void bindOne(int index, bool value) { bindOne(index, int64_t(value)); }
  void bindOne(int index, double value); // NULL unless finite
  void bindOne(int index, std::string_view value);
  void bindOne(int index, const std::string &value) { bindOne(index, std::string_view(value)); }
  void bindOne(int index, std::nullopt_t);
  template <class Value> void bindOne(int index, const std::optional<Value> &value) {
    if (value)
      bindOne(index, *value);
    else
      bindOne(index, std::nullopt);
  }

  /// Returns true if there is a row to read. Returns false at the end and resets the statement.
  bool step();
  /// Steps to the end.
  void run();
  void reset();

  bool isNull(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::optional<int64_t> optionalInteger(int column) const;
  std::optional<double> optionalReal(int column) const;

private:
  struct Finalize {
    void operator()(sqlite3_stmt *statement) const;
  };
  Database &database;
  std::unique_ptr<sqlite3_stmt, Finalize> statement;
};

/// A transaction, rolled back unless committed. `write` takes the write lock at once (waiting for
/// other writers), so what it reads stays valid; `read` sees the database as of its first
/// statement.
class Transaction {
public:
  enum class Kind { write, read };
  explicit Transaction(Database &database, Kind kind = Kind::write);
  ~Transaction();
  Transaction(const Transaction &) = delete;
  Transaction &operator=(const Transaction &) = delete;
  void commit();

private:
  Database &database;
  bool open = true;
};

} // namespace lathe::store
