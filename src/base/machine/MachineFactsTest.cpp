#include "machine/MachineFacts.h"
#include "machine/System.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace lathe {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr int64_t kib = 1024;

/// The facts that priors use: bytes and rates of two levels, and the cost of reading ahead.
std::vector<double> planned(const MachineFacts &machine) {
  return {machine.bytesPerCore(0) / kib, machine.bytesPerCore(1) / kib, machine.readRate(1),
          machine.memoryBytesPerCycle, machine.readAheadCost};
}

const std::vector<std::string> avx2{"avx", "avx2", "fma"}, avx512{"avx", "avx2", "avx512bw", "avx512f", "fma"};

TEST(MachineTable, hasTheFiguresThatWereMeasured) {
  EXPECT_EQ(planned(machineFromTable("znver3", "x86_64", avx2)), (std::vector<double>{32, 512, 48, 7, 0.125}));
  EXPECT_EQ(planned(machineFromTable("znver5", "x86_64", avx512)), (std::vector<double>{48, 1024, 48, 10, 0.3}));
  EXPECT_EQ(planned(machineFromTable("sapphirerapids", "x86_64", avx512)), (std::vector<double>{48, 2048, 48, 5, 1}));
}

TEST(MachineTable, knowsCpusByNameAndOthersByInstructionSet) {
  EXPECT_EQ(machineFromTable("cortex-a76", "aarch64", {"neon"}).bytesPerCore(0), 64 * kib);
  EXPECT_EQ(machineFromTable("cascadelake", "x86_64", avx512).bytesPerCore(1), 1024 * kib);
  EXPECT_EQ(machineFromTable("znver4", "x86_64", avx512).fmaPerCycle, 1);
  for (auto &[cpu, architecture, features] :
       {std::tuple("x86-64-v3", "x86_64", avx2), std::tuple("x86-64-v4", "x86_64", avx512),
        std::tuple("generic", "aarch64", std::vector<std::string>{"neon"})}) {
    MachineFacts machine = machineFromTable(cpu, architecture, features);
    EXPECT_EQ(machine.memoryFrom, FactSource::generic) << cpu;
    EXPECT_GT(machine.bytesPerCore(1), machine.bytesPerCore(0)) << cpu;
  }
  // The row of a CPU does not depend on the given features.
  EXPECT_EQ(planned(machineFromTable("sapphirerapids", "x86_64", avx2)), (std::vector<double>{48, 2048, 48, 5, 1}));
}

/// Folders as the kernel shows them.
class System : public testing::Test {
protected:
  std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("lathe-machine-facts-" + std::to_string(getpid()));
  void SetUp() override { std::filesystem::create_directories(root / "cpus"); }
  void TearDown() override { std::filesystem::remove_all(root); }

  void write(const std::string &path, const std::string &text) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << "\n";
  }
  int cpu() { return systemFacts().cpu; }

  void cache(int index, int level, const char *type, const char *size, const char *sharedBy) {
    std::string folder = "cpus/cpu" + std::to_string(cpu()) + "/cache/index" + std::to_string(index) + "/";
    write(folder + "level", std::to_string(level));
    write(folder + "type", type);
    write(folder + "size", size);
    write(folder + "shared_cpu_list", sharedBy);
    write(folder + "coherency_line_size", "64");
  }
  SystemFacts read(const std::string &flags) {
    write("cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Some "
                     "Processor\nflags\t\t: " +
                         flags);
    SystemFacts facts = systemFacts((root / "cpus").string(), (root / "cpuinfo").string());
    facts.architecture = "x86_64"; // whatever runs the test
    return facts;
  }
  /// A Sapphire Rapids whose host hides AMX.
  SystemFacts withoutAmx() {
    cache(0, 1, "Data", "48K", "0-1");
    cache(1, 1, "Instruction", "32K", "0-1");
    cache(2, 2, "Unified", "2048K", "0-1");
    cache(3, 3, "Unified", "107520K", "0-55,112-167");
    write("cpus/cpu" + std::to_string(cpu()) + "/topology/thread_siblings_list", "0-1");
    return read("avx avx2 fma avx512f avx512bw avx512vl avx512dq");
  }
  static MachineFacts native(const std::string &cpu, const SystemFacts &system, const MeasuredRates &measured = {}) {
    return nativeMachine(cpu, system, measured);
  }
};

