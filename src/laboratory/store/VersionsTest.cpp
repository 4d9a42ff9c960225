// Reads what earlier versions of Lathe wrote: stores of every version of the schema, an archive, shipped records and a
// log of AutoTVM. All of them open, give the same keys, and the same records are chosen.
//
// tests/written.jsonl is an archive that commit 4826037 wrote. Its schema had version 8. The keys below, the texts and
// the archive never change. A new version of the schema adds cells to the rows of written().
#include "store/Archive.h"
#include "store/Schema.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

using namespace lathe;
using namespace lathe::store;

namespace {

const char *const
    platformKey = "e35efa053efb67b23de34c56b66c38f0",
    *const problemKey = "b4543bd6dfe3ae97e8949585d5826860", *const settingKey = "128314a04f427692e6121d7a0b153900",
    *const pointKey = "6134eb9b303ae98f64a7d770428daa77", *const identity = "643f2c906d1cfaa91129e01fb6be5417";
const char *const uuid = "8066475c-1111-4222-8333-123456789abc";
const char *const task = "task/2 | conv ic16 oc32 | 2 threads | znver4", *const schedule = "direct/1 oc=2 px=14";

/// A value as SQL, and the version of the schema that has its column.
struct Cell {
  size_t since;
  const char *column;
  std::string value;
};

std::string quoted(const std::string &text) { return "'" + text + "'"; }

std::string row(const char *table, size_t version, const std::vector<Cell> &cells) {
  std::vector<std::string> columns, values;
  for (const Cell &cell : cells)
    if (cell.since <= version) {
      columns.push_back(cell.column);
      values.push_back(cell.value);
    }
  return fmt::format("INSERT INTO {}({}) VALUES ({})", table, fmt::join(columns, ", "), fmt::join(values, ", "));
}

/// A measured schedule; up to version 4 its task stands in the row.
std::string tuningRow(size_t version, const char *text, double seconds, int64_t ns, const char *verdict) {
  bool own = version < 5;
  return row("tuning", version,
             {{1, "platform", "7"},
              {1, "task", own ? quoted(task) : "4"},
              {1, "schedule", quoted(text)},
              {1, "status", "'passed'"},
              {1, "reason", "''"},
              {1, "seconds", fmt::format("{}", seconds)},
              {1, "measured", "'2026-01-01T00:00:03.000000Z'"},
              {5, "samples", fmt::format("'[{0},{0}]'", ns)},
              {5, "verdict", quoted(verdict)},
              {5, "searcher", "'xgb'"},
              {5, "build_seconds", "0.125"},
              {5, "run_seconds", "0.5"},
              {5, "version", "'0.1.0'"},
              {5, "build", "'b'"},
              {5, "experiment", "3"},
              {9, "outcomes", "'[]'"}});
}

/// One of everything, as the program of this version of the schema wrote it.
std::vector<std::string> written(size_t version) {
  std::vector<std::string> rows = {
      row("platform", version,
          {{1, "id", "7"},
           {1, "key", quoted(platformKey)},
           {1, "cpu", "'Old CPU'"},
           {1, "architecture", "'x86_64'"},
           {1, "features", "'[\"avx2\",\"fma\"]'"},
           {1, "caches", R"('[{"bytes":32768,"name":"L1","shared_by_threads":2}]')"},
           {1, "cores", "2"},
           {1, "hardware_threads", "4"},
           {1, "memory_bytes", "8589934592"},
           {1, "governor", "'performance'"},
           {1, "boost", "'on'"},
           {1, "hypervisor", "'kvm'"},
           {1, "virtualized", "1"},
           {1, "kernel", "'Linux 6.1.0'"},
           {1, "compiler", "'Clang 19'"},
           {1, "libraries", R"('{"glibc":"2.36"}')"}}),
      row("experiment", version,
          {{1, "id", "3"},
           {1, "uuid", quoted(uuid)},
           {1, "identity", quoted(identity)},
           {1, "kind", "'tune'"},
           {1, "command", "'lathe tune net.onnx'"},
           {1, "version", "'0.1.0'"},
           {1, "build", "'b'"},
           {1, "platform", "7"},
           {1, "settings", R"('{"seed":1}')"},
           {1, "started", "'2026-01-01T00:00:00.000000Z'"},
           {1, "finished", "'2026-01-01T00:00:09.000000Z'"},
           {1, "stolen_processors", "0.5"},
           {7, "revision", "'0123abc'"},
           {8, "detail", R"('{"points":1}')"}}),
      row("problem", version,
          {{1, "id", "5"},
           {1, "key", quoted(problemKey)},
           {1, "operator", "'relu'"},
           {1, "text", "'relu x=3'"},
           {1, "detail", R"('{"x":[3]}')"}}),
      row("setting", version,
          {{1, "id", "6"},
           {1, "key", quoted(settingKey)},
           {1, "threads", "2"},
           {1, "batch", "0"},
           {1, "type", "'f32'"},
           {1, "layout", "''"},
           {1, "schedule", "'map/1'"},
           {1, "cache", "'cold'"},
           {1, "extra", "'{}'"},
           {11, "company", "'{}'"}}),
      row("point", version,
          {{1, "id", "9"},
           {1, "key", quoted(pointKey)},
           {1, "experiment", "3"},
           {1, "problem", "5"},
           {1, "setting", "6"},
           {1, "provider", "'lathe'"},
           {1, "variant", "'auto'"},
           {1, "measured", "'2026-01-01T00:00:01.000000Z'"},
           {1, "status", "'passed'"},
           {1, "reason", "''"},
           {1, "relative_l2", "0.0000001"},
           {1, "implementation", "'map/1'"},
           {1, "provider_version", "'0.1.0'"},
           {1, "repro", "'lathe ops bench relu'"},
           {1, "prepare_seconds", "0.25"},
           {2, "starts", "'[1,1]'"},
           {4, "call_seconds", "0.00000002"},
           {6, "figures", R"('{"top1":0.5}')"}}),
      "INSERT INTO sample(point, round, repetition, wall_ns) VALUES (9, 0, 0, 11), (9, 0, 1, 12), (9, 1, 0, 13)",
      "UPDATE sample SET cpu_ns = 4 WHERE wall_ns = 12"};
  if (version >= 5)
    rows.push_back(
        row("task", version,
            {{5, "id", "4"}, {5, "text", quoted(task)}, {5, "family", "'contraction'"}, {5, "kernel", "'module {}'"}}));
  rows.push_back(tuningRow(version, schedule, 0.001, 1000000, "faster"));
  rows.push_back(tuningRow(version, "direct/1 oc=4 px=7", 0.002, 2000000, "no_gain"));
  if (version >= 10)
    rows.push_back(row("label", version,
                       {{10, "target", "'experiment'"},
                        {10, "key", quoted(uuid)},
                        {10, "kind", "'name'"},
                        {10, "value", "'first'"},
                        {10, "changed", "'2026-01-01T00:00:10.000000Z'"}}));
  return rows;
}

const std::string archive = LATHE_SOURCE_DIR "/src/laboratory/store/tests/written.jsonl";

std::string contentOf(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class VersionsTest : public StoreFolder {
protected:
  static void expectChosen(Store &store, bool isCompared) {
    auto best = store.bestTuning(task, platformKey);
    ASSERT_TRUE(best);
    EXPECT_EQ(best->schedule, schedule);
    EXPECT_EQ(best->seconds, 1e-3);
    auto chosen = store.chosenSchedules(platformKey);
    ASSERT_EQ(chosen.size(), isCompared ? 1u : 0u);
    if (isCompared) {
      EXPECT_EQ(chosen[0].task, task);
      EXPECT_EQ(chosen[0].schedule, schedule);
      EXPECT_EQ(chosen[0].verdict, TuningVerdict::faster);
    }
  }
  static void expectKeys(Store &store) {
    EXPECT_EQ(store.platform(platformKey).key(), platformKey);
    EXPECT_EQ(store.experiment(uuid).identity(), identity);
    auto points = store.points();
    ASSERT_EQ(points.size(), 1u);
    EXPECT_EQ(points[0].key(), pointKey);
    EXPECT_EQ(points[0].problem.key(), problemKey);
    EXPECT_EQ(points[0].setting.key(), settingKey);
    ASSERT_EQ(points[0].rounds.size(), 2u);
    EXPECT_EQ(points[0].rounds[0][1].cpuNs, 4);
    EXPECT_EQ(points[0].rounds[1][0].wallNs, 13);
  }
};

} // namespace

TEST_F(VersionsTest, storesOpenAndMergeToTheSameKeys) {
  for (size_t version = 1; version <= schemaSteps().size(); ++version) {
    SCOPED_TRACE(version);
    std::string path = place(fmt::format("version{}.db", version));
    {
      Database old(path, Database::Mode::create);
      migrate(old, schemaSteps().first(version));
      for (const std::string &statement : written(version))
        old.execute(statement);
    }
    Store store(path);
    EXPECT_EQ(store.connection().link().schemaVersion(), int64_t(schemaSteps().size()));
    expectKeys(store);
    expectChosen(store, version >= 5);
    EXPECT_EQ(store.labels().size(), version >= 10 ? 1u : 0u);
    if (version == 8) {
      exportArchive(store, {}, file("again.jsonl"));
      EXPECT_EQ(contentOf(file("again.jsonl")), contentOf(archive));
    }
    ImportCounts counts = importInto(store, {archive});
    EXPECT_EQ(counts.platforms.known, 1u);
    EXPECT_EQ(counts.experiments.added, 0u);
    EXPECT_EQ(counts.points.added, 0u);
    EXPECT_EQ(counts.tuning.added, 0u);
    EXPECT_EQ(store.counts(), (Store::Counts{1, 1, 1, 3, 2}));
    expectKeys(store);
    expectChosen(store, true);
    expectHealthy(path);
  }
}

TEST_F(VersionsTest, archivesComeBack) {
  Store store(place("lathe.db"));
  importInto(store, {archive});
  expectKeys(store);
  expectChosen(store, true);
  exportArchive(store, {}, file("again.jsonl"));
  EXPECT_EQ(contentOf(file("again.jsonl")), contentOf(archive));
}

TEST_F(VersionsTest, recordsThatCameWithTheSource) {
  // An archive of data/records: one record a task, found by the text of the task.
  Store store(place("lathe.db"));
  importInto(store, {archive});
  store.removeTuning({store.tuning().at(1)});
  exportTuning(store, {}, file("records.jsonl"));
  auto record = ArchiveIndex(file("records.jsonl")).find(task);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->schedule, schedule);
  EXPECT_EQ(record->verdict, TuningVerdict::faster);
  for (const auto &entry : std::filesystem::directory_iterator(LATHE_SOURCE_DIR "/data/records")) {
    if (entry.path().extension() != ".jsonl")
      continue;
    ArchiveIndex index(entry.path());
    size_t records = 0;
    readArchive(entry.path(), [&](const Record &each) {
      if (auto *shipped = std::get_if<TuningRecord>(&each)) {
        ++records;
        EXPECT_EQ(index.find(shipped->task)->schedule, shipped->schedule);
      }
    });
    EXPECT_GT(records, 0u);
    EXPECT_EQ(records, index.size());
  }
}

