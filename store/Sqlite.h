// sqlite3's C API with owners: what is opened is closed, what is prepared is finalised, a transaction that is not
// committed is rolled back. Every failure is an Error of one line that names the file and what SQLite says.
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

/// One connection; of one thread at a time.
class Database {
public:
  enum class Mode {
    create,   // made when it is not there, its folder too
    existing, // read and written
    readOnly
  };
  /// `busySeconds`: how long a statement waits for another process that is writing.
  Database(const std::string &path, Mode mode, double busySeconds = 30);
  /// A private one that goes with its owner; SQLite spills it to a temporary file. `name` stands for it in messages.
  static Database temporary(const std::string &name);

  const std::string &path() const { return file; }
  /// One statement or several, without parameters; rows are ignored.
  void execute(const std::string &sql);
  /// First column of the first row of a statement without parameters.
  int64_t integer(const std::string &sql);
  std::string text(const std::string &sql);
  /// Rows that the last statement changed.
  int64_t changes() const;
  /// Makes `*this` a copy of `source` as it is at this moment.
  void copyFrom(Database &source);
  /// Throws the Error of what failed last.
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

  /// Binds all parameters, from the first; a reset statement keeps them.
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

  /// True: a row is there to be read. False: the statement has done its work, and is reset.
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

/// All or nothing. `write` takes the write lock at once (waiting for other writers), so that what was read inside stays
/// true; `read` sees the database as it was at its first statement.
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
