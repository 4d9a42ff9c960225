// What the operating system tells of the machine that this program runs on. Nothing is measured; Linux only.
#pragma once

#include "machine/MachineFacts.h"

namespace lathe {

struct SystemFacts {
  std::string name;                  // "AMD EPYC 9755"; as the system spells it
  std::string architecture;          // "x86_64"
  std::vector<std::string> features; // LLVM's names of those that matter, in the order of instruction sets
  std::string vendor;                // x86: "AuthenticAMD"
  int family = 0, model = 0;         // x86: CPUID's; 0: not known
  int cpu = 0;                       // the first logical CPU that this process may run on; whose caches these are
  int cores = 0;                     // physical, that this process may run on
  int hardwareThreads = 0;           // logical CPUs that this process may run on
  int threadsPerCore = 1;
  std::vector<CacheFacts> caches; // without rates; empty where the system hides them

  /// What tells this machine from others: the CPU's name, family and features, its caches and their sharing.
  std::string identity() const;
};

inline constexpr const char *kernelCpus = "/sys/devices/system/cpu";
/// `cpus` and `cpuinfo`: where the kernel shows CPUs, another place in tests.
SystemFacts systemFacts(const std::string &cpus = kernelCpus, const std::string &cpuinfo = "/proc/cpuinfo");

/// Read rates of one core, as `lathe machine` measured them.
struct MeasuredRates {
  std::string identity;                  // SystemFacts::identity() of the machine
  std::vector<double> readBytesPerCycle; // by cache, innermost first, and of memory last
};
nlohmann::json toJson(const MeasuredRates &rates);
/// The rates in the record of `lathe machine` at `path`; without any when there is no such record.
MeasuredRates readMeasuredRates(const std::string &path);
/// "~/.cache/lathe/machine.json": the record of `lathe machine`; "" where there is no cache folder.
std::string machineRecordPath();

/// The facts of this machine, whose CPU LLVM calls `cpu`: caches from `system`, rates from `measured` where it is of
/// this machine and the table has none fitted to the CPU, the rest from the table.
MachineFacts nativeMachine(const std::string &cpu, const SystemFacts &system, const MeasuredRates &measured);

} // namespace lathe
