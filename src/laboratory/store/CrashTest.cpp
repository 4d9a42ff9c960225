// Several concurrent processes, killed processes, full disks.
#include "store/Archive.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lathe;
using namespace lathe::store;
using testing::HasSubstr;

class StoreCrashTest : public StoreFolder {
protected:
  StoreCrashTest() { place("lathe.db"); } // before child processes use it
};

/// Runs `body` in a child process; its exit code is 0 unless it throws.
static pid_t inChild(const std::function<void()> &body) {
  pid_t child = fork();
  if (child)
    return child;
  try {
    body();
  } catch (const std::exception &exception) {
    fmt::print(stderr, "child: {}\n", exception.what());
    _exit(1);
  }
  _exit(0);
}

static int exitCodeOf(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(StoreCrashTest, manyWritersFromAnEmptyFolder) {
  constexpr int writers = 6, points = 25;
  std::vector<pid_t> children;
  children.reserve(writers);
  for (int writer = 0; writer < writers; ++writer)
    children.push_back(inChild([&] {
      Store store(place("lathe.db")); // all processes create it at once
      // The same platform, problems and settings: all processes need the same rows.
      std::string uuid = store.addExperiment(someExperiment(), somePlatform());
      for (int number = 0; number < points; ++number)
        store.addPoint(somePoint(uuid, number));
      store.finishExperiment(uuid, {});
    }));
  for (pid_t child : children)
    EXPECT_EQ(exitCodeOf(child), 0);
  Store store(place("lathe.db"));
  EXPECT_EQ(store.counts(), (Store::Counts{1, writers, writers * points, writers * points * 12, 0}));
  for (auto &summary : store.experiments()) {
    EXPECT_EQ(summary.points, size_t(points));
    EXPECT_FALSE(summary.experiment.finished.empty());
  }
  expectHealthy(place("lathe.db"));
}

TEST_F(StoreCrashTest, aReaderSeesAWholeWhileOthersWrite) {
  std::string uuid;
  {
    Store store(place("lathe.db"));
    uuid = store.addExperiment(someExperiment(), somePlatform());
  }
  pid_t writer = inChild([&] {
    Store store(place("lathe.db"));
    for (int number = 0; number < 100; ++number)
      store.addPoint(somePoint(uuid, number));
  });
  Store store(place("lathe.db")), copy(file("copy.db"));
  for (int i = 0; i < 10; ++i) {
    Store::Counts counts = exportArchive(store, {}, file("moment.jsonl"));
    EXPECT_EQ(counts.samples, counts.points * 12);
    importInto(copy, {file("moment.jsonl")});
    EXPECT_EQ(copy.counts(), counts);
  }
  EXPECT_EQ(exitCodeOf(writer), 0);
  EXPECT_EQ(store.counts().points, 100);
}

/// On a busy machine writers get less time, so later turns take longer.
size_t patience(int turn) { return 1 + size_t(turn) / 20; }

TEST_F(StoreCrashTest, killedAtAnyMoment) {
  std::random_device seeder;
  unsigned seed = seeder();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  std::string path = place("lathe.db");
  std::set<std::pair<std::string, int>> reported; // experiment, number
  int unreported = 0;
  for (int turn = 0; turn < (onServer() ? 6 : 20) || (reported.size() <= 20 && turn < 400); ++turn) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    pid_t writer = inChild([&] {
      close(ends[0]);
      Store store(path);
      Experiment experiment = someExperiment();
      std::string uuid = store.addExperiment(experiment, somePlatform());
      for (int number = 0;; ++number) {
        store.addPoint(somePoint(uuid, number, 4, 200)); // over several pages
        std::string line = fmt::format("{} {}\n", uuid, number);
        if (write(ends[1], line.data(), line.size()) != ssize_t(line.size()))
          _exit(2);
      }
    });
    close(ends[1]);
    // Kills it sometimes while the file is created, sometimes while points are written.
    usleep(unsigned((turn % 4 == 0 ? random() % 8000 : 10000 + random() % 60000) * patience(turn)));
    kill(writer, SIGKILL);
    EXPECT_EQ(exitCodeOf(writer), 128 + SIGKILL);
    std::string said;
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
      said.append(buffer, size_t(got));
    close(ends[0]);
    for (size_t begin = 0; begin < said.size();) {
      size_t space = said.find(' ', begin), end = said.find('\n', begin);
      reported.emplace(said.substr(begin, space - begin), std::stoi(said.substr(space, end - space)));
      begin = end + 1;
    }
    if (!Location(path).mayExist())
      continue; // killed before it existed
    expectHealthy(path);
    Store store(path);
    std::set<std::pair<std::string, int>> kept;
    store.points({}, true, [&](const Point &point) {
      int number = point.problem.detail.at("outChannels");
      Point written = somePoint(point.experiment, number, 4, 200);
      EXPECT_EQ(point.rounds, written.rounds); // complete
      EXPECT_TRUE(kept.emplace(point.experiment, number).second) << "doubled";
    });
    for (auto &key : reported)
      EXPECT_TRUE(kept.count(key)) << "lost: " << key.first << " " << key.second;
    unreported = int(kept.size()) - int(reported.size());
    EXPECT_LE(unreported, turn + 1); // at most one for each kill: written, but killed before reporting it
  }
  EXPECT_GT(reported.size(), 20u);
}

