// Damaged or hostile archives and store files: each is accepted, or refused with one line that names the file. The
// sanitizers show undefined behaviour.
#include "store/Archive.h"
#include "store/ContentKey.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <zlib.h>

using namespace lathe;
using namespace lathe::store;
using nlohmann::json;
using testing::HasSubstr;

namespace {

std::string contentOf(const std::string &path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void put(const std::string &path, const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }

class HostileTest : public StoreFolder {
protected:
  unsigned seed = std::getenv("LATHE_TEST_SEED") ? unsigned(std::stoul(std::getenv("LATHE_TEST_SEED"))) : 7;
  std::mt19937 random{seed};
  size_t refused = 0, taken = 0;

  /// Writes and closes a store with every kind of record.
  void makeStore(const std::string &path, int points = 4) {
    Store store(path);
    std::string uuid = store.addExperiment(someExperiment(), somePlatform());
    for (int number = 0; number < points; ++number)
      store.addPoint(somePoint(uuid, number));
    store.addTuning({someTuning(0, uuid), someTuning(2)}, {"conv2d/1 ic64", "contraction", "a kernel"}, somePlatform());
    store.finishExperiment(uuid, {0.1, 0.0});
    store.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /// Reads a store in every way; throws the first error.
  static void readAll(Store &store) {
    store.counts();
    for (auto &summary : store.experiments()) {
      store.experiment(summary.experiment.uuid);
      store.platform(summary.experiment.platform);
    }
    for (auto &point : store.points({}, false))
      (void)point.key();
    for (auto &point : store.points())
      (void)textOf(point);
    store.tuning();
    store.chosenSchedules(somePlatform().key());
  }

  /// Runs `body`, which may throw only an Error of one line with the file's name.
  template <class Body> std::string tolerated(const std::string &name, Body body) {
    try {
      body();
    } catch (const Error &error) {
      ++refused;
      std::string said = error.what();
      EXPECT_THAT(said, HasSubstr(name));
      for (const char *fragment : {"SELECT", "INSERT", "PRAGMA", "\n", "json.exception"})
        EXPECT_EQ(said.find(fragment), said.npos) << said;
      return said;
    }
    ++taken;
    return "(no error)";
  }

  /// Imports `path` into an empty store, and checks that the store is then still empty or complete.
  std::string importing(const std::string &path) {
    if (!empty)
      empty.emplace(file(fmt::format("into{}.db", taken)));
    std::string said = tolerated(std::filesystem::path(path).filename().string(), [&] { importInto(*empty, {path}); });
    if (said != "(no error)") {
      EXPECT_EQ(empty->counts(), Store::Counts()) << said;
    } else {
      readAll(*empty);
      empty.reset();
    }
    return said;
  }
  std::optional<Store> empty;
};

/// An archive with the records `lines` and a first line that matches them.
std::string forged(const std::vector<std::string> &lines, const json &counts) {
  ContentHasher hasher;
  std::string text;
  for (auto &line : lines) {
    hasher.update(line + "\n");
    text += line + "\n";
  }
  json manifest = counts;
  manifest["xxh3_128"] = hasher.digest();
  return json{{"lathe_store", manifest}}.dump() + "\n" + text;
}

/// All positions of values in a document, as JSON pointers.
void places(const json &document, const json::json_pointer &at, std::vector<json::json_pointer> &found) {
  found.push_back(at);
  if (document.is_object())
    for (auto &[key, value] : document.items())
      places(value, at / key, found);
  if (document.is_array())
    for (size_t i = 0; i < document.size(); ++i)
      places(document[i], at / i, found);
}

} // namespace

TEST_F(HostileTest, rowsThatNoProgramOfOursWrites) {
  makeStore(file("good.db"));
  struct Case {
    const char *sql, *says;
  } cases[] = {
      {"UPDATE sample SET round = -1 WHERE point = 2 AND round = 0", "point 2: a sample is repetition 0 of round -1"},
      {"UPDATE sample SET round = 9000000000000000000 WHERE point = 2 AND round = 2", "point 2: a sample is"},
      {"UPDATE sample SET repetition = repetition + 100 WHERE point = 3",
       "repetition 100 of round 0, expected repetition 0"},
      {"DELETE FROM sample WHERE point = 1 AND round = 1", "repetition 0 of round 2, expected repetition 4 of round 0"},
      {"UPDATE sample SET cycles = -3 WHERE point = 2", "point 2: a sample has -3, expected 0 or more"},
      {"UPDATE point SET starts = '[-1, 4]' WHERE id = 2", "point 2: rounds of a start is -1, expected 1 to"},
      {"UPDATE point SET starts = '[1e300]' WHERE id = 2", "point 2: rounds of a start is 1e+300, expected an integer"},
      {"UPDATE point SET starts = '{\"a\": 3}' WHERE id = 2", "point 2: starts is object, expected a list"},
      {"UPDATE point SET starts = '[3000]' WHERE id = 2", "point 2: 3000 rounds by start, 3 rounds"},
      {"UPDATE point SET starts = 'none' WHERE id = 2", "point 2: column 27 holds no JSON"},
      {"UPDATE point SET status = 'splendid' WHERE id = 2", "point 2: no status is called 'splendid'"},
      {"UPDATE point SET status = 'failed' WHERE id = 2", "point 2: a point that is failed has 12 samples"},
      {"UPDATE point SET measured = 'today' WHERE id = 2", "point 2: measured is 'today'"},
      {"UPDATE point SET prepare_seconds = 9e999 WHERE id = 2", "point 2: column 24 is inf, expected a finite number"},
      {"UPDATE point SET prepare_seconds = -1 WHERE id = 2", "point 2: prepare_seconds is -1, expected 0 or more"},
      {"UPDATE setting SET threads = 4294967297", "threads is 4294967297, expected 1 to 1048576"},
      {"UPDATE experiment SET uuid = 'x' || char(10)", "uuid is 'x\\n'"},
      {"UPDATE setting SET extra = '[[[[[[1]]]]]'", "holds no JSON"},
      {"UPDATE setting SET cache = 'lukewarm'", "no state of caches is called 'lukewarm'"},
      {"UPDATE experiment SET kind = 'poetry'", "no kind of experiment is called 'poetry'"},
      {"UPDATE experiment SET started = ''", "started is ''"},
      {"UPDATE experiment SET settings = '[1]'", "settings is array, expected an object"},
      {"UPDATE platform SET cores = 99999999999", "cores is 99999999999, expected 0 to"},
      {"UPDATE platform SET caches = '[{}]'", "key 'name' not found"},
      {"UPDATE tuning SET samples = '[1, -2]' WHERE id = 1", "tuning record conv2d/1 ic64: a sample has -2"},
      {"UPDATE tuning SET samples = '[0.5]' WHERE id = 1", "a sample is 0.5, expected an integer"},
      {"UPDATE tuning SET samples = '7'", "samples_ns is number, expected a list"},
      {"UPDATE tuning SET samples = '[1]' WHERE id = 2", "tuning record without a time with 1 samples"},
      {"UPDATE tuning SET outcomes = '{}' WHERE id = 1", "outcomes is object, expected a list"},
      {"UPDATE tuning SET outcomes = '[7]'", "outcome is number, expected an object"},
      {"UPDATE tuning SET outcomes = '[{\"status\":\"splendid\"}]'", "no status is called 'splendid'"},
      {"UPDATE tuning SET outcomes = '[{}]'", "key 'status' not found"},
      {"UPDATE tuning SET verdict = 'splendid'", "no verdict on a schedule is called 'splendid'"},
      {"UPDATE tuning SET build_seconds = -1", "build_seconds is -1, expected 0 or more"},
      {"UPDATE task SET text = ''", "without platform, task or schedule"},
      {"UPDATE tuning SET seconds = -1", "tuning record conv2d/1 ic64: tuning record that is passed with -1 s"},
      {"UPDATE tuning SET status = x'1b5b324a'", "cannot store BLOB value in TEXT column"},
      {"UPDATE tuning SET status = char(27) || '[2J' || char(10)", "no status is called"},
      {"CREATE TRIGGER evil AFTER INSERT ON point BEGIN DELETE FROM point; END", "has a trigger evil"},
      {"ALTER TABLE point RENAME TO old; CREATE VIEW point AS SELECT * FROM old", "has a view point"},
      {"ALTER TABLE task RENAME TO old; CREATE VIEW task AS SELECT * FROM old", "has a view task"},
      {"DROP TABLE sample", "no such table: sample"},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(c.sql);
    std::string bad = file("bad.db");
    put(bad, contentOf(file("good.db")));
    try {
      Database database(bad, Database::Mode::existing);
      database.execute(
          std::string(
              "PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; ") +
          c.sql);
    } catch (const Error &error) {
      EXPECT_THAT(error.what(), HasSubstr(c.says)); // SQLite refuses it
      continue;
    }
    EXPECT_THAT(importing(bad), HasSubstr(c.says));
    EXPECT_THAT(tolerated("bad.db",
                          [&] {
                            Store store(bad);
                            readAll(store);
                          }),
                HasSubstr(c.says));
  }
}

TEST_F(HostileTest, cellsOfAnyValue) {
  makeStore(file("good.db"), 2);
  std::vector<std::pair<std::string, std::string>> columns;
  {
    Database database(file("good.db"), Database::Mode::existing);
    Statement select(database, "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = "
                               "'table' AND t.name NOT LIKE 'sqlite%' ORDER BY 1, 2");
    while (select.step())
      columns.emplace_back(select.text(0), select.text(1));
  }
  ASSERT_GT(columns.size(), 60u);
  const char *values[] = {"CAST(x'c3286b' AS TEXT)",
                          "-1",
                          "9223372036854775807",
                          "(-9223372036854775807 - 1)",
                          "4294967296",
                          "''",
                          "NULL",
                          "9e999",
                          "-9e999",
                          "'[[]]'",
                          "'{}'",
                          "'x'",
                          "char(27, 10, 0, 55296)",
                          "printf('%.*c', 100000, '[')"};
  for (auto &[table, column] : columns)
    for (const char *value : values) {
      std::string bad = file("bad.db"), sql = fmt::format("UPDATE {} SET \"{}\" = {}", table, column, value);
      SCOPED_TRACE(sql);
      put(bad, contentOf(file("good.db")));
      try {
        Database database(bad, Database::Mode::existing);
        database.execute(
            "PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; " + sql);
      } catch (const Error &) {
        continue; // a repeated key, or a value of another type
      }
      importing(bad);
      tolerated("bad.db", [&] {
        Store store(bad);
        readAll(store);
      });
    }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(taken, 20u);
}

TEST_F(HostileTest, flippedBytesOfAStore) {
  makeStore(file("good.db"), 20);
  std::string good = contentOf(file("good.db"));
  SCOPED_TRACE(fmt::format("LATHE_TEST_SEED={}", seed));
  for (int round = 0; round < 250; ++round) {
    std::string bytes = good;
    for (unsigned flips = 1 + random() % 8; flips > 0; --flips)
      bytes[random() % bytes.size()] ^= char(1 << random() % 8);
    if (round % 10 == 0)
      bytes.resize(random() % bytes.size());
    std::string bad = file("bad.db");
    for (const char *suffix : {"-wal", "-shm", "-journal"})
      std::filesystem::remove(bad + suffix);
    put(bad, bytes);
    importing(bad);
    tolerated("bad.db", [&] {
      Store store(bad);
      readAll(store);
    });
  }
  EXPECT_GT(refused, 20u);
}

TEST_F(HostileTest, valuesOfAnArchive) {
  makeStore(file("good.db"), 2);
  Store store(file("good.db"));
  exportArchive(store, {}, file("good.jsonl"));
  std::istringstream text(contentOf(file("good.jsonl")));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);)
    lines.push_back(line);
  json counts = json::parse(lines.front())["lathe_store"];
  lines.erase(lines.begin());
  put(file("same.jsonl"), forged(lines, counts));
  EXPECT_EQ(importing(file("same.jsonl")), "(no error)");
  const json values[] = {-1,
                         INT64_MIN,
                         UINT64_MAX,
                         4294967297,
                         1e308,
                         0.5,
                         "",
                         "x\x1b[2J",
                         nullptr,
                         true,
                         json::array(),
                         json::object(),
                         json::array({-1, "x"})};
  for (size_t i = 0; i < lines.size(); ++i) {
    json record = json::parse(lines[i]);
    std::vector<json::json_pointer> found;
    places(record, json::json_pointer(), found);
    for (auto &place : found)
      for (auto &value : values) {
        if (found.size() > 60 && random() % 3) // a point has many samples
          continue;
        json changed = record;
        changed[place] = value;
        std::vector<std::string> bad = lines;
        bad[i] = changed.dump();
        SCOPED_TRACE(bad[i]);
        put(file("bad.jsonl"), forged(bad, counts));
        importing(file("bad.jsonl"));
      }
  }
  EXPECT_GT(refused, 500u);
  EXPECT_GT(taken, 50u);
}

