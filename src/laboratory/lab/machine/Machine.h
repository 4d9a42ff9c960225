// Measured ceilings of this machine (peak rates of arithmetic and memory bandwidths), the limits with which every
// time is compared.
//
// Ceilings are measured with hand-written kernels (lab/machine/MachineKernels.h), and cached in machineRecordPath()
// (machine/System.h) under a key of CPU name, core count and kernel release. Measuring takes about ten seconds, after
// waiting for a quiet machine. Impossible figures are neither stored nor read back (`implausible`). With many threads
// only some thread counts are measured; the others are interpolated linearly.
#pragma once

#include "machine/System.h"
#include "support/ElementType.h"
#include "support/Error.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::lab {

/// Arithmetic ceiling of one element type; a multiply-accumulate counts as two operations.
struct ArithmeticCeiling {
  ElementType type = ElementType::f32; // type of the factors
  // instruction that reaches the rate, such as "vfmadd231ps zmm"; a type may have several instructions
  std::string instruction;
  // element [threads - 1]: rate of this number of threads together, in 1e9 operations per second
  std::vector<double> gflops;
};

/// Bandwidths of one level of the memory system for a number of threads, summed over the threads, in 1e9 bytes per
/// second. A copy counts bytes read and bytes written.
struct Bandwidth {
  double read = 0, write = 0, copy = 0;
};

struct MemoryLevel {
  std::string name;                 // name of the level: "L1", "L2", "L3", "memory"
  int64_t bytes = 0;                // capacity of one instance of the level; 0 for memory
  int sharedBy = 1;                 // number of hardware threads that share one instance
  std::vector<Bandwidth> bandwidth; // element [threads - 1]: bandwidth with this number of threads
};

/// All facts that `lathe machine` shows. Values that the system does not report are empty or zero.
struct MachineCeilings {
  std::string cpu;          // name of the CPU, such as "AMD EPYC 9755"
  std::string architecture; // such as "x86_64"
  std::string kernel;       // such as "Linux 6.1.0-13-amd64"
  std::string governor;     // governor of the CPU's frequency, such as "performance"; "": none
  std::string boost;        // whether the CPU may run above its nominal clock: "on" or "off"; "": not reported
  std::string hypervisor;   // such as "kvm"; "" on bare metal
  bool virtualized = false;
  int cores = 0;           // number of physical cores
  int hardwareThreads = 0; // number of hardware threads available to this process
  int64_t memoryBytes = 0; // size of the memory, rounded to 64 MiB, because the kernel reserves a varying part
  double clockGhz = 0;     // measured clock of one busy thread
  /// Clocks of busy threads that compute with vectors, by width of the vectors.
  std::vector<ClockFacts> clocks;
  std::vector<std::string> features; // relevant ISA features, by LLVM's names
  std::vector<ArithmeticCeiling> arithmetic;
  std::vector<MemoryLevel> levels; // levels of the memory system, innermost first, memory last
  std::string measured;            // date and time of the measurement, ISO 8601

  /// Peak of `type` with `threads` threads in GFLOPS, with its fastest instruction. A type without its own ceiling has
  /// the ceiling of the type in which it is computed (f16 and bf16 without hardware: f32; integers: i32 counts as
  /// f32). For more threads than were measured, the last value.
  double gflops(ElementType type, int threads) const;
  /// Returns the innermost memory level that can hold `bytes` for `threads` threads together; memory if no cache can.
  const MemoryLevel &levelHolding(int64_t bytes, int threads) const;
  /// Bandwidth of a memory level with `threads` threads. For more threads than were measured, the last value.
  static const Bandwidth &bandwidth(const MemoryLevel &level, int threads);
};

/// A measured time compared with the limits of the machine (roofline).
struct Roofline {
  double limitSeconds = 0; // smallest possible time of the work
  double share = 0;        // limitSeconds / seconds; above 1: fewer operations than the nominal count
  std::string bound;       // what limits the time: "compute", "L1", "L2", "L3" or "memory"
};

