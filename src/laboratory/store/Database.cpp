#include "store/Database.h"

#include "support/Interrupt.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

namespace lathe::store {

double serverWaitSeconds() {
  const char *text = std::getenv("LATHE_STORE_WAIT");
  if (!text || !*text)
    return 300;
  char *end = nullptr;
  double seconds = std::strtod(text, &end);
  require(!*end && seconds >= 0 && seconds <= 1e6, "LATHE_STORE_WAIT: expected seconds from 0 to 1000000, got '{}'",
          text);
  return seconds;
}

static std::function<void(const std::string &)> &noticeFunction() {
  static std::function<void(const std::string &)> notice;
  return notice;
}

void setStoreNotice(std::function<void(const std::string &)> notice) { noticeFunction() = std::move(notice); }

void storeNotice(const std::string &line) {
  if (noticeFunction())
    noticeFunction()(line);
  else
    fmt::print(stderr, "{}\n", line);
}

void Connection::reconnect(const std::string &reason) { fail("{}", reason); }
void Connection::copyFrom(Connection &) { fail("only files of SQLite can be copied"); }

Database::Database(Location place, std::unique_ptr<Connection> connection)
    : place(std::move(place)), connection(std::move(connection)) {}

// Waiting for a lost server protects measurements; a reader loses nothing.
Database::Database(const Location &place, Mode mode, double busySeconds)
    : Database(place, place.isServer() ? openPostgres(place, mode, busySeconds,
                                                      mode == Mode::readOnly ? busySeconds : serverWaitSeconds())
                                       : openSqlite(place.text(), place.text(), mode, busySeconds)) {}

Database Database::temporary(const std::string &name) {
  return {Location(name), openSqlite("", name, Mode::create, 0)};
}

int64_t Database::integer(const std::string &sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::text(const std::string &sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.text(0) : "";
}

void Database::repeated(const std::function<void(bool again)> &body, const std::function<void()> &rescue) {
  // Writers that repeatedly conflict on a row get out of step by pauses of random length.
  constexpr int mostConflicts = 30;
  std::minstd_rand random{std::random_device{}()};
  bool again = false;
  for (int conflicts = 0;; again = true)
    try {
      return body(again);
    } catch (const LostConnection &lost) {
      std::optional<Cleanup> interrupted;
      if (rescue)
        interrupted.emplace(rescue);
      connection->reconnect(lost.what());
    } catch (const WriteConflict &) {
      if (++conflicts > mostConflicts)
        throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(1 + random() % (10 * unsigned(conflicts))));
    }
}

void Statement::bindOne(int index, double value) {
  if (std::isfinite(value)) // SQLite stores NaN as NULL; infinities become NULL, too
    cursor->bindReal(index, value);
  else
    cursor->bindNull(index);
}
std::optional<int64_t> Statement::optionalInteger(int column) const {
  return isNull(column) ? std::nullopt : std::optional(integer(column));
}
std::optional<double> Statement::optionalReal(int column) const {
  return isNull(column) ? std::nullopt : std::optional(real(column));
}

} // namespace lathe::store
