// Keys that include all inputs, packages that are made once, files of a model, verdicts, checked files.
#include "cache/PackageCache.h"
#include "cache/CheckedPackages.h"
#include "cache/ModelFiles.h"
#include "cache/Verdicts.h"
#include "runtime/testing/TestPlan.h"
#include "support/File.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace lathe::cache {
namespace {

namespace fs = std::filesystem;

class PackageCacheTest : public testing::Test {
protected:
  fs::path folder;

  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "lathe-cache-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    ::setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
    write("net.onnx", "model");
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string &name) const { return (folder / name).string(); }
  std::string write(const std::string &name, const std::string &text) {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  PackageRequest request() { return {.model = path("net.onnx"), .flags = {"-O", "3"}, .compiler = {path("compiler")}}; }
};

std::vector<char> packageBytes(float constant) {
  runtime::testing::TestPlan plan;
  uint32_t x = plan.input("x", {"4"}), y = plan.output("y", {"4"});
  plan.add(x, plan.constant<float>("c", {"4"}, std::vector<float>(4, constant)), y, "4");
  return plan.bytes();
}

TEST_F(PackageCacheTest, KeyFollowsEverythingThePackageDependsOn) {
  std::set<uint64_t> keys{packageKey(request())};
  EXPECT_EQ(packageKey(request()), *keys.begin());
  auto differs = [&](const char *what, const PackageRequest &changed) {
    EXPECT_TRUE(keys.insert(packageKey(changed)).second) << what;
  };
  PackageRequest flags = request(), native = request(), zoo = request(), renamed = request(), scheduled = request();
  flags.flags = {"-O", "33"};
  differs("flags", flags);
  flags.flags = {"-O3", ""};
  differs("where flags end", flags);
  native.native = true;
  differs("processor", native);
  zoo.isFile = false;
  differs("built in", zoo);
  renamed.model = write("other/net2.onnx", "model");
  differs("the model's name", renamed);
  scheduled.scheduleFile = write("schedule", "conv1: direct/1");
  differs("schedule", scheduled);
  write("schedule", "conv1: direct/2");
  differs("the schedule's bytes", scheduled);
  PackageRequest described = request();
  described.machineFile = write("machine.json", "{}");
  differs("machine", described);
  write("machine.json", "{ }");
  differs("the machine's bytes", described);
  PackageRequest tuned = request();
  tuned.records = "1234";
  differs("records", tuned);
  tuned.records = "1235";
  differs("other records", tuned);
  tuned.records = "";
  EXPECT_TRUE(keys.contains(packageKey(tuned))) << "no records";
  write("compiler", "a");
  differs("the compiler is there", request());
  write("compiler", "ab");
  differs("the compiler's size", request());
  write("net.onnx", "modem");
  differs("the model's bytes", request());
  write("net.onnx.safetensors", "weights");
  differs("weights beside a text", request());
}

TEST_F(PackageCacheTest, SameModelInAnotherFolderIsTheSamePackage) {
  PackageRequest moved = request();
  moved.model = write("elsewhere/net.onnx", "model");
  EXPECT_EQ(packageKey(moved), packageKey(request()));
}

TEST_F(PackageCacheTest, PackagesAreMadeOnceAndAgainWhenDamaged) {
  int made = 0;
  fs::create_directories(folder / "packages");
  auto get = [&](bool kept) {
    return findOrMake(request(), path("packages"), kept, {}, [&](const std::string &file) {
      ++made;
      std::vector<char> bytes = packageBytes(2);
      writeFile(file, bytes);
    });
  };
  Package first = get(true), second = get(true);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(first.path, second.path);
  EXPECT_EQ(second.model->inputs().size(), 1u);
  fs::resize_file(first.path, fs::file_size(first.path) - 1);
  EXPECT_EQ(get(true).model->inputs().size(), 1u);
  EXPECT_EQ(made, 2);
  get(false); // the folder of a process is not a cache
  EXPECT_EQ(made, 3);
}

TEST_F(PackageCacheTest, WhatCannotBeMadeIsNotLoaded) {
  fs::create_directories(folder / "packages");
  EXPECT_THROW(findOrMake(request(), path("packages"), true, {}, [](const std::string &) { fail("no compiler"); }),
               Error);
  EXPECT_TRUE(fs::is_empty(folder / "packages"));
}

TEST_F(PackageCacheTest, FilesOfAModel) {
  EXPECT_THAT(modelFiles(path("net.onnx")), testing::ElementsAre(path("net.onnx")));
  // StringStringEntryProto{key: "location", value: "w.bin"} twice, and an entry that names no file.
  std::string entry = std::string("\x0a\x08location\x12\x05", 12) + "w.bin",
              none = std::string("\x0a\x08location\x12\x05", 12) + "v.bin";
  std::string model = write("big.onnx", "before" + entry + "between" + entry + none);
  write("w.bin", "12345");
  EXPECT_THAT(modelFiles(model), testing::ElementsAre(model, path("w.bin")));
  uint64_t before = modelHash(model);
  write("w.bin", "12346");
  EXPECT_NE(modelHash(model), before);
  EXPECT_THROW(modelFiles(path("missing.onnx")), Error);
  // A length that runs past the end, as in a damaged file.
  EXPECT_EQ(modelFiles(write("cut.onnx", "\x0a\x08location\x12\x7f"
                                         "w"))
                .size(),
            1u);
}

TEST_F(PackageCacheTest, VerdictsFollowTheContent) {
  auto package = runtime::Model::fromBytes(packageBytes(2), "a.lathe"),
       same = runtime::Model::fromBytes(packageBytes(2), "b.lathe"),
       other = runtime::Model::fromBytes(packageBytes(3), "a.lathe"),
       unchecked = runtime::Model::fromBytes(packageBytes(2), "a.lathe", {}, {.checkConstants = false});
  const Judge own{1, package->source()}, edited{2, package->source()}, foreign{3, "another.onnx"};
  EXPECT_EQ(keptVerdict(*package, 1), std::nullopt);
  keepVerdict(*unchecked, own, {true, "2026-01-01", "nobody knows what of", ""});
  EXPECT_EQ(keptVerdict(*package, 1), std::nullopt);
  keepVerdict(*package, own, {false, "2026-05-01", "mistrusted: output 'y' ...", "output 'y' ..."});
  auto kept = keptVerdict(*same, 1);
  ASSERT_TRUE(kept);
  EXPECT_FALSE(kept->passed);
  EXPECT_EQ(kept->date, "2026-05-01");
  EXPECT_EQ(kept->mistrusted, "output 'y' ...");
  EXPECT_EQ(keptVerdict(*other, 1), std::nullopt);
  EXPECT_EQ(keptVerdict(*unchecked, 1), std::nullopt);

  // Another model has a separate verdict.
  EXPECT_EQ(keptVerdict(*package, 3), std::nullopt);
  keepVerdict(*package, foreign, {true, "2026-05-02", "fine", ""});
  EXPECT_TRUE(keptVerdict(*package, 3)->passed);
  EXPECT_FALSE(keptVerdict(*package, 1)->passed);
  // Without a model: any verdict by a model with the name that the package states; a passed one wins.
  EXPECT_FALSE(keptVerdict(*package)->passed);
  keepVerdict(*package, edited, {true, "2026-05-03", "fine", ""});
  EXPECT_EQ(keptVerdict(*package)->date, "2026-05-03");
  keepVerdict(*package, own, {false, "2026-05-04", "wrong", ""});
  EXPECT_EQ(keptVerdict(*package, 1)->date, "2026-05-04");
  EXPECT_EQ(keptVerdict(*package)->date, "2026-05-03");
}

TEST_F(PackageCacheTest, DamagedVerdictsAreNone) {
  EXPECT_EQ(verdictIn(nlohmann::json::parse("not json", nullptr, false)), std::nullopt);
  EXPECT_EQ(verdictIn(nlohmann::json{{"passed", "yes"}, {"date", ""}, {"summary", ""}, {"mistrusted", ""}}),
            std::nullopt);
  EXPECT_EQ(verdictIn(nlohmann::json{{"passed", true}}), std::nullopt);
  nlohmann::json more = toJson({true, "2026-05-01", "fine", ""});
  more["runs"] = 3;
  EXPECT_TRUE(verdictIn(more)->passed);
}

TEST_F(PackageCacheTest, CheckedFilesAreToldApart) {
  CheckedPackages checked;
  runtime::FileIdentity file{.device = 1, .inode = 2, .bytes = 3, .modified = 4, .changed = 5};
  EXPECT_FALSE(checked.has(file, 7));
  checked.add(file, 7);
  EXPECT_TRUE(checked.has(file, 7));
  EXPECT_TRUE(CheckedPackages().has(file, 7)) << "remembered between processes";
  EXPECT_FALSE(checked.has(file, 8));
  for (auto change : {+[](runtime::FileIdentity &f) { ++f.device; }, +[](runtime::FileIdentity &f) { ++f.inode; },
                      +[](runtime::FileIdentity &f) { ++f.bytes; }, +[](runtime::FileIdentity &f) { ++f.modified; },
                      +[](runtime::FileIdentity &f) { ++f.changed; }}) {
    runtime::FileIdentity other = file;
    change(other);
    EXPECT_FALSE(checked.has(other, 7));
  }
}

} // namespace
} // namespace lathe::cache
