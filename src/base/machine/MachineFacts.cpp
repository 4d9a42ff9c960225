#include "machine/MachineFacts.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace lathe {

std::string_view name(FactSource source) {
  switch (source) {
  case FactSource::generic:
    return "generic";
  case FactSource::table:
    return "table";
  case FactSource::measured:
    return "measured";
  case FactSource::fitted:
    return "fitted";
  case FactSource::system:
    return "system";
  case FactSource::file:
    return "file";
  }
  return "unknown";
}

double MachineFacts::bytesPerCore(size_t level) const {
  const CacheFacts &cache = caches.at(std::min(level, caches.size() - 1));
  return double(cache.bytes) / std::max(1, cache.sharedBy / std::max(1, threadsPerCore));
}

double MachineFacts::readRate(size_t level) const {
  return caches.at(std::min(level, caches.size() - 1)).readBytesPerCycle;
}

double MachineFacts::memoryRate(int threads) const {
  if (sharedMemoryBytesPerCycle <= 0) // unknown: one core's rate for each
    return memoryBytesPerCycle;
  return std::min(memoryBytesPerCycle, sharedMemoryBytesPerCycle / std::max(1, threads));
}

MemoryLevels MachineFacts::memoryLevels(int threads) const {
  std::vector<MemoryLevel> levels = {{bytesPerCore(0) / 2, 0}};
  for (size_t level = 1; level < caches.size(); ++level)
    levels.push_back({bytesPerCore(level), 1 / readRate(level)});
  levels.push_back({0, 1 / memoryRate(threads)});
  return MemoryLevels(std::move(levels));
}

double MachineFacts::clockGhz(int threads, int vectorBits) const {
  if (clocks.empty())
    return 0;
  auto wide = [&](const ClockFacts &clock) { return clock.vectorBits >= vectorBits; };
  auto found = std::find_if(clocks.begin(), clocks.end(), wide);
  const std::vector<double> &ghz = found == clocks.end() ? clocks.back().ghz : found->ghz;
  return ghz[std::min(static_cast<size_t>(std::max(threads, 1)), ghz.size()) - 1];
}

size_t MachineFacts::sharedLevel() const {
  size_t level = 0;
  while (level < caches.size() && caches[level].sharedBy <= threadsPerCore)
    ++level;
  return level;
}

std::string MachineFacts::cachesText() const {
  std::string text;
  for (size_t i = 0; i < caches.size(); ++i) {
    int64_t kib = caches[i].bytes >> 10;
    std::string size = kib >= 1024 && kib % 1024 == 0 ? fmt::format("{}M", kib >> 10) : fmt::format("{}K", kib);
    text += fmt::format("{}L{}={}/{}", i ? " " : "", i + 1, size, caches[i].sharedBy);
  }
  return text;
}

std::vector<FactRow> describeFacts(const MachineFacts &machine) {
  std::vector<FactRow> rows;
  auto row = [&](std::string fact, std::string value, FactSource source) {
    rows.push_back({std::move(fact), std::move(value), std::string(name(source))});
  };
  auto rate = [](double figure) { return fmt::format("{:.4g} bytes a cycle of one core", figure); };
  row("CPU", fmt::format("{} ({})", machine.cpu, machine.architecture), machine.cpuFrom);
  row("features", fmt::format("{}", fmt::join(machine.features, " ")), machine.featuresFrom);
  if (machine.cores)
    row("cores", fmt::format("{}, logical CPUs of each: {}", machine.cores, machine.threadsPerCore), machine.coresFrom);
  for (size_t i = 0; i < machine.caches.size(); ++i) {
    const CacheFacts &cache = machine.caches[i];
    row(fmt::format("L{}", i + 1),
        fmt::format("{} KiB, lines of {} bytes, shared by {} logical CPU{}", cache.bytes >> 10, cache.lineBytes,
                    cache.sharedBy, cache.sharedBy == 1 ? "" : "s"),
        cache.sizeFrom);
    row(fmt::format("L{} read", i + 1), rate(cache.readBytesPerCycle), cache.rateFrom);
  }
  row("memory read", rate(machine.memoryBytesPerCycle), machine.memoryFrom);
  if (machine.sharedMemoryBytesPerCycle > 0)
    row("memory read by all",
        fmt::format("{:.4g} bytes a cycle of all cores together", machine.sharedMemoryBytesPerCycle),
        machine.sharedMemoryFrom);
  row("multiply-adds",
      fmt::format("{} vector instructions a cycle, latency {} cycles", machine.fmaPerCycle, machine.fmaLatency),
      machine.fmaFrom);
  if (machine.bf16PerCycle > 0)
    row("bf16 products", fmt::format("{:.4g} vector instructions a cycle", machine.bf16PerCycle), machine.fmaFrom);
  for (const ClockFacts &clock : machine.clocks)
    row(fmt::format("clock, {}-bit vectors", clock.vectorBits),
        fmt::format("{:.3g} GHz with 1 thread, {:.3g} with {}", clock.ghz.front(), clock.ghz.back(), clock.ghz.size()),
        machine.clocksFrom);
  row("reading ahead", fmt::format("{:.4g} of the time of waiting", machine.readAheadCost), machine.readAheadFrom);
  return rows;
}

const std::vector<std::string> &knownFeatures(const std::string &architecture) {
  static const std::vector<std::string> none,
      x86{"amx-bf16", "amx-int8",   "amx-tile", "avx",        "avx2",    "avx512bf16", "avx512bw", "avx512dq",
          "avx512f",  "avx512fp16", "avx512vl", "avx512vnni", "avxvnni", "f16c",       "fma",      "sse4.2"},
      arm{"bf16", "dotprod", "fullfp16", "i8mm", "neon", "sve", "sve2"};
  return architecture == "x86_64" ? x86 : architecture == "aarch64" ? arm : none;
}

} // namespace lathe