TEST_F(VersionsTest, logsOfAutoTvm) {
  std::ofstream(file("a.log"))
      << nlohmann::json::parse(R"({"input": ["llvm -keys=cpu -mcpu=skylake-avx512", "dense_nopack.x86", [["TENSOR",
[1, 16], "float32"], ["TENSOR", [8, 16], "float32"], null, "float32"], {}], "config": {"index": 5, "code_hash": null,
"entity": [["tile_y", "sp", [-1, 1]], ["tile_x", "sp", [-1, 8]]]}, "result": [[0.0045, 0.0035], 0, 0.5,
1676344759.5], "version": 0.2, "tvm_version": "0.10.0"})")
             .dump()
      << "\n";
  Store store(place("lathe.db"));
  importInto(store, {file("a.log")});
  auto records = store.tuning();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].task,
            "autotvm/0.2 | dense_nopack.x86 | float32 1x16; float32 8x16; null; \"float32\" | llvm -keys=cpu "
            "-mcpu=skylake-avx512");
  EXPECT_EQ(records[0].schedule, "autotvm/0.2 index=5 tile_y=-1,1 tile_x=-1,8");
  EXPECT_EQ(records[0].seconds, 0.004);
  auto points = store.points();
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].key(), "0acba2647cf437a15a4fb3a6123e8b72");
  EXPECT_EQ(points[0].experiment, "a7735869a5f27cb07ee3030f8400c9e7");
}
