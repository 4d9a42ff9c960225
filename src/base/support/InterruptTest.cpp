#include "support/Interrupt.h"
#include "support/PendingFile.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace lathe;

namespace {

struct Ending {
  int exitCode = -1, signal = 0;
  std::string said; // on stderr
};

/// Runs `body` in a child, sends it `signals` once it has written a byte to the descriptor it is given, and waits.
Ending endingOf(std::initializer_list<int> signals, const std::function<void(int)> &body, int pauseMicroseconds = 0) {
  int ready[2], said[2];
  if (pipe(ready) != 0 || pipe(said) != 0)
    return {};
  pid_t child = fork();
  if (child == 0) {
    close(said[0]);
    dup2(said[1], 2);
    body(ready[1]);
    _exit(77);
  }
  close(said[1]);
  char byte;
  (void)!read(ready[0], &byte, 1);
  for (int signal : signals) {
    kill(child, signal);
    usleep(unsigned(pauseMicroseconds));
  }
  Ending ending;
  char buffer[512];
  for (ssize_t count; (count = read(said[0], buffer, sizeof buffer)) > 0;)
    ending.said.append(buffer, size_t(count));
  int status = 0;
  waitpid(child, &status, 0);
  ending.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ending.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  for (int end : {ready[0], ready[1], said[0]})
    close(end);
  return ending;
}

void tell(const char *text) { (void)!write(2, text, std::string(text).size()); }

[[noreturn]] void wait(int ready) {
  (void)!write(ready, "x", 1);
  for (;;)
    pause();
}

} // namespace

TEST(Interrupt, nothingIsKeptOnceCleaningHasBegun) {
  for (int signal : {SIGINT, SIGTERM}) {
    Ending ending = endingOf({signal}, [](int ready) {
      catchInterrupts("lathe test");
      std::atomic<bool> removed{false};
      Cleanup report([] {
        haltIfInterrupted(); // not on this thread
        tell("report ");
      });
      Cleanup files([&] {
        removed = true;
        usleep(50000); // in which the program meets what is gone
      });
      haltIfInterrupted();
      (void)!write(ready, "x", 1);
      while (!removed)
        usleep(100);
      haltIfInterrupted();
      tell("kept what a removed file has made ");
      pause();
    });
    EXPECT_EQ(ending.exitCode, 128 + signal);
    EXPECT_EQ(ending.said.find("report lathe test: interrupted"), 0u) << ending.said;
  }
}

TEST(Interrupt, runsWhatIsRegisteredNewestFirst) {
  for (int signal : {SIGINT, SIGTERM}) {
    Ending ending = endingOf({signal}, [](int ready) {
      catchInterrupts("lathe test");
      Cleanup first([] { tell("first "); });
      {
        Cleanup gone([] { tell("gone "); });
      }
      Cleanup second([] { tell("second "); });
      Cleanup third([] { throw 1; }); // keeps nothing from being done
      wait(ready);
    });
    EXPECT_EQ(ending.exitCode, 128 + signal);
    EXPECT_EQ(ending.said,
              std::string("second first lathe test: interrupted (SIG") + (signal == SIGINT ? "INT" : "TERM") + ")\n");
  }
}

TEST(Interrupt, anActionThatRegistersOthersRunsOnce) {
  Ending ending = endingOf({SIGINT}, [](int ready) {
    catchInterrupts("lathe test");
    std::optional<Cleanup> file, stays;
    Cleanup first([] { tell("first "); });
    Cleanup second([&] {
      tell("second ");
      stays.emplace([] {});
      file.emplace([] {});
      file.reset();
    });
    wait(ready);
  });
  EXPECT_EQ(ending.exitCode, 128 + SIGINT);
  EXPECT_EQ(ending.said, "second first lathe test: interrupted (SIGINT)\n");
}

TEST(Interrupt, aBrokenPipeIsSilent) {
  Ending ending = endingOf({}, [](int ready) {
    catchInterrupts("lathe test");
    Cleanup first([] { tell("cleaned"); });
    (void)!write(ready, "x", 1);
    int ends[2];
    if (pipe(ends) != 0)
      _exit(1);
    close(ends[0]);
    (void)!write(ends[1], "x", 1);
    tell("went on");
  });
  EXPECT_EQ(ending.exitCode, 128 + SIGPIPE);
  EXPECT_EQ(ending.said, "cleaned");
}

TEST(Interrupt, aSecondSignalEndsAtOnce) {
  auto slow = [](int ready) {
    catchInterrupts("lathe test");
    Cleanup forever([] {
      for (;;)
        pause();
    });
    wait(ready);
  };
  Ending ending = endingOf({SIGINT, SIGINT}, slow, 1200000);
  EXPECT_EQ(ending.exitCode, 130);
  EXPECT_EQ(ending.said, "");
  // Two in a row are one: `timeout` sends its signal to a process and then to its group.
  ending = endingOf({SIGTERM, SIGTERM}, [](int ready) {
    catchInterrupts("lathe test");
    Cleanup takesAWhile([] {
      usleep(200000);
      tell("cleaned ");
    });
    wait(ready);
  });
  EXPECT_EQ(ending.said, "cleaned lathe test: interrupted (SIGTERM)\n");
}

TEST(Interrupt, whatWasIgnoredStaysIgnored) {
  Ending ending = endingOf(
      {SIGHUP, SIGTERM},
      [](int ready) {
        signal(SIGHUP, SIG_IGN); // nohup
        catchInterrupts("lathe test");
        wait(ready);
      },
      100000);
  EXPECT_EQ(ending.exitCode, 128 + SIGTERM);
}

TEST(Interrupt, nothingIsCleanedWhileItIsBeingMade) {
  Ending ending = endingOf({}, [](int ready) {
    catchInterrupts("lathe test");
    std::optional<Cleanup> cleanup;
    (void)!write(ready, "x", 1);
    {
      HoldCleanups hold;
      raise(SIGINT);
      usleep(200000);
      cleanup.emplace([] { tell("cleaned "); });
    }
    wait(ready);
  });
  EXPECT_EQ(ending.said, "cleaned lathe test: interrupted (SIGINT)\n");
}

TEST(Interrupt, childrenOfForkDieAsUsual) {
  Ending ending = endingOf({}, [](int ready) {
    catchInterrupts("lathe test");
    Cleanup first([] { tell("cleaned"); });
    pid_t child = fork();
    if (child == 0) {
      {
        Cleanup own([] {});
      } // the lock is free
      raise(SIGINT);
      _exit(5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    tell(WIFSIGNALED(status) ? "by its signal" : "otherwise");
    (void)!write(ready, "x", 1);
    _exit(0);
  });
  EXPECT_EQ(ending.said, "by its signal");
}

TEST(Interrupt, pendingFilesAreRemoved) {
  std::string folder = (std::filesystem::temp_directory_path() / "lathe-interrupt-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  Ending ending = endingOf({SIGTERM}, [&](int ready) {
    catchInterrupts("lathe test");
    PendingFile whole(folder + "/whole");
    whole.commit();
    PendingFile half(folder + "/half");
    half.write(std::string(1 << 20, 'x'));
    wait(ready);
  });
  EXPECT_EQ(ending.exitCode, 128 + SIGTERM);
  EXPECT_TRUE(std::filesystem::remove(folder + "/whole"));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}
