#include "store/ContentKey.h"
#include "store/Schema.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <fstream>

using namespace lathe;
using namespace lathe::store;
using testing::HasSubstr;

using StoreTest = StoreFolder;

TEST_F(StoreTest, givesBackWhatItWasGiven) {
  std::string uuid;
  Point point;
  Platform platform = somePlatform();
  {
    Store store(place("deep/er/lathe.db"));
    uuid = store.addExperiment(someExperiment(), platform);
    point = somePoint(uuid, 1);
    store.addPoint(point);
    Point failed = somePoint(uuid, 2, 0);
    failed.status = PointStatus::crashed;
    failed.reason = "signal 11";
    failed.prepareSeconds = failed.callSeconds = std::nullopt;
    store.addPoint(failed);
    store.finishExperiment(uuid, {0.5, std::nullopt});
  }
  Store store(place("deep/er/lathe.db"));
  auto points = store.points();
  ASSERT_EQ(points.size(), 2u);
  EXPECT_TRUE(isTime(points[0].measured)) << points[0].measured;
  point.measured = points[0].measured;
  EXPECT_EQ(textOf(points[0]), textOf(point));
  EXPECT_EQ(points[0].rounds, point.rounds);
  EXPECT_EQ(points[0].starts, (std::vector<size_t>{1, 2}));
  EXPECT_EQ(points[1].status, PointStatus::crashed);
  EXPECT_EQ(points[1].reason, "signal 11");
  EXPECT_FALSE(points[1].prepareSeconds);
  EXPECT_EQ(points[0].callSeconds, 2e-8);
  EXPECT_EQ(points[0].figures, (std::map<std::string, double>{{"pictures", 1}, {"top1", 0.5}}));
  EXPECT_EQ(points[0].held, (std::map<std::string, std::string>{{"cpus", "0-3"}, {"frequency_cap", "2000 MHz"}}));
  EXPECT_TRUE(points[1].held.empty());
  EXPECT_FALSE(points[1].callSeconds);
  EXPECT_TRUE(points[1].rounds.empty());
  EXPECT_EQ(toJson(store.platform(platform.key())), toJson(platform));
  Experiment experiment = store.experiment(uuid.substr(0, 8));
  EXPECT_EQ(experiment.settings, someExperiment().settings);
  EXPECT_EQ(experiment.disturbance.otherProcessors, 0.5);
  EXPECT_FALSE(experiment.disturbance.stolenProcessors);
  EXPECT_GE(experiment.finished, points[1].measured);
  auto summaries = store.experiments();
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].points, 2u);
  EXPECT_EQ(summaries[0].passed, 1u);
  EXPECT_EQ(summaries[0].cpu, "Some CPU");
  EXPECT_EQ(store.counts(), (Store::Counts{1, 1, 2, 12, 0}));
}

TEST_F(StoreTest, theDetailOfAnExperimentIsReadAlone) {
  Experiment profile = someExperiment(ExperimentKind::profile);
  std::string identity = profile.identity();
  profile.detail = {{"graph", {{"edges", {{0, 1, 2}}}}}};
  EXPECT_EQ(profile.identity(), identity);
  Store store(place("lathe.db"));
  std::string uuid = store.addExperiment(profile, somePlatform());
  store.finishExperiment(uuid, {});
  EXPECT_EQ(store.experiment(uuid).detail, profile.detail);
  EXPECT_EQ(store.experiment(uuid).settings, profile.settings);
  EXPECT_TRUE(store.experiments().at(0).experiment.detail.empty());
  EXPECT_EQ(store.experiments({}, true).at(0).experiment.detail, profile.detail);
  // A record as version 7 wrote it.
  Experiment old = someExperiment(ExperimentKind::profile);
  old.settings["graph"] = profile.detail["graph"];
  std::string before = store.addExperiment(old, somePlatform());
  EXPECT_EQ(store.experiment(before).detail, profile.detail);
  EXPECT_EQ(store.experiment(before).settings, profile.settings);
  for (bool withDetail : {false, true}) {
    Experiment listed = store.experiments({.experiments = {before}}, withDetail).at(0).experiment;
    EXPECT_EQ(listed.settings, profile.settings);
    EXPECT_EQ(listed.detail.empty(), !withDetail);
  }
  // A setting of another kind may have this name.
  old.kind = ExperimentKind::ops;
  EXPECT_EQ(store.experiment(store.addExperiment(old, somePlatform())).settings, old.settings);
  // The number may grow.
  profile.planPoints(7);
  store.setDetail(uuid, profile.detail);
  EXPECT_EQ(store.experiment(uuid).detail, profile.detail);
  EXPECT_EQ(store.experiment(uuid).plannedPoints(), 7u);
  EXPECT_EQ(someExperiment(ExperimentKind::profile).plannedPoints(), std::nullopt);
}

