// Reading without writing: shows what other processes add, and cannot change anything.
#include "store/ReadOnly.h"
#include "store/Schema.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

#include <sys/wait.h>
#include <unistd.h>

using namespace lathe;
using namespace lathe::store;
using testing::HasSubstr;

using ReadOnlyTest = StoreFolder;

TEST_F(ReadOnlyTest, seesWhatOthersWrite) {
  Store writer(file("lathe.db"));
  Store reader = openReadOnly(file("lathe.db"));
  EXPECT_EQ(reader.path(), file("lathe.db"));
  int64_t before = changeCount(reader);
  EXPECT_EQ(changeCount(reader), before);
  std::string uuid = writer.addExperiment(someExperiment(ExperimentKind::tune), somePlatform());
  EXPECT_NE(changeCount(reader), before);
  writer.addPoint(somePoint(uuid, 1));
  writer.addTuning({someTuning(1, uuid), someTuning(2, uuid), someTuning(3)}, someTask(), somePlatform());
  ASSERT_EQ(reader.experiments().size(), 1u);
  EXPECT_EQ(reader.experiments()[0].points, 1u);
  EXPECT_EQ(reader.experiments()[0].owner, Owner::self());
  std::map<std::string, TuningCount> expected{{uuid, {2, 1}}}; // one failed; one belongs to no experiment
  EXPECT_EQ(tuningCounts(reader), expected);
}

TEST_F(ReadOnlyTest, changesNothing) {
  std::string uuid;
  {
    Store writer(file("lathe.db"));
    uuid = writer.addExperiment(someExperiment(), somePlatform());
  }
  Store reader = openReadOnly(file("lathe.db"));
  EXPECT_THAT(errorOf([&] { reader.addPoint(somePoint(uuid, 1)); }), HasSubstr("readonly"));
  EXPECT_THAT(errorOf([&] { reader.finishExperiment(uuid, {}); }), HasSubstr("readonly"));
  EXPECT_THAT(errorOf([&] { reader.addExperiment(someExperiment(), somePlatform()); }), HasSubstr("readonly"));
  EXPECT_EQ(reader.counts(), (Store::Counts{1, 1, 0, 0, 0}));
}

TEST_F(ReadOnlyTest, saysWhyAStoreCannotBeRead) {
  EXPECT_THAT(errorOf([&] { openReadOnly(file("none.db")); }), HasSubstr("none.db: does not exist"));
  {
    Database old(file("old.db"), Database::Mode::create);
    migrate(old, schemaSteps().first(2));
  }
  EXPECT_THAT(errorOf([&] { openReadOnly(file("old.db")); }), HasSubstr("has version 2 of the schema"));
  EXPECT_EQ(Database(file("old.db"), Database::Mode::readOnly).integer("PRAGMA user_version"), 2);
  Store(file("locked.db")).addExperiment(someExperiment(), somePlatform());
  Database holder(file("locked.db"), Database::Mode::existing);
  holder.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  EXPECT_THAT(errorOf([&] { openReadOnly(file("locked.db"), 0.05); }), HasSubstr("locked"));
}

/// Runs `body` in a child process that cannot write the folder (as another user if this one can write everything).
/// Returns its exit code.
static int withoutRights(const std::string &folder, const std::function<int()> &body) {
  namespace fs = std::filesystem;
  constexpr uid_t nobody = 65534;
  for (auto &entry : fs::directory_iterator(folder))
    fs::permissions(entry.path(), fs::perms(0444));
  fs::permissions(folder, fs::perms(0555));
  pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setresuid(nobody, nobody, nobody) != 0)
      ::_exit(99);
    try {
      ::_exit(body());
    } catch (const std::exception &error) {
      fmt::print(stderr, "{}\n", error.what());
      ::_exit(98);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  fs::permissions(folder, fs::perms(0755));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}

TEST_F(ReadOnlyTest, readsAStoreOfAnotherUser) {
  std::string path = file("a %41?#b.db"); // characters with a meaning in URLs
  std::string uuid;
  {
    Store writer(path);
    uuid = writer.addExperiment(someExperiment(), somePlatform());
    writer.addPoint(somePoint(uuid, 1));
  }
  int code = withoutRights(folder.string(), [&] {
    int notices = 0;
    setStoreNotice([&](const std::string &) { ++notices; });
    Store reader = openForReading(path);
    if (reader.counts() != Store::Counts{1, 1, 1, 12, 0} || notices != 1)
      return 1;
    bool refused = errorOf([&] { reader.addPoint(somePoint(uuid, 2)); }).find("readonly") != std::string::npos;
    return refused ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
}

TEST_F(ReadOnlyTest, readsAnOldStoreOfAnotherUser) {
  {
    Database old(file("old.db"), Database::Mode::create);
    migrate(old, schemaSteps().first(2));
  }
  int code = withoutRights(folder.string(), [&] {
    setStoreNotice([](const std::string &) {});
    return openForReading(file("old.db")).counts() == Store::Counts{} ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(Database(file("old.db"), Database::Mode::readOnly).integer("PRAGMA user_version"), 2);
}

TEST_F(ReadOnlyTest, saysThatAStoreCannotBeWritten) {
  std::string path = file("lathe.db");
  Store(path).addExperiment(someExperiment(), somePlatform());
  int code = withoutRights(folder.string(), [&] {
    return errorOf([&] { Store writer(path); }) == path + ": cannot be written: Permission denied" ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}
