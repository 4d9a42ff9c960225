// Facts by CPU, for code that is made on another machine and for systems that hide theirs.
//
// Sizes, instructions a cycle and latencies are published ones:
// - AMD, Software Optimization Guides 55723 (Zen), 56305 (Zen 2), 56665 (Zen 3), 57647 (Zen 4), 58455 (Zen 5): sections
//   "Data Cache" and "L2 Cache"; FMA: two 256-bit pipes up to Zen 4, two of 512 bits on Zen 5.
// - Intel 64 and IA-32 Architectures Optimization Reference Manual (248966), tables of cache parameters for Haswell,
//   Skylake client and server, Ice Lake, Golden Cove: 64 bytes per cycle at most and about 48 sustained from the second
//   level of a server core; two 512-bit multiply-adds a cycle on servers, one on clients.
// - Arm, Software Optimization Guides of Cortex-A76, Neoverse N1, N2, V1 and V2 ("FMLA": latency 4, one a cycle for
//   each ASIMD pipe) and their Technical Reference Manuals. Second levels of one core come in several sizes: rows have
//   the larger size for server cores and the smaller size for other cores.
// Third levels differ between models of one core; a row states a third level only if all models have it.
//
// The number of `vdpbf16ps` per cycle was measured on Zen 5 and Sapphire Rapids (docs/notes/bf16.md). Zen 4, whose
// pipes are half as wide, has half the number of Zen 5. Cooper Lake is assumed to equal Sapphire Rapids. 0: no such
// instruction.
//
// No guide states some rates. Fitted rates are the values with which the priors rank timed schedules best.
// A measured stream of loads may be slower or faster. docs/notes/avx2.md and docs/kernels.md have the measurements.
#include "machine/MachineFacts.h"

#include <algorithm>

