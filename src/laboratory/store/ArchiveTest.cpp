#include "store/Archive.h"
#include "store/ContentKey.h"
#include "store/Lines.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

using namespace lathe;
using namespace lathe::store;
using testing::HasSubstr;

namespace {

class ArchiveTest : public StoreFolder {
protected:
  /// A machine's store: one experiment with points `from` to `to` - 1, a tuning record.
  Store machine(const std::string &name, int from, int to) {
    Store store(place(name + ".db"));
    Experiment experiment = someExperiment();
    experiment.detail = {{"graph", {{"edges", {{0, 1, 2}}}}}};
    std::string uuid = store.addExperiment(experiment, somePlatform(name));
    for (int number = from; number < to; ++number)
      store.addPoint(somePoint(uuid, number));
    store.addTuning({someTuning(0)}, someTask(), somePlatform(name));
    store.finishExperiment(uuid, {0.1, 0.0});
    return store;
  }
  std::string contentOf(const std::string &path) {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  void put(const std::string &path, const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  std::string importError(const std::string &path) {
    Store into(place("into.db"));
    std::string message = errorOf([&] { importInto(into, {path}); });
    EXPECT_EQ(into.counts(), Store::Counts()) << message;
    return message;
  }
};

} // namespace

TEST_F(ArchiveTest, roundTrip) {
  Store store = machine("A", 0, 5);
  for (const char *name : {"a.jsonl", "a.jsonl.gz"}) {
    Store::Counts counts = exportArchive(store, {}, file(name));
    EXPECT_EQ(counts, store.counts());
    Store copy(place(std::string(name) + ".db"));
    ImportCounts imported = importInto(copy, {file(name)});
    EXPECT_EQ(imported.points.added, 5u);
    EXPECT_EQ(imported.samples, 60u);
    EXPECT_EQ(copy.counts(), store.counts());
    EXPECT_EQ(copy.experiments({}, true).at(0).experiment.detail, store.experiments({}, true).at(0).experiment.detail);
    // Exporting the copy gives the same bytes.
    exportArchive(copy, {}, file("again.jsonl"));
    EXPECT_EQ(contentOf(file("again.jsonl")), contentOf(file("a.jsonl")));
  }
  EXPECT_LT(std::filesystem::file_size(file("a.jsonl.gz")), std::filesystem::file_size(file("a.jsonl")) / 2);
  EXPECT_EQ(contentOf(file("a.jsonl.gz")).substr(0, 2), "\x1f\x8b");
  Store empty(place("empty.db"));
  exportArchive(empty, {}, file("empty.jsonl"));
  importInto(store, {file("empty.jsonl")});
  EXPECT_EQ(store.counts().points, 5);
}

TEST_F(ArchiveTest, importingTwiceChangesNothing) {
  Store store = machine("A", 0, 5);
  exportArchive(store, {}, file("a.jsonl"));
  ImportCounts own = importInto(store, {file("a.jsonl")}); // data that it already has
  EXPECT_EQ(own.points.added + own.points.replaced + own.experiments.added + own.experiments.replaced, 0u);
  Store copy(place("copy.db"));
  importInto(copy, {file("a.jsonl"), file("a.jsonl"), place("A.db")});
  ImportCounts again = importInto(copy, {file("a.jsonl")});
  EXPECT_EQ(again.points.known, 5u);
  EXPECT_EQ(again.points.added, 0u);
  EXPECT_EQ(again.tuning.known, 1u);
  EXPECT_EQ(again.platforms.known, 1u);
  EXPECT_EQ(again.samples, 0u);
  EXPECT_EQ(copy.counts(), store.counts());
}

TEST_F(ArchiveTest, machinesAddUp) {
  Store a = machine("A", 0, 5), b = machine("B", 3, 10); // points 3 and 4 on both: two experiments, so two points
  exportArchive(a, {}, file("a.jsonl.gz"));
  Store one(place("one.db")), other(file("other.db"));
  importInto(one, {file("a.jsonl.gz"), place("B.db")});
  EXPECT_EQ(one.counts(), (Store::Counts{2, 2, 12, 144, 2}));
  EXPECT_EQ(one.points({.platform = somePlatform("B").key()}, false).size(), 7u);
  importInto(other, {place("B.db")});
  importInto(other, {place("A.db")});
  exportArchive(one, {}, file("one.jsonl"));
  exportArchive(other, {}, file("other.jsonl"));
  EXPECT_EQ(contentOf(file("one.jsonl")), contentOf(file("other.jsonl"))); // in any order
}

TEST_F(ArchiveTest, anExperimentThatWentOn) {
  Store store(place("lathe.db"));
  std::string uuid = store.addExperiment(someExperiment(), somePlatform());
  store.addPoint(somePoint(uuid, 1));
  exportArchive(store, {}, file("early.jsonl"));
  store.addPoint(somePoint(uuid, 2));
  Point better = somePoint(uuid, 1, 9);
  store.addPoint(better);
  store.finishExperiment(uuid, {0.3, std::nullopt});
  exportArchive(store, {}, file("late.jsonl"));
  for (auto &order : {std::vector{"early.jsonl", "late.jsonl"}, std::vector{"late.jsonl", "early.jsonl"}}) {
    Store copy(place(std::string(order[0]) + ".db"));
    for (auto &name : order)
      importInto(copy, {file(name)});
    exportArchive(copy, {}, file("copy.jsonl"));
    EXPECT_EQ(contentOf(file("copy.jsonl")), contentOf(file("late.jsonl")));
  }
}

TEST_F(ArchiveTest, filters) {
  Store store = machine("A", 0, 5);
  std::string bench = store.addExperiment(someExperiment(ExperimentKind::bench), somePlatform("another"));
  store.addPoint(somePoint(bench, 1));
  EXPECT_EQ(exportArchive(store, {}, file("x.jsonl")), (Store::Counts{2, 2, 6, 72, 1}));
  EXPECT_EQ(exportArchive(store, {.kind = ExperimentKind::bench}, file("x.jsonl")), (Store::Counts{1, 1, 1, 12, 0}));
  EXPECT_EQ(exportArchive(store, {.experiments = {bench}}, file("x.jsonl")), (Store::Counts{1, 1, 1, 12, 0}));
  EXPECT_EQ(exportArchive(store, {.kind = ExperimentKind::tune}, file("x.jsonl")), (Store::Counts{1, 0, 0, 0, 1}));
  Store copy(place("copy.db"));
  importInto(copy, {file("x.jsonl")});
  EXPECT_EQ(copy.tuning().size(), 1u);
}

TEST_F(ArchiveTest, tuningRecords) {
  Store store = machine("A", 0, 2);
  std::string uuid = store.addExperiment(someExperiment(ExperimentKind::tune), somePlatform("A"));
  store.addExperiment(someExperiment(ExperimentKind::tune), somePlatform("B")); // without tuning records
  store.addTuning({someTuning(1, uuid), someTuning(2, uuid)}, someTask(), somePlatform("A"));
  store.addTuning({someTuning(1)}, {"task/2 | old", "", ""}, somePlatform("A"));
  EXPECT_EQ(exportTuning(store, {}, file("tuning.jsonl")), (Store::Counts{1, 1, 0, 0, 4}));
  std::string text = contentOf(file("tuning.jsonl"));
  EXPECT_EQ(text.find("{\"task\":"), text.rfind("{\"task\":")); // once for each known task
  EXPECT_EQ(exportTuning(store, {.statuses = {PointStatus::crashed}}, file("some.jsonl")).tuning, 1);
  // Both verbs export the same records.
  exportArchive(store, {}, file("all.jsonl"));
  for (const char *from : {"tuning.jsonl", "all.jsonl", "A.db"}) {
    SCOPED_TRACE(from);
    Store copy(place(std::string("of-") + from));
    std::string source = std::string(from) == "A.db" ? place(from) : file(from);
    ImportCounts counts = importInto(copy, {source}, Imported::tuning);
    EXPECT_EQ(counts.tuning.added, 4u);
    EXPECT_EQ(counts.platforms.added, 1u);
    EXPECT_EQ(counts.experiments.added, 1u);
    EXPECT_EQ(copy.counts(), (Store::Counts{1, 1, 0, 0, 4}));
    EXPECT_EQ(importInto(copy, {source}, Imported::tuning).tuning.known, 4u);
    EXPECT_EQ(copy.tuning({.withKernel = true}).size(), 3u);
    exportArchive(copy, {}, file("again.jsonl"));
    EXPECT_EQ(contentOf(file("again.jsonl")), text);
    EXPECT_EQ(importInto(copy, {source}).tuning.known, 4u);
    EXPECT_EQ(copy.counts().points, std::string(from) == "tuning.jsonl" ? 0 : 2);
  }
  // Records of one schedule merge, wherever they come from; the later one here has no verdict.
  TuningRecord compared = someTuning(1), later = compared;
  compared.verdict = TuningVerdict::noGain;
  compared.experiment = uuid;
  store.addTuning({compared}, someTask(), somePlatform("A"));
  exportTuning(store, {}, file("tuning.jsonl"));
  later.searcher.clear();
  later.measured = "2099-01-01T00:00:00.000000Z";
  Store other(place("other.db"));
  other.addTuning({later}, {someTask().text, "", ""}, somePlatform("A"));
  EXPECT_EQ(importInto(other, {file("tuning.jsonl")}).tuning.replaced, 1u);
  EXPECT_EQ(importInto(store, {place("other.db")}, Imported::tuning).tuning.replaced, 1u);
  EXPECT_EQ(importInto(store, {place("other.db")}, Imported::tuning).tuning.known, 4u);
  for (const TuningRecord &record : other.tuning({.task = someTask().text}))
    if (record.schedule == later.schedule) {
      EXPECT_EQ(record.verdict, TuningVerdict::noGain);
      EXPECT_EQ(record.experiment, uuid);
      EXPECT_EQ(record.outcomes.size(), 3u);
    }
  exportTuning(other, {}, file("one.jsonl"));
  exportTuning(store, {}, file("two.jsonl"));
  EXPECT_EQ(contentOf(file("one.jsonl")), contentOf(file("two.jsonl")));
}

/// A record of version 0.1.0, which had only a time.
TEST_F(ArchiveTest, recordsByTask) {
  LATHE_FILES_ONLY();
  Store store(place("best.db"));
  std::vector<TuningRecord> written;
  for (int task = 0; task < 20; ++task) {
    TuningTask text = someTask(task);
    text.text += task % 2 ? " \"task\":\"x\\" : " \u00e9\n | {\"tuning\":"; // as JSON escapes it
    TuningRecord record = someTuning(3 * task);
    store.addTuning({record}, text, somePlatform("A"));
    written.push_back(store.tuning({.task = text.text}).at(0));
  }
  exportTuning(store, {}, file("best.jsonl"));
  ArchiveIndex index(file("best.jsonl"));
  EXPECT_EQ(index.size(), written.size());
  for (const TuningRecord &record : written) {
    std::optional<TuningRecord> found = index.find(record.task);
    ASSERT_TRUE(found) << record.task;
    EXPECT_EQ(textOf(*found), textOf(record));
  }
  EXPECT_FALSE(index.find(someTask(0).text));
  EXPECT_FALSE(index.find(""));

  std::string good = contentOf(file("best.jsonl"));
  auto errorOfText = [&](const std::string &text) {
    put(file("bad.jsonl"), text);
    return errorOf([&] { ArchiveIndex(file("bad.jsonl")); });
  };
  EXPECT_EQ(errorOfText(good), "no error");
  EXPECT_THAT(errorOfText(""), HasSubstr("is not an archive of measurements"));
  EXPECT_THAT(errorOfText("nothing of it\n"), HasSubstr("is not an archive of measurements"));
  std::mt19937 random{1};
  for (int i = 0; i < 200; ++i) { // any byte after the first line
    size_t begin = good.find('\n') + 1, at = begin + random() % (good.size() - begin);
    std::string bad = good;
    bad[at] = char(bad[at] ^ (1 << random() % 8));
    EXPECT_THAT(errorOfText(bad), HasSubstr("bad.jsonl: ")) << at;
    EXPECT_THAT(errorOfText(good.substr(0, at)), HasSubstr("bad.jsonl: ")) << at;
  }
  store.addTuning({someTuning(1)}, {written[0].task, "", ""}, somePlatform("A"));
  exportTuning(store, {}, file("two.jsonl"));
  EXPECT_THAT(errorOf([&] { ArchiveIndex(file("two.jsonl")); }), HasSubstr("has two records of one task"));
  EXPECT_THAT(errorOf([&] { ArchiveIndex(file("none.jsonl")); }), HasSubstr("none.jsonl: cannot open"));
}

TEST_F(ArchiveTest, archivesOfTheFirstFormat) {
  std::string platform = toJson(somePlatform()).dump();
  std::string lines =
      fmt::format("{{\"platform\":{}}}\n", platform) +
      fmt::format("{{\"tuning\":{{\"measured\":\"2026-01-01T00:00:00.000000Z\",\"platform\":\"{}\",\"reason\":"
                  "\"\",\"schedule\":\"direct/1 px=14\",\"seconds\":0.001,\"status\":\"passed\",\"task\":"
                  "\"task/2 | conv\"}}}}\n",
                  somePlatform().key());
  put(file("old.jsonl"),
      fmt::format("{{\"lathe_store\":{{\"experiments\":0,\"format\":1,\"platforms\":1,\"points\":0,\"samples\""
                  ":0,\"tuning\":1,\"xxh3_128\":\"{}\"}}}}\n",
                  contentKey(lines)) +
          lines);
  Store store(place("lathe.db"));
  importInto(store, {file("old.jsonl")});
  auto records = store.tuning({.task = "task/2 | conv"});
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].seconds, 1e-3);
  EXPECT_TRUE(records[0].samples.empty());
}

