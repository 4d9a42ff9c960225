// Tuning records in a store: storing, merging, filtering, choosing, removing, migrating.
#include "store/ContentKey.h"
#include "store/Outcomes.h"
#include "store/Schema.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

using namespace lathe;
using namespace lathe::store;
using testing::HasSubstr;

using TuningTest = StoreFolder;

TEST_F(TuningTest, givesTuningRecordsBack) {
  std::vector<TuningRecord> written;
  {
    Store store(place("lathe.db"));
    std::string uuid = store.addExperiment(someExperiment(ExperimentKind::tune), somePlatform());
    for (int number = 0; number < 4; ++number)
      written.push_back(someTuning(number, number ? uuid : ""));
    written[1].verdict = TuningVerdict::faster;
    store.addTuning(written, someTask(), somePlatform());
  }
  Store store(place("lathe.db"));
  auto tasks = store.tunedTasks();
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(toJson(tasks[0].task), toJson(someTask()));
  ASSERT_EQ(tasks[0].records.size(), 4u);
  EXPECT_FALSE(tasks[0].records[3].seconds); // last
  EXPECT_LE(tasks[0].records[0].seconds, tasks[0].records[1].seconds);
  for (const TuningRecord &record : tasks[0].records) {
    TuningRecord expected = written.at(size_t(std::stoi(record.schedule.substr(14))));
    EXPECT_TRUE(isTime(record.measured)) << record.measured;
    expected.measured = record.measured;
    expected.platform = somePlatform().key();
    EXPECT_EQ(textOf(record), textOf(expected));
    EXPECT_EQ(textOf(tuningRecordFromJson(toJson(record))), textOf(record));
  }
  EXPECT_EQ(store.counts().tuning, 4);
  EXPECT_EQ(store.connection().integer("SELECT count(*) FROM task"), 1);
}

TEST_F(TuningTest, recordsOfAScheduleMerge) {
  Store store(place("lathe.db"));
  TuningRecord early = someTuning(1), late = someTuning(1);
  early.measured = "2026-01-01T00:00:00.000000Z";
  late.measured = "2026-01-02T00:00:00.000000Z";
  late.status = PointStatus::timedOut;
  late.reason = "10 s";
  late.seconds.reset();
  late.samples.clear();
  for (const TuningRecord &record : {early, late, early, late})
    store.addTuning({record}, someTask(), somePlatform());
  auto records = store.tuning();
  ASSERT_EQ(records.size(), 1u);
  early.platform = somePlatform().key();
  merge(early, late);
  EXPECT_EQ(textOf(records[0]), textOf(early));
  EXPECT_EQ(records[0].status, PointStatus::passed); // a time-out does not hide a time
  // Another platform, task or schedule gives another record.
  store.addTuning({early}, someTask(), somePlatform("Another CPU"));
  store.addTuning({early}, someTask(1), somePlatform());
  store.addTuning({someTuning(2)}, someTask(), somePlatform());
  EXPECT_EQ(store.counts().tuning, 4);
}

/// The facts about a task do not depend on the order in which they were added.
TEST_F(TuningTest, kernelsOfTasks) {
  TuningTask unknown{someTask().text, "", ""}, known = someTask(), other = someTask();
  other.kernel = "a " + other.kernel;
  for (auto &order :
       {std::vector{unknown, known, other}, std::vector{other, unknown, known}, std::vector{known, other, unknown}}) {
    Store store(place(fmt::format("{}.db", contentKey(order[0].kernel))));
    for (const TuningTask &task : order)
      store.addTuning({someTuning(1)}, task, somePlatform());
    EXPECT_EQ(toJson(store.tunedTasks().at(0).task), toJson(other));
  }
}

