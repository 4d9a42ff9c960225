// Facts about this machine from the operating system, without measurements. Linux only.
#pragma once

#include "machine/MachineFacts.h"

namespace lathe {

/// First line of a file, such as a file below /sys or /proc; "" if it cannot be read.
std::string firstLine(const std::string &path);

struct SystemFacts {
  std::string name;                  // name of the CPU as the system spells it: "AMD EPYC 9755"
  std::string architecture;          // name of the instruction set: "x86_64"
  std::vector<std::string> features; // LLVM's names of the CPU features in /proc/cpuinfo that matter to schedules
  std::string vendor;                // x86: vendor of the CPU, "AuthenticAMD"
  int family = 0, model = 0;         // x86: from CPUID; 0: unknown
  int cpu = 0;                       // first logical CPU that this process may use; `caches` are its caches
  int cores = 0;                     // physical cores that this process may use
  int hardwareThreads = 0;           // logical CPUs that this process may use
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

/// Read rates of one core, as measured by `lathe machine`.
struct MeasuredRates {
  std::string identity; // SystemFacts::identity() of the measured machine
  /// Bytes per core cycle: one rate for each cache, innermost first, then the rate of memory.
  std::vector<double> readBytesPerCycle;
};
nlohmann::json toJson(const MeasuredRates &rates);
/// Reads the rates from the record of `lathe machine` at `path`; empty rates if there is no such
/// record.
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
/// the table has fitted to the CPU. Everything else comes from the table (machineFromTable).
MachineFacts nativeMachine(const std::string &cpu, const SystemFacts &system, const MeasuredRates &measured);

} // namespace lathe
