#include "lab/machine/Machine.h"

#include "lab/judging/Turns.h"
#include "lab/machine/Disturbance.h"
#include "machine/System.h"
#include "support/JsonError.h"
#include "support/PendingFile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <list>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace lathe::lab {

using nlohmann::json;

double MachineCeilings::gflops(ElementType type, int threads) const {
  auto of = [&](ElementType wanted) {
    double best = 0;
    for (auto &ceiling : arithmetic)
      if (ceiling.type == wanted && !ceiling.gflops.empty()) {
        size_t index = std::min(size_t(std::max(threads, 1)), ceiling.gflops.size()) - 1;
        best = std::max(best, ceiling.gflops[index]);
      }
    return best;
  };
  double own = of(type == ElementType::u8 ? ElementType::i8 : type);
  return own > 0 ? own : of(ElementType::f32);
}

const MemoryLevel &MachineCeilings::levelHolding(int64_t bytes, int threads) const {
  require(!levels.empty(), "machine description without memory levels");
  for (auto &level : levels) {
    int64_t instances = (std::max(threads, 1) + level.sharedBy - 1) / level.sharedBy;
    if (level.bytes > 0 && bytes <= level.bytes * instances)
      return level;
  }
  return levels.back();
}

const Bandwidth &MachineCeilings::bandwidth(const MemoryLevel &level, int threads) {
  static const Bandwidth unknown;
  if (level.bandwidth.empty())
    return unknown;
  return level.bandwidth[std::min(size_t(std::max(threads, 1)), level.bandwidth.size()) - 1];
}

Roofline roofline(const MachineCeilings &machine, ElementType type, double flops, double bytes, double seconds,
                  int threads) {
  const MemoryLevel &level = machine.levelHolding(int64_t(bytes), threads);
  const Bandwidth &bandwidth = MachineCeilings::bandwidth(level, threads);
  double operationsPerSecond = machine.gflops(type, threads) * 1e9;
  double bytesPerSecond = (bandwidth.read + bandwidth.copy) / 2 * 1e9;
  double computing = operationsPerSecond > 0 ? flops / operationsPerSecond : 0;
  double moving = bytesPerSecond > 0 ? bytes / bytesPerSecond : 0;
  Roofline result;
  result.limitSeconds = std::max(computing, moving);
  result.share = seconds > 0 ? result.limitSeconds / seconds : 0;
  result.bound = computing >= moving ? "compute" : level.name;
  return result;
}

MachineCeilings withPeak(MachineCeilings machine, int threads, double gflops, ElementType type) {
  if (gflops <= 0)
    return machine;
  bool found = false;
  double kept = machine.gflops(type, threads);
  for (ArithmeticCeiling &ceiling : machine.arithmetic)
    if (ceiling.type == type && !ceiling.gflops.empty() && kept > 0) {
      found = true;
      for (double &figure : ceiling.gflops)
        figure *= gflops / kept;
    }
  if (!found)
    machine.arithmetic.push_back({type, "", std::vector<double>(size_t(std::max(threads, 1)), gflops)});
  return machine;
}

// The cache file.

// Raise it when the kernels or the document change.
// 2: with rates for the compiler; 3: int8 by instruction; 4: memory's shared rate, clocks by vector width
static constexpr int cacheFormat = 4;

static std::string cacheKey(const MachineCeilings &machine) {
  return fmt::format("{} | {} cores, {} threads | {}", machine.cpu, machine.cores, machine.hardwareThreads,
                     machine.kernel);
}

MeasuredRates ratesOf(const MachineCeilings &machine) {
  MeasuredRates rates{systemFacts().identity(), {}, machine.clocks};
  for (const MemoryLevel &level : machine.levels)
    rates.readBytesPerCycle.push_back(
        machine.clockGhz > 0 ? MachineCeilings::bandwidth(level, 1).read / machine.clockGhz : 0);
  // Fewer threads than cores may not reach what memory can deliver.
  if (machine.clockGhz > 0 && machine.cores > 0 && !machine.levels.empty() &&
      machine.levels.back().bandwidth.size() >= size_t(machine.cores))
    for (const Bandwidth &ofThreads : machine.levels.back().bandwidth)
      rates.sharedMemoryBytesPerCycle = std::max(rates.sharedMemoryBytesPerCycle, ofThreads.read / machine.clockGhz);
  return rates;
}

std::optional<MachineCeilings> keptIn(const std::string &path) {
  std::ifstream file(path);
  json document = json::parse(file, nullptr, false);
  try {
    if (document.is_object() && document.at("format") == cacheFormat &&
        document.at("key") == cacheKey(describeMachine()))
      if (MachineCeilings machine = machineFromJson(document.at("machine")); implausible(machine).empty())
        return machine;
  } catch (const std::exception &) { // changed by hand, or from another version: measure again
  }
  return std::nullopt;
}

static void writeCache(const MachineCeilings &machine) {
  std::string path = machineRecordPath();
  if (path.empty())
    return;
  try {
    PendingFile file(path); // replaces the file at once, because another process may be reading
    file.write(json{{"format", cacheFormat},
                    {"key", cacheKey(machine)},
                    {"machine", toJson(machine)},
                    {"rates", lathe::toJson(ratesOf(machine))}}
                   .dump(2) +
               "\n");
    file.commit();
  } catch (const Error &) { // will be measured again next time
  }
}

// References returned earlier stay valid when the figures are measured again.
static std::mutex currentLock;
static std::list<MachineCeilings> &everKnown() {
  static std::list<MachineCeilings> known;
  return known;
}

/// The ceilings loaded so far. Call it only while holding `currentLock`.
static const MachineCeilings *loaded() {
  auto &known = everKnown();
  if (known.empty())
    if (auto cached = keptIn(machineRecordPath()))
      known.push_back(std::move(*cached));
  return known.empty() ? nullptr : &known.back();
}

