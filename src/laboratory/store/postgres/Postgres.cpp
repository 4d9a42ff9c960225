// Stores on PostgreSQL servers.
#include "store/Database.h"
#include "store/postgres/PostgresConnection.h"
#include "store/postgres/PostgresDialect.h"
#include "support/Text.h"

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

namespace lathe::store {
namespace {

using Clock = std::chrono::steady_clock;

// Key of the lock that writers take: shared to append, exclusive to change ("Lthe", as in SQLite files).
constexpr int64_t writersLock = 0x4c746865;
constexpr int leastServerVersion = 120000; // reals as texts must give the same number back

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

} // namespace

std::string PostgresConnection::dialectOf(const std::string &step) const { return postgresSchema(step); }

/// The first line of a message, without passwords.
std::string PostgresConnection::messageOf(const char *text) const {
  std::string message = text ? text : "";
  message = message.substr(0, message.find('\n'));
  return printable(place.withoutPasswords(message.empty() ? "the connection is lost" : message));
}

/// Keywords and values of the connection. Later ones override earlier ones, so the URL overrides our defaults.
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
  // A server that starts or stops reports this; any other failure is final.
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
  ++connections;
  endTransaction();
  sendsRows = false;
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
  // A client that stops inside a transaction must not block other writers.
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
  // Shut down, crashed, starting, session ended; without a state libpq found the connection broken.
  if (state.starts_with("57P0") || state.starts_with("08") || state == "25P03" ||
      pq.status(connection) != CONNECTION_OK)
    throw LostConnection(message);
  // Serialisation, deadlock, unique key, exclusion, foreign key: conflicts with another writer's rows.
  for (std::string_view conflict : {"40001", "40P01", "23505", "23P01", "23503"})
    if (state == conflict)
      throw WriteConflict(message);
  throw ServerFailure(message + (state == "55P03" ? ": another process writes to it" : ""));
}

PostgresConnection::Result PostgresConnection::once(const std::string &sql, const Parameters *parameters) {
  if (sendsRows)
    throw std::logic_error("a statement while a server sends the rows of another one");
  Result result(nullptr, {pq.clear});
  if (parameters) {
    std::vector<const char *> values = parameters->texts();
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
  return untilConnected([&] { return once(sql, parameters); });
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
  endTransaction();
  // COMMIT of a failed transaction rolls back without an error.
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
  // Our tables are in a separate schema, beside the tables of other programs. Another process may be creating them:
  // then the second check finds what the first one missed.
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

std::unique_ptr<Connection> openPostgres(const Location &place, OpenMode mode, double busySeconds, double waitSeconds) {
  return std::make_unique<PostgresConnection>(place, mode, busySeconds, waitSeconds);
}

} // namespace lathe::store