TEST_F(System, showsCachesAndTheirSharing) {
  SystemFacts system = withoutAmx();
  EXPECT_EQ(system.name, "Some Processor");
  EXPECT_EQ(system.family, 6);
  EXPECT_EQ(system.model, 143);
  EXPECT_EQ(system.threadsPerCore, 2);
  ASSERT_EQ(system.caches.size(), 3u);
  MachineFacts machine = native("sapphirerapids", system);
  EXPECT_EQ(machine.identity(), "sapphirerapids L1=48K/2 L2=2M/2 L3=105M/112");
  EXPECT_EQ(planned(machine), (std::vector<double>{48, 2048, 48, 5, 1}));
  EXPECT_EQ(machine.caches[1].sizeFrom, FactSource::system);
  EXPECT_EQ(machine.memoryFrom, FactSource::table);
  EXPECT_THAT(machine.features, testing::Not(testing::Contains("amx-tile")));
}

TEST_F(System, findsTheCpuByItsCachesWhereItsNameIsHidden) {
  EXPECT_EQ(planned(native("cooperlake", withoutAmx())), (std::vector<double>{48, 2048, 48, 5, 1}));
  EXPECT_EQ(planned(native("x86-64-v4", withoutAmx())), (std::vector<double>{48, 2048, 48, 5, 1}));
}

TEST_F(System, thatHidesItsCachesHasThoseOfTheTable) {
  SystemFacts hidden = read("avx avx2 fma avx512f");
  EXPECT_TRUE(hidden.caches.empty());
  EXPECT_EQ(planned(native("sapphirerapids", hidden)), (std::vector<double>{48, 2048, 48, 5, 1}));
  cache(0, 1, "Data", "4096K", "0"); // larger than the next one
  cache(1, 2, "Unified", "48K", "0");
  EXPECT_TRUE(read("avx").caches.empty());
}

TEST_F(System, coresThatShareACacheDivideIt) {
  SystemFacts system = withoutAmx();
  system.caches[1].sharedBy = 8; // four cores of two logical CPUs
  EXPECT_EQ(native("sapphirerapids", system).bytesPerCore(1), 512 * kib);
  EXPECT_EQ(native("sapphirerapids", system).bytesPerCore(0), 48 * kib);
}

TEST_F(System, ratesThatWereMeasuredHereReplaceThoseThatNobodyFitted) {
  SystemFacts system = withoutAmx();
  MeasuredRates measured{system.identity(), {120, 50, 20, 4}, {}, 6};
  MachineFacts machine = native("sapphirerapids", system, measured);
  EXPECT_EQ(machine.readRate(1), 50);
  EXPECT_EQ(machine.memoryBytesPerCycle, 4);
  EXPECT_EQ(machine.memoryFrom, FactSource::measured);
  EXPECT_EQ(machine.sharedMemoryBytesPerCycle, 6);
  EXPECT_EQ(machine.sharedMemoryFrom, FactSource::measured);
  EXPECT_EQ(machine.memoryRate(1), 4);
  EXPECT_EQ(machine.memoryRate(4), 1.5);
  EXPECT_EQ(native("sapphirerapids", system).memoryRate(64), 5);              // unknown: one core's rate for each
  EXPECT_EQ(machine.identity(), native("sapphirerapids", system).identity()); // no rate in a key
  system.caches[0].bytes = 48 * kib;
  system.caches[1].bytes = 1024 * kib;
  measured.identity = system.identity();
  machine = native("znver5", system, measured);
  EXPECT_EQ(machine.sharedMemoryBytesPerCycle, 6); // nothing fits it
  EXPECT_EQ(machine.readRate(0), 120);
  EXPECT_EQ(machine.readRate(1), 48); // fitted to schedules of that CPU
  EXPECT_EQ(machine.caches[1].rateFrom, FactSource::fitted);
  measured.identity = "another machine";
  EXPECT_EQ(native("sapphirerapids", withoutAmx(), measured).memoryBytesPerCycle, 5);
}