TEST_F(StoreTest, equalThingsAreOne) {
  Store store(place("lathe.db"));
  std::string first = store.addExperiment(someExperiment(), somePlatform());
  std::string second = store.addExperiment(someExperiment(), somePlatform());
  store.addExperiment(someExperiment(), somePlatform("Another CPU"));
  EXPECT_NE(first, second);
  store.addPoint(somePoint(first, 1));
  store.addPoint(somePoint(second, 1));
  EXPECT_EQ(store.counts().platforms, 2);
  EXPECT_EQ(store.counts().experiments, 3);
  EXPECT_EQ(store.counts().points, 2);
  EXPECT_EQ(store.connection().integer("SELECT count(*) FROM problem"), 1);
  EXPECT_EQ(store.connection().integer("SELECT count(*) FROM setting"), 1);
  EXPECT_THAT(errorOf([&] { store.experiment(""); }), HasSubstr("no experiment's id begins with ''"));
  EXPECT_THAT(errorOf([&] { store.experiment("zz"); }), HasSubstr("begins with 'zz'"));
}

TEST_F(StoreTest, theLastMeasurementOfAPointStays) {
  Store store(place("lathe.db"));
  std::string uuid = store.addExperiment(someExperiment(), somePlatform());
  Point early = somePoint(uuid, 1), late = somePoint(uuid, 1, 5, 2);
  early.measured = "2026-01-01T00:00:00.000000Z";
  late.measured = "2026-01-02T00:00:00.000000Z";
  late.implementation = "winograd/1";
  store.addPoint(early);
  store.addPoint(late);
  store.addPoint(early);
  store.addPoint(late);
  auto points = store.points();
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(textOf(points[0]), textOf(late));
  EXPECT_EQ(store.counts().samples, 10);
}

/// Later runs may know more, or other facts, about a problem. Stores merge in any order.
TEST_F(StoreTest, aProblemHasTheDetailOfItsLastMeasurement) {
  std::string uuid = newUuid();
  std::vector<Point> points;
  for (int day : {1, 2, 3}) {
    Point &point = points.emplace_back(somePoint(uuid, 1));
    point.provider = fmt::format("provider {}", day);
    point.measured = fmt::format("2026-01-0{}T00:00:00.000000Z", day);
    point.problem.detail = {{"outChannels", 1}, {"knownSince", day}};
  }
  for (auto &order : {std::array{0, 1, 2}, std::array{2, 1, 0}, std::array{1, 2, 0}}) {
    Store store(place(fmt::format("{}.db", fmt::join(order, ""))));
    Experiment experiment = someExperiment();
    experiment.uuid = uuid;
    store.addExperiment(experiment, somePlatform());
    for (int i : order)
      store.addPoint(points[size_t(i)]);
    EXPECT_EQ(store.connection().integer("SELECT count(*) FROM problem"), 1);
    for (const Point &point : store.points())
      EXPECT_EQ(point.problem.detail, points[2].problem.detail);
  }
}

