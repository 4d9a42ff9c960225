#include "machine/System.h"

#include "machine/NumberList.h"
#include "support/CacheFolder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fmt/ranges.h>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace lathe {
std::string firstLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int64_t sizeOfCache(const std::string &text) {
  int64_t value = std::atoll(text.c_str());
  if (text.find('K') != text.npos)
    return value << 10;
  return text.find('M') != text.npos ? value << 20 : value;
}

namespace {

using CpuInfo = std::map<std::string, std::string>;

/// The first processor's block of /proc/cpuinfo.
CpuInfo readCpuInfo(const std::string &path) {
  std::ifstream file(path);
  CpuInfo fields;
  std::string line;
  while (std::getline(file, line) && !line.empty()) {
    auto colon = line.find(':');
    if (colon == line.npos || colon == 0)
      continue;
    auto key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    auto begin = line.find_first_not_of(" \t", colon + 1);
    fields[key] = begin == line.npos ? "" : line.substr(begin);
  }
  return fields;
}

std::string fieldOf(const CpuInfo &info, const char *key) {
  auto found = info.find(key);
  return found == info.end() ? "" : found->second;
}

/// LLVM's names for the kernel's names of the features that matter here. The kernel lists a feature only if it saves
/// the feature's registers on a context switch.
std::vector<std::string> featuresFrom(const CpuInfo &info) {
  static const std::pair<const char *, const char *> names[] = {// x86-64
                                                                {"sse4_2", "sse4.2"},
                                                                {"avx", "avx"},
                                                                {"avx2", "avx2"},
                                                                {"fma", "fma"},
                                                                {"f16c", "f16c"},
                                                                {"avx_vnni", "avxvnni"},
                                                                {"avx512f", "avx512f"},
                                                                {"avx512bw", "avx512bw"},
                                                                {"avx512dq", "avx512dq"},
                                                                {"avx512vl", "avx512vl"},
                                                                {"avx512_vnni", "avx512vnni"},
                                                                {"avx512_bf16", "avx512bf16"},
                                                                {"avx512_fp16", "avx512fp16"},
                                                                {"amx_tile", "amx-tile"},
                                                                {"amx_int8", "amx-int8"},
                                                                {"amx_bf16", "amx-bf16"},
                                                                // AArch64
                                                                {"asimd", "neon"},
                                                                {"asimddp", "dotprod"},
                                                                {"asimdhp", "fullfp16"},
                                                                {"bf16", "bf16"},
                                                                {"i8mm", "i8mm"},
                                                                {"sve", "sve"},
                                                                {"sve2", "sve2"},
                                                                // RISC-V
                                                                {"v", "v"}};
  std::set<std::string> present;
  for (const char *key : {"flags", "Features", "isa"}) {
    std::istringstream words(fieldOf(info, key));
    for (std::string word; words >> word;)
      present.insert(word);
  }
  std::vector<std::string> features;
  for (auto &[kernel, llvm] : names)
    if (present.count(kernel))
      features.push_back(llvm);
  return features;
}

std::string nameOf(const CpuInfo &info) {
  for (const char *key : {"model name", "Model", "uarch", "cpu model"})
    if (std::string name = fieldOf(info, key); !name.empty())
      return name;
  if (info.count("CPU implementer") && info.count("CPU part"))
    return fmt::format("ARM implementer {} part {}", info.at("CPU implementer"), info.at("CPU part"));
  return "unknown CPU";
}

int countOfList(const std::string &list) { return int(numberList(list).value_or(NumberList()).size()); }

/// `cpu`: the folder of one logical CPU.
std::vector<CacheFacts> cachesOf(const std::string &cpu) {
  std::map<int, CacheFacts> found;
  std::error_code ignored;
  for (auto &entry : std::filesystem::directory_iterator(cpu + "/cache", ignored)) {
    std::string path = entry.path().string(), type = firstLine(path + "/type");
    if (type != "Data" && type != "Unified")
      continue;
    int level = std::atoi(firstLine(path + "/level").c_str());
    CacheFacts cache;
    cache.bytes = sizeOfCache(firstLine(path + "/size"));
    cache.sharedBy = std::max(1, countOfList(firstLine(path + "/shared_cpu_list")));
    if (int line = std::atoi(firstLine(path + "/coherency_line_size").c_str()); line > 0)
      cache.lineBytes = line;
    if (level > 0 && cache.bytes > 0)
      found[level] = cache;
  }
  std::vector<CacheFacts> caches;
  for (auto &[level, cache] : found)
    caches.push_back(cache);
  return caches;
}

/// The caches that the C library reports, for systems whose kernel shows none. Sharing is unknown then.
std::vector<CacheFacts> cachesOfLibrary() {
  std::vector<CacheFacts> caches;
#ifdef _SC_LEVEL1_DCACHE_SIZE
  for (int name : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE})
    if (int64_t bytes = sysconf(name); bytes > 0) {
      caches.emplace_back();
      caches.back().bytes = bytes;
    }
#endif
  return caches;
}