TEST_F(TuningTest, severalTuningRecordsOrNone) {
  Store store(place("lathe.db"));
  std::vector<TuningRecord> records = {someTuning(1), someTuning(3), someTuning(4)};
  records[2].experiment = "nowhere";
  EXPECT_THAT(errorOf([&] { store.addTuning(records, someTask(), somePlatform()); }),
              HasSubstr("no experiment has uuid nowhere"));
  auto refused = [&](auto change) {
    TuningRecord record = someTuning(1);
    change(record);
    return errorOf([&] { store.addTuning({record}, someTask(), somePlatform()); });
  };
  EXPECT_THAT(refused([](TuningRecord &r) { r.status = PointStatus::failed; }), HasSubstr("that is failed with 0.001"));
  EXPECT_THAT(refused([](TuningRecord &r) { r.seconds.reset(); }), HasSubstr("without a time with 5 samples"));
  EXPECT_THAT(refused([](TuningRecord &r) { r.samples[1] = -1; }), HasSubstr("a sample has -1"));
  EXPECT_THAT(refused([](TuningRecord &r) { r.schedule = ""; }), HasSubstr("without platform, task or schedule"));
  EXPECT_THAT(refused([](TuningRecord &r) { r.buildSeconds = -1; }), HasSubstr("build_seconds is -1"));
  EXPECT_THAT(refused([](TuningRecord &r) { r.measured = "today"; }), HasSubstr("measured is 'today'"));
  EXPECT_THAT(refused([](TuningRecord &r) {
                r.seconds.reset();
                r.samples.clear();
                r.verdict = TuningVerdict::faster;
              }),
              HasSubstr("without a time is faster"));
  EXPECT_THAT(errorOf([&] { store.addTuning({someTuning(1)}, {"", "", ""}, somePlatform()); }),
              HasSubstr("task without a text"));
  EXPECT_EQ(store.counts(), Store::Counts());
  EXPECT_EQ(store.connection().integer("SELECT count(*) FROM task"), 0);
}

TEST_F(TuningTest, tuningFilters) {
  Store store(place("lathe.db"));
  store.addTuning({someTuning(0), someTuning(1), someTuning(2)}, someTask(0), somePlatform());
  store.addTuning({someTuning(0)}, someTask(1), somePlatform("Another CPU"));
  store.addTuning({someTuning(0)}, {"task/2 | softmax", "reduction", ""}, somePlatform());
  auto count = [&](const TuningFilter &filter) { return store.tuning(filter).size(); };
  EXPECT_EQ(count({}), 5u);
  EXPECT_EQ(count({.task = someTask(0).text}), 3u);
  EXPECT_EQ(count({.part = "| conv "}), 4u);
  EXPECT_EQ(count({.family = "reduction"}), 1u);
  EXPECT_EQ(count({.platform = somePlatform("Another CPU").key()}), 1u);
  EXPECT_EQ(count({.platform = somePlatform("Another CPU").key().substr(0, 10)}), 1u);
  EXPECT_EQ(count({.cpu = "another"}), 1u);
  EXPECT_EQ(count({.cpu = "ZNVER5"}), 4u);
  EXPECT_EQ(count({.statuses = {PointStatus::crashed}}), 1u);
  EXPECT_EQ(count({.statuses = {PointStatus::crashed, PointStatus::passed}}), 5u);
  EXPECT_EQ(count({.withKernel = true}), 4u);
  EXPECT_EQ(count({.family = "reduction", .withKernel = true}), 0u);
  EXPECT_EQ(count({.task = someTask(0).text, .platform = somePlatform().key(), .statuses = {PointStatus::passed}}), 2u);
}

TEST_F(TuningTest, theFastestRecord) {
  Store store(place("lathe.db"));
  auto put = [&](const char *cpu, int schedule, double seconds, const char *when) {
    TuningRecord record = someTuning(0);
    record.schedule = fmt::format("direct/1 px={}", schedule);
    record.seconds = seconds;
    record.measured = when;
    store.addTuning({record}, someTask(), somePlatform(cpu));
  };
  std::string task = someTask().text, a = somePlatform("A").key();
  EXPECT_FALSE(store.bestTuning(task));
  put("A", 14, 2e-3, "2026-01-01T00:00:00.000000Z");
  put("A", 7, 3e-3, "2026-01-01T00:00:00.000000Z");
  put("B", 14, 1e-3, "2026-01-01T00:00:00.000000Z");
  store.addTuning({someTuning(2)}, someTask(), somePlatform("A"));
  store.addTuning({someTuning(2)}, someTask(1), somePlatform("A")); // only failures
  EXPECT_EQ(store.bestTuning(task, a)->schedule, "direct/1 px=14");
  EXPECT_EQ(store.bestTuning(task)->seconds, 1e-3);
  EXPECT_FALSE(store.bestTuning(someTask(1).text));
  TuningRecord foreign = someTuning(0);
  foreign.schedule = "foreign/1";
  foreign.seconds = 1e-9;
  foreign.status = PointStatus::notVerified;
  foreign.reason = "measured elsewhere";
  store.addTuning({foreign}, someTask(), somePlatform("A"));
  EXPECT_EQ(store.bestTuning(task)->seconds, 1e-3);  // the faster one was not checked
  put("A", 14, 5e-3, "2026-01-02T00:00:00.000000Z"); // measured again: now the other is faster
  EXPECT_EQ(store.bestTuning(task, a)->schedule, "direct/1 px=7");
  put("A", 14, 1e-4, "2025-01-02T00:00:00.000000Z"); // an older measurement that arrives later
  EXPECT_EQ(store.bestTuning(task, a)->seconds, 2e-3);
}