namespace lathe {
namespace {

enum class InstructionSet { x86, avx512, aarch64 };

/// Rates for priors; bytes per cycle of one core.
struct Rates {
  double first, second, memory, readAhead;
  FactSource source; // of second, memory and readAhead
};

// Zen 3, in a virtual machine at 3.2 GHz. Streams read 24 bytes per cycle from its second level (76 GB/s) and 6 to 10
// from memory (20 to 32 GB/s); with 24 the prior chose tiles of four vectors, which 16 registers serve worse.
constexpr Rates zen3{64, 48, 7, 0.125, FactSource::fitted};
// Zen 5, in a virtual machine at 4.0 to 4.2 GHz: 237 GB/s from the second level and 44 GB/s from memory.
constexpr Rates zen5{128, 48, 10, 0.3, FactSource::fitted};
// Sapphire Rapids, in a virtual machine at 3.4 GHz: 177 GB/s from the second level and 16 GB/s from memory. What
// reading ahead costs was not measured.
constexpr Rates sapphireRapids{128, 48, 5, 1, FactSource::table};
// Other Intel servers: the manual's 48 sustained; memory and reading ahead like Sapphire Rapids, whose cores wait for
// as many lines over as long a mesh.
constexpr Rates intelServer{128, 48, 5, 1, FactSource::generic};
// Older server cores, and the cores of clients: figures of Zen 3 and Zen 5, since none were measured for these CPUs.
constexpr Rates avx2{64, 48, 7, 0.125, FactSource::generic};
constexpr Rates avx512{128, 48, 10, 0.3, FactSource::generic};
// Two loads of 16 bytes per cycle: no level delivers more.
constexpr Rates arm{32, 32, 7, 0.125, FactSource::generic};

struct Row {
  const char *cpus; // LLVM's names, separated by spaces; "": generic
  InstructionSet set;
  int firstKib, secondKib;  // capacity, of one core
  int thirdKib, thirdCores; // capacity of one instance and the cores that share it; 0: differs between models
  int fmaPerCycle, fmaLatency;
  double bf16PerCycle;
  Rates rates;
};

// If the CPU's name is hidden, the first row with its cache sizes is taken.
constexpr Row rows[] = {
    {"znver5", InstructionSet::avx512, 48, 1024, 32768, 8, 2, 4, 2, zen5},
    {"znver4", InstructionSet::avx512, 32, 1024, 32768, 8, 1, 4, 1, avx512}, // two pipes of 256 bits
    {"znver3", InstructionSet::x86, 32, 512, 32768, 8, 2, 4, 0, zen3},
    {"znver2", InstructionSet::x86, 32, 512, 16384, 4, 2, 5, 0, avx2},
    {"znver1", InstructionSet::x86, 32, 512, 0, 0, 1, 5, 0, avx2}, // two pipes of 128 bits
    {"haswell core-avx2 broadwell", InstructionSet::x86, 32, 256, 0, 0, 2, 5, 0, avx2},
    {"skylake", InstructionSet::x86, 32, 256, 0, 0, 2, 4, 0, avx2},
    {"alderlake", InstructionSet::x86, 48, 1280, 0, 0, 2, 4, 0, avx2}, // its large cores
    {"raptorlake meteorlake", InstructionSet::x86, 48, 2048, 0, 0, 2, 4, 0, avx2},
    {"sapphirerapids emeraldrapids graniterapids graniterapids-d", InstructionSet::avx512, 48, 2048, 0, 0, 2, 4, 0.5,
     sapphireRapids},
    {"icelake-server", InstructionSet::avx512, 48, 1280, 0, 0, 2, 4, 0, intelServer},
    {"skylake-avx512 skx cascadelake cooperlake", InstructionSet::avx512, 32, 1024, 0, 0, 2, 4, 0.5, intelServer},
    {"icelake-client rocketlake", InstructionSet::avx512, 48, 512, 0, 0, 1, 4, 0, avx512},
    {"tigerlake", InstructionSet::avx512, 48, 1280, 0, 0, 1, 4, 0, avx512},
    {"cortex-a76", InstructionSet::aarch64, 64, 256, 0, 0, 2, 4, 0, arm},
    {"cortex-a78 cortex-x1", InstructionSet::aarch64, 64, 512, 0, 0, 2, 4, 0, arm},
    {"neoverse-n1", InstructionSet::aarch64, 64, 1024, 0, 0, 2, 4, 0, arm},
    {"neoverse-n2", InstructionSet::aarch64, 64, 1024, 0, 0, 2, 4, 0, arm},
    {"neoverse-v1", InstructionSet::aarch64, 64, 1024, 0, 0, 4, 4, 0, arm},
    {"neoverse-v2", InstructionSet::aarch64, 64, 2048, 0, 0, 4, 4, 0, arm},
    {"", InstructionSet::x86, 32, 512, 0, 0, 2, 4, 0, avx2},
    {"", InstructionSet::avx512, 48, 1024, 0, 0, 2, 4, 2, avx512},
    {"", InstructionSet::aarch64, 32, 512, 0, 0, 2, 4, 0, arm},
};

bool names(const Row &row, std::string_view cpu) {
  for (std::string_view rest = row.cpus; !rest.empty();) {
    size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == cpu)
      return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

/// True if the two innermost caches of the system and of `row` differ in size.
bool contradicts(const Row &row, const std::vector<CacheFacts> &caches) {
  return caches.size() >= 2 &&
         (caches[0].bytes != int64_t(row.firstKib) << 10 || caches[1].bytes != int64_t(row.secondKib) << 10);
}

const Row &rowOf(const std::string &cpu, InstructionSet set, const std::vector<CacheFacts> &caches) {
  const Row *named = nullptr, *bySize = nullptr, *generic = nullptr;
  for (const Row &row : rows) {
    bool isGeneric = !*row.cpus;
    if (names(row, cpu))
      named = &row;
    else if (isGeneric && row.set == set)
      generic = &row;
    else if (!isGeneric && !bySize && row.set == set && caches.size() >= 2 && !contradicts(row, caches))
      bySize = &row;
  }
  if (named && (!bySize || !contradicts(*named, caches)))
    return *named;
  return bySize ? *bySize : *generic;
}

CacheFacts cache(int kib, int sharedBy, double rate, FactSource size, FactSource rateFrom) {
  return {int64_t(kib) << 10, 64, sharedBy, rate, size, rateFrom};
}

} // namespace

MachineFacts machineFromTable(const std::string &cpu, const std::string &architecture,
                              const std::vector<std::string> &features, const std::vector<CacheFacts> &caches) {
  bool has512 = std::find(features.begin(), features.end(), "avx512f") != features.end();
  InstructionSet set = architecture == "aarch64" ? InstructionSet::aarch64
                       : has512                  ? InstructionSet::avx512
                                                 : InstructionSet::x86;
  const Row &row = rowOf(cpu, set, caches);
  FactSource source = *row.cpus ? FactSource::table : FactSource::generic;
  const Rates &rates = row.rates;
  MachineFacts machine;
  machine.cpu = cpu;
  machine.architecture = architecture;
  machine.features = features;
  machine.caches = {cache(row.firstKib, 1, rates.first, source, source),
                    cache(row.secondKib, 1, rates.second, source, rates.source)};
  if (row.thirdKib) // memory's rate: reads from this level were not measured apart
    machine.caches.push_back(cache(row.thirdKib, row.thirdCores, rates.memory, source, FactSource::generic));
  machine.memoryBytesPerCycle = rates.memory;
  machine.fmaPerCycle = row.fmaPerCycle;
  machine.fmaLatency = row.fmaLatency;
  machine.bf16PerCycle = row.bf16PerCycle;
  machine.readAheadCost = rates.readAhead;
  machine.memoryFrom = machine.readAheadFrom = rates.source;
  machine.fmaFrom = source;
  return machine;
}

} // namespace lathe