TEST_F(StoreCrashTest, tuningKilledAtAnyMoment) {
  std::random_device seeder;
  unsigned seed = seeder();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  std::string path = place("lathe.db"), uuid;
  {
    Store store(path);
    uuid = store.addExperiment(someExperiment(ExperimentKind::tune), somePlatform());
  }
  constexpr int batch = 3;
  int reported = 0; // batches
  for (int turn = 0; turn < (onServer() ? 6 : 20) || (reported <= 20 && turn < 400); ++turn) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    pid_t writer = inChild([&] {
      close(ends[0]);
      Store store(path);
      // A search continues from the schedules that it has tried.
      int tried = int(store.tuning({.task = someTask().text, .platform = somePlatform().key()}).size());
      if (tried % batch)
        _exit(2);
      for (int first = tried;; first += batch) {
        std::vector<TuningRecord> records;
        for (int number = first; number < first + batch; ++number)
          records.push_back(someTuning(number, uuid));
        store.addTuning(records, someTask(), somePlatform());
        char byte = 'x';
        if (write(ends[1], &byte, 1) != 1)
          _exit(3);
      }
    });
    close(ends[1]);
    usleep(unsigned((5000 + random() % 40000) * patience(turn)));
    kill(writer, SIGKILL);
    EXPECT_EQ(exitCodeOf(writer), 128 + SIGKILL);
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
      reported += int(got);
    close(ends[0]);
    expectHealthy(path);
    Store store(path);
    auto kept = store.tuning();
    EXPECT_EQ(kept.size() % batch, 0u); // batches are complete
    EXPECT_GE(int(kept.size()), reported * batch) << "lost";
    EXPECT_LE(int(kept.size()), (reported + turn + 1) * batch); // at most one batch for each kill was not reported
    std::set<std::string> schedules;
    for (const TuningRecord &record : kept)
      EXPECT_TRUE(schedules.insert(record.schedule).second) << "doubled";
  }
  EXPECT_GT(reported, 20);
}

TEST_F(StoreCrashTest, aFullFileIsOneErrorAndStaysValid) {
  LATHE_FILES_ONLY();
  std::string uuid;
  int added = 0;
  {
    Store store(place("lathe.db"), {.maxPages = 60});
    uuid = store.addExperiment(someExperiment(), somePlatform());
    std::string message = errorOf([&] {
      for (; added < 1000; ++added)
        store.addPoint(somePoint(uuid, added, 4, 200));
    });
    EXPECT_THAT(message, HasSubstr("lathe.db: database or disk is full"));
    EXPECT_EQ(message.find('\n'), message.npos) << message;
    EXPECT_GT(added, 2);
    EXPECT_EQ(store.counts().points, added);
    EXPECT_EQ(store.counts().samples, added * 800);
    EXPECT_EQ(store.connection().integer("SELECT count(*) FROM problem"), added); // nothing of the failed point
    EXPECT_THAT(errorOf([&] { store.addPoint(somePoint(uuid, added, 4, 200)); }), HasSubstr("full")); // and again
  }
  expectHealthy(place("lathe.db"));
  Store store(place("lathe.db"));
  store.addPoint(somePoint(uuid, added, 4, 200)); // there is space again
  EXPECT_EQ(store.counts().points, added + 1);
}

TEST_F(StoreCrashTest, aFullDiskLeavesNoEmptyStore) {
  LATHE_FILES_ONLY();
  // Nothing at all can be written; then only the first page; then a part of the log, with its index file.
  for (rlim_t limit : {100, 4096, 9000, 33000, 50000, 70000}) {
    std::string path = file(fmt::format("new-{}.db", limit));
    int code = exitCodeOf(inChild([&] {
      signal(SIGXFSZ, SIG_IGN);
      rlimit files{limit, limit};
      setrlimit(RLIMIT_FSIZE, &files);
      auto began = std::chrono::steady_clock::now();
      std::string message = errorOf([&] { Store store(path); });
      bool quick = std::chrono::steady_clock::now() - began < std::chrono::seconds(10); // it waits 30 s for a lock
      _exit(message.starts_with(path + ": ") && quick ? 0 : 1);
    }));
    EXPECT_EQ(code, 0) << limit;
    for (const char *suffix : {"", "-wal", "-shm", "-journal"})
      EXPECT_FALSE(std::filesystem::exists(path + suffix)) << limit << suffix;
  }
}