TEST_F(StoreTest, severalPointsOrNone) {
  Store store(place("lathe.db"));
  std::string uuid = store.addExperiment(someExperiment(), somePlatform());
  std::vector<Point> points = {somePoint(uuid, 1), somePoint(uuid, 2), somePoint(uuid, 3)};
  points[2].provider = "";
  EXPECT_THAT(errorOf([&] { store.addPoints(points); }), HasSubstr("without provider"));
  EXPECT_EQ(store.counts().points, 0);
  points[2].provider = "lathe";
  store.addPoints(points);
  auto kept = store.points();
  ASSERT_EQ(kept.size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(kept[i].problem.text, points[i].problem.text); // in their order
}

TEST_F(StoreTest, knowsWhatTheSameCommandHasMeasured) {
  Store store(place("lathe.db"));
  Experiment experiment = someExperiment();
  std::string uuid = store.addExperiment(experiment, somePlatform());
  store.addPoint(somePoint(uuid, 1));
  std::string identity = store.experiment(uuid).identity();
  Point asked = somePoint("", 1, 0);
  auto known = store.measured(identity, asked);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->status, PointStatus::passed);
  EXPECT_EQ(known->experiment, uuid);
  // Each of these changes makes another point.
  EXPECT_FALSE(store.measured(identity, somePoint("", 2, 0)));
  Point other = asked;
  other.variant = "plain";
  EXPECT_FALSE(store.measured(identity, other));
  other = asked;
  other.provider = "onednn";
  EXPECT_FALSE(store.measured(identity, other));
  other = asked;
  other.setting.threads = 7;
  EXPECT_FALSE(store.measured(identity, other));
  other = asked;
  other.setting.cache = CacheState::cold;
  EXPECT_FALSE(store.measured(identity, other));
  other = asked;
  other.setting.company = someCompany();
  EXPECT_FALSE(store.measured(identity, other));
  other = asked;
  other.problem.op = "deconv2d";
  EXPECT_FALSE(store.measured(identity, other));
  // Each of these changes makes another experiment.
  experiment.platform = somePlatform().key();
  EXPECT_EQ(experiment.identity(), identity);
  Experiment changed = experiment;
  changed.settings["seed"] = 8;
  EXPECT_NE(changed.identity(), identity);
  changed = experiment;
  changed.build = "fedcba9876543210";
  EXPECT_NE(changed.identity(), identity);
  changed = experiment;
  changed.platform = somePlatform("Another CPU").key();
  EXPECT_NE(changed.identity(), identity);
  changed = experiment;
  changed.command = "the same, typed otherwise";
  EXPECT_EQ(changed.identity(), identity);
  // Over several experiments the last measurement counts.
  Point again = somePoint(store.addExperiment(someExperiment(), somePlatform()), 1, 0);
  again.status = PointStatus::timedOut;
  store.addPoint(again);
  EXPECT_EQ(store.measured(identity, asked)->status, PointStatus::timedOut);
}

TEST_F(StoreTest, filters) {
  Store store(place("lathe.db"));
  std::string ops = store.addExperiment(someExperiment(), somePlatform());
  std::string bench = store.addExperiment(someExperiment(ExperimentKind::bench), somePlatform("Another CPU"));
  store.addPoint(somePoint(ops, 1));
  store.addPoint(somePoint(ops, 2));
  Point model = somePoint(bench, 3);
  model.problem.op = "model";
  model.provider = "onnxruntime";
  store.addPoint(model);
  Point failed = somePoint(bench, 4, 0);
  failed.status = PointStatus::failed;
  store.addPoint(failed);
  auto count = [&](const Filter &filter) { return store.points(filter, false).size(); };
  EXPECT_EQ(count({}), 4u);
  EXPECT_EQ(count({.experiments = {ops}}), 2u);
  EXPECT_EQ(count({.experiments = {ops, bench}}), 4u);
  EXPECT_EQ(count({.kind = ExperimentKind::bench}), 2u);
  EXPECT_EQ(count({.op = "model"}), 1u);
  EXPECT_EQ(count({.problem = "ic64ih56oc2oh56kh3ph1"}), 1u);
  EXPECT_EQ(count({.provider = "lathe"}), 3u);
  EXPECT_EQ(count({.provider = "lathe", .variant = "plain"}), 0u);
  EXPECT_EQ(count({.platform = somePlatform("Another CPU").key()}), 2u);
  EXPECT_EQ(count({.status = PointStatus::failed}), 1u);
  EXPECT_EQ(count({.kind = ExperimentKind::ops, .status = PointStatus::failed}), 0u);
  EXPECT_TRUE(store.points({.experiments = {ops}}, false).at(0).rounds.empty());
  auto summaries = store.experiments({.kind = ExperimentKind::bench});
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].experiment.uuid, bench);
}