/// Some virtual machines show caches that no CPU has.
bool plausible(const std::vector<CacheFacts> &caches) {
  for (size_t i = 0; i < caches.size(); ++i)
    if (caches[i].bytes < 4096 || (i && caches[i].bytes <= caches[i - 1].bytes))
      return false;
  return true;
}

int physicalCores(const std::string &cpus, const cpu_set_t &allowed) {
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed))
      continue;
    std::string path = fmt::format("{}/cpu{}/topology/", cpus, cpu);
    std::string core = firstLine(path + "core_id");
    cores.insert(core.empty() ? fmt::format("cpu{}", cpu) : firstLine(path + "physical_package_id") + ":" + core);
  }
  return int(cores.size());
}

} // namespace

std::string SystemFacts::identity() const {
  MachineFacts machine;
  machine.caches = caches;
  return fmt::format("{} | {} {} {} {} | {} | {}", name, architecture, vendor, family, model, fmt::join(features, " "),
                     machine.cachesText());
}

SystemFacts systemFacts(const std::string &cpus, const std::string &cpuinfo) {
  SystemFacts facts;
  CpuInfo info = readCpuInfo(cpuinfo);
  facts.name = nameOf(info);
  facts.features = featuresFrom(info);
  facts.vendor = fieldOf(info, "vendor_id");
  facts.family = std::atoi(fieldOf(info, "cpu family").c_str());
  facts.model = std::atoi(fieldOf(info, "model").c_str());
  utsname system{};
  uname(&system);
  facts.architecture = system.machine;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    facts.hardwareThreads = CPU_COUNT(&allowed);
    facts.cores = physicalCores(cpus, allowed);
    while (facts.cpu < CPU_SETSIZE - 1 && !CPU_ISSET(facts.cpu, &allowed))
      ++facts.cpu;
  } else { // more CPUs than a cpu_set_t holds
    facts.cores = facts.hardwareThreads = int(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  }
  std::string directory = fmt::format("{}/cpu{}", cpus, facts.cpu);
  facts.threadsPerCore = std::max(1, countOfList(firstLine(directory + "/topology/thread_siblings_list")));
  facts.caches = cachesOf(directory);
  if (facts.caches.empty() && cpus == kernelCpus)
    facts.caches = cachesOfLibrary();
  if (!plausible(facts.caches))
    facts.caches.clear();
  return facts;
}

using nlohmann::json;

json toJson(const MeasuredRates &rates) {
  return {{"identity", rates.identity},
          {"read_bytes_per_cycle", rates.readBytesPerCycle},
          {"shared_memory_read_bytes_per_cycle", rates.sharedMemoryBytesPerCycle},
          {"clock_ghz", rates.clocks}};
}