TEST_F(StoreCrashTest, aSystemThatWritesNoMore) {
  LATHE_FILES_ONLY();
  // A limit on file sizes: writing fails as on a full disk, at any page of the log or the file.
  std::string path = file("lathe.db");
  std::string uuid;
  {
    Store store(path);
    uuid = store.addExperiment(someExperiment(), somePlatform());
  }
  for (rlim_t limit : {200000, 300000, 500000, 900000}) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    pid_t writer = inChild([&] {
      signal(SIGXFSZ, SIG_IGN); // the failing call returns an error, as for a full disk
      rlimit file{limit, limit};
      setrlimit(RLIMIT_FSIZE, &file);
      Store store(path);
      int first = int(store.counts().points), added = first;
      std::string message = errorOf([&] {
        for (; added < first + 1000; ++added)
          store.addPoint(somePoint(uuid, added, 4, 200));
      });
      std::string said = fmt::format("{} {}", added, message);
      if (write(ends[1], said.data(), said.size()) != ssize_t(said.size()))
        _exit(2);
    });
    close(ends[1]);
    std::string said(4096, '\0');
    ssize_t got = read(ends[0], said.data(), said.size());
    close(ends[0]);
    said.resize(size_t(std::max<ssize_t>(got, 0)));
    EXPECT_EQ(exitCodeOf(writer), 0);
    EXPECT_THAT(said, testing::AnyOf(HasSubstr("disk I/O error"), HasSubstr("disk is full")));
    EXPECT_EQ(said.find('\n'), said.npos) << said;
    Store store(path);
    EXPECT_EQ(store.counts().points, std::stoi(said)) << said;
    EXPECT_EQ(store.counts().samples, store.counts().points * 800);
    expectHealthy(path);
  }
}

TEST_F(StoreCrashTest, anInterruptedExperimentIsGoneOnWithByOneProcess) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  auto hear = [&] {
    char byte = 0;
    EXPECT_EQ(read(told[0], &byte, 1), 1);
    return byte;
  };
  auto tell = [&](char byte) { (void)!write(told[1], &byte, 1); };
  auto stay = [] {
    for (;;)
      pause();
  };
  auto end = [](pid_t child) {
    kill(child, SIGKILL);
    EXPECT_EQ(exitCodeOf(child), 128 + SIGKILL);
  };
  pid_t first = inChild([&] {
    Store store(place("lathe.db"));
    std::string uuid = store.addExperiment(someExperiment(), somePlatform());
    store.addPoint(somePoint(uuid, 1));
    tell('1');
    stay();
  });
  hear();
  Experiment experiment;
  { // While it lives, no other process may continue it.
    Store store(place("lathe.db"));
    experiment = store.experiments().at(0).experiment;
    Unfinished found = store.takeOver(experiment.identity());
    EXPECT_EQ(found.experiment, "");
    EXPECT_EQ(store.takeOver("another command").busy, std::nullopt);
    EXPECT_EQ(store.experiments().at(0).owner, found.busy);
    EXPECT_EQ(found.busy.value_or(Owner()).pid, first);
    // The process is gone.
    end(first);
    EXPECT_EQ(store.experiments().at(0).owner, std::nullopt);
  }
  // Of several processes that ask at once one gets it, and the others get the owner.
  std::vector<pid_t> heirs;
  for (int i = 0; i < 5; ++i)
    heirs.push_back(inChild([&] {
      Store own(place("lathe.db"));
      Unfinished mine = own.takeOver(experiment.identity());
      tell(mine.experiment == experiment.uuid && !mine.busy ? 'y' : mine.experiment.empty() && mine.busy ? 'n' : '?');
      stay();
    }));
  std::string answers;
  for (size_t i = 0; i < heirs.size(); ++i)
    answers += hear();
  std::sort(answers.begin(), answers.end());
  EXPECT_EQ(answers, "nnnny");
  for (pid_t heir : heirs)
    end(heir);
  // This process owns it, also when asking again; when it ends, no process does.
  Store store(place("lathe.db"));
  EXPECT_EQ(store.takeOver(experiment.identity()).experiment, experiment.uuid);
  EXPECT_EQ(store.takeOver(experiment.identity()).experiment, experiment.uuid);
  store.finishExperiment(experiment.uuid, {});
  EXPECT_EQ(store.takeOver(experiment.identity()).experiment, "");
  EXPECT_EQ(store.experiments().at(0).owner, std::nullopt);
  expectHealthy(place("lathe.db"));
}

TEST_F(StoreCrashTest, ownersThatAreKnownToBeGone) {
  Owner owner = Owner::self();
  EXPECT_EQ(owner, Owner::self());
  EXPECT_GT(owner.started, 0);
  EXPECT_TRUE(owner.mayLive());
  Owner later = owner, rebooted = owner, elsewhere = owner, contained = owner;
  later.started += 1; // the pid was given to another process
  rebooted.boot = "00000000-0000-0000-0000-000000000000";
  elsewhere.host += "-2";
  elsewhere.pid = 1 << 30;
  contained.pids = "pid:[1]";
  contained.pid = 1 << 30;
  EXPECT_FALSE(later.mayLive());
  EXPECT_FALSE(rebooted.mayLive());
  EXPECT_TRUE(elsewhere.mayLive()); // it cannot be checked from here
  EXPECT_TRUE(contained.mayLive());
}
