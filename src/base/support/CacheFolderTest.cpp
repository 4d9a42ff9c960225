#include "support/CacheFolder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A variable of the environment for the life of an object.
class Variable {
public:
  Variable(const char *name, const char *value) : name(name) {
    if (const char *before = std::getenv(name))
      old = before;
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Variable() { old ? ::setenv(name, old->c_str(), 1) : ::unsetenv(name); }
  Variable(const Variable &) = delete;
  Variable &operator=(const Variable &) = delete;

private:
  const char *name;
  std::optional<std::string> old;
};

class CacheFolderTest : public ::testing::Test {
protected:
  std::string folder;
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lathe-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }
  static std::string reasonOf(const std::string &part = "") {
    std::string why;
    EXPECT_EQ(cacheFolder(part, &why), "");
    return why;
  }
};

TEST_F(CacheFolderTest, followsTheEnvironment) {
  Variable xdg("XDG_CACHE_HOME", (folder + "/xdg").c_str()), home("HOME", (folder + "/home").c_str());
  EXPECT_EQ(cacheFolder(), folder + "/xdg/lathe");
  EXPECT_EQ(cacheFolder("packages"), folder + "/xdg/lathe/packages");
  EXPECT_TRUE(fs::is_directory(folder + "/xdg/lathe/packages"));
  Variable none("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(cacheFolder(), folder + "/home/.cache/lathe");
}

TEST_F(CacheFolderTest, saysWhatIsInTheWay) {
  std::ofstream(folder + "/file") << "x";
  {
    Variable xdg("XDG_CACHE_HOME", (folder + "/file").c_str());
    EXPECT_THAT(reasonOf("packages"), HasSubstr(folder + "/file/lathe: cannot create: "));
  }
  if (fs::is_directory("/sys/kernel")) { // where no user may make a folder
    Variable xdg("XDG_CACHE_HOME", "/sys/kernel/cache");
    EXPECT_THAT(reasonOf("packages"), HasSubstr("/sys/kernel/cache/lathe: cannot create: "));
    EXPECT_THAT(reasonOf("packages"), testing::Not(HasSubstr("No such file")));
  }
  Variable xdg("XDG_CACHE_HOME", folder.c_str());
  std::ofstream(folder + "/lathe") << "x";
  EXPECT_EQ(reasonOf(), folder + "/lathe: is not a folder");
}

TEST_F(CacheFolderTest, aFolderOfOthersIsNotUsed) {
  Variable xdg("XDG_CACHE_HOME", folder.c_str());
  ::mkdir((folder + "/lathe").c_str(), 0700);
  ::chmod((folder + "/lathe").c_str(), 0777);
  EXPECT_EQ(reasonOf(), folder + "/lathe: other users may use it (mode 777), expected mode 775");
  ::chmod((folder + "/lathe").c_str(), 0755);
  EXPECT_EQ(cacheFolder(), folder + "/lathe");
  if (::geteuid() != 0 || ::chown((folder + "/lathe").c_str(), 12345, 12345) != 0)
    GTEST_SKIP() << "only root can give a folder away";
  EXPECT_EQ(reasonOf(), folder + "/lathe: belongs to user 12345, expected user 0");
}

TEST_F(CacheFolderTest, withoutAHomeItIsThisUsersAlone) {
  Variable xdg("XDG_CACHE_HOME", nullptr), home("HOME", nullptr);
  std::string path = fmt::format("/tmp/lathe-{}", ::geteuid());
  bool existed = fs::exists(path);
  std::string found = cacheFolder();
  if (!existed) {
    EXPECT_EQ(found, path);
    struct stat status;
    ASSERT_EQ(::lstat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    ::chmod(path.c_str(), 0755); // then others can read the files in it
    EXPECT_EQ(reasonOf(), path + ": other users may use it (mode 755), expected mode 700");
    fs::remove_all(path);
    fs::create_symlink(folder, path);
    EXPECT_EQ(reasonOf(), path + ": is not a folder");
    fs::remove(path);
  }
}

} // namespace
} // namespace lathe