TEST_F(StoreTest, whatMustNotBeKept) {
  Store store(place("lathe.db"));
  std::string uuid = store.addExperiment(someExperiment(), somePlatform());
  auto refused = [&](auto change) {
    Point point = somePoint(uuid, 1);
    change(point);
    return errorOf([&] { store.addPoint(point); });
  };
  EXPECT_THAT(refused([](Point &p) { p.status = PointStatus::failed; }), HasSubstr("failed has 12 samples"));
  EXPECT_THAT(refused([](Point &p) { p.rounds[1].clear(); }), HasSubstr("a round without samples"));
  EXPECT_THAT(refused([](Point &p) { p.starts = {1, 1}; }), HasSubstr("2 rounds by start, 3 rounds"));
  EXPECT_THAT(refused([](Point &p) { p.rounds[0][0].wallNs = -1; }), HasSubstr("a sample has -1"));
  EXPECT_THAT(refused([](Point &p) { p.rounds[0][0].cacheMisses = -2; }), HasSubstr("a sample has -2"));
  EXPECT_THAT(refused([](Point &p) { p.experiment = "nowhere"; }), HasSubstr("no experiment has uuid nowhere"));
  EXPECT_THAT(refused([](Point &p) { p.setting.threads = 0; }), HasSubstr("0 threads"));
  EXPECT_THAT(refused([](Point &p) { p.measured = "yesterday"; }), HasSubstr("measured is 'yesterday'"));
  EXPECT_THAT(refused([](Point &p) { p.problem.text = ""; }), HasSubstr("without operator or problem"));
  EXPECT_THAT(refused([](Point &p) { p.setting.extra = 7; }), HasSubstr("extra settings is number"));
  EXPECT_EQ(store.counts().points, 0);
  EXPECT_EQ(store.connection().integer("SELECT count(*) FROM problem"), 0);
}

TEST_F(StoreTest, anyBytesAndAnyNumbers) {
  Store store(place("lathe.db"));
  Experiment experiment = someExperiment();
  experiment.command = "lathe bench caf\xe9.onnx \xff";
  std::string uuid = store.addExperiment(experiment, somePlatform("CPU \xfe"));
  Point point = somePoint(uuid, 1);
  point.reason = std::string("a\xc3(b\n\"'\t") + '\0' + "end";
  point.problem.text = "model \x80";
  point.relativeL2 = INFINITY;
  point.maxDifference = NAN;
  store.addPoint(point);
  Point kept = store.points().at(0);
  EXPECT_EQ(kept.key(), point.key());
  EXPECT_FALSE(kept.relativeL2);
  EXPECT_FALSE(kept.maxDifference);
  EXPECT_EQ(kept.reason, validUtf8(point.reason));
  EXPECT_EQ(kept.rounds, point.rounds);
  EXPECT_EQ(store.experiment(uuid).platform, somePlatform("CPU \xfe").key());
  EXPECT_EQ(toJson(pointFromJson(toJson(kept))), toJson(kept));
}

