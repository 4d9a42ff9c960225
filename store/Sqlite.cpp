#include "store/Sqlite.h"

#include "support/Text.h"

#include <sqlite3.h>

#include <cmath>
#include <cstring>
#include <filesystem>

namespace lathe::store {

void Database::Close::operator()(sqlite3 *connection) const { sqlite3_close_v2(connection); }
void Statement::Finalize::operator()(sqlite3_stmt *statement) const { sqlite3_finalize(statement); }

Database::Database(const std::string &path, Mode mode, double busySeconds) : file(path) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (mode == Mode::create && !folder.empty()) {
    std::filesystem::create_directories(folder, error);
    require(!error, "{}: cannot create its folder: {}", path, error.message());
  } else if (mode != Mode::create) {
    require(std::filesystem::exists(path, error), "{}: does not exist", path);
  }
  require(!std::filesystem::is_directory(path, error), "{}: expected a file, got a directory", path);
  int flags = mode == Mode::create     ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
              : mode == Mode::existing ? SQLITE_OPEN_READWRITE
                                       : SQLITE_OPEN_READONLY;
  open(path, flags);
  sqlite3_busy_timeout(handle(), int(busySeconds * 1000));
}

Database Database::temporary(const std::string &name) {
  Database database;
  database.file = name;
  database.open("", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  return database;
}

void Database::open(const std::string &name, int flags) {
  sqlite3 *opened = nullptr;
  int code = sqlite3_open_v2(name.c_str(), &opened, flags | SQLITE_OPEN_EXRESCODE, nullptr);
  connection.reset(opened); // there even when opening failed, to tell why
  if (code != SQLITE_OK)
    fail();
  // Files come from strangers: what their schema says may call no functions with effects, and no statement of ours
  // may write to SQLite's own tables.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
}

void Database::fail() const {
  if (!connection)
    lathe::fail("{}: out of memory in SQLite", file);
  int code = sqlite3_extended_errcode(connection.get()), system = sqlite3_system_errno(connection.get());
  int kind = code & 0xff;
  std::string more;
  if (system && (kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN))
    more = fmt::format(": {}", std::strerror(system));
  else if (kind == SQLITE_CORRUPT)
    more = ": the file is damaged";
  else if (kind == SQLITE_BUSY)
    more = ": another process writes to it";
  lathe::fail("{}: {}{}", file, printable(sqlite3_errmsg(connection.get())), more);
}

void Database::execute(const std::string &sql) {
  if (sqlite3_exec(connection.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    fail();
}

int64_t Database::integer(const std::string &sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::text(const std::string &sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.text(0) : "";
}

int64_t Database::changes() const { return sqlite3_changes64(connection.get()); }

void Database::copyFrom(Database &source) {
  sqlite3_backup *backup = sqlite3_backup_init(connection.get(), "main", source.connection.get(), "main");
  if (!backup)
    fail();
  int code = sqlite3_backup_step(backup, -1);
  for (int tries = 0; (code == SQLITE_BUSY || code == SQLITE_LOCKED) && tries < 1000; ++tries) {
    sqlite3_sleep(10);
    code = sqlite3_backup_step(backup, -1);
  }
  sqlite3_backup_finish(backup);
  require(code == SQLITE_DONE, "{}: cannot be read: {}", source.file, sqlite3_errstr(code));
}

Statement::Statement(Database &database, std::string_view sql) : database(database) {
  sqlite3_stmt *prepared = nullptr;
  int code = sqlite3_prepare_v2(database.handle(), sql.data(), int(sql.size()), &prepared, nullptr);
  statement.reset(prepared);
  if (code != SQLITE_OK)
    database.fail();
}

void Statement::bindOne(int index, int64_t value) {
  if (sqlite3_bind_int64(statement.get(), index, value) != SQLITE_OK)
    database.fail();
}
void Statement::bindOne(int index, double value) {
  if (!std::isfinite(value)) // SQLite makes NULL of what is not a number; infinities go the same way
    return bindOne(index, std::nullopt);
  if (sqlite3_bind_double(statement.get(), index, value) != SQLITE_OK)
    database.fail();
}
void Statement::bindOne(int index, std::string_view value) {
  const char *bytes = value.data() ? value.data() : ""; // a null pointer would bind NULL
  if (sqlite3_bind_text(statement.get(), index, bytes, int(value.size()), SQLITE_TRANSIENT) != SQLITE_OK)
    database.fail();
}
void Statement::bindOne(int index, std::nullopt_t) {
  if (sqlite3_bind_null(statement.get(), index) != SQLITE_OK)
    database.fail();
}

bool Statement::step() {
  int code = sqlite3_step(statement.get());
  if (code == SQLITE_ROW)
    return true;
  if (code != SQLITE_DONE)
    database.fail();
  reset();
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

void Statement::reset() { sqlite3_reset(statement.get()); }

bool Statement::isNull(int column) const { return sqlite3_column_type(statement.get(), column) == SQLITE_NULL; }
int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement.get(), column); }
double Statement::real(int column) const { return sqlite3_column_double(statement.get(), column); }
std::string Statement::text(int column) const {
  auto *bytes = reinterpret_cast<const char *>(sqlite3_column_text(statement.get(), column));
  return bytes ? std::string(bytes, size_t(sqlite3_column_bytes(statement.get(), column))) : "";
}
std::optional<int64_t> Statement::optionalInteger(int column) const {
  return isNull(column) ? std::nullopt : std::optional(integer(column));
}
std::optional<double> Statement::optionalReal(int column) const {
  return isNull(column) ? std::nullopt : std::optional(real(column));
}

Transaction::Transaction(Database &database, Kind kind) : database(database) {
  database.execute(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  // Some errors (a full disk) have rolled back already; then there is nothing to do.
  if (open && !sqlite3_get_autocommit(database.handle()))
    sqlite3_exec(database.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database.execute("COMMIT");
  open = false;
}

} // namespace lathe::store
