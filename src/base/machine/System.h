// Facts about this machine from the operating system, without measurements. Linux only.
#pragma once

#include "machine/MachineFacts.h"

namespace lathe {

/// First line of a file, such as a file below /sys or /proc; "" if it cannot be read.
std::string firstLine(const std::string &path);
/// Bytes of a cache whose size the kernel states, as "48K" or "32M".
int64_t sizeOfCache(const std::string &text);

struct SystemFacts {
  std::string name;                  // name of the CPU as the system spells it, such as "AMD EPYC 9755"
  std::string architecture;          // name of the instruction set, such as "x86_64"
  std::vector<std::string> features; // LLVM's names of the CPU features in /proc/cpuinfo that matter to schedules
  std::string vendor;                // on x86: vendor of the CPU, such as "AuthenticAMD"
  int family = 0, model = 0;         // on x86: family and model of the CPU from CPUID; 0: unknown
  int cpu = 0;             // number of the first logical CPU that this process may use; `caches` are its caches
  int cores = 0;           // number of physical cores that this process may use
  int hardwareThreads = 0; // number of logical CPUs that this process may use
  int threadsPerCore = 1;
  std::vector<CacheFacts> caches; // caches of `cpu` without rates; empty if the system does not report them

  /// Text that identifies this machine: name, family and features of the CPU, caches and their
  /// sharing.
  std::string identity() const;
};

inline constexpr const char *kernelCpus = "/sys/devices/system/cpu";
/// Reads the facts of this machine from the folder `cpus` and the file `cpuinfo`, in which the kernel describes the
/// CPUs. Tests pass other places.
SystemFacts systemFacts(const std::string &cpus = kernelCpus, const std::string &cpuinfo = "/proc/cpuinfo");

/// Rates at which one core reads from caches and memory, as measured by `lathe machine`.
struct MeasuredRates {
  std::string identity; // SystemFacts::identity() of the measured machine
  /// Read rates in bytes per core cycle: one for each cache, innermost first, then that of memory.
  std::vector<double> readBytesPerCycle;
  std::vector<ClockFacts> clocks;       // empty: an older version measured
  double sharedMemoryBytesPerCycle = 0; // rate at which all cores together read memory; 0: not measured
};
nlohmann::json toJson(const MeasuredRates &rates);
/// Reads the measured rates from the record of `lathe machine` at `path`; without such a record the rates are empty.
MeasuredRates readMeasuredRates(const std::string &path);
/// Compares measured rates (as in MeasuredRates) with the table's facts of the machine. Returns the reason if they
/// cannot be rates of this machine: the innermost cache reads slower than memory, or a rate is far below (or absurdly
/// above) the rate in the table. Returns "" if they are plausible.
std::string implausibleRates(const std::vector<double> &readBytesPerCycle, const MachineFacts &table);
/// Path of the record of `lathe machine`, "~/.cache/lathe/machine.json"; "" if there is no cache
/// folder.
std::string machineRecordPath();

/// Returns the facts of this machine; `cpu` is LLVM's name of its CPU. Features, cores and caches come from `system`.
/// Read rates come from `measured` if they are from this machine and plausible (implausibleRates), except rates that
/// the table has fitted to the CPU; clocks come from `measured`, too. Everything else comes from the table
/// (machineFromTable).
MachineFacts nativeMachine(const std::string &cpu, const SystemFacts &system, const MeasuredRates &measured);

} // namespace lathe