TEST_F(StoreTest, filesThatAreNotOurs) {
  LATHE_FILES_ONLY();
  std::ofstream(file("text.db")) << "hello, this is a text of some length and no database at all\n";
  EXPECT_THAT(errorOf([&] { Store store(place("text.db")); }), HasSubstr("text.db: file is not a database"));
  {
    Database other(file("other.db"), Database::Mode::create);
    other.execute("CREATE TABLE song(title TEXT)");
  }
  EXPECT_THAT(errorOf([&] { Store store(place("other.db")); }), HasSubstr("database of another program"));
  EXPECT_EQ(Database(file("other.db"), Database::Mode::existing).text("PRAGMA journal_mode"), "delete"); // unchanged
  EXPECT_THAT(errorOf([&] { Store store(folder.string()); }), HasSubstr("expected a file, got a directory"));
  EXPECT_THAT(errorOf([&] { Store store(place("none.db"), {.create = false}); }), HasSubstr("none.db: does not exist"));
  EXPECT_FALSE(std::filesystem::exists(file("none.db")));
  std::ofstream(file("empty.db")).close();
  EXPECT_EQ(Store(place("empty.db")).counts(), Store::Counts());
}

TEST_F(StoreTest, aNewerSchemaIsRefused) {
  {
    Store store(place("lathe.db"));
  }
  auto newest = int64_t(schemaSteps().size());
  Database(place("lathe.db"), Database::Mode::existing).link().setSchemaVersion(newest + 1);
  EXPECT_THAT(
      errorOf([&] { Store store(place("lathe.db")); }),
      HasSubstr(fmt::format("has version {} of the schema, this lathe knows versions up to {}: use a newer lathe",
                            newest + 1, newest)));
  if (!onServer())
    EXPECT_THAT(errorOf([&] { Store::copyOf(file("lathe.db")); }), HasSubstr("use a newer lathe"));
  Database(place("lathe.db"), Database::Mode::existing).link().setSchemaVersion(newest);
  EXPECT_EQ(Store(place("lathe.db")).counts(), Store::Counts());
}

// Files of every version exist, so the steps that created them must not change.
TEST_F(StoreTest, releasedStepsNeverChange) {
  const char *keys[] = {
      "b6aa0639721590e4b7e8d4745f9e36c0", "9c4f2d113de9b60a795b6e8757d40fc5", "2a5465c99e6ac5c2e7ef913f2f1635b9",
      "92364518210e96eaf0ad06b658fb608c", "4af00bc52776f92bcb76ffcc27037a4c", "010d7654f5b0f58c937ca15e8c5260db",
      "3cd21c76fced4a450a36b23935a90621", "97c1df666cfde4c162afd0e9c386855d", "744de94bb48f61759eb2f57b52d1fd73",
      "0d7896fa3518ad96a014bf44af5fd886", "535842d1a3fdd913b1382082eb9db516"};
  ASSERT_EQ(schemaSteps().size(), std::size(keys)) << "a new step: add its key";
  for (size_t i = 0; i < std::size(keys); ++i)
    EXPECT_EQ(contentKey(schemaSteps()[i]), keys[i]) << "step " << i;
}

