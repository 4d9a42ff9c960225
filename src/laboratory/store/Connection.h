// Interface that each kind of database (SQLite, PostgreSQL) implements for Database, Statement and Transaction
// (store/Database.h).
#pragma once

#include "store/Location.h"
#include "support/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace lathe::store {

/// Error: a database server refused a request, because its disk is full, another program holds a lock, or the
/// user may not write. The data is intact.
class ServerFailure : public Error {
public:
  using Error::Error;
};

/// Error: the database server does not answer, or has ended the connection. The current transaction is not
/// written, unless the connection broke while it was committed.
class LostConnection : public ServerFailure {
public:
  using ServerFailure::ServerFailure;
};

/// Error: a lost database server did not come back within the waiting time.
class ServerGone : public ServerFailure {
public:
  using ServerFailure::ServerFailure;
};

/// Error: another writer changed the same rows first. A second try of the transaction sees the data of the other
/// writer.
class WriteConflict : public ServerFailure {
public:
  using ServerFailure::ServerFailure;
};

enum class TransactionKind {
  write,  // no other process writes until the transaction ends, so what it has read stays valid
  append, // the transaction only adds rows; others may append at the same time
  read    // the transaction only reads, from a snapshot of the database
};

/// How the rows of a query's result are transferred from a server. An SQLite file always gives its rows one by
/// one.
enum class RowTransfer {
  whole, // all rows of the result at once
  // inPieces and oneByOne are for results that may not fit into memory. With them, a connection that breaks
  // after the first rows is a LostConnection, also outside transactions.
  inPieces, // a block of rows at a time, each with a request to the server
  oneByOne  // as a stream; no other statement may run before the end of the result
};

/// A prepared statement of a connection. Parameters count from 1, columns from 0.
class Cursor {
public:
  virtual ~Cursor() = default;
  virtual void bindInteger(int index, int64_t value) = 0;
  virtual void bindReal(int index, double value) = 0;
  virtual void bindText(int index, std::string_view value) = 0;
  virtual void bindNull(int index) = 0;
  virtual bool step() = 0;
  virtual void reset() = 0;
  virtual bool isNull(int column) const = 0;
  virtual int64_t integer(int column) const = 0;
  virtual double real(int column) const = 0;
  virtual std::string text(int column) const = 0;
};

class Connection {
public:
  virtual ~Connection() = default;
  virtual std::unique_ptr<Cursor> prepare(std::string_view sql, RowTransfer transfer) = 0;
  virtual void execute(const std::string &sql) = 0;
  virtual int64_t changes() const = 0;

  virtual void begin(TransactionKind kind) = 0;
  virtual void commit() = 0;
  /// Undoes an open transaction; does nothing if no transaction is open.
  virtual void rollback() noexcept = 0;
  /// Connects to a lost server again. Waits at most for the time that was given when the connection was opened,
  /// then throws ServerGone.
  virtual void reconnect(const std::string &reason);

  /// Schema version of the store in this database; 0: the database is empty, -1: it belongs to another program.
  virtual int64_t schemaVersion() = 0;
  virtual void setSchemaVersion(int64_t version) = 0;
  /// Returns a number that changes when another connection has changed the database. This needs no query of a table.
  /// On a server, changes of other databases may change the number, too.
  virtual int64_t changeCount() = 0;
  /// Creates what an empty database needs before the first schema step.
  virtual void prepareEmpty() {}
  /// Kind and name of an object in the database that Lathe did not create and that would change the effect of
  /// Lathe's statements; "": none.
  virtual std::string foreignObject() { return ""; }
  /// Translates the statements of a schema step (store/Schema.cpp) into the database's dialect.
  virtual std::string dialectOf(const std::string &step) const { return step; }

  /// Makes commits survive a power failure. Limits the size of the database to `maxPages` pages; 0: no limit.
  virtual void beSafe(double /*busySeconds*/, int64_t /*maxPages*/) {}
  /// Replaces the content of the database by the content of `source`, a database of the same kind.
  virtual void copyFrom(Connection &source);
};

enum class OpenMode {
  create,   // read and write; create the file and its folder if missing
  existing, // read and write an existing file
  readOnly
};

/// Opens an SQLite file; an empty path: a private database that is removed with the connection. Messages call
/// the database `name`.
std::unique_ptr<Connection> openSqlite(const std::string &path, const std::string &name, OpenMode mode,
                                       double busySeconds);
/// Connects to a PostgreSQL server. Waits for a server that is starting for `busySeconds`, and later for a lost
/// server for `waitSeconds`.
std::unique_ptr<Connection> openPostgres(const Location &place, OpenMode mode, double busySeconds, double waitSeconds);

} // namespace lathe::store
