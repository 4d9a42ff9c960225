// Describes the machine from /proc and sysfs, without measuring.
#include "lab/machine/Machine.h"

#include "machine/System.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lathe::lab {

namespace {

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
  // Intel's driver states whether turbo is forbidden, others whether it is allowed.
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
  SystemFacts facts = systemFacts();
  MachineCeilings machine;
  machine.cpu = facts.name;
  machine.features = facts.features;
  utsname system{};
  uname(&system);
  machine.architecture = facts.architecture;
  machine.kernel = fmt::format("{} {}", system.sysname, system.release);
  machine.hypervisor = hypervisorName();
  machine.virtualized = !machine.hypervisor.empty();
  machine.hardwareThreads = facts.hardwareThreads;
  machine.cores = facts.cores;
  machine.governor = firstLine(fmt::format("{}/cpu{}/cpufreq/scaling_governor", kernelCpus, facts.cpu));
  machine.boost = boostState();
  machine.memoryBytes = memoryBytes();
  for (const CacheFacts &cache : facts.caches)
    machine.levels.push_back({fmt::format("L{}", machine.levels.size() + 1), cache.bytes, cache.sharedBy, {}});
  machine.levels.push_back({"memory", 0, 1, {}});
  return machine;
}

} // namespace lathe::lab