TEST_F(TuningTest, schedulesThatCompilationsUse) {
  Store store(place("lathe.db"));
  std::string here = somePlatform("here").key();
  int day = 1;
  auto put = [&](const char *cpu, int task, int schedule, double seconds, TuningVerdict verdict = TuningVerdict::open,
                 const char *searcher = "xgb") {
    TuningRecord record = someTuning(0);
    record.schedule = fmt::format("direct/1 px={}", schedule);
    record.seconds = seconds;
    record.verdict = verdict;
    record.searcher = searcher;
    record.measured = fmt::format("2026-01-{:02}T00:00:00.000000Z", day++);
    store.addTuning({record}, someTask(task), somePlatform(cpu));
  };
  auto chosen = [&](int task) -> std::string {
    for (const ChosenSchedule &choice : store.chosenSchedules(here))
      if (choice.task == someTask(task).text)
        return choice.verdict == TuningVerdict::noGain ? "default" + choice.schedule : choice.schedule.substr(9);
    return "";
  };
  EXPECT_TRUE(store.chosenSchedules(here).empty());
  put("here", 1, 7, 1e-3, TuningVerdict::open, ""); // without a searcher
  EXPECT_EQ(chosen(1), "");
  put("here", 1, 14, 3e-3);
  put("here", 1, 28, 2e-3);
  EXPECT_EQ(chosen(1), ""); // they were not compared with the default
  put("here", 1, 14, 3e-3, TuningVerdict::faster);
  EXPECT_EQ(chosen(1), "px=14");
  put("here", 1, 14, 9e-3, TuningVerdict::open, ""); // from `ops bench`, which does not compare
  EXPECT_EQ(chosen(1), "px=14");
  put("here", 2, 14, 3e-3);
  put("here", 2, 28, 2e-3, TuningVerdict::noGain);
  EXPECT_EQ(chosen(2), "default");
  put("here", 2, 28, 1e-4, TuningVerdict::open, "");
  EXPECT_EQ(chosen(2), "default");
  // Measurements of other machines count for tasks that this machine does not have.
  put("there", 2, 14, 1e-3, TuningVerdict::faster);
  EXPECT_EQ(chosen(2), "default");
  put("there", 3, 14, 2e-3);
  put("elsewhere", 3, 28, 1e-3);
  EXPECT_EQ(chosen(3), "");
  put("there", 3, 7, 5e-3, TuningVerdict::faster);
  EXPECT_EQ(chosen(3), "px=7");
  put("here", 3, 2, 8e-3);
  EXPECT_EQ(chosen(3), "px=7");
  put("here", 3, 2, 8e-3, TuningVerdict::faster);
  EXPECT_EQ(chosen(3), "px=2");
  store.addTuning({someTuning(2)}, someTask(4), somePlatform("here")); // failed
  EXPECT_EQ(chosen(4), "");
  auto choices = store.chosenSchedules(here);
  ASSERT_EQ(choices.size(), 3u);
  EXPECT_EQ(choices[0].platform, here);
  EXPECT_EQ(choices[0].measured, "2026-01-04T00:00:00.000000Z"); // time of the comparison
  EXPECT_EQ(choices[0].verdict, TuningVerdict::faster);
  EXPECT_EQ(choices[1].verdict, TuningVerdict::noGain);
}

TEST_F(TuningTest, textsOfSchedulesAreCanonical) {
  Store store(place("lathe.db"));
  TuningRecord searched = someTuning(0), benched = someTuning(0);
  searched.schedule = "direct/1 kc=0 oc=2 px=14 outer=rows type=f32";
  searched.verdict = TuningVerdict::noGain;
  benched.schedule = "direct/1 oc=2 px=14";
  benched.searcher.clear();
  store.addTuning({searched, benched}, someTask(), somePlatform());
  auto records = store.tuning();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].schedule, benched.schedule);
  EXPECT_EQ(records[0].verdict, TuningVerdict::noGain);
  EXPECT_EQ(records[0].outcomes.size(), 2u);
}

