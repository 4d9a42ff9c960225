#include "lab/machine/Machine.h"

#include "lab/machine/DeclaredPeak.h"
#include "machine/System.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace lathe;
using namespace lathe::lab;

/// A machine with simple figures: 2 threads, f32 100 and 200 GFLOP/s, L1 32 KiB, shared L3, memory.
static MachineCeilings example() {
  MachineCeilings machine;
  machine.cpu = "Example 9000";
  machine.architecture = "x86_64";
  machine.kernel = "Linux 6.1";
  machine.cores = machine.hardwareThreads = 2;
  machine.clockGhz = 3.125;
  machine.features = {"avx2", "fma"};
  machine.arithmetic = {{ElementType::f32, "fma", {100, 200}},
                        {ElementType::i8, "dot", {400, 800}},
                        {ElementType::i8, "pairs", {200, 400}}};
  machine.levels = {{"L1", 32768, 1, {{300, 100, 200}, {600, 200, 400}}},
                    {"L3", 1 << 20, 2, {{60, 30, 40}, {90, 50, 70}}},
                    {"memory", 0, 1, {{12, 6, 8}, {20, 10, 16}}}};
  machine.clocks = {{128, {3.125, 3}}, {256, {3, 2.75}}};
  machine.measured = "2024-01-01T00:00:00Z";
  return machine;
}

TEST(Machine, jsonRoundTrip) {
  auto document = toJson(example());
  EXPECT_EQ(toJson(machineFromJson(document)), document);
  EXPECT_EQ(document["levels"][0]["read_gb_s"][1], 600);
  EXPECT_THROW(machineFromJson(nlohmann::json::array()), Error);
  for (const char *key : {"cpu", "levels", "arithmetic", "features", "clock_ghz"}) {
    auto broken = document;
    broken.erase(key);
    EXPECT_THROW(machineFromJson(broken), Error) << key;
    broken[key] = 7.5;
    if (std::string(key) != "clock_ghz") {
      EXPECT_THROW(machineFromJson(broken), Error) << key;
    }
  }
  document["arithmetic"][0]["type"] = "f33";
  EXPECT_THROW(machineFromJson(document), Error);
}

TEST(Machine, ceilingsOfTypesAndThreads) {
  auto machine = example();
  EXPECT_EQ(machine.gflops(ElementType::f32, 1), 100);
  EXPECT_EQ(machine.gflops(ElementType::f32, 2), 200);
  EXPECT_EQ(machine.gflops(ElementType::f32, 64), 200);
  EXPECT_EQ(machine.gflops(ElementType::bf16, 1), 100); // computed in f32 here
  EXPECT_EQ(machine.gflops(ElementType::i32, 2), 200);
  EXPECT_EQ(machine.gflops(ElementType::i8, 1), 400);
  EXPECT_EQ(machine.gflops(ElementType::u8, 1), 400);
}

TEST(Machine, peaksOfTheSameMinutesReplaceKeptOnes) {
  auto machine = withPeak(example(), 1, 480, ElementType::i8);
  EXPECT_DOUBLE_EQ(machine.gflops(ElementType::i8, 1), 480);
  EXPECT_DOUBLE_EQ(machine.gflops(ElementType::i8, 2), 960);
  EXPECT_DOUBLE_EQ(machine.arithmetic[2].gflops[0], 240); // the clock is the same for all instructions of a type
  EXPECT_EQ(machine.gflops(ElementType::f32, 1), 100);
  EXPECT_EQ(withPeak(example(), 1, 0, ElementType::i8).gflops(ElementType::i8, 1), 400); // 0: not measured
  machine = withPeak(example(), 2, 50, ElementType::bf16);                               // has no ceiling yet
  EXPECT_EQ(machine.gflops(ElementType::bf16, 2), 50);
}