/// A record that was measured beside other programs: the table's rates are used.
TEST_F(System, ratesThatCannotBeRightAreNotUsed) {
  SystemFacts system = withoutAmx();
  for (std::vector<double> rates : {std::vector<double>{0.03, 50, 20, 4},
                                    {120, 0.01, 20, 4},
                                    {33, 50, 20, 40},
                                    {120, 50, 20, std::nan("")},
                                    {120, 50, 20, 1e5}}) {
    MachineFacts machine = native("sapphirerapids", system, {system.identity(), rates});
    EXPECT_EQ(machine.readRate(0), 128) << rates[0];
    EXPECT_EQ(machine.memoryBytesPerCycle, 5);
    EXPECT_EQ(machine.memoryFrom, FactSource::table);
    EXPECT_NE(implausibleRates(rates, machine), "");
  }
  EXPECT_EQ(implausibleRates({120, 50, 20, 4}, native("sapphirerapids", system)), "");
}

TEST_F(System, recordsOfRates) {
  write("record.json", json{{"format", 2}, {"rates", toJson(MeasuredRates{"here", {3, 2, 1}, {}, 4})}}.dump());
  EXPECT_EQ(readMeasuredRates((root / "record.json").string()).identity, "here");
  EXPECT_EQ(readMeasuredRates((root / "record.json").string()).readBytesPerCycle, (std::vector<double>{3, 2, 1}));
  EXPECT_TRUE(readMeasuredRates((root / "record.json").string()).clocks.empty());
  EXPECT_EQ(readMeasuredRates((root / "record.json").string()).sharedMemoryBytesPerCycle, 4);
  write("record.json", json{{"rates", toJson(MeasuredRates{"here", {3, 2, 1}, {{512, {3.5, 3}}}})}}.dump());
  EXPECT_EQ(readMeasuredRates((root / "record.json").string()).clocks.at(0).ghz, (std::vector<double>{3.5, 3}));
  for (const char *broken : {"", "{", "[]", R"({"rates": 1})", R"({"rates": {"identity": 1}})"}) {
    write("record.json", broken);
    EXPECT_TRUE(readMeasuredRates((root / "record.json").string()).readBytesPerCycle.empty()) << broken;
  }
}

