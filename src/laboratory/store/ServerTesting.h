// Databases for tests, on the PostgreSQL server that store/tests/server_test.py starts.
#pragma once

#include "store/Database.h"

#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

namespace lathe::store {

/// True if the tests of this process use stores on a PostgreSQL server instead of files.
inline bool onServer() { return std::getenv("LATHE_TEST_SERVER") != nullptr; }

/// The URL of a database on the test's PostgreSQL server; environment variables that pg_virtualenv sets give host,
/// port and user.
inline std::string databaseUrl(const std::string &database) { return "postgresql:///" + database; }

/// Empty PostgreSQL databases for tests. They are reused, because creating a database takes longer than a test.
class TestDatabases {
public:
  ~TestDatabases() {
    for (const std::string &name : taken)
      try {
        // A killed child process may still have a session that holds a lock.
        Database server(databaseUrl(name), Database::Mode::existing);
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity\n"
                       "WHERE datname = current_database() AND pid <> pg_backend_pid()");
        server.execute("DROP SCHEMA IF EXISTS lathe CASCADE");
        free().push_back(name);
      } catch (const Error &error) { // a database that cannot be emptied is not used again
        fmt::print(stderr, "{}\n", error.what());
      }
  }
  /// The URL of an empty database.
  std::string take() {
    std::string name;
    if (free().empty()) {
      static int made = 0;
      name = "test_" + std::to_string(::getpid()) + "_" + std::to_string(++made);
      Database(databaseUrl("postgres"), Database::Mode::existing)
          .execute("CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'UTF8'");
    } else {
      name = free().back();
      free().pop_back();
    }
    taken.push_back(name);
    return databaseUrl(name);
  }

private:
  static std::vector<std::string> &free() {
    static std::vector<std::string> names;
    return names;
  }
  std::vector<std::string> taken;
};

} // namespace lathe::store