/// Declared peaks exceed all measured ones. A time is implausible if a quarter of the operations at the declared peak
/// takes longer.
TEST(Machine, declaredPeaksAreBounds) {
  SystemFacts system;
  system.architecture = "x86_64";
  system.cpu = 1 << 20; // no declared clock
  double narrow = declaredPeak(system, ElementType::f32, 1);
  EXPECT_DOUBLE_EQ(narrow, 2 * 2 * 8 * 6.5e9);
  system.features = {"avx512f", "avx512vnni"};
  EXPECT_DOUBLE_EQ(declaredPeak(system, ElementType::f32, 2), 2 * 2 * narrow);
  EXPECT_DOUBLE_EQ(declaredPeak(system, ElementType::i8, 1), 8 * narrow);
  EXPECT_DOUBLE_EQ(declaredPeak(system, {}, 1), declaredPeak(system, ElementType::i8, 1));
  system.features.push_back("amx-int8");
  EXPECT_DOUBLE_EQ(declaredPeak(system, ElementType::i8, 1), declaredPeakAnywhere(1));
  system.architecture = "aarch64";
  EXPECT_GE(declaredPeak(system, ElementType::f32, 1), 2 * 4 * 4 * 3.5e9); // four pipes of 128 bits
  EXPECT_EQ(beyondReach(4e9, 1.01e-3, 1e12), "");
  EXPECT_NE(beyondReach(4e9, 0.99e-3, 1e12).find("for 4e+09 operations"), std::string::npos);
  EXPECT_EQ(beyondReach(0, 1e-9, 1e12), ""); // copies have no operations
  EXPECT_EQ(beyondReach(4e9, 0, 1e12), "");
  EXPECT_GT(declaredPeak(ElementType::f32, 1), 0);
}

TEST(Machine, levels) {
  auto machine = example();
  EXPECT_EQ(machine.levelHolding(32768, 1).name, "L1");
  EXPECT_EQ(machine.levelHolding(32769, 1).name, "L3");
  EXPECT_EQ(machine.levelHolding(65536, 2).name, "L1"); // one each
  EXPECT_EQ(machine.levelHolding(1 << 20, 2).name, "L3");
  EXPECT_EQ(machine.levelHolding((1 << 20) + 1, 2).name, "memory"); // shared by both
}

TEST(Machine, ratesForTheCompiler) {
  MachineCeilings machine = example(); // 3.125 GHz
  MeasuredRates rates = ratesOf(machine);
  EXPECT_EQ(rates.readBytesPerCycle, (std::vector<double>{96, 19.2, 3.84}));
  EXPECT_EQ(rates.sharedMemoryBytesPerCycle, 6.4);
  machine.levels.back().bandwidth.push_back({18, 10, 16}); // two threads on a core
  EXPECT_EQ(ratesOf(machine).sharedMemoryBytesPerCycle, 6.4);
  machine.cores = 4; // of which three were measured
  EXPECT_EQ(ratesOf(machine).sharedMemoryBytesPerCycle, 0);
}

TEST(Machine, rooflineArithmetic) {
  auto machine = example();
  Roofline compute = roofline(machine, ElementType::f32, 1e9, 1e4, 0.02, 1);
  EXPECT_EQ(compute.bound, "compute");
  EXPECT_DOUBLE_EQ(compute.limitSeconds, 0.01);
  EXPECT_DOUBLE_EQ(compute.share, 0.5);
  Roofline memory = roofline(machine, ElementType::f32, 1e6, 1e8, 0.02, 1);
  EXPECT_EQ(memory.bound, "memory");
  EXPECT_DOUBLE_EQ(memory.limitSeconds, 0.01); // (12 + 8) / 2 = 10 GB/s
  Roofline cache = roofline(machine, ElementType::f32, 0, 5e5, 0, 2);
  EXPECT_EQ(cache.bound, "L3");
  EXPECT_DOUBLE_EQ(cache.limitSeconds, 5e5 / 80e9);
  EXPECT_EQ(cache.share, 0);
}

