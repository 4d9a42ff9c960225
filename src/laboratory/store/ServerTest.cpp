// Features of stores on a server: lost connections, other programs' databases, limits of PostgreSQL. Runs under
// store/tests/server_test.py.
#include "store/Archive.h"
#include "store/ContentKey.h"
#include "store/LosingProxy.h"
#include "store/ReadOnly.h"
#include "store/StoreTesting.h"
#include "support/Interrupt.h"

#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <malloc.h>
#include <set>
#include <sstream>
#include <sys/wait.h>
#include <thread>

using namespace lathe;
using namespace lathe::store;
using testing::HasSubstr;
using testing::Not;

namespace {

bool isLong() { return std::getenv("LATHE_TEST_LONG") != nullptr; }

/// Starts, stops or restarts the server. "restart -m immediate" ends it like a crash.
void cluster(const std::string &action) {
  std::string command = fmt::format("pg_ctlcluster {} regress {} >&2", std::getenv("PGVERSION"), action);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

class ServerTest : public StoreFolder {
protected:
  ServerTest() {
    setStoreNotice([this](const std::string &line) { notices += line + "\n"; });
    ::setenv("XDG_DATA_HOME", folder.c_str(), 1);
    ::setenv("LATHE_STORE_WAIT", "60", 1);
  }
  ~ServerTest() override { setStoreNotice({}); }
  std::string notices;
};

} // namespace

TEST_F(ServerTest, readersSeeWhatOthersWriteAndChangeNothing) {
  std::string url = place("team");
  EXPECT_THAT(errorOf([&] { openReadOnly(url); }), HasSubstr("has version 0 of the schema"));
  Store writer(url);
  Store reader = openReadOnly(url);
  int64_t before = changeCount(reader);
  writer.addExperiment(someExperiment(), somePlatform());
  EXPECT_NE(changeCount(reader), before);
  EXPECT_EQ(reader.experiments().size(), 1u);
  EXPECT_THAT(errorOf([&] { reader.connection().execute("DELETE FROM platform"); }), HasSubstr("read-only"));
}

TEST_F(ServerTest, tenWritersWhileTheServerRestarts) {
  std::string url = place("team");
  const int writers = 10, points = isLong() ? 400 : 24, restarts = isLong() ? 12 : 1;
  {
    Store store(url);
  }
  std::vector<pid_t> children;
  for (int writer = 0; writer < writers; ++writer) {
    pid_t child = fork();
    if (child == 0) {
      int code = 1;
      try {
        std::ofstream said(file(fmt::format("said{}", writer)));
        setStoreNotice([&](const std::string &line) { said << line << std::endl; });
        Store store(url);
        std::string uuid = store.addExperiment(someExperiment(), somePlatform());
        for (int number = 0; number < points; ++number) {
          store.addPoint(somePoint(uuid, number));
          if (number % 8 == 0) // all of them the same
            store.addTuning({someTuning(number, uuid)}, someTask(number), somePlatform());
          std::this_thread::sleep_for(std::chrono::milliseconds(20)); // of measuring
        }
        store.finishExperiment(uuid, {});
        code = 0;
      } catch (const std::exception &exception) {
        fmt::print(stderr, "writer {}: {}\n", writer, exception.what());
      }
      _exit(code);
    }
    children.push_back(child);
  }
  {
    Store watched(url);
    while (watched.counts().points < writers) // every writer has begun
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (int i = 0; i < restarts; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    cluster(i % 2 ? "restart -m fast" : "restart -m immediate");
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  Store store(url);
  const int tasks = (points + 7) / 8;
  EXPECT_EQ(store.counts(), (Store::Counts{1, writers, writers * points, writers * points * 12, tasks}));
  for (auto &summary : store.experiments()) {
    EXPECT_FALSE(summary.experiment.finished.empty());
    EXPECT_FALSE(summary.owner);
  }
  store.points({}, true, [&](const Point &point) {
    Point written = somePoint(point.experiment, point.problem.detail.at("outChannels"));
    EXPECT_EQ(point.rounds, written.rounds);
  });
  // Every writer was interrupted, and reported it once for each change.
  for (int writer = 0; writer < writers; ++writer) {
    std::ifstream said(file(fmt::format("said{}", writer)));
    int gone = 0, back = 0;
    for (std::string line; std::getline(said, line);) {
      gone += line.find(" is gone, trying again for 60 s") != line.npos;
      back += line.find(" is back after ") != line.npos;
      EXPECT_EQ(gone - back, line.find(" is gone, ") != line.npos ? 1 : 0) << line;
    }
    EXPECT_GE(gone, 1);
    EXPECT_EQ(gone, back);
  }
}

TEST_F(ServerTest, anAnswerThatWasLostIsNoLoss) {
  std::string url = place("team");
  {
    Store store(url);
  }
  LosingProxy proxy;
  Store store(fmt::format("{}?host=127.0.0.1&port={}&sslmode=disable&gssencmode=disable", url, proxy.port));
  proxy.toLose = 1;
  std::string uuid = store.addExperiment(someExperiment(), somePlatform());
  EXPECT_EQ(proxy.lost, 1);
  proxy.toLose = 2;
  store.addPoints({somePoint(uuid, 1), somePoint(uuid, 2)});
  proxy.toLose = 3;
  store.addTuning({someTuning(1, uuid), someTuning(3, uuid)}, someTask(), somePlatform());
  proxy.toLose = 4;
  EXPECT_EQ(store.removeTuning({store.tuning().at(0)}), 1u);
  proxy.toLose = 5;
  store.finishExperiment(uuid, {});
  EXPECT_EQ(proxy.lost, 5);
  EXPECT_EQ(store.counts(), (Store::Counts{1, 1, 2, 24, 1}));
  EXPECT_EQ(store.experiments().at(0).owner, std::nullopt);
  EXPECT_THAT(notices, HasSubstr("is gone, trying again for 60 s"));
}

TEST_F(ServerTest, aServerThatStaysAwayLosesNothing) {
  std::string url = place("team");
  ::setenv("LATHE_STORE_WAIT", "0.3", 1);
  Store store(url);
  std::string uuid = store.addExperiment(someExperiment(), somePlatform());
  store.addPoint(somePoint(uuid, 1));
  cluster("stop -m fast");
  std::string message = errorOf([&] { store.addPoints({somePoint(uuid, 2), somePoint(uuid, 3)}); });
  EXPECT_THAT(message, HasSubstr("postgresql:///"));
  EXPECT_THAT(message, HasSubstr("the server was gone for 0 s"));
  size_t begin = message.find(folder.string()), end = message.find(": `lathe store merge '" + url + "' ");
  ASSERT_NE(begin, message.npos) << message;
  ASSERT_NE(end, message.npos) << message;
  EXPECT_EQ(message.find('\n'), message.npos);
  std::string kept = message.substr(begin, end - begin);
  // Further points go to the local file at once.
  EXPECT_THAT(errorOf([&] { store.addPoint(somePoint(uuid, 4)); }), HasSubstr(kept));
  EXPECT_THAT(errorOf([&] { store.addTuning({someTuning(1, uuid)}, someTask(), somePlatform()); }), HasSubstr(kept));
  EXPECT_THAT(errorOf([&] { store.finishExperiment(uuid, {}); }), HasSubstr(kept));
  // An experiment that begins without a server: adding its points reports this.
  std::string message2 = errorOf([&] { Store another(url); });
  EXPECT_EQ(message2.find('\n'), message2.npos) << message2;
  cluster("start");
  Store again(url);
  EXPECT_EQ(again.counts().points, 1);
  ImportCounts counts = importInto(again, {kept});
  EXPECT_EQ(counts.points.added, 3u);
  EXPECT_EQ(again.counts(), (Store::Counts{1, 1, 4, 48, 1}));
  EXPECT_FALSE(again.experiments().at(0).experiment.finished.empty());
  EXPECT_EQ(importInto(again, {kept}).points.added, 0u);
}

TEST_F(ServerTest, aSignalInTheWaitingTimeLosesNothing) {
  std::string url = place("team");
  int ready[2], go[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(go), 0);
  pid_t child = fork();
  if (child == 0) {
    catchInterrupts("test");
    std::ofstream said(file("said"));
    setStoreNotice([&](const std::string &line) { said << line << std::endl; });
    Store store(url);
    std::string uuid = store.addExperiment(someExperiment(), somePlatform());
    char byte = 'x';
    if (write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1)
      store.addPoint(somePoint(uuid, 1));
    _exit(1);
  }
  char byte = 'x';
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  Store reader = openReadOnly(url, 0.1);
  cluster("stop -m fast");
  ASSERT_EQ(write(go[1], &byte, 1), 1);
  // A reader does not wait for LATHE_STORE_WAIT.
  EXPECT_THAT(errorOf([&] { changeCount(reader); }), HasSubstr("the server was gone for 0 s"));
  auto said = [&] {
    std::stringstream text;
    text << std::ifstream(file("said")).rdbuf();
    return text.str();
  };
  for (int i = 0; i < 1000 && said().find("is gone") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
  cluster("start");
  std::string text = said(), before = "what was measured is in ";
  size_t begin = text.find(before);
  ASSERT_NE(begin, text.npos) << text;
  begin += before.size();
  std::string kept = text.substr(begin, text.find(':', begin) - begin);
  Store again(url);
  EXPECT_EQ(importInto(again, {kept}).points.added, 1u);
  EXPECT_EQ(again.counts(), (Store::Counts{1, 1, 1, 12, 0}));
}

TEST_F(ServerTest, filesAndServersMergeInAnyDirection) {
  Store here(file("here.db")), server(place("server")), other(place("other"));
  std::string uuid = here.addExperiment(someExperiment(), somePlatform("here"));
  for (int number = 0; number < 70; ++number) // several chunks of points, and of samples
    here.addPoint(somePoint(uuid, number, 4, number == 69 ? 60 : 2));
  here.addTuning({someTuning(0), someTuning(1)}, someTask(), somePlatform("here"));
  Experiment experiment = someExperiment(ExperimentKind::bench);
  experiment.revision = "0123456789ab+";
  std::string second = server.addExperiment(experiment, somePlatform("server"));
  server.addPoint(somePoint(second, 7));
  auto contentOf = [&](Store &store) {
    exportArchive(store, {}, file("x.jsonl"));
    std::stringstream text;
    text << std::ifstream(file("x.jsonl")).rdbuf();
    return text.str();
  };
  importInto(server, {file("here.db")});
  importInto(other, {place("server")});
  importInto(here, {place("other")});
  EXPECT_EQ(here.counts(), (Store::Counts{2, 2, 71, 69 * 8 + 240 + 12, 2}));
  EXPECT_EQ(contentOf(server), contentOf(here));
  EXPECT_EQ(contentOf(other), contentOf(here));
  EXPECT_EQ(other.experiment(second).revision, "0123456789ab+");
  EXPECT_EQ(importInto(here, {place("server"), place("other")}).points.added, 0u);
  EXPECT_THAT(errorOf([&] { importInto(here, {place("empty")}); }),
              HasSubstr("has no store: nothing was kept there yet"));
}

/// Bytes of the heap that are in use.
static size_t heapBytes() {
  struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// Results of any size are read with memory for a few rows, inside and outside a transaction.
TEST_F(ServerTest, rowsComeInPieces) {
  Store store(place("team"));
  std::string uuid = store.addExperiment(someExperiment(), somePlatform());
  constexpr size_t count = 700, reasonBytes = 40000;
  std::vector<Point> points;
  for (size_t number = 0; number < count; ++number) {
    points.push_back(somePoint(uuid, 1, 1, 1));
    points.back().provider = fmt::format("provider {}", number);
    points.back().reason = std::string(reasonBytes, 'r');
  }
  store.addPoints(points);
  points = {};
  for (bool inTransaction : {false, true}) {
    std::optional<Transaction> reading;
    if (inTransaction)
      reading.emplace(store.connection(), Transaction::Kind::read);
    size_t before = heapBytes(), most = 0, seen = 0;
    store.points({}, true, [&](const Point &point) {
      EXPECT_EQ(point.provider, fmt::format("provider {}", seen++));
      most = std::max(most, heapBytes());
      EXPECT_EQ(store.connection().integer("SELECT count(*) FROM pg_cursors WHERE name LIKE 'lathe%'"),
                seen <= 640 ? 1 : 0);
    });
    EXPECT_EQ(seen, count);
    EXPECT_LT(most, before + count * reasonBytes / 2);
    // A reader that stops early leaves nothing open.
    struct Enough {};
    EXPECT_THROW(store.points({}, false, [](const Point &) { throw Enough(); }), Enough);
    EXPECT_EQ(store.connection().integer("SELECT count(*) FROM pg_cursors WHERE name LIKE 'lathe%'"), 0);
  }
}

TEST_F(ServerTest, aConnectionThatBreaksBetweenPieces) {
  Store store(place("team")), other(place("team"));
  std::string uuid = store.addExperiment(someExperiment(), somePlatform());
  std::vector<Point> points;
  for (int number = 0; number < 300; ++number)
    points.push_back(somePoint(uuid, number, 1, 1));
  store.addPoints(points);
  size_t seen = 0;
  std::string message = errorOf([&] {
    store.points({}, false, [&](const Point &) {
      if (++seen == 1)
        other.connection().execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity\n"
                                   "WHERE datname = current_database() AND pid <> pg_backend_pid()");
    });
  });
  EXPECT_THAT(message, HasSubstr(store.path() + ": "));
  EXPECT_LT(seen, points.size());
  EXPECT_EQ(store.points({}, false).size(), points.size()); // with a new connection
}

/// Foreign texts are values, never parts of statements; they may have any length and any bytes.
TEST_F(ServerTest, hostileTextsComeBackAsTheyWere) {
  Store store(place("team")), local(file("local.db"));
  std::string evil = "'; DROP TABLE lathe.point; --", nul = std::string("a\0b", 3),
              escape = "\xf3\xbf\xbf\xbe"
                       "0";
  Experiment experiment = someExperiment();
  experiment.command = evil + " $1 ?  \\";
  experiment.settings = {{"key \" ' \\", evil}, {"nul", nul}};
  std::string uuid = store.addExperiment(experiment, somePlatform(evil));
  std::vector<Point> points = {somePoint(uuid, 1), somePoint(uuid, 2), somePoint(uuid, 3)};
  points[0].problem.text = evil;
  points[0].provider = evil;
  points[0].reason = nul + escape;
  points[1].problem.text = std::string(300000, 'x');
  points[1].reason = std::string(5 << 20, 'y'); // a log of a provider
  points[1].setting.schedule = std::string(100000, 's');
  points[2].problem.text = nul;
  points[2].reason = "\xff\xfe caf\xe9";
  for (Point &point : points)
    point.measured = timeNow();
  store.addPoints(points);
  EXPECT_EQ(store.points({.problem = evil, .provider = evil}).size(), 1u);
  EXPECT_EQ(store.points({.problem = nul}).size(), 1u);
  EXPECT_EQ(store.points({.problem = "\xff"}).size(), 0u);
  EXPECT_THAT(errorOf([&] { store.experiment("' OR '1'='1"); }), HasSubstr("no experiment's id begins with"));
  auto kept = store.points();
  ASSERT_EQ(kept.size(), 3u);
  for (Point &point : kept) {
    const Point &written = points[size_t(point.problem.detail.at("outChannels")) - 1];
    EXPECT_EQ(point.key(), written.key());
    EXPECT_EQ(point.rounds, written.rounds);
    EXPECT_EQ(point.reason, validUtf8(written.reason));
  }
  TuningTask task{"task/2 | " + std::string(1 << 20, 't'), "contraction", std::string(4 << 20, 'k')};
  TuningRecord record = someTuning(1);
  record.schedule = "direct/1 " + std::string(50000, 'p');
  record.searcher = "xgb";
  record.verdict = TuningVerdict::faster; // only compared schedules are chosen
  store.addTuning({record}, task, somePlatform(evil));
  store.addTuning({record}, task, somePlatform(evil));
  EXPECT_EQ(store.tuning({.task = task.text}).size(), 1u);
  EXPECT_EQ(store.chosenSchedules(somePlatform(evil).key()).at(0).schedule, record.schedule);
  importInto(local, {place("team")});
  Store back(place("back"));
  importInto(back, {file("local.db")});
  EXPECT_EQ(back.counts(), store.counts());
  EXPECT_EQ(back.experiment(uuid).settings, experiment.settings);
}

TEST_F(ServerTest, messagesAreOneLineWithoutThePassword) {
  std::string database = place("team").substr(std::string("postgresql:///").size());
  auto refused = [&](const std::string &url) {
    std::string message = errorOf([&] { Store store(url); });
    EXPECT_EQ(message.find('\n'), message.npos) << message;
    EXPECT_THAT(message, Not(HasSubstr("s3cr")));
    EXPECT_NE(message, "no error");
    return message;
  };
  EXPECT_THAT(refused("postgresql://postgres:s3cr%40t@127.0.0.1/" + database),
              HasSubstr("password authentication failed"));
  EXPECT_THAT(refused("postgresql://postgres:s3cret@localhost:1/x"),
              HasSubstr("postgresql://postgres@localhost:1/x: "));
  EXPECT_THAT(refused("postgresql:///no_such_database"), HasSubstr("no_such_database"));
  EXPECT_THAT(refused("postgresql:///x?colour=blue&password=s3cret"), HasSubstr("colour"));
  refused("postgresql://ann:s3cret%zz@localhost/x");
  refused("postgresql://ann:s3cret@localhost:port/x");
}

TEST_F(ServerTest, databasesThatAreNotOurs) {
  {
    Database other(place("other"), Database::Mode::existing);
    other.execute("CREATE SCHEMA lathe; CREATE TABLE lathe.song(title TEXT)");
  }
  EXPECT_THAT(errorOf([&] { Store store(place("other")); }), HasSubstr("is a database of another program"));
  { // Tables of other programs in other schemas do no harm, whatever their names are.
    Database shared(place("shared"), Database::Mode::existing);
    shared.execute("DROP TABLE IF EXISTS public.point; CREATE TABLE public.point(x INTEGER)");
  }
  Store store(place("shared"));
  EXPECT_EQ(store.counts(), Store::Counts());
  store.connection().execute("DROP TABLE public.point");
  Database(databaseUrl("postgres"), Database::Mode::existing).execute("DROP DATABASE IF EXISTS latin");
  Database(databaseUrl("postgres"), Database::Mode::existing)
      .execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
  EXPECT_THAT(errorOf([&] { Store latin(databaseUrl("latin")); }), HasSubstr("has the encoding LATIN1, expected UTF8"));
  EXPECT_THAT(errorOf([&] { Store none(place("none"), {.create = false}); }), HasSubstr("has no store"));
}

/// A writer waits for another writer's transaction, but not forever.
TEST_F(ServerTest, aWriterThatDoesNotEnd) {
  Store store(place("team")), waiting(place("team"), {.busySeconds = 0.2});
  std::string uuid = waiting.addExperiment(someExperiment(), somePlatform());
  Transaction held(store.connection());
  std::string message = errorOf([&] { waiting.addPoint(somePoint(uuid, 1)); });
  EXPECT_THAT(message, HasSubstr("another process writes to it; what was measured is in " + folder.string()));
  EXPECT_EQ(waiting.counts().points, 0); // reading still works
}