TEST_F(StoreTest, aFileOfVersion1) {
  std::string experiment = "8066475c-1111-4222-8333-123456789abc";
  {
    Database old(place("old.db"), Database::Mode::create);
    migrate(old, schemaSteps().first(1));
    ASSERT_EQ(old.link().schemaVersion(), 1);
    // As version 1 wrote them.
    old.execute(
        "INSERT INTO platform VALUES (7, 'p', 'Old CPU', 'x86_64', '[\"avx2\"]', '[]', 2, 4, 0, '', '', '', 0,\n"
        "  'Linux 5', 'Clang 18', '{}')");
    old.execute("INSERT INTO experiment VALUES (3, '" + experiment +
                "', 'i', 'ops', 'lathe ops bench', '0.1.0', 'b', 7,\n"
                "  '{\"seed\":1}', '2025-01-01T00:00:00.000000Z', NULL, NULL, 0.5)");
    old.execute("INSERT INTO problem VALUES (5, 'k', 'relu', 'relu x=3', '{}');\n"
                "INSERT INTO setting VALUES (6, 's', 2, 0, 'f32', '', '', 'cold', '{}')");
    old.execute(
        "INSERT INTO point VALUES (9, 'q', 3, 5, 6, 'lathe', 'auto', '2025-01-01T00:00:01.000000Z', 'passed', '',\n"
        "  1e-7, NULL, 'map/1', '0.1.0', 'again', 0.25, NULL, NULL)");
    old.execute(
        "INSERT INTO sample(point, round, repetition, wall_ns, cpu_ns) VALUES (9, 0, 0, 11, NULL), (9, 0, 1, 12, 4),\n"
        "  (9, 1, 0, 13, NULL)");
  }
  auto expectKept = [&](Store &store) {
    auto points = store.points();
    ASSERT_EQ(points.size(), 1u);
    EXPECT_EQ(points[0].problem.text, "relu x=3");
    EXPECT_EQ(points[0].setting.cache, CacheState::cold);
    ASSERT_EQ(points[0].rounds.size(), 2u);
    EXPECT_EQ(points[0].rounds[0][1].cpuNs, 4);
    EXPECT_EQ(points[0].rounds[1][0].wallNs, 13);
    EXPECT_TRUE(points[0].starts.empty());
    EXPECT_EQ(store.experiment("8066").disturbance.stolenProcessors, 0.5);
    EXPECT_EQ(store.platform("p").cpu, "Old CPU");
  };
  if (!onServer()) {
    Store copy = Store::copyOf(file("old.db"));
    expectKept(copy);
    EXPECT_EQ(Database(file("old.db"), Database::Mode::existing).link().schemaVersion(), 1); // unchanged
  }
  Store store(place("old.db"));
  expectKept(store);
  EXPECT_EQ(store.connection().link().schemaVersion(), int64_t(schemaSteps().size()));
  store.addPoint(somePoint(experiment, 1));
  EXPECT_EQ(store.counts().points, 2);
  expectHealthy(place("old.db"));
}

TEST_F(StoreTest, anOlderFileIsMigratedWholeOrNotAtAll) {
  const char *steps[] = {"CREATE TABLE a(x INTEGER); INSERT INTO a VALUES (1)",
                         "ALTER TABLE a ADD COLUMN y INTEGER DEFAULT 7",
                         "CREATE TABLE b(z INTEGER); INSERT INTO b SELECT x + y FROM a"};
  Database database(place("old.db"), Database::Mode::create);
  migrate(database, std::span(steps).first(1));
  EXPECT_EQ(database.link().schemaVersion(), 1);
  const char *broken[] = {steps[0], steps[1], "INSERT INTO nowhere VALUES (1)"};
  EXPECT_THAT(errorOf([&] { migrate(database, broken); }), HasSubstr("nowhere"));
  EXPECT_EQ(database.link().schemaVersion(), 1);
  EXPECT_THAT(errorOf([&] { database.integer("SELECT count(y) FROM a"); }), HasSubstr("y")); // also rolled back
  migrate(database, steps);
  migrate(database, steps);
  EXPECT_EQ(database.link().schemaVersion(), 3);
  EXPECT_EQ(database.integer("SELECT z FROM b"), 8);
  EXPECT_EQ(database.integer("SELECT count(*) FROM b"), 1);
  EXPECT_THAT(errorOf([&] { migrate(database, std::span(steps).first(2)); }), HasSubstr("use a newer lathe"));
}

TEST_F(StoreTest, keysFollowFromContent) {
  EXPECT_EQ(contentKey("abc"), contentKey(std::string("abc")));
  EXPECT_NE(contentKey("abc"), contentKey("abd"));
  EXPECT_EQ(contentKey("").size(), 32u);
  EXPECT_EQ(documentKey({{"a", 1}, {"b", 2}}), documentKey({{"b", 2}, {"a", 1}}));
  EXPECT_NE(newUuid(), newUuid());
  EXPECT_TRUE(isTime(timeNow()));
  std::string before = timeNow();
  for (int i = 0; i < 100; ++i) {
    std::string now = timeNow();
    EXPECT_LT(before, now);
    before = now;
  }
  for (const char *text : {"", "2026-11-22", "2026-13-22T00:31:04.123456Z", "2026-11-22T24:31:04.123456Z",
                           "2026-11-22 00:31:04.123456Z", "2026-11-22T00:31:04.12345xZ"})
    EXPECT_FALSE(isTime(text)) << text;
}