const MachineCeilings *keptCeilings() {
  std::lock_guard guard(currentLock);
  return loaded();
}

static MachineCeilings measureQuietly(const MeasureOptions &options) {
  static constexpr double look = 0.5, patience = 60; // seconds
  QuietHooks hooks;
  hooks.measure = [&] { return measureMachine(options); };
  hooks.others = [] {
    DisturbanceMeter meter;
    std::this_thread::sleep_for(std::chrono::duration<double>(look));
    return meter.read().otherProcessors.value_or(0);
  };
  hooks.now = steadySeconds;
  hooks.say = [&](const std::string &line) {
    if (options.say)
      options.say(line);
  };
  bool never = std::getenv("LATHE_NO_WAIT") != nullptr;
  if (never)
    hooks.others = [] { return 0.0; };
  return measureWhenQuiet(hooks, never ? 0 : patience);
}

const MachineCeilings &machineCeilings(const std::function<void(const std::string &line)> &say) {
  std::lock_guard guard(currentLock);
  if (const MachineCeilings *kept = loaded())
    return *kept;
  MeasureOptions options;
  options.say = say;
  try {
    const MachineCeilings &measured = everKnown().emplace_back(measureQuietly(options));
    writeCache(measured);
    return measured;
  } catch (const Error &error) {
    if (say)
      say(error.what());
    return everKnown().emplace_back(describeMachine());
  }
}

const MachineCeilings &refreshMachineCeilings(const MeasureOptions &options) {
  MachineCeilings measured = measureQuietly(options);
  writeCache(measured);
  std::lock_guard guard(currentLock);
  return everKnown().emplace_back(std::move(measured));
}

// JSON.

json toJson(const MachineCeilings &machine) {
  json arithmetic = json::array(), levels = json::array();
  for (auto &ceiling : machine.arithmetic)
    arithmetic.push_back(
        {{"type", std::string(name(ceiling.type))}, {"instruction", ceiling.instruction}, {"gflops", ceiling.gflops}});
  for (auto &level : machine.levels) {
    json read = json::array(), write = json::array(), copy = json::array();
    for (auto &bandwidth : level.bandwidth) {
      read.push_back(bandwidth.read);
      write.push_back(bandwidth.write);
      copy.push_back(bandwidth.copy);
    }
    levels.push_back({{"name", level.name},
                      {"capacity_bytes", level.bytes},
                      {"shared_by_threads", level.sharedBy},
                      {"read_gb_s", read},
                      {"write_gb_s", write},
                      {"copy_gb_s", copy}});
  }
  return {{"cpu", machine.cpu},
          {"architecture", machine.architecture},
          {"kernel", machine.kernel},
          {"governor", machine.governor},
          {"boost", machine.boost},
          {"hypervisor", machine.hypervisor},
          {"virtualized", machine.virtualized},
          {"cores", machine.cores},
          {"hardware_threads", machine.hardwareThreads},
          {"memory_bytes", machine.memoryBytes},
          {"clock_ghz", machine.clockGhz},
          {"clocks", machine.clocks},
          {"features", machine.features},
          {"arithmetic", arithmetic},
          {"levels", levels},
          {"measured", machine.measured}};
}

MachineCeilings machineFromJson(const json &document) {
  try {
    MachineCeilings machine;
    document.at("cpu").get_to(machine.cpu);
    document.at("architecture").get_to(machine.architecture);
    document.at("kernel").get_to(machine.kernel);
    document.at("governor").get_to(machine.governor);
    machine.boost = document.value("boost", ""); // older files have neither boost nor memory
    machine.memoryBytes = document.value("memory_bytes", int64_t(0));
    document.at("hypervisor").get_to(machine.hypervisor);
    document.at("virtualized").get_to(machine.virtualized);
    document.at("cores").get_to(machine.cores);
    document.at("hardware_threads").get_to(machine.hardwareThreads);
    document.at("clock_ghz").get_to(machine.clockGhz);
    machine.clocks = document.value("clocks", std::vector<ClockFacts>()); // older files have none
    document.at("features").get_to(machine.features);
    document.at("measured").get_to(machine.measured);
    for (auto &entry : document.at("arithmetic")) {
      auto type = elementTypeFromName(entry.at("type").get<std::string>());
      require(type.has_value(), "machine description: unknown element type {}", entry.at("type").dump());
      machine.arithmetic.push_back(
          {*type, entry.at("instruction").get<std::string>(), entry.at("gflops").get<std::vector<double>>()});
    }
    for (auto &entry : document.at("levels")) {
      MemoryLevel level{entry.at("name").get<std::string>(),
                        entry.at("capacity_bytes").get<int64_t>(),
                        entry.at("shared_by_threads").get<int>(),
                        {}};
      require(level.sharedBy > 0, "machine description: {} is shared by {} threads", level.name, level.sharedBy);
      auto read = entry.at("read_gb_s").get<std::vector<double>>(),
           write = entry.at("write_gb_s").get<std::vector<double>>(),
           copy = entry.at("copy_gb_s").get<std::vector<double>>();
      require(read.size() == write.size() && read.size() == copy.size(),
              "machine description: {} has {} read, {} write, {} copy figures", level.name, read.size(), write.size(),
              copy.size());
      for (size_t i = 0; i < read.size(); ++i)
        level.bandwidth.push_back({read[i], write[i], copy[i]});
      machine.levels.push_back(std::move(level));
    }
    require(!machine.levels.empty(), "machine description: no memory levels");
    return machine;
  } catch (const json::exception &exception) {
    fail("machine description: {}", messageOf(exception));
  }
}

} // namespace lathe::lab
