// One interface to SQLite files and to PostgreSQL servers. Destructors close databases, finalise statements and
// roll back uncommitted transactions. Every failure is a one-line Error with the file or URL and the database's
// message.
//
// SQL is written once, in what both dialects have. Parameters are `?`. The differences that remain
// are in store/Sqlite.cpp and store/postgres/PostgresDialect.h.
#pragma once

#include "store/Connection.h"

#include <functional>
#include <optional>

namespace lathe::store {

/// Number of seconds to wait for a lost database server: the value of the environment variable LATHE_STORE_WAIT,
/// or 300. Throws Error for a value that is not a number.
double serverWaitSeconds();
/// Sets the function that receives messages about lost and found database servers. Default: messages go to
/// standard error.
void setStoreNotice(std::function<void(const std::string &)> notice);
/// Passes a message about a lost or found database server to the function that setStoreNotice has set.
void storeNotice(const std::string &line);

/// A connection to a store's database, used from one thread at a time.
class Database {
public:
  using Mode = OpenMode;
  /// Opens the database at `place`. `busySeconds` is the time that a statement waits for another process that
  /// writes. The connection waits for a lost server for serverWaitSeconds(); with Mode::readOnly for
  /// `busySeconds`.
  Database(const Location &place, Mode mode, double busySeconds = 30);
  /// Creates a private database that is removed with the object; SQLite spills it to a temporary
  /// file. Messages call it `name`.
  static Database temporary(const std::string &name);

  /// The path of the database file, or the server's URL without passwords.
  const std::string &path() const { return place.text(); }
  const Location &location() const { return place; }
  /// Executes one or several SQL statements without parameters; rows of results are ignored.
  void execute(const std::string &sql) { connection->execute(sql); }
  /// Returns the first column of the first row of an SQL statement without parameters.
  int64_t integer(const std::string &sql);
  std::string text(const std::string &sql);
  /// Number of rows that the last SQL statement changed.
  int64_t changes() const { return connection->changes(); }
  /// Replaces `*this` by a copy of the current state of `source`. Both must be SQLite databases.
  void copyFrom(Database &source) { connection->copyFrom(*source.connection); }
  /// Calls `body`, which makes one transaction. If the connection breaks, or another writer changes the same
  /// rows first, calls `body` again with `again` true: the first call may already have written. `rescue`, if
  /// given, runs when a signal ends the process while the server is lost. Throws ServerGone after the waiting
  /// time.
  void repeated(const std::function<void(bool again)> &body, const std::function<void()> &rescue = nullptr);
  Connection &link() const { return *connection; }

private:
  Database(Location place, std::unique_ptr<Connection> connection);

  Location place;
  std::unique_ptr<Connection> connection;
};

/// A prepared statement. Its parameters are `?`, bound in order; columns count from 0.
class Statement {
public:
  /// Prepares an SQL statement. With RowTransfer::inPieces, `sql` must be a SELECT.
  Statement(Database &database, std::string_view sql, RowTransfer transfer = RowTransfer::whole)
      : cursor(database.link().prepare(sql, transfer)) {}

  /// Resets the statement and binds `values` to its parameters in order.
  template <class... Values> Statement &bind(const Values &...values) {
    reset();
    int index = 0;
    (bindOne(++index, values), ...);
    return *this;
  }
  void bindOne(int index, int64_t value) { cursor->bindInteger(index, value); }
  void bindOne(int index, int value) { bindOne(index, int64_t(value)); }
  void bindOne(int index, bool value) { bindOne(index, int64_t(value)); }
  void bindOne(int index, double value); // binds NULL if the value is not finite
  void bindOne(int index, std::string_view value) { cursor->bindText(index, value); }
  void bindOne(int index, const std::string &value) { bindOne(index, std::string_view(value)); }
  void bindOne(int index, std::nullopt_t) { cursor->bindNull(index); }
  template <class Value> void bindOne(int index, const std::optional<Value> &value) {
    if (value)
      bindOne(index, *value);
    else
      bindOne(index, std::nullopt);
  }

  /// Moves to the next row. Returns true if there is a row to read; at the end, returns false and resets the
  /// statement.
  bool step() { return cursor->step(); }
  /// Executes the statement to its end and ignores its rows.
  void run() {
    while (step()) {
    }
  }
  void reset() { cursor->reset(); }

  bool isNull(int column) const { return cursor->isNull(column); }
  int64_t integer(int column) const { return cursor->integer(column); }
  double real(int column) const { return cursor->real(column); }
  std::string text(int column) const { return cursor->text(column); }
  std::optional<int64_t> optionalInteger(int column) const;
  std::optional<double> optionalReal(int column) const;

private:
  std::unique_ptr<Cursor> cursor;
};

/// A database transaction. Its destructor rolls it back unless it was committed.
class Transaction {
public:
  using Kind = TransactionKind;
  explicit Transaction(Database &database, Kind kind = Kind::write) : link(database.link()) { link.begin(kind); }
  ~Transaction() {
    if (open)
      link.rollback();
  }
  Transaction(const Transaction &) = delete;
  Transaction &operator=(const Transaction &) = delete;
  void commit() {
    link.commit();
    open = false;
  }

private:
  Connection &link;
  bool open = true;
};

} // namespace lathe::store
