// A connection to a PostgreSQL server, and the rows that its statements return.
#pragma once

#include "store/Connection.h"
#include "store/postgres/Libpq.h"

#include <optional>
#include <string>
#include <vector>

namespace lathe::store {

/// Values for the parameters of an SQL statement, as texts.
struct Parameters {
  std::vector<std::optional<std::string>> values;
  std::vector<Oid> types; // type numbers in PostgreSQL's catalog pg_type; 0: any type

  void set(int index, Oid type, std::optional<std::string> value) {
    size_t at = size_t(index) - 1;
    if (values.size() <= at) {
      values.resize(at + 1);
      types.resize(at + 1);
    }
    values[at] = std::move(value);
    types[at] = type;
  }
  std::vector<const char *> texts() const {
    std::vector<const char *> texts;
    texts.reserve(values.size());
    for (auto &value : values)
      texts.push_back(value ? value->c_str() : nullptr);
    return texts;
  }
};

class PostgresConnection final : public Connection {
public:
  struct Clear {
    decltype(&::PQclear) clear;
    void operator()(PGresult *result) const { clear(result); }
  };
  using Result = std::unique_ptr<PGresult, Clear>;

  PostgresConnection(const Location &place, OpenMode mode, double busySeconds, double waitSeconds)
      : pq(libpq(place.text())), place(place), readOnly(mode == OpenMode::readOnly), busySeconds(busySeconds),
        waitSeconds(waitSeconds) {
    try {
      connectFirst();
    } catch (...) { // the destructor does not run if the constructor throws
      pq.finish(connection);
      throw;
    }
  }
  ~PostgresConnection() override { pq.finish(connection); }

  std::unique_ptr<Cursor> prepare(std::string_view sql, RowTransfer transfer) override;
  void execute(const std::string &sql) override { run(sql, nullptr); }
  int64_t changes() const override { return changed; }

  void begin(TransactionKind kind) override;
  void commit() override;
  void rollback() noexcept override {
    if (inTransaction)
      /// ROLLBACK also drops rows that are still being sent.
      pq.clear(pq.exec(connection, "ROLLBACK"));
    endTransaction();
    sendsRows = false;
  }
  void reconnect(const std::string &reason) override;

  int64_t schemaVersion() override;
  int64_t changeCount() override;
  void setSchemaVersion(int64_t version) override {
    run(fmt::format("UPDATE schema_version SET version = {}", version), nullptr);
  }
  void prepareEmpty() override {
    run("CREATE SCHEMA IF NOT EXISTS lathe; CREATE TABLE schema_version (version BIGINT NOT NULL);"
        " INSERT INTO schema_version VALUES (0)",
        nullptr);
  }
  std::string dialectOf(const std::string &step) const override;

  /// Executes one SQL statement with parameters, or several without. Outside a transaction, a lost connection is
  /// replaced, and the statement executed again.
  Result run(const std::string &sql, const Parameters *parameters);

  /// Executes a SELECT like `run` and returns its first row; null if there is none. No other statement may be executed
  /// until `nextRow` has returned null, or `dropRows` was called.
  Result firstRow(const std::string &sql, const Parameters &parameters);
  Result nextRow();
  void dropRows() noexcept;

  /// A server-side cursor for the rows of a SELECT, which are fetched in pieces. It ends with the connection, or with
  /// the transaction in which it was opened.
  struct Portal {
    std::string name;
    /// Numbers of the connection and the transaction in which the portal was opened; transaction 0: none.
    int64_t connection = 0, transaction = 0;
  };
  /// Opens a portal for a SELECT, with the error handling of `run`, and returns the first rows.
  Result open(Portal &portal, const std::string &select, const Parameters &parameters);
  /// Fetches the next rows of a portal. Throws LostConnection for a portal that has ended.
  Result fetch(const Portal &portal);
  void close(const Portal &portal) noexcept;

  const Libpq &pq;

private:
  bool isOpen(const Portal &portal) const {
    return portal.connection == connections && (!portal.transaction || portal.transaction == transactions);
  }
  void endTransaction() {
    transactions += inTransaction;
    inTransaction = false;
  }
  void connectFirst();
  bool connect(std::string &reason);
  /// The first value of the first row that an SQL statement returns; "" without rows.
  std::string first(const char *sql);
  PGPing ping() const;
  Result once(const std::string &sql, const Parameters *parameters);
  /// Calls `body`, which uses the connection. If the connection breaks outside a transaction, makes a new one and
  /// calls `body` again.
  template <class Body> auto untilConnected(Body body) {
    for (;;)
      try {
        return body();
      } catch (const LostConnection &lost) {
        if (inTransaction)
          throw;
        reconnect(lost.what());
      }
  }
  void check(const PGresult *result) const;
  std::string messageOf(const char *text) const;

  Location place;
  bool readOnly;
  double busySeconds, waitSeconds;
  PGconn *connection = nullptr;
  bool inTransaction = false;
  bool sendsRows = false; // true while rows are being sent one by one
  int64_t changed = 0;
  /// Number of the current connection; number of the next transaction; number of the next portal.
  int64_t connections = 0, transactions = 1, portals = 0;
};

} // namespace lathe::store
