// Stores in files of SQLite.
#include "store/Connection.h"
#include "store/SqliteFiles.h"
#include "support/Text.h"

#include <sqlite3.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <unistd.h>

namespace lathe::store {
namespace {

// "Lthe": distinguishes our files from those of other programs (PRAGMA application_id).
constexpr int64_t applicationId = 0x4c746865;

/// Another process has the file locked.
class LockedFile : public Error {
public:
  using Error::Error;
};

class SqliteConnection;

class SqliteCursor final : public Cursor {
public:
  SqliteCursor(SqliteConnection &connection, std::string_view sql);
  void bindInteger(int index, int64_t value) override { check(sqlite3_bind_int64(statement.get(), index, value)); }
  void bindReal(int index, double value) override { check(sqlite3_bind_double(statement.get(), index, value)); }
  void bindText(int index, std::string_view value) override {
    const char *bytes = value.data() ? value.data() : ""; // a null pointer would bind NULL
    check(sqlite3_bind_text(statement.get(), index, bytes, int(value.size()), SQLITE_TRANSIENT));
  }
  void bindNull(int index) override { check(sqlite3_bind_null(statement.get(), index)); }
  bool step() override;
  void reset() override { sqlite3_reset(statement.get()); }
  bool isNull(int column) const override { return sqlite3_column_type(statement.get(), column) == SQLITE_NULL; }
  int64_t integer(int column) const override { return sqlite3_column_int64(statement.get(), column); }
  double real(int column) const override { return sqlite3_column_double(statement.get(), column); }
  std::string text(int column) const override {
    auto *bytes = reinterpret_cast<const char *>(sqlite3_column_text(statement.get(), column));
    return bytes ? std::string(bytes, size_t(sqlite3_column_bytes(statement.get(), column))) : "";
  }

private:
  struct Finalize {
    void operator()(sqlite3_stmt *statement) const { sqlite3_finalize(statement); }
  };
  void check(int code) const;

  SqliteConnection &connection;
  std::unique_ptr<sqlite3_stmt, Finalize> statement;
};

class SqliteConnection final : public Connection {
public:
  SqliteConnection(const std::string &path, std::string name, int flags, double busySeconds) : file(std::move(name)) {
    sqlite3 *opened = nullptr;
    // Without SQLite's own locks: a connection is used from one thread at a time (store/Database.h).
    int code = sqlite3_open_v2(path.c_str(), &opened, flags | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX, nullptr);
    database.reset(opened); // exists even if opening failed, for its error message
    if (code != SQLITE_OK)
      failed();
    // Files may come from strangers: their schema must not call functions with effects, and our statements must not
    // write to SQLite's own tables.
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_busy_timeout(opened, int(busySeconds * 1000));
  }

