// Test records (platforms, experiments, points, tuning records) generated from a seed, and temporary stores for
// tests.
#pragma once

#include "store/ServerTesting.h"
#include "store/Store.h"
#include "support/ErrorTesting.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>

namespace lathe::store {

/// Test fixture with a temporary folder and stores in it.
class StoreFolder : public testing::Test {
protected:
  StoreFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lathe-store-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw std::runtime_error("no temporary folder");
    folder = pattern;
  }
  ~StoreFolder() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  std::string file(const std::string &name) const { return (folder / name).string(); }
  /// The place of a store called `name`: a file, or the URL of a database if tests use a server.
  std::string place(const std::string &name) {
    if (!onServer())
      return file(name);
    auto [known, isNew] = urls.try_emplace(name);
    if (isNew)
      known->second = databases.take();
    return known->second;
  }

  std::filesystem::path folder;

private:
  TestDatabases databases;
  std::map<std::string, std::string> urls; // URLs of the server databases in use, by the store's name
};

inline Platform somePlatform(const std::string &cpu = "Some CPU") {
  Platform platform;
  platform.cpu = cpu;
  platform.architecture = "x86_64";
  platform.features = {"avx2", "fma"};
  platform.caches = {{"L1", 32768, 2}, {"L2", 1 << 20, 2}};
  platform.cores = 4;
  platform.hardwareThreads = 8;
  platform.memoryBytes = int64_t(16) << 30;
  platform.governor = "performance";
  platform.boost = "on";
  platform.hypervisor = "kvm";
  platform.virtualized = true;
  platform.kernel = "Linux 6.1.0";
  platform.compiler = "Clang 19.1.4";
  platform.libraries = {{"glibc", "2.36"}, {"llvm", "19.1.4"}};
  return platform;
}

inline Experiment someExperiment(ExperimentKind kind = ExperimentKind::ops) {
  Experiment experiment;
  experiment.kind = kind;
  experiment.command = "lathe ops bench conv2d 'ic64 ih56'";
  experiment.version = "0.1.0";
  experiment.build = "0123456789abcdef";
  experiment.settings = {{"seed", 7}, {"epilogue", "bias+relu"}};
  return experiment;
}

/// Makes test point `number` of an experiment; each number has another problem.
inline Point somePoint(const std::string &experiment, int number, size_t rounds = 3, size_t repetitions = 4) {
  std::mt19937 random{unsigned(number)};
  Point point;
  point.experiment = experiment;
  point.problem.op = "conv2d";
  point.problem.text = fmt::format("ic64ih56oc{}oh56kh3ph1", number);
  point.problem.detail = {{"outChannels", number}};
  point.provider = "lathe";
  point.variant = "auto";
  point.setting.threads = 1 + number % 2;
  point.setting.extra = {{"epilogue", "bias"}};
  point.status = PointStatus::passed;
  point.relativeL2 = 1e-7 * (number + 1);
  point.maxDifference = 3e-7;
  point.implementation = "direct/1 px=14 oc=2";
  point.providerVersion = "0.1.0";
  point.repro = "lathe ops bench conv2d " + point.problem.text;
  point.prepareSeconds = 0.25;
  point.callSeconds = 2e-8;
  if (number % 2)
    point.figures = {{"top1", 0.5}, {"pictures", double(number)}};
  if (number % 2)
    point.held = {{"cpus", "0-3"}, {"frequency_cap", "2000 MHz"}};
  point.disturbance.otherProcessors = 0.01;
  point.rounds.resize(rounds);
  if (rounds > 1 && number % 2)
    point.starts = {1, rounds - 1};
  for (auto &round : point.rounds)
    for (size_t i = 0; i < repetitions; ++i) {
      Sample sample;
      sample.wallNs = int64_t(random() % 1000000);
      if (i % 2)
        sample.cycles = sample.wallNs * 3;
      round.push_back(sample);
    }
  return point;
}

inline Company someCompany() { return {"relu x=64", "lathe:auto", 1, "cache", 3}; }

inline TuningTask someTask(int number = 0) {
  return {
      fmt::format("task/2 | conv ic{} | 1 thread | znver5", number), "contraction",
      fmt::format("module {{\n  func.func private @k{}() attributes {{nn.family = \"contraction\"}}\n}}\n", number)};
}

/// Makes tuning record `number` of the same task; each number has another schedule, and every third one crashed.
inline TuningRecord someTuning(int number, const std::string &experiment = "") {
  std::mt19937 random{unsigned(number)};
  TuningRecord record;
  record.task = someTask().text;
  record.schedule = fmt::format("direct/1 rows={}", number);
  record.searcher = "xgb";
  record.buildSeconds = 0.125;
  record.runSeconds = 0.5 * number;
  record.version = "0.1.0";
  record.build = "0123456789abcdef";
  record.experiment = experiment;
  record.disturbance.otherProcessors = 0.01;
  if (number % 3 == 2) {
    record.status = PointStatus::crashed;
    record.reason = "signal 11";
    return record;
  }
  for (int i = 0; i < 5; ++i)
    record.samples.push_back(int64_t(1000000 + random() % 1000));
  record.seconds = 1e-9 * double(record.samples[2]);
  return record;
}

/// Returns all stored fields of a point or of a tuning record as text, so that tests can compare them.
inline std::string textOf(const Point &point) { return toJson(point).dump(1); }
inline std::string textOf(const TuningRecord &record) { return toJson(record).dump(1); }

/// Expects that the store's file is undamaged and has no dangling references. Does nothing for servers, which ensure
/// this themselves.
inline void expectHealthy(const std::string &path) {
  if (isServerUrl(path))
    return;
  Database database(path, Database::Mode::existing);
  EXPECT_EQ(database.text("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(database.text("PRAGMA foreign_key_check"), "");
}

/// Macro for tests of files and archives only: skips the test if stores are on a server.
#define LATHE_FILES_ONLY()                                                                                             \
  if (onServer())                                                                                                      \
  GTEST_SKIP() << "a test of files"

} // namespace lathe::store