TEST_F(ArchiveTest, damagedArchivesLeaveNothingBehind) {
  LATHE_FILES_ONLY();
  Store store = machine("A", 0, 5);
  exportArchive(store, {}, file("good.jsonl"));
  exportArchive(store, {}, file("good.jsonl.gz"));
  std::string good = contentOf(file("good.jsonl")), packed = contentOf(file("good.jsonl.gz"));
  auto broken = [&](const std::string &bytes) {
    put(file("bad.jsonl"), bytes);
    std::string message = importError(file("bad.jsonl"));
    EXPECT_THAT(message, HasSubstr("bad.jsonl"));
    EXPECT_EQ(message.find('\n'), message.npos) << message;
    return message;
  };
  // Truncated at many positions, some of them between lines.
  for (size_t length = 0; length < good.size() - 1; length += length < 400 ? 7 : 501)
    broken(good.substr(0, length));
  EXPECT_THAT(broken(good.substr(0, good.rfind("{\"point\""))), HasSubstr("points is 4, the first line says 5"));
  for (size_t length : {size_t(0), size_t(1), size_t(10), packed.size() / 2, packed.size() - 9, packed.size() - 1})
    broken(packed.substr(0, length));
  EXPECT_THAT(broken(packed.substr(0, packed.size() / 2)), HasSubstr("cut"));
  auto unpacked = [&](const std::string &bytes) {
    put(file("bad.jsonl.gz"), bytes);
    std::string text;
    try {
      LineReader reader(file("bad.jsonl.gz"));
      while (auto line = reader.next())
        text += *line + "\n";
    } catch (const Error &) {
      text.clear();
    }
    return text;
  };
  // One byte changed, at any position.
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    std::string bytes = i % 2 ? packed : good;
    size_t at = random() % bytes.size();
    if (i % 2 && at < 10)
      continue; // bytes of gzip's header that are ignored (time, system)
    bytes[at] = char(bytes[at] ^ (1 << random() % 7));
    if (i % 2 && unpacked(bytes) == good)
      continue; // a bit behind the data, or another encoding of the same data
    SCOPED_TRACE(fmt::format("byte {}", at));
    broken(bytes);
  }
  // Other kinds of damage.
  auto replaced = [&](const std::string &from, const std::string &to) {
    std::string bytes = good;
    size_t at = bytes.find(from);
    EXPECT_NE(at, bytes.npos) << from;
    return broken(bytes.replace(at, from.size(), to));
  };
  EXPECT_THAT(replaced("\"format\":2", "\"format\":5"), HasSubstr("has format 5, this lathe knows formats up to 4"));
  EXPECT_THAT(replaced("\"status\":\"passed\"", "\"status\":\"splendid\""),
              HasSubstr("no status is called 'splendid'"));
  EXPECT_THAT(replaced("\"threads\":1", "\"threads\":1.5"), HasSubstr("threads is 1.5, expected an integer"));
  EXPECT_THAT(replaced("\"threads\":1", "\"threads\":\"1\""), HasSubstr("expected an integer"));
  EXPECT_THAT(replaced("\"wall_ns\":[[", "\"wall_ns\":[[-"), HasSubstr("a sample has -"));
  EXPECT_THAT(replaced("\"operator\":", "\"operation\":"), HasSubstr("operator"));
  EXPECT_THAT(broken(good + good.substr(good.rfind("{\"point\""))), HasSubstr("a point occurs twice"));
  EXPECT_THAT(broken("{\"hello\": 1}\n"), HasSubstr("not an archive of measurements"));
  EXPECT_THAT(broken(""), HasSubstr("not an archive of measurements"));
  EXPECT_THAT(importError(file("absent.jsonl")), HasSubstr("absent.jsonl: cannot open: No such file"));
  EXPECT_THAT(importError(folder.string()), HasSubstr("expected a file, got a directory"));
  // A good file beside a bad one is not imported either.
  Store into(place("into.db"));
  put(file("bad.jsonl"), good.substr(0, good.size() / 2));
  EXPECT_THAT(errorOf([&] { importInto(into, {file("good.jsonl"), file("bad.jsonl")}); }), HasSubstr("bad.jsonl"));
  EXPECT_EQ(into.counts(), Store::Counts());
  importInto(into, {file("good.jsonl")});
  EXPECT_EQ(into.counts(), store.counts());
}

