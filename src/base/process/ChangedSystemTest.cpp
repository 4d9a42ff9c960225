#include "process/ChangedSystem.h"
#include "support/Error.h"
#include "support/ErrorTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace lathe::process {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A folder with a file of the system, and with the temporary folders of all processes of the test.
class ChangedSystemTest : public testing::Test {
protected:
  ChangedSystemTest() {
    std::string pattern = (fs::temp_directory_path() / "changed-XXXXXX").string();
    root = ::mkdtemp(pattern.data());
    file = root / "scaling_max_freq";
    writeSystemText(file, "3000000");
    fs::create_directory(root / "tmp");
    ::setenv("TMPDIR", (root / "tmp").c_str(), 1);
  }
  ~ChangedSystemTest() override {
    ::unsetenv("TMPDIR");
    fs::remove_all(root);
  }
  std::string now() const { return systemText(file); }
  bool anyFolder() const { return !fs::is_empty(root / "tmp"); }

  /// Runs `work` in another process, which then waits until `signal` ends it.
  static void endedBy(int signal, const std::function<void()> &work) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    pid_t child = ::fork();
    if (child == 0) {
      catchInterrupts("lathe test");
      work();
      (void)!::write(ready[1], "x", 1);
      while (true)
        ::pause();
    }
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    ::kill(child, signal);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
  }

  fs::path root, file;
};

TEST_F(ChangedSystemTest, undoesAtItsEnd) {
  {
    ChangedSystem system;
    EXPECT_EQ(system.write(file, "2000000"), "2000000");
    EXPECT_EQ(now(), "2000000");
    system.makeFolder(root / "group");
    writeSystemText(root / "group/schemata", "L3:0=1");
  }
  EXPECT_EQ(now(), "3000000");
  EXPECT_FALSE(fs::exists(root / "group"));
  EXPECT_FALSE(anyFolder());
}

TEST_F(ChangedSystemTest, undoesOneChange) {
  ChangedSystem system;
  system.write(file, "2000000");
  system.makeFolder(root / "group");
  system.undo(file);
  EXPECT_EQ(now(), "3000000");
  EXPECT_TRUE(fs::exists(root / "group"));
}

TEST_F(ChangedSystemTest, theNextProcessUndoesWhatAKilledOneLeft) {
  ChangedSystem *leaked = nullptr;
  endedBy(SIGKILL, [&] {
    leaked = new ChangedSystem;
    leaked->write(file, "2000000");
    leaked->makeFolder(root / "group");
    writeSystemText(root / "group/schemata", "L3:0=1");
  });
  EXPECT_EQ(now(), "2000000");
  EXPECT_TRUE(anyFolder());
  {
    TemporaryDirectory next("next");
  }
  EXPECT_EQ(now(), "3000000");
  EXPECT_FALSE(fs::exists(root / "group"));
  EXPECT_FALSE(anyFolder());
}

TEST_F(ChangedSystemTest, aLivingProcessKeepsItsChanges) {
  ChangedSystem system;
  system.write(file, "2000000");
  {
    TemporaryDirectory other("other");
  }
  EXPECT_EQ(now(), "2000000");
}

TEST_F(ChangedSystemTest, aSignalUndoes) {
  endedBy(SIGTERM, [&] { (new ChangedSystem)->write(file, "2000000"); });
  EXPECT_EQ(now(), "3000000");
  EXPECT_FALSE(anyFolder());
}

TEST_F(ChangedSystemTest, leavesWhatSomebodyElseHasChangedSince) {
  endedBy(SIGKILL, [&] { (new ChangedSystem)->write(file, "2000000"); });
  writeSystemText(file, "1500000");
  {
    TemporaryDirectory next("next");
  }
  EXPECT_EQ(now(), "1500000");
}

TEST_F(ChangedSystemTest, nobodyFindsAnEmptyFileWhileItIsWritten) {
  std::atomic<bool> done = false;
  std::set<std::string> seen;
  std::thread reader([&] {
    while (!done)
      seen.insert(now());
  });
  for (int i = 0; i < 3000; ++i)
    writeSystemText(file, "3000000");
  done = true;
  reader.join();
  seen.insert(now());
  EXPECT_EQ(seen, std::set<std::string>{"3000000"});
  writeSystemText(file, "800"); // shorter: nothing of the longer text stays
  EXPECT_EQ(now(), "800");
}

TEST_F(ChangedSystemTest, saysWhyAChangeIsRefused) {
  ChangedSystem system;
  EXPECT_THAT(errorOf([&] { system.write(root / "none/file", "1"); }),
              HasSubstr("none/file: cannot be written: No such file"));
  EXPECT_THAT(errorOf([&] { system.makeFolder(root / "none/group"); }),
              HasSubstr("none/group: cannot be made: No such file"));
  EXPECT_THAT(errorOf([&] { writeSystemText("/dev/full", "1"); }),
              HasSubstr("/dev/full: does not take '1': No space left"));
}

} // namespace
} // namespace lathe::process
