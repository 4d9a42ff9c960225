// What the system tells about the machine: /proc and sysfs, nothing measured.
#include "lab/machine/Machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lathe::lab {

namespace {

std::string firstLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The first processor's block of /proc/cpuinfo.
std::map<std::string, std::string> cpuInfo() {
  std::ifstream file("/proc/cpuinfo");
  std::map<std::string, std::string> fields;
  std::string line;
  while (std::getline(file, line) && !line.empty()) {
    auto colon = line.find(':');
    if (colon == line.npos)
      continue;
    auto key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    auto begin = line.find_first_not_of(" \t", colon + 1);
    fields[key] = begin == line.npos ? "" : line.substr(begin);
  }
  return fields;
}

/// The kernel's names of the features that matter here, with LLVM's. The kernel only lists what it also saves on a
/// context switch.
std::vector<std::string> featuresFrom(const std::map<std::string, std::string> &info) {
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
  std::string flags;
  for (const char *key : {"flags", "Features", "isa"})
    if (auto found = info.find(key); found != info.end())
      flags = found->second;
  std::set<std::string> present;
  std::istringstream words(flags);
  for (std::string word; words >> word;)
    present.insert(word);
  std::vector<std::string> features;
  for (auto &[kernel, llvm] : names)
    if (present.count(kernel))
      features.push_back(llvm);
  return features;
}

std::string nameOf(const std::map<std::string, std::string> &info) {
  for (const char *key : {"model name", "Model", "uarch", "cpu model"})
    if (auto found = info.find(key); found != info.end() && !found->second.empty())
      return found->second;
  if (info.count("CPU implementer") && info.count("CPU part"))
    return fmt::format("ARM implementer {} part {}", info.at("CPU implementer"), info.at("CPU part"));
  return "unknown CPU";
}

/// For AMD only, by family and model (Processor Programming References).
std::string llvmNameOf(const std::map<std::string, std::string> &info) {
  if (!info.count("cpu family") || !info.count("model") || info.count("vendor_id") == 0 ||
      info.at("vendor_id") != "AuthenticAMD")
    return "";
  int family = std::atoi(info.at("cpu family").c_str()), model = std::atoi(info.at("model").c_str());
  switch (family) {
  case 0x17:
    return model < 0x30 ? "znver1" : "znver2";
  case 0x19:
    return (model >= 0x10 && model <= 0x1f) || (model >= 0x60 && model <= 0x7f) || model >= 0xa0 ? "znver4" : "znver3";
  case 0x1a:
    return "znver5";
  default:
    return "";
  }
}

int countOfList(const std::string &list) { // "0-3,8,10-11"
  int count = 0;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    int low = 0, high = 0;
    int fields = std::sscanf(part.c_str(), "%d-%d", &low, &high);
    count += fields == 2 ? high - low + 1 : fields;
  }
  return count;
}

int64_t sizeOf(const std::string &text) { // "48K", "32M"
  int64_t value = std::atoll(text.c_str());
  if (text.find('K') != text.npos)
    return value << 10;
  return text.find('M') != text.npos ? value << 20 : value;
}

std::vector<MemoryLevel> cachesOf(const std::string &cpu) {
  std::map<int, MemoryLevel> found;
  std::error_code ignored;
  for (auto &entry : std::filesystem::directory_iterator(cpu + "/cache", ignored)) {
    std::string path = entry.path().string(), type = firstLine(path + "/type");
    if (type != "Data" && type != "Unified")
      continue;
    int level = std::atoi(firstLine(path + "/level").c_str());
    MemoryLevel cache;
    cache.name = fmt::format("L{}", level);
    cache.bytes = sizeOf(firstLine(path + "/size"));
    cache.sharedBy = std::max(1, countOfList(firstLine(path + "/shared_cpu_list")));
    if (level > 0 && cache.bytes > 0)
      found[level] = cache;
  }
#ifdef _SC_LEVEL1_DCACHE_SIZE
  if (found.empty()) { // no sysfs: what the C library knows, sharing unknown
    const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    for (int level = 1; level <= 3; ++level)
      if (int64_t bytes = sysconf(names[level - 1]); bytes > 0)
        found[level] = {fmt::format("L{}", level), bytes, 1, {}};
  }
#endif
  std::vector<MemoryLevel> levels;
  for (auto &[level, cache] : found)
    levels.push_back(cache);
  levels.push_back({"memory", 0, 1, {}});
  return levels;
}

int physicalCores(const cpu_set_t &allowed) {
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed))
      continue;
    std::string path = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
    std::string core = firstLine(path + "core_id");
    cores.insert(core.empty() ? fmt::format("cpu{}", cpu) : firstLine(path + "physical_package_id") + ":" + core);
  }
  return int(cores.size());
}

std::string hypervisorName() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) && (c >> 31 & 1)) {
    __cpuid(0x40000000, a, b, c, d);
    char text[13] = {};
    const unsigned words[] = {b, c, d};
    std::copy_n(reinterpret_cast<const char *>(words), 12, text);
    static const std::pair<const char *, const char *> names[] = {{"KVMKVMKVM", "kvm"},
                                                                  {"Microsoft Hv", "hyper-v"},
                                                                  {"VMwareVMware", "vmware"},
                                                                  {"XenVMMXenVMM", "xen"},
                                                                  {"TCGTCGTCGTCG", "qemu"}};
    for (auto &[signature, name] : names)
      if (std::string_view(text) == signature)
        return name;
    return text[0] ? text : "unknown";
  }
#endif
  return firstLine("/sys/hypervisor/type");
}

std::string boostState() {
  // Intel's driver says whether it is forbidden, the others whether it is allowed.
  std::string forbidden = firstLine("/sys/devices/system/cpu/intel_pstate/no_turbo");
  if (!forbidden.empty())
    return forbidden == "0" ? "on" : "off";
  std::string allowed = firstLine("/sys/devices/system/cpu/cpufreq/boost");
  return allowed.empty() ? "" : allowed == "1" ? "on" : "off";
}

int64_t memoryBytes() {
  constexpr int64_t unit = int64_t(64) << 20;
  int64_t bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * int64_t(sysconf(_SC_PAGESIZE));
  return bytes > 0 ? (bytes + unit / 2) / unit * unit : 0;
}

} // namespace

MachineCeilings describeMachine() {
  MachineCeilings machine;
  auto info = cpuInfo();
  machine.cpu = nameOf(info);
  machine.llvmCpu = llvmNameOf(info);
  machine.features = featuresFrom(info);
  utsname system{};
  uname(&system);
  machine.architecture = system.machine;
  machine.kernel = fmt::format("{} {}", system.sysname, system.release);
  machine.hypervisor = hypervisorName();
  machine.virtualized = !machine.hypervisor.empty();
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  int cpu = 0;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    machine.hardwareThreads = CPU_COUNT(&allowed);
    machine.cores = physicalCores(allowed);
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &allowed))
      ++cpu;
  } else { // more CPUs than a cpu_set_t holds
    machine.cores = machine.hardwareThreads = int(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  }
  std::string directory = fmt::format("/sys/devices/system/cpu/cpu{}", cpu);
  machine.governor = firstLine(directory + "/cpufreq/scaling_governor");
  machine.boost = boostState();
  machine.memoryBytes = memoryBytes();
  machine.levels = cachesOf(directory);
  return machine;
}

} // namespace lathe::lab
