// What this machine can physically do, measured once: the limit every printed number stands beside.
//
// Ceilings are measured with hand-written kernels (lab/machine/MachineKernels.h), cached in machineRecordPath()
// (machine/System.h) under a key made of CPU name, core count and kernel release, and read back from there. Measuring
// takes about ten seconds. With many threads not every count is measured: those between are linear between the neighbours that were.
#pragma once

#include "support/ElementType.h"
#include "support/Error.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::lab {

/// Arithmetic ceiling of one element type; a multiply-accumulate counts as two operations.
struct ArithmeticCeiling {
  ElementType type = ElementType::f32; // of the multiplicands
  std::string instruction;             // "vfmadd231ps zmm", "vpdpbusd zmm"
  std::vector<double> gflops;          // [threads - 1], all threads together
};

/// Bandwidths of one level of the memory system with a given number of threads, all threads together, in 1e9 bytes a
/// second. A copy counts the bytes read and the bytes written.
struct Bandwidth {
  double read = 0, write = 0, copy = 0;
};

struct MemoryLevel {
  std::string name;                 // "L1", "L2", "L3", "memory"
  int64_t bytes = 0;                // capacity of one instance; 0 for memory
  int sharedBy = 1;                 // hardware threads that share one instance
  std::vector<Bandwidth> bandwidth; // [threads - 1]
};

/// Everything `lathe machine` shows. Empty strings and zeros where the system does not tell.
struct MachineCeilings {
  std::string cpu;          // "AMD EPYC 9755"
  std::string architecture; // "x86_64"
  std::string kernel;       // "Linux 6.1.0-13-amd64"
  std::string governor;     // "performance"; "" where the system has none
  std::string boost;        // "on", "off": clocks above the nominal one
  std::string hypervisor;   // "kvm", ...; "" on bare metal
  bool virtualized = false;
  int cores = 0;                     // physical
  int hardwareThreads = 0;           // this process may run on
  int64_t memoryBytes = 0;           // to 64 MiB: what the kernel keeps for itself differs from one start to the next
  double clockGhz = 0;               // measured, one busy thread
  std::vector<std::string> features; // ISA features that matter here, LLVM's names
  std::vector<ArithmeticCeiling> arithmetic;
  std::vector<MemoryLevel> levels; // innermost first, memory last
  std::string measured;            // ISO 8601 date and time

  /// Operations per second over 1e9 for `type` with `threads` threads. A type without a ceiling of its own has that of
  /// the type its arithmetic is done in (f16, bf16 without hardware: f32; integers: i32 counts as f32). More threads
  /// than were measured get the last measured figure.
  double gflops(ElementType type, int threads) const;
  /// The innermost level whose capacity, over `threads` threads, holds `bytes`; memory otherwise.
  const MemoryLevel &levelHolding(int64_t bytes, int threads) const;
  /// Of a level, clamped to the threads measured.
  static const Bandwidth &bandwidth(const MemoryLevel &level, int threads);
};

/// How a measured time stands against the machine.
struct Roofline {
  double limitSeconds = 0; // the time below which the machine cannot do it
  double share = 0;        // limitSeconds / seconds; 1 is the limit, above 1 work was saved that nominal counts include
  std::string bound;       // "compute", "L1", "L2", "L3", "memory"
};

/// `flops` operations on `type` and `bytes` of compulsory traffic (read plus written) done in `seconds` by `threads`
/// threads. The traffic is charged to the level that can hold it, at the mean of read and copy bandwidth.
Roofline roofline(const MachineCeilings &machine, ElementType type, double flops, double bytes, double seconds,
                  int threads);

/// The ceilings of this machine: from memory, else from the cache file, else measured now and cached.
/// A cache file that cannot be read or written is not an error. Thread-safe.
const MachineCeilings &machineCeilings();

/// The parts of the description that need no measuring; used for keys and reports.
MachineCeilings describeMachine();

struct MeasureOptions {
  int maxThreads = 0;                                                       // 0: all this process may run on
  double secondsPerPoint = 0.06;                                            // best of several runs within this time
  std::function<void(std::string_view what, int done, int total)> progress; // may be empty
};
MachineCeilings measureMachine(const MeasureOptions &options = {});
/// The f32 ceiling of `threads` threads as it is now, in GFLOPS: the best of several runs within `seconds`. Clocks
/// wander, so a time's share of the peak only means something beside a peak of the same minutes.
double measurePeak(int threads, double seconds = 0.05);
/// `machine` with that peak in place of the one kept for `threads` threads.
MachineCeilings withPeak(MachineCeilings machine, int threads, double gflops);
/// Measures, writes the cache file, and makes the result what machineCeilings() returns.
const MachineCeilings &refreshMachineCeilings(const MeasureOptions &options = {});

/// Units are in the keys: "gflops", "read_gb_s", "capacity_bytes".
nlohmann::json toJson(const MachineCeilings &machine);
/// Throws Error on a document of another shape.
MachineCeilings machineFromJson(const nlohmann::json &document);

} // namespace lathe::lab
