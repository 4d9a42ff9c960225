#include "compile/KernelCache.h"

#include "compile/Compile.h"
#include "ir/Context.h"
#include "support/CacheFolder.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace lathe {
namespace {

namespace fs = std::filesystem;

class KernelCacheTest : public testing::Test {
protected:
  std::string folder = (fs::temp_directory_path() / fs::path("lathe-kernels-XXXXXX")).string();
  Target target = Target::parse("native");
  std::unique_ptr<mlir::MLIRContext> context = makeContext();

  void SetUp() override { ASSERT_NE(::mkdtemp(folder.data()), nullptr); }
  void TearDown() override { fs::remove_all(folder); }

  size_t files() const {
    auto entries = fs::directory_iterator(folder);
    return static_cast<size_t>(std::distance(fs::begin(entries), fs::end(entries)));
  }

  /// Compiles two kernels and returns the package's bytes.
  std::vector<char> package(CompileReport &report, const CompileOptions &options) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
      func.func @main(%x: tensor<4x32xf32> {nn.name = "x"}) -> (tensor<4x32xf32> {nn.name = "y"}) {
        %0 = nn.softmax %x {axis = -1 : i64} : (tensor<4x32xf32>) -> tensor<4x32xf32>
        %1 = nn.relu %0 : (tensor<4x32xf32>) -> tensor<4x32xf32>
        %2 = nn.softmax %1 {axis = 0 : i64} : (tensor<4x32xf32>) -> tensor<4x32xf32>
        return %2 : tensor<4x32xf32>
      })",
                                                          context.get());
    std::vector<char> bytes;
    report = compileToBytes(*module, options, bytes);
    return bytes;
  }
  std::vector<char> package(CompileReport &report, int jobs = 1) {
    CompileOptions options;
    options.jobs = jobs;
    options.kernelCache = folder;
    return package(report, options);
  }
};

TEST_F(KernelCacheTest, keepsWhatWasStoredByTextAndTarget) {
  std::vector<char> object{'o', 'b', 'j'};
  KernelCache cache(folder, target);
  EXPECT_FALSE(cache.find("loops"));
  cache.store("loops", object);
  EXPECT_EQ(cache.find("loops"), object);
  EXPECT_FALSE(cache.find("other loops"));
  EXPECT_EQ(cache.found(), 1);
  EXPECT_FALSE(KernelCache(folder, Target::parse("x86-64-v2")).find("loops"));
  EXPECT_EQ(KernelCache(folder, target).find("loops"), object);
}

TEST_F(KernelCacheTest, withoutFolderNothingIsKept) {
  KernelCache cache("", target);
  cache.store("loops", std::vector<char>{'x'});
  EXPECT_FALSE(cache.find("loops"));
  // A folder that cannot be written is not an error.
  KernelCache nowhere("/proc/lathe", target);
  nowhere.store("loops", std::vector<char>{'x'});
  EXPECT_FALSE(nowhere.find("loops"));
}

TEST_F(KernelCacheTest, aSecondCompilationTakesAllKernelsAndMakesTheSamePackage) {
  CompileReport cold, warm, apart;
  std::vector<char> first = package(cold);
  ASSERT_GT(cold.distinctKernels, 1);
  EXPECT_EQ(cold.cachedKernels, 0);
  EXPECT_EQ(files(), size_t(cold.distinctKernels));
  EXPECT_EQ(package(warm), first);
  EXPECT_EQ(warm.cachedKernels, warm.distinctKernels);
  EXPECT_EQ(package(warm, 3), first);
  EXPECT_EQ(warm.cachedKernels, warm.distinctKernels);
  EXPECT_EQ(package(apart, CompileOptions{}), first);
  EXPECT_EQ(apart.cachedKernels, 0);
}

TEST_F(KernelCacheTest, damagedEntriesAreMadeAgain) {
  CompileReport cold, again, warm;
  std::vector<char> first = package(cold);
  int at = 0;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
    if (at++ % 2) {
      fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
    } else {
      std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(200);
      file.put('\x55').put('\x66');
    }
  }
  EXPECT_EQ(package(again), first);
  EXPECT_EQ(again.cachedKernels, 0);
  EXPECT_EQ(package(warm), first);
  EXPECT_EQ(warm.cachedKernels, warm.distinctKernels);
}

TEST_F(KernelCacheTest, severalWritersAgree) {
  std::vector<std::vector<char>> packages(4);
  std::vector<std::thread> threads;
  for (std::vector<char> &bytes : packages)
    threads.emplace_back([&] {
      auto own = makeContext();
      auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
        func.func @main(%x: tensor<4x32xf32> {nn.name = "x"}) -> (tensor<4x32xf32> {nn.name = "y"}) {
          %0 = nn.softmax %x {axis = -1 : i64} : (tensor<4x32xf32>) -> tensor<4x32xf32>
          return %0 : tensor<4x32xf32>
        })",
                                                            own.get());
      CompileOptions options;
      options.kernelCache = folder;
      compileToBytes(*module, options, bytes);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::vector<char> &bytes : packages)
    EXPECT_EQ(bytes, packages[0]);
  EXPECT_EQ(files(), 1u) << "drafts are left behind";
}

TEST_F(KernelCacheTest, pruningRemovesWhatWasUsedLongestAgo) {
  for (const char *name : {"a", "b", "c"})
    std::ofstream(folder + "/" + name) << std::string(1000, 'x');
  auto now = fs::file_time_type::clock::now();
  fs::last_write_time(folder + "/a", now - std::chrono::hours(3));
  fs::last_write_time(folder + "/b", now - std::chrono::hours(2));
  fs::last_write_time(folder + "/c", now - std::chrono::hours(1));
  markUsed(folder + "/a");
  pruneOldest(folder, 2000);
  EXPECT_TRUE(fs::exists(folder + "/a"));
  EXPECT_FALSE(fs::exists(folder + "/b"));
  EXPECT_TRUE(fs::exists(folder + "/c"));
  pruneOldest(folder + "/missing", 0);
}

} // namespace
} // namespace lathe