TEST_F(TuningTest, olderTextsOfSchedulesMerge) {
  LATHE_FILES_ONLY();
  std::string path = file("old.db");
  {
    Store store(path);
    for (int number = 0; number < 3; ++number)
      store.addTuning({someTuning(number)}, someTask(), somePlatform());
    // The state after version 8: a search found no gain, and later `ops bench` measured the same schedule under another
    // text.
    Database &old = store.connection();
    old.execute("DROP TABLE label; ALTER TABLE tuning DROP COLUMN outcomes; ALTER TABLE point DROP COLUMN held;\n"
                "ALTER TABLE setting DROP COLUMN company;\n"
                "PRAGMA user_version = 8");
    old.execute("UPDATE tuning SET schedule = 'direct/1 oc=2 px=14 type=f32', verdict = 'no_gain' WHERE id = 1");
    old.execute(
        "UPDATE tuning SET schedule = 'direct/1 oc=2 px=14', searcher = '', measured = '2099-01-01T00:00:00.000000Z'\n"
        "WHERE id = 2");
    old.execute("UPDATE tuning SET schedule = 'direct/99 type=f32' WHERE id = 3"); // of another version
  }
  Store store(path);
  auto records = store.tuning();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].schedule, "direct/1 oc=2 px=14");
  EXPECT_EQ(records[0].verdict, TuningVerdict::noGain);
  EXPECT_EQ(records[0].searcher, "xgb");
  EXPECT_EQ(records[0].outcomes.size(), 2u);
  EXPECT_EQ(records[1].schedule, "direct/99 type=f32");
  expectHealthy(path);
}

TEST_F(TuningTest, removesTuningRecords) {
  Store store(place("lathe.db"));
  store.addTuning({someTuning(0), someTuning(1)}, someTask(0), somePlatform());
  store.addTuning({someTuning(0)}, someTask(1), somePlatform());
  auto first = store.tuning({.task = someTask(0).text}), second = store.tuning({.task = someTask(1).text});
  EXPECT_EQ(store.removeTuning({second[0], first[0]}), 2u);
  EXPECT_EQ(store.removeTuning({second[0]}), 0u);
  EXPECT_EQ(store.tuning().size(), 1u);
  EXPECT_EQ(store.connection().integer("SELECT count(*) FROM task"), 1); // the other tasks have no records
  TuningRecord again = first[1];
  again.measured = "2099-01-01T00:00:00.000000Z";
  store.addTuning({again}, someTask(0), somePlatform());
  EXPECT_EQ(store.removeTuning({first[1]}), 0u); // it was measured again
  expectHealthy(place("lathe.db"));
}

TEST_F(TuningTest, tuningRecordsOfEveryOlderVersion) {
  LATHE_FILES_ONLY();
  for (size_t version = 1; version <= 4; ++version) {
    SCOPED_TRACE(version);
    std::string path = file(fmt::format("old{}.db", version));
    {
      Database old(path, Database::Mode::create);
      migrate(old, schemaSteps().first(version));
      // Rows as these versions wrote them.
      old.execute(
          "INSERT INTO platform VALUES (7, 'p', 'Old CPU', 'x86_64', '[]', '[]', 2, 4, 0, '', '', '', 0, '', '',\n"
          "  '{}')");
      old.execute("INSERT INTO tuning(platform, task, schedule, status, reason, seconds, measured) VALUES\n"
                  "  (7, 'task/2 b', 'direct/1 px=5', 'passed', '', 0.5, '2025-01-01T00:00:00.000000Z'),\n"
                  "  (7, 'task/2 a', 'direct/1 px=2', 'crashed', 'signal 9', NULL, '2025-01-02T00:00:00.000000Z'),\n"
                  "  (7, 'task/2 b', 'direct/1 px=3', 'passed', '', 0.25, '2025-01-03T00:00:00.000000Z')");
    }
    Store store(path);
    auto tasks = store.tunedTasks();
    ASSERT_EQ(tasks.size(), 2u);
    EXPECT_EQ(tasks[0].task.text, "task/2 a");
    EXPECT_EQ(tasks[0].task.kernel, "");
    ASSERT_EQ(tasks[0].records.size(), 1u);
    EXPECT_EQ(tasks[0].records[0].status, PointStatus::crashed);
    EXPECT_EQ(tasks[0].records[0].reason, "signal 9");
    ASSERT_EQ(tasks[1].records.size(), 2u);
    EXPECT_EQ(tasks[1].records[0].schedule, "direct/1 px=3");
    EXPECT_EQ(tasks[1].records[0].seconds, 0.25);
    EXPECT_EQ(tasks[1].records[0].measured, "2025-01-03T00:00:00.000000Z");
    EXPECT_EQ(tasks[1].records[0].platform, "p");
    EXPECT_EQ(tasks[1].records[0].searcher, "");
    EXPECT_TRUE(store.chosenSchedules("p").empty()); // no search made them
    // A search measures one of them again, and adds the facts about the task.
    TuningRecord again = someTuning(0);
    again.schedule = "direct/1 px=3";
    store.addTuning({again}, {"task/2 b", "contraction", "the kernel"}, somePlatform());
    EXPECT_EQ(store.tuning({.task = "task/2 b", .withKernel = true}).size(), 3u);
    expectHealthy(path);
  }
}