TEST(Machine, figuresThatCannotBeRight) {
  MachineCeilings machine = example();
  machine.arithmetic[0].instruction = "vfmadd231ps ymm";
  EXPECT_EQ(implausible(machine), "");
  auto with = [&](auto change) {
    MachineCeilings changed = machine;
    change(changed);
    return implausible(changed);
  };
  EXPECT_NE(with([](auto &m) { m.arithmetic[0].gflops[1] = 0.01; }).find("0.0 GFLOPS with 2 threads, with fewer"),
            std::string::npos);
  EXPECT_NE(with([](auto &m) { m.arithmetic[1].gflops[1] = 300; }), "");
  EXPECT_EQ(with([](auto &m) { m.arithmetic[1].gflops[1] = 398; }), ""); // two threads of one core
  EXPECT_NE(with([](auto &m) { m.levels[0].bandwidth[0].read = 0.1; }), "");
  EXPECT_NE(with([](auto &m) { m.levels[0].bandwidth[1].read = 0.1; }), "");
  EXPECT_NE(with([](auto &m) { m.levels[2].bandwidth = {{400, 6, 8}, {400, 10, 16}}; }).find("L1 delivers"),
            std::string::npos);
  EXPECT_NE(with([](auto &m) { m.levels[2].bandwidth[0].read = std::nan(""); }), "");
  EXPECT_NE(with([](auto &m) { m.arithmetic[0].gflops = {3, 6}; }).find("by the table"), std::string::npos);
  EXPECT_NE(with([](auto &m) { m.clockGhz = 0; }), "");
  EXPECT_NE(implausible(describeMachine()), ""); // it has no figures
}

/// Measuring waits for a quiet machine, and implausible figures are not stored.
TEST(Machine, measuringWaitsForAQuietMachine) {
  MachineCeilings right = example(), wrong = right;
  right.arithmetic[0].instruction = wrong.arithmetic[0].instruction = "vfmadd231ps ymm";
  wrong.levels[0].bandwidth[0].read = 0.1;
  double now = 0, quietFrom = 10;
  std::vector<std::string> lines;
  QuietHooks hooks;
  hooks.now = [&] { return now; };
  hooks.others = [&] { return now += 0.5, now < quietFrom ? 2.0 : 0.01; };
  hooks.say = [&](const std::string &line) { lines.push_back(line); };
  hooks.measure = [&] { return now += 8, now - 8 < quietFrom ? wrong : right; };
  EXPECT_EQ(toJson(measureWhenQuiet(hooks, 60)), toJson(right));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("60 s at most: other programs keep 2.0 processors busy"), std::string::npos);
  EXPECT_GE(now, 18);
  now = 0, quietFrom = 1e9, lines.clear();
  EXPECT_THROW(measureWhenQuiet(hooks, 60), Error);
  EXPECT_LT(now, 80);
  EXPECT_EQ(lines.size(), 2u);
  now = 0; // the system looks quiet, but the figures are wrong at first
  hooks.others = [&] { return now += 0.5, 0.0; };
  quietFrom = 20;
  EXPECT_EQ(toJson(measureWhenQuiet(hooks, 60)), toJson(right));
  EXPECT_NE(lines.back().find("measuring again"), std::string::npos);
}

TEST(Machine, description) {
  auto machine = describeMachine();
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_FALSE(machine.architecture.empty());
  EXPECT_GE(machine.hardwareThreads, 1);
  EXPECT_GE(machine.cores, 1);
  EXPECT_LE(machine.cores, machine.hardwareThreads);
  ASSERT_FALSE(machine.levels.empty());
  EXPECT_EQ(machine.levels.back().name, "memory");
  for (size_t i = 0; i + 2 < machine.levels.size(); ++i)
    EXPECT_LT(machine.levels[i].bytes, machine.levels[i + 1].bytes);
}