TEST_F(HostileTest, archivesThatWouldTakeAllMemory) {
  auto packed = [&](const std::string &name, const std::string &begin, char filling, size_t count) {
    gzFile out = gzopen(file(name).c_str(), "wb1");
    gzwrite(out, begin.data(), unsigned(begin.size()));
    std::string block(1 << 20, filling);
    for (size_t done = 0; done < count; done += block.size())
      gzwrite(out, block.data(), unsigned(block.size()));
    gzclose(out);
  };
  std::string first = R"({"lathe_store":{"format":1,"platforms":0,"experiments":0,"points":0,"samples":0,"tuning":0}})";
  packed("long.jsonl.gz", first + "\n{\"point\":\"", 'x', size_t(65) << 20);
  EXPECT_THAT(importing(file("long.jsonl.gz")), HasSubstr("long.jsonl.gz:2: a line longer than 64 MiB"));
  packed("first.jsonl.gz", "", '{', size_t(65) << 20);
  EXPECT_THAT(importing(file("first.jsonl.gz")), HasSubstr("first.jsonl.gz:1: a line longer than 64 MiB"));
  // Nested lists: code that walks them recurses once per level.
  std::string deep = std::string(200000, '[') + std::string(200000, ']');
  put(file("deep.jsonl"), first + "\n{\"point\":" + deep + "}\n");
  EXPECT_THAT(importing(file("deep.jsonl")), HasSubstr("deep.jsonl:2: '{\"point\":[[["));
  EXPECT_FALSE(parseDocument("[" + std::string(63, '[') + std::string(63, ']') + "]").is_discarded());
  EXPECT_FALSE(parseDocument("[\"\\\"" + std::string(1000, '[') + "\"]").is_discarded());
  EXPECT_TRUE(parseDocument(std::string(65, '[') + std::string(65, ']')).is_discarded());
}
