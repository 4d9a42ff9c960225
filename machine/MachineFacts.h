// What the compiler knows of the machine that it makes code for: its CPU, its caches and how fast they deliver.
//
// Identifying facts (CPU, features, cache sizes, sharing) say which machine this is: they are part of keys, of a
// package's options and of the text of tasks. Rates say how fast it is: they are recorded beside, never in a key,
// because no two measurements agree to the last digit.
#pragma once

#include "support/Error.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Where a fact comes from.
enum class FactSource {
  generic,  // a row of the table for all CPUs of an instruction set
  table,    // the CPU's row of the table: published figures
  measured, // `lathe machine` on this machine
  fitted,   // the CPU's row of the table: chosen so that predictions rank timed schedules of that CPU
  system,   // the operating system
  file,     // the file of --machine
};
std::string_view name(FactSource source);

struct CacheFacts {
  int64_t bytes = 0;                         // capacity of one instance
  int lineBytes = 64;                        // bytes
  int sharedBy = 1;                          // logical CPUs that share one instance
  double readBytesPerCycle = 0;              // what one core reads from here when it streams, bytes a core cycle
  FactSource sizeFrom = FactSource::generic; // of bytes, lineBytes and sharedBy
  FactSource rateFrom = FactSource::generic;
};

struct MachineFacts {
  std::string cpu;                   // LLVM's name: "sapphirerapids"
  std::string architecture;          // LLVM's name: "x86_64", "aarch64"
  std::vector<std::string> features; // of knownFeatures(architecture) those that may be used, sorted
  int cores = 0;                     // physical ones that a process may use; 0: not known
  int threadsPerCore = 1;            // logical CPUs of one core
  std::vector<CacheFacts> caches;    // data and unified caches, innermost first; at least one
  double memoryBytesPerCycle = 0;    // what one core reads from memory, bytes a core cycle
  int fmaPerCycle = 2;               // multiply-add instructions of the widest fp32 vectors that begin in one cycle
  double bf16PerCycle = 0;           // products of pairs of bf16 (vdpbf16ps) likewise; 0: the CPU has none
  int fmaLatency = 4;                // cycles
  /// Time that reading weights ahead of their use takes, over the time of waiting for as many bytes: the rest hides
  /// behind multiplications. 0 to 1.
  double readAheadCost = 1;
  FactSource cpuFrom = FactSource::generic, featuresFrom = FactSource::generic, coresFrom = FactSource::generic,
             memoryFrom = FactSource::generic, fmaFrom = FactSource::generic, readAheadFrom = FactSource::generic;

  /// Capacity that one core has of cache `level` (0: innermost), bytes: an instance that several cores share is
  /// divided among them. The last cache stands for levels that the machine lacks.
  double bytesPerCore(size_t level) const;
  /// Bytes a cycle that one core reads from cache `level`; of the last one for levels that the machine lacks.
  double readRate(size_t level) const;

  /// Sizes and sharing of the caches: "L1=48K/1 L2=2M/1 L3=105M/32" (capacity, logical CPUs that share it).
  std::string cachesText() const;
  /// The identifying facts but for the features, which Target::key lists: "sapphirerapids L1=48K/1 L2=2M/1".
  std::string identity() const { return cpu + " " + cachesText(); }
};

/// What a person reads of a fact: what it is, its value with the unit, and where it comes from.
struct FactRow {
  std::string fact, value, source;
};
std::vector<FactRow> describeFacts(const MachineFacts &machine);

/// LLVM's names of the features of `architecture` that matter to schedules, sorted; empty for another architecture.
const std::vector<std::string> &knownFeatures(const std::string &architecture);

/// The facts of `cpu` (an LLVM name) from the table. A CPU that the table lacks, or one whose nearest two caches are
/// not those of `caches` (as a virtual machine that hides its CPU's name shows them; may be empty), is found by
/// `caches` among the rows of the same instruction set, else it gets the generic row of `features`.
MachineFacts machineFromTable(const std::string &cpu, const std::string &architecture,
                              const std::vector<std::string> &features, const std::vector<CacheFacts> &caches = {});

/// The text form of --machine, a JSON object. Rates are "read_bytes_per_cycle"; sources stand beside the values.
nlohmann::json toJson(const MachineFacts &machine);
/// Facts from the text of a file: the object that toJson writes, alone or as the value of "facts" in what
/// `lathe machine --json` writes. "cpu" and "architecture" must be there, the table gives what else is missing. Throws
/// Error that begins with `fileName` for another form, a key that nothing reads and a value that no machine has.
MachineFacts parseMachineFacts(const std::string &text, const std::string &fileName);

} // namespace lathe
