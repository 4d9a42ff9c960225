// Facts about the machine for which code is generated: CPU, caches and bandwidths.
//
// Identifying facts (CPU, features, cache sizes, sharing) are part of keys, of the options in a
// package and of the text of tasks. Rates are recorded beside them and never part of a key, because
// two measurements never agree exactly.
#pragma once

#include "support/Error.h"
#include "support/MemoryLevels.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Where a fact about the machine comes from.
enum class FactSource {
  generic,  // from the row in the table for all CPUs of an instruction set
  table,    // from the CPU's row in the table, which has published figures
  measured, // measured by `lathe machine` on this machine
  fitted,   // from the CPU's row in the table; fitted to the order of timed schedules on that CPU
  system,   // reported by the operating system
  file,     // read from the file of --machine
};
std::string_view name(FactSource source);

struct CacheFacts {
  int64_t bytes = 0;            // capacity of one instance of the cache
  int lineBytes = 64;           // size of a cache line in bytes
  int sharedBy = 1;             // logical CPUs that share one instance of the cache
  double readBytesPerCycle = 0; // rate at which one core reads a stream from the cache, in bytes per core cycle
  FactSource sizeFrom = FactSource::generic; // source of the values of bytes, lineBytes and sharedBy
  FactSource rateFrom = FactSource::generic;
};

/// Clock of busy cores while they compute with vectors of one width.
struct ClockFacts {
  int vectorBits = 0;      // width of the vectors in bits
  std::vector<double> ghz; // [i]: with i + 1 threads; the last figure counts for more threads, too; not empty
};
void to_json(nlohmann::json &document, const ClockFacts &clock);
/// Throws Error unless the widths and figures are ones that a machine can have.
void from_json(const nlohmann::json &document, ClockFacts &clock);

struct MachineFacts {
  std::string cpu;                   // LLVM's name of the CPU, such as "sapphirerapids"
  std::string architecture;          // LLVM's name of the instruction set, such as "x86_64", "aarch64"
  std::vector<std::string> features; // usable features among knownFeatures(architecture), sorted
  int cores = 0;                     // physical cores that a process may use; 0: unknown
  int threadsPerCore = 1;            // number of logical CPUs of one core
  std::vector<CacheFacts> caches;    // data and unified caches, innermost first; at least one
  double memoryBytesPerCycle = 0;    // rate at which one core reads memory, in bytes per core cycle
  /// Rate at which all cores together read memory, in bytes per core cycle; 0: unknown.
  double sharedMemoryBytesPerCycle = 0;
  int fmaPerCycle = 2;     // number of multiply-adds of the widest fp32 vectors that start per cycle
  double bf16PerCycle = 0; // number of products of bf16 pairs (vdpbf16ps) that start per cycle; 0: not supported
  int fmaLatency = 4;      // latency of a multiply-add in cycles
  /// Cost of prefetching a byte of weights, as a share (0 to 1) of the wait for a byte that is not prefetched.
  /// Multiplications hide the rest of the wait.
  double readAheadCost = 1;
  std::vector<ClockFacts> clocks; // by rising width; empty: unknown
  FactSource cpuFrom = FactSource::generic, featuresFrom = FactSource::generic, coresFrom = FactSource::generic,
             memoryFrom = FactSource::generic, sharedMemoryFrom = FactSource::generic, fmaFrom = FactSource::generic,
             readAheadFrom = FactSource::generic, clocksFrom = FactSource::generic;

  /// Capacity of the cache at `level` (0: innermost) for one core in bytes: the capacity of an instance divided by the
  /// number of its cores. Levels beyond the last cache count as the last cache.
  double bytesPerCore(size_t level) const;
  /// Bytes per cycle that one core reads from the cache at `level`. Levels beyond the last cache count as the last
  /// cache.
  double readRate(size_t level) const;
  /// Bytes per cycle that each of `threads` cores reads from memory while all of them read.
  double memoryRate(int threads) const;
  /// The levels of caches and memory with which waits of one of `threads` cores are predicted. The innermost cache
  /// counts with half its capacity, because other data passes through it meanwhile and fills the other half.
  MemoryLevels memoryLevels(int threads) const;
  /// Clock in GHz of `threads` busy threads, each on a core of its own, that compute with vectors of `vectorBits` bits:
  /// the figure for the next wider vectors that is known, else for the widest ones. 0: unknown.
  double clockGhz(int threads, int vectorBits) const;
  /// Index of the innermost cache that several cores share. If no cache is shared: the number of caches, which stands
  /// for memory.
  size_t sharedLevel() const;

  /// Returns the sizes and sharing of the caches as text: "L1=48K/1 L2=2M/1 L3=105M/32" (capacity / number of logical
  /// CPUs that share the cache).
  std::string cachesText() const;
  /// CPU name and cachesText() as text: "sapphirerapids L1=48K/1 L2=2M/1". Target::key adds the features.
  std::string identity() const { return cpu + " " + cachesText(); }
};

/// A fact about the machine as a row for users: its name, its value with unit, and its source.
struct FactRow {
  std::string fact, value, source;
};
std::vector<FactRow> describeFacts(const MachineFacts &machine);

/// LLVM's names of the features of `architecture` that matter to schedules, sorted; empty for an
/// unknown architecture.
const std::vector<std::string> &knownFeatures(const std::string &architecture);

/// Returns the facts of `cpu` (LLVM's name) from the table. `caches` are the caches that the system reports, or empty;
/// they find the row of a CPU whose name a virtual machine hides. The row is chosen in this order:
/// 1. the row of `cpu`, if its two innermost caches are equal to `caches` or `caches` is empty;
/// 2. a row of the same instruction set whose two innermost caches are equal to `caches`;
/// 3. the row of `cpu`;
/// 4. the generic row of the instruction set, which `architecture` and `features` determine.
/// The sizes of caches in the result are the sizes in that row, not those in `caches`.
MachineFacts machineFromTable(const std::string &cpu, const std::string &architecture,
                              const std::vector<std::string> &features, const std::vector<CacheFacts> &caches = {});

/// The facts about a machine as a JSON object in the form of a --machine file. Rates are "read_bytes_per_cycle"; the
/// source of each value is beside the value.
nlohmann::json toJson(const MachineFacts &machine);
/// Parses the text of a --machine file: the object that toJson makes, alone or as "facts" in the output of `lathe
/// machine --json`. "cpu" and "architecture" are required; other missing facts come from the table. Throws Error
/// beginning with `fileName` for another form, an unknown key and an impossible value.
MachineFacts parseMachineFacts(const std::string &text, const std::string &fileName);

} // namespace lathe