MeasuredRates readMeasuredRates(const std::string &path) {
  std::ifstream file(path);
  json document = json::parse(file, nullptr, false);
  MeasuredRates rates;
  try {
    if (document.is_object() && document.contains("rates")) {
      document["rates"].at("identity").get_to(rates.identity);
      document["rates"].at("read_bytes_per_cycle").get_to(rates.readBytesPerCycle);
      rates.sharedMemoryBytesPerCycle = document["rates"].value("shared_memory_read_bytes_per_cycle", 0.0);
      rates.clocks = document["rates"].value("clock_ghz", std::vector<ClockFacts>());
    }
  } catch (const std::exception &) { // altered by hand, or from another version: not measured
    return {};
  }
  return rates;
}

std::string implausibleRates(const std::vector<double> &readBytesPerCycle, const MachineFacts &table) {
  if (readBytesPerCycle.empty())
    return "";
  // Shares of the table's rates. Memory and far caches differ most between machines with the same CPU.
  constexpr double leastOfFirst = 0.25, leastOfOthers = 0.02, most = 4096; // bytes per cycle
  for (size_t level = 0; level < readBytesPerCycle.size(); ++level) {
    bool isMemory = level + 1 == readBytesPerCycle.size();
    double expected = isMemory ? table.memoryBytesPerCycle : table.readRate(level), rate = readBytesPerCycle[level];
    if (!(rate >= (level ? leastOfOthers : leastOfFirst) * expected && rate < most))
      return fmt::format("{} delivers {:.3g} bytes a cycle, by the table of CPUs about {:.3g}",
                         isMemory ? "memory" : fmt::format("L{}", level + 1), rate, expected);
  }
  if (readBytesPerCycle.front() < readBytesPerCycle.back())
    return fmt::format("L1 delivers {:.3g} bytes a cycle, memory {:.3g}", readBytesPerCycle.front(),
                       readBytesPerCycle.back());
  return "";
}

std::string machineRecordPath() {
  std::string folder = cacheFolder();
  return folder.empty() ? "" : folder + "/machine.json";
}

MachineFacts nativeMachine(const std::string &cpu, const SystemFacts &system, const MeasuredRates &measured) {
  std::vector<std::string> features;
  for (const std::string &feature : knownFeatures(system.architecture))
    if (std::find(system.features.begin(), system.features.end(), feature) != system.features.end())
      features.push_back(feature);
  MachineFacts machine = machineFromTable(cpu, system.architecture, features, system.caches);
  machine.cpuFrom = machine.featuresFrom = machine.coresFrom = FactSource::system;
  machine.cores = system.cores;
  machine.threadsPerCore = system.threadsPerCore;
  if (!system.caches.empty()) {
    std::vector<CacheFacts> known = std::move(machine.caches);
    machine.caches = system.caches;
    for (size_t i = 0; i < machine.caches.size(); ++i) {
      CacheFacts &cache = machine.caches[i];
      cache.sizeFrom = FactSource::system;
      // A third level that the table lacks counts as memory.
      cache.readBytesPerCycle = i < known.size() ? known[i].readBytesPerCycle : machine.memoryBytesPerCycle;
      cache.rateFrom = i < known.size() ? known[i].rateFrom : FactSource::generic;
    }
  }
  if (measured.identity != system.identity() || measured.readBytesPerCycle.size() != machine.caches.size() + 1 ||
      !implausibleRates(measured.readBytesPerCycle, machine).empty())
    return machine;
  auto take = [](double figure, double &rate, FactSource &from) {
    if (from == FactSource::fitted)
      return;
    rate = figure;
    from = FactSource::measured;
  };
  for (size_t i = 0; i < machine.caches.size(); ++i)
    take(measured.readBytesPerCycle[i], machine.caches[i].readBytesPerCycle, machine.caches[i].rateFrom);
  take(measured.readBytesPerCycle.back(), machine.memoryBytesPerCycle, machine.memoryFrom);
  if (measured.sharedMemoryBytesPerCycle > 0)
    take(measured.sharedMemoryBytesPerCycle, machine.sharedMemoryBytesPerCycle, machine.sharedMemoryFrom);
  machine.clocks = measured.clocks;
  if (!machine.clocks.empty())
    machine.clocksFrom = FactSource::measured;
  return machine;
}

} // namespace lathe
