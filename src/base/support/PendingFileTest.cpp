#include "support/PendingFile.h"
#include "support/ErrorTesting.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class PendingFileTest : public ::testing::Test {
protected:
  fs::path folder;
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lathe-pending-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string at(const char *name) const { return (folder / name).string(); }
  static std::string contentOf(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static void put(const std::string &path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {})); }
};

TEST_F(PendingFileTest, appearsWhole) {
  std::string long_(600000, 'x');
  {
    PendingFile file(at("a"));
    file.write("one ");
    file.write(long_);
    EXPECT_FALSE(fs::exists(at("a")));
    file.commit();
  }
  EXPECT_EQ(contentOf(at("a")), "one " + long_);
  {
    PendingFile(at("b")).write("never");
  }
  EXPECT_EQ(files(), 1u);
}

TEST_F(PendingFileTest, twoWritersOfOneNameDoNotMeet) {
  PendingFile first(at("a")), second(at("a"));
  first.write("first");
  second.write("second");
  first.commit();
  EXPECT_EQ(contentOf(at("a")), "first");
  second.commit();
  EXPECT_EQ(contentOf(at("a")), "second");
  EXPECT_EQ(files(), 1u);
}

TEST_F(PendingFileTest, keepsPermissionsAndLinks) {
  put(at("a"), "old");
  ::chmod(at("a").c_str(), 0640);
  fs::create_symlink("a", at("link"));
  PendingFile file(at("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(contentOf(at("a")), "new");
  struct stat status;
  ASSERT_EQ(::stat(at("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(PendingFileTest, aFullDeviceIsAnErrorAndStaysADevice) {
  if (!fs::is_character_file("/dev/full"))
    GTEST_SKIP() << "no /dev/full";
  fs::create_symlink("/dev/full", at("full")); // a rename would replace the link, not the system's device
  EXPECT_TRUE(PendingFile::isStream(at("full")));
  EXPECT_EQ(errorOf([&] {
              PendingFile file(at("full"));
              file.write("x");
              file.commit();
            }),
            at("full") + ": cannot write: No space left on device");
  EXPECT_TRUE(fs::is_symlink(at("full")));
}

TEST_F(PendingFileTest, standardOutputReportsAFullDevice) {
  if (!fs::is_character_file("/dev/full"))
    GTEST_SKIP() << "no /dev/full";
  int kept = ::dup(STDOUT_FILENO), full = ::open("/dev/full", O_WRONLY);
  ::dup2(full, STDOUT_FILENO);
  std::string said = errorOf([] {
    PendingFile file("-");
    file.write("x");
    file.commit();
  });
  ::dup2(kept, STDOUT_FILENO);
  ::close(kept);
  ::close(full);
  EXPECT_EQ(said, "standard output: cannot write: No space left on device");
}

TEST_F(PendingFileTest, namesThatCannotBeWritten) {
  EXPECT_EQ(errorOf([&] { PendingFile file(at("no/x")); }), at("no/x") + ": cannot write: No such file or directory");
  EXPECT_EQ(errorOf([&] { PendingFile file(folder.string()); }), folder.string() + ": cannot write: Is a directory");
  EXPECT_EQ(errorOf([&] { PendingFile file(""); }), "an output file needs a name, got \"\"");
}

TEST_F(PendingFileTest, inputsAreNotReplaced) {
  put(at("in"), "weights");
  put(at("other"), "x");
  fs::create_symlink("in", at("link"));
  fs::create_hard_link(at("in"), at("hard"));
  for (const char *name : {"in", "link", "hard"})
    EXPECT_THAT(errorOf([&] { requireApart(at(name), at("in")); }), HasSubstr("would be overwritten")) << name;
  requireApart(at("other"), at("in"));
  requireApart(at("absent"), at("in"));
  protectInput(at("in"));
  protectInput(at("absent"));
  for (const char *name : {"in", "link", "hard"})
    EXPECT_EQ(errorOf([&] { PendingFile file(at(name)); }),
              at(name) + ": is read by this command and would be overwritten: choose another output");
  EXPECT_EQ(contentOf(at("in")), "weights");
  PendingFile file(at("other"));
  file.commit();
}

/// A file system may reuse the inode number of a deleted input for a new file.
TEST_F(PendingFileTest, anInputThatIsGoneProtectsNothing) {
  put(at("read"), "temporary");
  protectInput(at("read"));
  fs::rename(at("read"), at("next"));
  PendingFile file(at("next"));
  file.commit();
  EXPECT_EQ(contentOf(at("next")), "");
}

TEST_F(PendingFileTest, whatKilledProcessesLeftIsRemovedAnHourLater) {
  put(at(".lathe-1-0.partial"), "old");
  put(at(".lathe-2-0.partial"), "still being written");
  put(at("mine.partial"), "somebody else's");
  for (const char *name : {".lathe-1-0.partial", "mine.partial"})
    fs::last_write_time(at(name), fs::file_time_type::clock::now() - std::chrono::hours(2));
  PendingFile file(at("a"));
  file.commit();
  EXPECT_FALSE(fs::exists(at(".lathe-1-0.partial")));
  EXPECT_TRUE(fs::exists(at(".lathe-2-0.partial")));
  EXPECT_TRUE(fs::exists(at("mine.partial")));
}

} // namespace
} // namespace lathe
