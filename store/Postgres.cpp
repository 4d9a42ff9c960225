// Stores on PostgreSQL servers.
#include "store/Database.h"
#include "store/Libpq.h"
#include "store/PostgresDialect.h"
#include "support/Text.h"

#include <charconv>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace lathe::store {
namespace {

using Clock = std::chrono::steady_clock;

// Object identifiers of PostgreSQL's types (catalog pg_type).
constexpr Oid integerType = 20, textType = 25, realType = 701, unknownType = 0;
// Of the lock that writers take, shared to append and alone to change ("Lthe", as files of SQLite have it).
constexpr int64_t writersLock = 0x4c746865;
constexpr int leastServerVersion = 120000; // reals as texts that give the same number back

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Parameters {
  std::vector<std::optional<std::string>> values;
  std::vector<Oid> types;

  void set(int index, Oid type, std::optional<std::string> value) {
    size_t at = size_t(index) - 1;
    if (values.size() <= at) {
      values.resize(at + 1);
      types.resize(at + 1, unknownType);
    }
    values[at] = std::move(value);
    types[at] = type;
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
    } catch (...) { // no destructor runs
      pq.finish(connection);
      throw;
    }
  }
  ~PostgresConnection() override { pq.finish(connection); }

  std::unique_ptr<Cursor> prepare(std::string_view sql) override;
  void execute(const std::string &sql) override { run(sql, nullptr); }
  int64_t changes() const override { return changed; }

  void begin(TransactionKind kind) override;
  void commit() override;
  void rollback() noexcept override {
    if (inTransaction)
      pq.clear(pq.exec(connection, "ROLLBACK"));
    inTransaction = false;
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
  std::string dialectOf(const std::string &step) const override { return postgresSchema(step); }

  /// Executes one statement with parameters, or several without. Outside of a transaction a lost connection is made anew,
  /// and the statement executed again.
  Result run(const std::string &sql, const Parameters *parameters);

  const Libpq &pq;

private:
  void connectFirst();
  bool connect(std::string &reason);
  /// The first value that a statement returns, "" without rows.
  std::string first(const char *sql);
  PGPing ping() const;
  Result once(const std::string &sql, const Parameters *parameters);
  void check(const PGresult *result) const;
  std::string messageOf(const char *text) const;

  Location place;
  bool readOnly;
  double busySeconds, waitSeconds;
  PGconn *connection = nullptr;
  bool inTransaction = false;
  int64_t changed = 0;
};

class PostgresCursor final : public Cursor {
public:
  PostgresCursor(PostgresConnection &server, std::string_view sql)
      : server(server), sql(postgresStatement(sql)), rows(nullptr, {server.pq.clear}) {}
  void bindInteger(int index, int64_t value) override { parameters.set(index, integerType, std::to_string(value)); }
  void bindReal(int index, double value) override { parameters.set(index, realType, fmt::format("{}", value)); }
  void bindText(int index, std::string_view value) override { parameters.set(index, textType, postgresText(value)); }
  void bindNull(int index) override { parameters.set(index, unknownType, std::nullopt); }
  bool step() override {
    if (rows) {
      ++row;
    } else {
      rows = server.run(sql, &parameters);
      row = 0;
    }
    if (row < server.pq.ntuples(rows.get()))
      return true;
    reset();
    return false;
  }
  void reset() override { rows.reset(); }
  bool isNull(int column) const override { return server.pq.getisnull(rows.get(), row, column) != 0; }
  int64_t integer(int column) const override { return number<int64_t>(column); }
  double real(int column) const override { return number<double>(column); }
  std::string text(int column) const override { return textOfPostgres(bytes(column)); }

private:
  std::string_view bytes(int column) const {
    return {server.pq.getvalue(rows.get(), row, column), size_t(server.pq.getlength(rows.get(), row, column))};
  }
  template <class Number> Number number(int column) const {
    std::string_view text = bytes(column);
    Number value{};
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }

  PostgresConnection &server;
  std::string sql;
  Parameters parameters;
  PostgresConnection::Result rows;
  int row = 0;
};

std::unique_ptr<Cursor> PostgresConnection::prepare(std::string_view sql) {
  return std::make_unique<PostgresCursor>(*this, sql);
}

/// The first line, without passwords.
std::string PostgresConnection::messageOf(const char *text) const {
  std::string message = text ? text : "";
  message = message.substr(0, message.find('\n'));
  return printable(place.withoutPasswords(message.empty() ? "the connection is lost" : message));
}

/// Keywords and values of the connection; the later ones count. What the URL says comes after our defaults.
static std::pair<std::vector<const char *>, std::vector<const char *>> settingsOf(const Location &place) {
  std::vector<const char *> names, values;
  for (auto [name, value] : {std::pair{"connect_timeout", "10"},
                             {"keepalives_idle", "30"},
                             {"keepalives_interval", "10"},
                             {"keepalives_count", "3"},
                             {"tcp_user_timeout", "30000"}, // ms
                             {"fallback_application_name", "lathe"},
                             {"dbname", place.secretUrl().c_str()},
                             {"client_encoding", "UTF8"}}) {
    names.push_back(name);
    values.push_back(value);
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  return {names, values};
}

void PostgresConnection::connectFirst() {
  auto began = Clock::now();
  // A server that starts or stops says so; any other failure stays one.
  for (std::string reason; !connect(reason);) {
    require(ping() == PQPING_REJECT && secondsSince(began) < busySeconds, "{}: {}", place.text(), reason);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

bool PostgresConnection::connect(std::string &reason) {
  if (connection)
    pq.finish(connection);
  auto [names, values] = settingsOf(place);
  connection = pq.connectdbParams(names.data(), values.data(), 1);
  inTransaction = false;
  if (pq.status(connection) != CONNECTION_OK) {
    reason = messageOf(pq.errorMessage(connection));
    return false;
  }
  pq.setNoticeProcessor(connection, [](void *, const char *) {}, nullptr);
  require(pq.serverVersion(connection) >= leastServerVersion, "{}: has PostgreSQL {}, expected {} or later",
          place.text(), pq.serverVersion(connection) / 10000, leastServerVersion / 10000);
  const char *encoding = pq.parameterStatus(connection, "server_encoding");
  require(encoding && std::string_view(encoding) == "UTF8", "{}: the database has the encoding {}, expected UTF8",
          place.text(), encoding ? encoding : "?");
  // A client that stops amid a transaction must not keep all others from writing.
  std::string setup = fmt::format("SET search_path TO lathe; SET lock_timeout = {}; SET extra_float_digits = 1; "
                                  "SET standard_conforming_strings = on; "
                                  "SET idle_in_transaction_session_timeout = '300s'; "
                                  "SET default_transaction_read_only = {}",
                                  int64_t(busySeconds * 1000), readOnly ? "on" : "off");
  Result done(pq.exec(connection, setup.c_str()), {pq.clear});
  if (pq.resultStatus(done.get()) == PGRES_COMMAND_OK)
    return true;
  reason = messageOf(pq.errorMessage(connection));
  return false;
}

PGPing PostgresConnection::ping() const {
  auto [names, values] = settingsOf(place);
  return pq.pingParams(names.data(), values.data(), 1);
}

void PostgresConnection::reconnect(const std::string &reason) {
  storeNotice(fmt::format("lathe: store: the server of {} is gone, trying again for {:.0f} s ({})", place.text(),
                          waitSeconds, reason.substr(reason.starts_with(place.text()) ? place.text().size() + 2 : 0)));
  auto began = Clock::now();
  std::string last = reason;
  for (double pause = 0.05;; pause = std::min(1.3 * pause, 5.0)) {
    if (connect(last))
      break;
    double left = waitSeconds - secondsSince(began);
    if (left <= 0)
      throw ServerGone(
          fmt::format("{}: the server was gone for {:.0f} s: {}", place.text(), secondsSince(began), last));
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(pause, left)));
  }
  storeNotice(fmt::format("lathe: store: the server of {} is back after {:.1f} s", place.text(), secondsSince(began)));
}

void PostgresConnection::check(const PGresult *result) const {
  ExecStatusType status = result ? pq.resultStatus(result) : PGRES_FATAL_ERROR;
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
    return;
  const char *field = result ? pq.resultErrorField(result, PG_DIAG_SQLSTATE) : nullptr;
  const char *primary = result ? pq.resultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : nullptr;
  std::string_view state = field ? field : "";
  std::string message = fmt::format("{}: {}", place.text(), messageOf(primary ? primary : pq.errorMessage(connection)));
  // Shut down, crashed, starting, session ended; without a state libpq itself found the connection broken.
  if (state.starts_with("57P0") || state.starts_with("08") || state == "25P03" ||
      pq.status(connection) != CONNECTION_OK)
    throw LostConnection(message);
  // Serialisation, deadlock, unique key, exclusion, foreign key: of another writer's rows.
  for (std::string_view conflict : {"40001", "40P01", "23505", "23P01", "23503"})
    if (state == conflict)
      throw WriteConflict(message);
  throw ServerFailure(message + (state == "55P03" ? ": another process writes to it" : ""));
}

PostgresConnection::Result PostgresConnection::once(const std::string &sql, const Parameters *parameters) {
  Result result(nullptr, {pq.clear});
  if (parameters) {
    std::vector<const char *> values;
    values.reserve(parameters->values.size());
    for (auto &value : parameters->values)
      values.push_back(value ? value->c_str() : nullptr);
    result.reset(pq.execParams(connection, sql.c_str(), int(values.size()), parameters->types.data(), values.data(),
                               nullptr, nullptr, 0));
  } else {
    result.reset(pq.exec(connection, sql.c_str()));
  }
  check(result.get());
  changed = std::atoll(pq.cmdTuples(result.get()));
  return result;
}

PostgresConnection::Result PostgresConnection::run(const std::string &sql, const Parameters *parameters) {
  for (;;)
    try {
      return once(sql, parameters);
    } catch (const LostConnection &lost) {
      if (inTransaction)
        throw;
      reconnect(lost.what());
    }
}

void PostgresConnection::begin(TransactionKind kind) {
  bool reads = kind == TransactionKind::read;
  once(reads ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN ISOLATION LEVEL READ COMMITTED", nullptr);
  inTransaction = true;
  try {
    if (!reads)
      once(fmt::format("SELECT pg_advisory_xact_lock{}({})", kind == TransactionKind::append ? "_shared" : "",
                       writersLock),
           nullptr);
  } catch (...) {
    rollback();
    throw;
  }
}

void PostgresConnection::commit() {
  Result result = once("COMMIT", nullptr);
  inTransaction = false;
  // A transaction that has failed before is rolled back without an error.
  if (std::strcmp(pq.cmdStatus(result.get()), "COMMIT") != 0)
    throw WriteConflict(fmt::format("{}: the server has rolled the transaction back", place.text()));
}

std::string PostgresConnection::first(const char *sql) {
  Result result = run(sql, nullptr);
  return pq.ntuples(result.get()) ? pq.getvalue(result.get(), 0, 0) : "";
}

/// The end of the server's log of writes, in bytes.
int64_t PostgresConnection::changeCount() {
  constexpr const char *sql = "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
                              " ELSE pg_current_wal_lsn() END - '0/0'::pg_lsn)::bigint";
  return std::atoll(first(sql).c_str());
}

int64_t PostgresConnection::schemaVersion() {
  // Tables are in a schema of their own, beside those of other programs. Another process may be making them: then the
  // second look finds what the first one missed.
  auto isMade = [&] { return !first("SELECT to_regclass('lathe.schema_version')").empty(); };
  constexpr const char *tables =
      "SELECT count(*) FROM pg_catalog.pg_class WHERE relnamespace = to_regnamespace('lathe')";
  if (!isMade()) {
    if (first(tables) == "0")
      return 0;
    if (!isMade())
      return -1;
  }
  return std::atoll(first("SELECT version FROM lathe.schema_version").c_str());
}

} // namespace

std::unique_ptr<Connection> openPostgres(const Location &place, OpenMode mode, double busySeconds, double waitSeconds) {
  return std::make_unique<PostgresConnection>(place, mode, busySeconds, waitSeconds);
}

} // namespace lathe::store