  std::unique_ptr<Cursor> prepare(std::string_view sql, RowTransfer) override {
    return std::make_unique<SqliteCursor>(*this, sql);
  }
  void execute(const std::string &sql) override {
    if (sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      failed();
  }
  int64_t changes() const override { return sqlite3_changes64(handle()); }

  /// Both kinds of writers take the write lock immediately, so that their reads stay valid.
  void begin(TransactionKind kind) override { execute(kind == TransactionKind::read ? "BEGIN" : "BEGIN IMMEDIATE"); }
  void commit() override { execute("COMMIT"); }
  void rollback() noexcept override {
    // Some errors (a full disk) have already rolled back; then nothing is left to do.
    if (!sqlite3_get_autocommit(handle()))
      sqlite3_exec(handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }

  int64_t changeCount() override {
    SqliteCursor count(*this, "PRAGMA data_version");
    count.step();
    return count.integer(0);
  }

  int64_t schemaVersion() override {
    // One statement, because another process may be creating the tables of a new file.
    SqliteCursor version(*this, fmt::format("SELECT CASE WHEN application_id = {} THEN user_version"
                                            " WHEN application_id = 0 AND user_version = 0"
                                            " AND (SELECT count(*) FROM sqlite_schema) = 0 THEN 0 ELSE -1 END"
                                            " FROM pragma_application_id, pragma_user_version",
                                            applicationId));
    return version.step() ? version.integer(0) : 0;
  }
  void setSchemaVersion(int64_t version) override {
    execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", applicationId, version));
  }
  std::string foreignObject() override {
    SqliteCursor object(
        *this, "SELECT type || ' ' || name FROM sqlite_schema WHERE type = 'trigger' OR ((type = 'view' OR sql LIKE "
               "'CREATE VIRTUAL%') AND lower(name) IN ('platform', 'experiment', 'problem', 'setting', 'point', "
               "'sample', 'tuning', 'task', 'owner')) LIMIT 1");
    return object.step() ? object.text(0) : "";
  }

  void beSafe(double busySeconds, int64_t maxPages) override {
    writeAhead(busySeconds);
    // FULL: a point that was reported as written survives a power failure.
    execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
    if (maxPages)
      execute(fmt::format("PRAGMA max_page_count = {}", maxPages));
  }
  void copyFrom(Connection &other) override;

  [[noreturn]] void failed() const;
  sqlite3 *handle() const { return database.get(); }

private:
  struct Close {
    void operator()(sqlite3 *connection) const { sqlite3_close_v2(connection); }
  };
  std::string firstText(const char *sql) {
    SqliteCursor cursor(*this, sql);
    return cursor.step() ? cursor.text(0) : "";
  }
  void writeAhead(double seconds);

  std::string file;
  std::unique_ptr<sqlite3, Close> database;
};

SqliteCursor::SqliteCursor(SqliteConnection &connection, std::string_view sql) : connection(connection) {
  sqlite3_stmt *prepared = nullptr;
  int code = sqlite3_prepare_v2(connection.handle(), sql.data(), int(sql.size()), &prepared, nullptr);
  statement.reset(prepared);
  check(code);
}

void SqliteCursor::check(int code) const {
  if (code != SQLITE_OK)
    connection.failed();
}

bool SqliteCursor::step() {
  int code = sqlite3_step(statement.get());
  if (code == SQLITE_ROW)
    return true;
  if (code != SQLITE_DONE)
    connection.failed();
  reset();
  return false;
}

void SqliteConnection::failed() const {
  if (!database)
    fail("{}: out of memory in SQLite", file);
  int code = sqlite3_extended_errcode(handle()), system = sqlite3_system_errno(handle());
  int kind = code & 0xff;
  std::string more;
  if (system && (kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN))
    more = fmt::format(": {}", std::strerror(system));
  else if (kind == SQLITE_CORRUPT)
    more = ": the file is damaged";
  else if (kind == SQLITE_BUSY)
    more = ": another process writes to it";
  std::string message = fmt::format("{}: {}{}", file, printable(sqlite3_errmsg(handle())), more);
  if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED || kind == SQLITE_PROTOCOL)
    throw LockedFile(message);
  throw Error(message);
}

/// Write-ahead logging lets readers continue while one process writes. Switching to it needs exclusive access for a
/// moment, and SQLite does not wait for that.
void SqliteConnection::writeAhead(double seconds) {
  using Clock = std::chrono::steady_clock;
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (firstText("PRAGMA journal_mode") != "wal")
    try {
      // A file system that does not support it (no shared memory) keeps the other journal: slower, but as safe.
      if (firstText("PRAGMA journal_mode = WAL") != "wal")
        return;
    } catch (const LockedFile &) {
      if (Clock::now() > end)
        throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

void SqliteConnection::copyFrom(Connection &other) {
  auto &source = static_cast<SqliteConnection &>(other);
  sqlite3_backup *backup = sqlite3_backup_init(handle(), "main", source.handle(), "main");
  if (!backup)
    failed();
  int code = sqlite3_backup_step(backup, -1);
  for (int tries = 0; (code == SQLITE_BUSY || code == SQLITE_LOCKED) && tries < 1000; ++tries) {
    sqlite3_sleep(10);
    code = sqlite3_backup_step(backup, -1);
  }
  sqlite3_backup_finish(backup);
  require(code == SQLITE_DONE, "{}: cannot be read: {}", source.file, sqlite3_errstr(code));
}

bool hasContent(const std::string &path) {
  std::error_code error;
  auto bytes = std::filesystem::file_size(path, error);
  return !error && bytes > 0;
}

/// SQLite's URL for a file that does not change during reading: SQLite then creates no files beside it and takes no
/// locks.
std::string unchangingUrl(const std::string &path) {
  std::string url = path.starts_with('/') ? "file://" : "file:"; // else the name behind "//" would be a host
  for (unsigned char letter : path)
    if (std::isalnum(letter) || std::strchr("/._-~", letter))
      url += char(letter);
    else
      url += fmt::format("%{:02X}", letter);
  return url + "?immutable=1";
}

/// The target of a link, because SQLite puts its other files beside the target.
std::string withoutLinks(const std::string &path) {
  std::error_code error;
  std::filesystem::path file = std::filesystem::canonical(path, error);
  return error ? path : file.string();
}

} // namespace

bool mayWriteFile(const std::string &link) {
  std::string path = withoutLinks(link), folder = std::filesystem::path(path).parent_path().string();
  return ::access(path.c_str(), W_OK) == 0 && ::access(folder.empty() ? "." : folder.c_str(), W_OK) == 0;
}

/// True if a write-ahead log contains a transaction: a frame with the salt of the log and, for the last frame of a
/// transaction, the size of the database (https://sqlite.org/fileformat2.html#walformat).
static bool hasTransaction(const std::string &log) {
  constexpr size_t header = 32, frameHeader = 24;
  std::ifstream file(log, std::ios::binary);
  auto read = [&](char *bytes, size_t count) { return bool(file.read(bytes, std::streamsize(count))); };
  auto number = [](const char *bytes) {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i)
      value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  };
  char first[header], frame[frameHeader];
  if (!read(first, header))
    return false;
  while (read(frame, frameHeader)) {
    bool isOfLog = std::memcmp(frame + 8, first + 16, 8) == 0;
    if (!isOfLog)
      return false;
    if (number(frame + 4) != 0)
      return true;
    file.seekg(number(first + 8), std::ios::cur); // a page
  }
  return false;
}

void removeIfEmpty(const std::string &path) {
  try { // On a full disk SQLite may be unable to read, but it still reports another writer.
    SqliteConnection connection(path, path, SQLITE_OPEN_READWRITE, 0);
    connection.begin(TransactionKind::write);
    connection.rollback();
  } catch (const LockedFile &) {
    return;
  } catch (const Error &) {
  }
  if (hasTransaction(path + "-wal"))
    return;
  try {
    SqliteConnection connection(unchangingUrl(path), path, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, 0);
    if (connection.schemaVersion() != 0)
      return;
  } catch (const Error &) {
    return;
  }
  std::error_code ignored;
  for (const char *suffix : {"", "-wal", "-shm", "-journal"})
    std::filesystem::remove(path + suffix, ignored);
}

std::unique_ptr<Connection> openSqlite(const std::string &path, const std::string &name, OpenMode mode,
                                       double busySeconds) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (mode == OpenMode::create && !folder.empty()) {
    std::filesystem::create_directories(folder, error);
    require(!error, "{}: cannot create its folder: {}", path, error.message());
  } else if (mode != OpenMode::create) {
    require(std::filesystem::exists(path, error), "{}: does not exist", path);
  }
  require(!std::filesystem::is_directory(path, error), "{}: expected a file, got a directory", path);
  int flags = mode == OpenMode::create     ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
              : mode == OpenMode::existing ? SQLITE_OPEN_READWRITE
                                           : SQLITE_OPEN_READONLY;
  // SQLite's reader creates files beside a store; one of them holds the newest rows.
  std::string file = withoutLinks(path);
  // Checked here, because SQLite's error would name a file beside the store.
  if (mode != OpenMode::readOnly && std::filesystem::exists(path, error) && !mayWriteFile(file))
    fail("{}: cannot be written: {}", path, std::strerror(errno));
  if (mode == OpenMode::readOnly && !mayWriteFile(file) && !hasContent(file + "-wal") && !hasContent(file + "-journal"))
    return std::make_unique<SqliteConnection>(unchangingUrl(path), name, flags | SQLITE_OPEN_URI, busySeconds);
  return std::make_unique<SqliteConnection>(path, name, flags, busySeconds);
}

} // namespace lathe::store