// Tests only upper bounds, because the machine may give this program hardly any time.
TEST(Machine, measuredCeilingsAreSane) {
  MeasureOptions options;
  options.maxThreads = 2;
  options.secondsPerPoint = 0.01;
  int calls = 0, last = 0, announced = 0;
  options.progress = [&](std::string_view, int done, int total) {
    ++calls;
    last = done;
    announced = total;
  };
  auto machine = measureMachine(options);
  EXPECT_GT(calls, 0);
  EXPECT_EQ(last, announced);
  size_t threads = size_t(std::min(2, machine.hardwareThreads));
  ASSERT_FALSE(machine.arithmetic.empty());
  EXPECT_EQ(machine.arithmetic[0].type, ElementType::f32);
  auto measured = [&](std::string_view instruction) {
    return std::any_of(machine.arithmetic.begin(), machine.arithmetic.end(),
                       [&](const ArithmeticCeiling &ceiling) { return ceiling.instruction.starts_with(instruction); });
  };
  // All instructions for bytes that the machine has.
  for (auto [feature, instruction] :
       {std::pair{"avx512vnni", "vpdpbusd zmm"}, std::pair{"avx2", "vpmaddwd, vpaddd ymm"},
        std::pair{"dotprod", "sdot"}, std::pair{"i8mm", "smmla"}})
    EXPECT_EQ(measured(instruction),
              std::find(machine.features.begin(), machine.features.end(), feature) != machine.features.end())
        << instruction;
  for (auto &ceiling : machine.arithmetic) {
    ASSERT_EQ(ceiling.gflops.size(), threads) << ceiling.instruction;
    for (double figure : ceiling.gflops)
      EXPECT_GT(figure, 0) << ceiling.instruction;
    // No core does more than four 512-bit operations a cycle, where a byte dot product counts eight operations a lane;
    // tiles multiply sixteen times as much.
    EXPECT_LT(ceiling.gflops[0], machine.clockGhz * 4 * 16 * 8 * 2 * (ceiling.instruction.starts_with("tdp") ? 16 : 1))
        << ceiling.instruction;
  }
  for (auto &level : machine.levels) {
    ASSERT_EQ(level.bandwidth.size(), threads) << level.name;
    for (auto &bandwidth : level.bandwidth) {
      EXPECT_GT(bandwidth.read, 0) << level.name;
      EXPECT_GT(bandwidth.write, 0) << level.name;
      EXPECT_GT(bandwidth.copy, 0) << level.name;
      EXPECT_LT(bandwidth.read, machine.clockGhz * 64 * 4 * double(threads) * 2) << level.name;
    }
  }
  EXPECT_EQ(toJson(machineFromJson(toJson(machine))), toJson(machine));
}

TEST(Machine, cacheFileIsUsedAndBadOnesAreNotErrors) {
  auto directory = std::filesystem::temp_directory_path() / ("lathe-machine-test-" + std::to_string(getpid()));
  setenv("XDG_CACHE_HOME", directory.c_str(), 1);
  EXPECT_EQ(machineRecordPath(), (directory / "lathe" / "machine.json").string());
  std::filesystem::create_directories(directory / "lathe");
  EXPECT_EQ(keptCeilings(), nullptr);
  std::ofstream(machineRecordPath()) << "{ not json";
  EXPECT_EQ(keptCeilings(), nullptr);
  MeasureOptions options;
  options.maxThreads = 1;
  options.secondsPerPoint = 0.03;
  auto &refreshed = refreshMachineCeilings(options);
  EXPECT_EQ(&machineCeilings(), &refreshed);
  EXPECT_EQ(keptCeilings(), &refreshed);
  std::ifstream file(machineRecordPath());
  auto document = nlohmann::json::parse(file);
  EXPECT_EQ(document["machine"], toJson(refreshed));
  // Implausible figures from older versions, which stored them unchecked, are not read.
  document["machine"]["arithmetic"][0]["gflops"][0] = 0.01;
  std::ofstream(machineRecordPath()) << document.dump();
  EXPECT_FALSE(keptIn(machineRecordPath()).has_value());
  std::filesystem::remove_all(directory);
}
