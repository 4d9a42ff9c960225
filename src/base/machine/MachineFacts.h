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

/// Source of a fact.
enum class FactSource {
  generic,  // the row of the table for all CPUs of an instruction set
  table,    // the row of the CPU in the table: published figures
  measured, // `lathe machine` on this machine
  fitted,   // the row of the CPU in the table: fitted to the order of timed schedules on that CPU
  system,   // the operating system
  file,     // the file of --machine
};
std::string_view name(FactSource source);

struct CacheFacts {
  int64_t bytes = 0;                         // capacity of one instance
  int lineBytes = 64;                        // bytes
  int sharedBy = 1;                          // logical CPUs that share one instance
  double readBytesPerCycle = 0;              // streaming reads of one core, in bytes per core cycle
  FactSource sizeFrom = FactSource::generic; // source of bytes, lineBytes and sharedBy
  FactSource rateFrom = FactSource::generic;
};

struct MachineFacts {
  std::string cpu;                   // LLVM's name: "sapphirerapids"
  std::string architecture;          // LLVM's name: "x86_64", "aarch64"
  std::vector<std::string> features; // usable features among knownFeatures(architecture), sorted
  int cores = 0;                     // physical cores that a process may use; 0: unknown
  int threadsPerCore = 1;            // logical CPUs of one core
  std::vector<CacheFacts> caches;    // data and unified caches, innermost first; at least one
  double memoryBytesPerCycle = 0;    // reads of one core from memory, in bytes per core cycle
  int fmaPerCycle = 2;               // multiply-adds of the widest fp32 vectors started per cycle
  double bf16PerCycle = 0;           // products of bf16 pairs (vdpbf16ps) started per cycle; 0: not supported
  int fmaLatency = 4;                // cycles
  /// Cost of prefetching weights relative to waiting for as many bytes, from 0 to 1;
  /// multiplications hide the rest.
  double readAheadCost = 1;
  FactSource cpuFrom = FactSource::generic, featuresFrom = FactSource::generic, coresFrom = FactSource::generic,
             memoryFrom = FactSource::generic, fmaFrom = FactSource::generic, readAheadFrom = FactSource::generic;

  /// Capacity of cache `level` (0: innermost) for one core in bytes: the capacity of an instance
  /// divided by its cores. The last cache stands for missing levels.
  double bytesPerCore(size_t level) const;
  /// Bytes per cycle that one core reads from cache `level`. The last cache stands for missing
  /// levels.
  double readRate(size_t level) const;
  /// The caches and memory for the predictions of waits. The innermost cache counts half, because other data passes
  /// through it meanwhile and fills the other half.
  MemoryLevels memoryLevels() const;
  /// The innermost cache that several cores share; the number of caches if none is: they share memory.
  size_t sharedLevel() const;

  /// Sizes and sharing of the caches: "L1=48K/1 L2=2M/1 L3=105M/32" (capacity / logical CPUs that
  /// share it).
  std::string cachesText() const;
  /// CPU name and cachesText(): "sapphirerapids L1=48K/1 L2=2M/1". Target::key adds the features.
  std::string identity() const { return cpu + " " + cachesText(); }
};

/// A fact for people: name, value with unit, source.
struct FactRow {
  std::string fact, value, source;
};
std::vector<FactRow> describeFacts(const MachineFacts &machine);

/// LLVM's names of the features of `architecture` that matter to schedules, sorted; empty for an
/// unknown architecture.
const std::vector<std::string> &knownFeatures(const std::string &architecture);

/// Returns the facts of `cpu` (LLVM's name) from the table, with the caches of the table. `caches`
/// are the caches that the system reports, or empty; they find the row of a CPU whose name a
/// virtual machine hides. If the table has no row for `cpu`, or the two innermost caches of its row
/// differ from `caches`, a row of the same instruction set whose two innermost caches are equal to
/// `caches` is used instead. If there is none, the row of `cpu` is used, else the generic row of
/// the instruction set, which `architecture` and `features` determine.
MachineFacts machineFromTable(const std::string &cpu, const std::string &architecture,
                              const std::vector<std::string> &features, const std::vector<CacheFacts> &caches = {});

/// Facts as a JSON object, the form of --machine. Rates are "read_bytes_per_cycle"; sources are
/// beside the values.
nlohmann::json toJson(const MachineFacts &machine);
/// Parses the text of a file: the object of toJson, alone or as "facts" in the output of `lathe
/// machine --json`. "cpu" and "architecture" are required; other missing facts come from the table.
/// Throws Error beginning with `fileName` for another form, an unknown key and an impossible value.
MachineFacts parseMachineFacts(const std::string &text, const std::string &fileName);

} // namespace lathe