TEST_F(ArchiveTest, damagedDatabasesLeaveNothingBehind) {
  LATHE_FILES_ONLY();
  {
    machine("A", 0, 40).connection().execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  std::string good = contentOf(file("A.db"));
  ASSERT_GT(good.size(), 40000u);
  put(file("bad.db"), good.substr(0, good.size() / 2 / 4096 * 4096));
  EXPECT_THAT(importError(file("bad.db")), HasSubstr("bad.db"));
  std::string scribbled = good;
  for (size_t at = 8192; at < 40000; ++at)
    scribbled[at] = char(at * 7);
  put(file("bad.db"), scribbled);
  EXPECT_THAT(importError(file("bad.db")), HasSubstr("bad.db"));
  std::string dangling = file("A.db");
  Database(dangling, Database::Mode::existing).execute("DELETE FROM experiment"); // without checking references
  EXPECT_THAT(importError(dangling), HasSubstr("a row refers to one that is not there"));
  machine("without-task", 0, 1);
  Database(file("without-task.db"), Database::Mode::existing).execute("DELETE FROM task");
  EXPECT_THAT(importError(file("without-task.db")), HasSubstr("a row refers to one that is not there"));
}

TEST_F(ArchiveTest, aFileThatCannotBeWritten) {
  Store store = machine("A", 0, 2);
  EXPECT_THAT(errorOf([&] { exportArchive(store, {}, file("no/such/folder.jsonl")); }), HasSubstr("cannot write"));
  if (std::filesystem::exists("/dev/full")) {
    std::filesystem::create_symlink("/dev/full", file("full.jsonl"));
    EXPECT_THAT(errorOf([&] { exportArchive(store, {}, file("full.jsonl")); }), HasSubstr("No space left"));
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  }
}

TEST_F(ArchiveTest, linesOfAnyLength) {
  std::vector<std::string> lines = {"", "short", std::string(300000, 'x'), "", "last"};
  for (const char *name : {"lines", "lines.gz"}) {
    LineWriter writer(file(name));
    for (auto &line : lines)
      writer.line(line);
    EXPECT_FALSE(std::filesystem::exists(file(name))); // it appears only when it is complete
    writer.commit();
    LineReader reader(file(name));
    std::vector<std::string> read;
    while (auto line = reader.next())
      read.push_back(*line);
    EXPECT_EQ(read, lines);
    EXPECT_EQ(reader.number(), lines.size());
  }
}