/// Roofline of `flops` operations on `type` and `bytes` of compulsory traffic (read and written) in `seconds` on
/// `threads` threads. The traffic is charged to the level that can hold it, at the mean of read and copy bandwidth.
Roofline roofline(const MachineCeilings &machine, ElementType type, double flops, double bytes, double seconds,
                  int threads);

/// Returns the ceilings of this machine: loaded before, from the cache file, or measured now and stored there. If the
/// figures are implausible even after waiting, returns describeMachine's result, which has no ceilings. A cache file
/// that cannot be read or written is not an error. Thread-safe. `say` gets lines about waiting; it may be empty.
const MachineCeilings &machineCeilings(const std::function<void(const std::string &line)> &say = {});
/// Reads the ceilings in a cache file; nothing if the file is of another kind or machine, or has implausible figures.
std::optional<MachineCeilings> keptIn(const std::string &path);
/// Returns the ceilings of this machine without measuring: null if they are neither loaded nor in the cache file.
const MachineCeilings *keptCeilings();

/// Describes this machine without its ceilings: only facts that need no measurement. Used for keys and reports.
MachineCeilings describeMachine();

struct MeasureOptions {
  int maxThreads = 0;            // largest number of threads that is measured; 0: all available threads
  double secondsPerPoint = 0.06; // time of measuring one point, in seconds; the best of several runs counts
  // called with each step of measuring; may be empty
  std::function<void(std::string_view what, int done, int total)> progress;
  std::function<void(const std::string &line)> say = {}; // gets lines about waiting; may be empty
};
MachineCeilings measureMachine(const MeasureOptions &options = {});
/// Measures the current peak of `type` with `threads` threads in GFLOPS: the best of several runs within `seconds`.
/// Clocks vary, so a share of peak needs a peak measured at the same time. 0: no instruction has this type.
double measurePeak(int threads, ElementType type = ElementType::f32, double seconds = 0.05);
/// Measures the current clock of one busy core in GHz: the best of several runs of dependent additions within
/// `seconds`.
double measureClock(double seconds = 0.02);
/// Returns `machine` with `gflops` as its peak of `type` for `threads` threads.
MachineCeilings withPeak(MachineCeilings machine, int threads, double gflops, ElementType type = ElementType::f32);
/// The rates that the compiler reads from the record (machine/System.h): those of one core, and that of memory if at
/// least as many threads as cores were measured, in bytes per cycle of the clock that was measured with them.
MeasuredRates ratesOf(const MachineCeilings &machine);
/// The reason why these figures are impossible: fewer operations or bytes with more threads, an innermost cache that
/// is slower than memory, or figures far from the table by CPU (machine/MachineFacts.h); "": they are plausible.
std::string implausible(const MachineCeilings &machine);

/// Functions that measureWhenQuiet calls; all must be set.
struct QuietHooks {
  std::function<MachineCeilings()> measure;
  std::function<double()> others; // number of processors that other programs use, measured over a moment
  std::function<double()> now;    // clock that gives seconds
  std::function<void(const std::string &line)> say;
};
/// Waits until other programs are quiet, at most `patience` seconds, and measures the ceilings; repeats while there is
/// time and the figures are implausible. Throws Error if they stay implausible.
MachineCeilings measureWhenQuiet(const QuietHooks &hooks, double patience);

/// Measures the ceilings again when the machine is quiet, writes the cache file, and updates machineCeilings(). Waits
/// for at most 60 s, and not at all if the environment variable LATHE_NO_WAIT is set. If the figures are implausible,
/// throws Error and keeps the old ceilings.
const MachineCeilings &refreshMachineCeilings(const MeasureOptions &options = {});

/// JSON of the machine's ceilings. Keys contain units: "gflops", "read_gb_s", "capacity_bytes".
nlohmann::json toJson(const MachineCeilings &machine);
/// Reads ceilings from the JSON that toJson makes. Throws Error for a document of another form.
MachineCeilings machineFromJson(const nlohmann::json &document);

} // namespace lathe::lab
