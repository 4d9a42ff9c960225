// Events that clients get when other processes write to the store.
#include "serve/Follower.h"
#include "serve/Listing.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace lathe;
using namespace lathe::serve;
using nlohmann::json;
using testing::HasSubstr;

class FollowerTest : public store::StoreFolder {
protected:
  FollowerTest() : writer(file("lathe.db")) {}

  /// The next event with data; null if none comes within `seconds`.
  static json next(Follower::Events &events, double seconds = 20) {
    auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) {
      std::string text = events.next();
      if (size_t data = text.find("data: "); data != text.npos)
        return json::parse(text.substr(data + 6, text.find('\n', data) - data - 6));
    }
    return {};
  }
  /// One thread for all tests of the process, because it never ends.
  static void follow(Follower &follower) {
    std::thread([&follower] { follower.run(); }).detach();
  }

  store::Store writer;
};

TEST_F(FollowerTest, tellsWhatChanges) {
  auto &follower = *new Follower(file("lathe.db")); // its thread continues after the test
  follow(follower);
  EXPECT_EQ(follower.position(), follower.position());
  Follower::Events events(follower, follower.position());
  EXPECT_THAT(events.next(), HasSubstr("retry:"));
  EXPECT_EQ(follower.listeners(), 1);
  std::string uuid = writer.addExperiment(store::someExperiment(), store::somePlatform());
  json first = next(events);
  ASSERT_EQ(first["experiments"].size(), 1u) << first;
  EXPECT_EQ(first["experiments"][0]["uuid"], uuid);
  EXPECT_EQ(first["experiments"][0]["state"], "running");
  EXPECT_EQ(first["experiments"][0]["pid"], int64_t(::getpid()));
  EXPECT_EQ(first["experiments"][0]["points"], 0);
  writer.addPoint(store::somePoint(uuid, 1));
  EXPECT_EQ(next(events)["experiments"][0]["points"], 1);
  writer.addTuning({store::someTuning(1, uuid)}, store::someTask(), store::somePlatform());
  EXPECT_EQ(next(events)["experiments"][0]["records"], 1);
  writer.finishExperiment(uuid, {});
  EXPECT_EQ(next(events)["experiments"][0]["state"], "finished");
  // A client that connects later, or was connected to an earlier server, gets everything.
  Follower::Events late(follower, ""), other(follower, "00000000-99");
  EXPECT_EQ(next(late)["experiments"].size(), 1u);
  EXPECT_EQ(next(other)["experiments"].size(), 1u);
}

TEST_F(FollowerTest, tellsThatAProcessIsGone) {
  int report[2], hold[2];
  ASSERT_EQ(::pipe(report) | ::pipe(hold), 0);
  pid_t child = ::fork();
  if (child == 0) { // measures until it is killed
    store::Store own(file("lathe.db"));
    std::string uuid = own.addExperiment(store::someExperiment(), store::somePlatform());
    [[maybe_unused]] ssize_t written = ::write(report[1], uuid.data(), uuid.size());
    char byte;
    [[maybe_unused]] ssize_t got = ::read(hold[0], &byte, 1);
    ::_exit(0);
  }
  char uuid[64] = {};
  ASSERT_GT(::read(report[0], uuid, sizeof uuid - 1), 0);
  auto &follower = *new Follower(file("lathe.db"));
  follow(follower);
  Follower::Events events(follower, "");
  json first = next(events);
  ASSERT_EQ(first["experiments"].size(), 1u) << first;
  EXPECT_EQ(first["experiments"][0]["state"], "running");
  EXPECT_EQ(first["experiments"][0]["pid"], int64_t(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  json then = next(events); // an event without a change in the store
  ASSERT_EQ(then["experiments"].size(), 1u) << then;
  EXPECT_EQ(then["experiments"][0]["uuid"], uuid);
  EXPECT_EQ(then["experiments"][0]["state"], "stopped");
}

TEST_F(FollowerTest, tellsThatExperimentsAreGone) {
  std::string uuid = writer.addExperiment(store::someExperiment(), store::somePlatform());
  auto &follower = *new Follower(file("lathe.db"));
  follow(follower);
  Follower::Events events(follower, "");
  ASSERT_FALSE(next(events).is_null());
  writer.connection().execute("DELETE FROM experiment");
  EXPECT_EQ(next(events)["gone"], json::array({uuid}));
}

TEST_F(FollowerTest, tellsThatTheStoreCannotBeRead) {
  writer.addExperiment(store::someExperiment(), store::somePlatform());
  auto &follower = *new Follower(file("lathe.db"));
  follow(follower);
  Follower::Events events(follower, "");
  EXPECT_EQ(next(events)["trouble"], "");
  writer.connection().execute("ALTER TABLE tuning RENAME TO hidden");
  std::string trouble = next(events)["trouble"];
  EXPECT_THAT(trouble, HasSubstr("lathe.db: no such table: tuning"));
  EXPECT_THAT(trouble, testing::Not(HasSubstr(folder.string())));
  writer.connection().execute("ALTER TABLE hidden RENAME TO tuning");
  EXPECT_EQ(next(events)["trouble"], "");
}

TEST(Listing, hidesWhereTheStoreIs) {
  EXPECT_EQ(shownMessage("/a/b.db: /a/b.db is locked", "/a/b.db"), "b.db: b.db is locked");
}