std::string errorOf(const std::string &text) {
  try {
    parseMachineFacts(text, "spr.json");
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(MachineFile, isReadBackAsWritten) {
  for (const char *cpu : {"sapphirerapids", "znver3", "neoverse-n1"}) {
    bool arm = std::string(cpu) == "neoverse-n1";
    MachineFacts machine =
        machineFromTable(cpu, arm ? "aarch64" : "x86_64", arm ? std::vector<std::string>{"neon"} : avx512);
    machine.cores = 56;
    machine.caches[1].readBytesPerCycle = 51.25;
    machine.sharedMemoryBytesPerCycle = 80.5;
    for (const json &document : {toJson(machine), json{{"cpu", "Some Processor"}, {"facts", toJson(machine)}}}) {
      MachineFacts read = parseMachineFacts(document.dump(), "spr.json");
      EXPECT_EQ(read.identity(), machine.identity());
      EXPECT_EQ(planned(read), planned(machine));
      EXPECT_EQ(read.features, machine.features);
      EXPECT_EQ(read.cores, 56);
      EXPECT_EQ(read.sharedMemoryBytesPerCycle, 80.5);
      EXPECT_EQ(read.fmaPerCycle, machine.fmaPerCycle);
      EXPECT_EQ(read.caches[1].rateFrom, FactSource::file);
    }
  }
}

TEST(MachineFile, isCompletedFromTheTable) {
  MachineFacts machine = parseMachineFacts(
      R"({"cpu": "sapphirerapids", "architecture": "x86_64", "memory_read_bytes_per_cycle": 3})", "spr.json");
  EXPECT_EQ(planned(machine), (std::vector<double>{48, 2048, 48, 3, 1}));
  EXPECT_EQ(machine.memoryFrom, FactSource::file);
  EXPECT_EQ(machine.caches[1].sizeFrom, FactSource::table);
}

TEST(MachineFile, thatIsWrongIsAnError) {
  auto with = [](const char *members) {
    return std::string(R"({"cpu": "znver5", "architecture": "x86_64", )") + members + "}";
  };
  EXPECT_THAT(errorOf("{ not json"), HasSubstr("spr.json: is no JSON"));
  EXPECT_THAT(errorOf("[1]"), HasSubstr("spr.json: expected a JSON object, got [1]"));
  EXPECT_THAT(errorOf("{}"), HasSubstr("spr.json: lacks 'cpu'"));
  EXPECT_THAT(errorOf(R"({"cpu": "x", "architecture": "mips"})"), HasSubstr("expected x86_64 or aarch64"));
  EXPECT_THAT(errorOf(with(R"("cahces": [])")),
              HasSubstr("spr.json: unknown key 'cahces'; expected cpu, architecture"));
  EXPECT_THAT(errorOf(with(R"("cores": -1)")), HasSubstr("'cores' is -1, expected a whole number from 0 to 65536"));
  EXPECT_THAT(errorOf(with(R"("cores": 1.5)")), HasSubstr("'cores' is 1.5"));
  EXPECT_THAT(errorOf(with(R"("features": ["avx9"])")), HasSubstr("'features' holds 'avx9'; expected of x86_64"));
  EXPECT_THAT(errorOf(with(R"("read_ahead_cost": 2)")), HasSubstr("'read_ahead_cost' is 2"));
  EXPECT_THAT(errorOf(with(R"("memory_read_bytes_per_cycle": 0)")), HasSubstr("'memory_read_bytes_per_cycle' is 0"));
  EXPECT_THAT(errorOf(with(R"("shared_memory_read_bytes_per_cycle": -1)")),
              HasSubstr("'shared_memory_read_bytes_per_cycle' is -1"));
  EXPECT_THAT(errorOf(with(R"("caches": [])")), HasSubstr("expected a list of 1 to 4 caches"));
  EXPECT_THAT(errorOf(with(R"("caches": [{"level": 1}])")), HasSubstr("spr.json: caches[0]: lacks 'bytes'"));
  EXPECT_THAT(errorOf(with(R"("caches": [{"bytes": 49152, "way": 1}])")), HasSubstr("caches[0]: unknown key 'way'"));
  EXPECT_THAT(errorOf(with(R"("caches": [{"bytes": 49152, "line_bytes": 48}])")), HasSubstr("expected a power of two"));
  EXPECT_THAT(errorOf(with(R"("caches": [{"level": 2, "bytes": 49152}])")),
              HasSubstr("the innermost cache comes first"));
  EXPECT_THAT(errorOf(with(R"("caches": [{"bytes": 49152}, {"bytes": 49152}])")),
              HasSubstr("caches[1] has 49152 bytes, expected more than the 49152"));
  EXPECT_THAT(errorOf(with(R"("sources": {"cpu": "hearsay"})")), HasSubstr("'cpu' is \"hearsay\", expected"));
  EXPECT_THAT(errorOf(with(R"("clock_ghz": "fast")")),
              HasSubstr("'clock_ghz' is \"fast\", expected a number or a list"));
  for (const char *clock : {"30", R"([{"vector_bits": 256, "ghz": []}])", R"([{"vector_bits": 256, "ghz": [0]}])",
                            R"([{"vector_bits": 256}])", R"([{"vector_bits": 0.5, "ghz": [3]}])", "[3]"})
    EXPECT_THAT(errorOf(with((std::string("\"clock_ghz\": ") + clock).c_str())),
                HasSubstr("spr.json: 'clock_ghz': a clock is"))
        << clock;
}

TEST(MachineFile, clocksByWidthAndThreads) {
  const std::string begin = R"({"cpu": "znver4", "architecture": "x86_64", "clock_ghz": )";
  MachineFacts machine = parseMachineFacts(
      begin + R"([{"vector_bits": 512, "ghz": [3, 2.5]}, {"vector_bits": 128, "ghz": [4, 3.5, 3.25]}]})", "m.json");
  EXPECT_EQ(machine.clockGhz(1, 128), 4);
  EXPECT_EQ(machine.clockGhz(3, 128), 3.25);
  EXPECT_EQ(machine.clockGhz(64, 128), 3.25);
  EXPECT_EQ(machine.clockGhz(1, 256), 3); // wider vectors are known, narrower ones would promise too much
  EXPECT_EQ(machine.clockGhz(2, 512), 2.5);
  EXPECT_EQ(machine.clockGhz(2, 1024), 2.5); // the widest
  EXPECT_EQ(machine.clocksFrom, FactSource::file);
  MachineFacts again = parseMachineFacts(toJson(machine).dump(), "again");
  EXPECT_EQ(toJson(again)["clock_ghz"], toJson(machine)["clock_ghz"]);
  EXPECT_EQ(parseMachineFacts(begin + "3.7}", "m.json").clockGhz(8, 256), 3.7);
  EXPECT_EQ(machineFromTable("znver4", "x86_64", {}).clockGhz(1, 512), 0); // the table does not know it
}

} // namespace
} // namespace lathe
