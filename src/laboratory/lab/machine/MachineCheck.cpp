// Checks whether measured figures are plausible, and waits for a quiet machine.
#include "lab/machine/Disturbance.h"
#include "lab/machine/Machine.h"
#include "machine/System.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lathe::lab {
namespace {

/// Why a figure is implausible compared with the figures for fewer threads; "": it is plausible. `least`: the smallest
/// allowed share of the best of these.
std::string beside(const std::string &what, const char *unit, const std::vector<double> &byThreads, double least) {
  double best = 0;
  for (size_t i = 0; i < byThreads.size(); ++i) {
    if (!(byThreads[i] > 0) || !std::isfinite(byThreads[i]) || byThreads[i] < least * best)
      return fmt::format("{} has {:.1f} {} with {} thread{}, with fewer it has {:.1f}", what, byThreads[i], unit, i + 1,
                         i ? "s" : "", best);
    best = std::max(best, byThreads[i]);
  }
  return "";
}

/// The table entry for a machine with these caches and instructions.
MachineFacts tableOf(const MachineCeilings &machine) {
  std::vector<CacheFacts> caches;
  for (const MemoryLevel &level : machine.levels)
    if (level.bytes > 0) {
      caches.emplace_back();
      caches.back().bytes = level.bytes;
      caches.back().sharedBy = level.sharedBy;
    }
  return machineFromTable("", machine.architecture, machine.features, caches);
}

/// Compares one thread's multiply-adds and reads with the table by CPU.
std::string besideTable(const MachineCeilings &machine) {
  constexpr double least = 0.25, most = 4; // factors on the table, whose row may belong to a similar CPU
  MachineFacts table = tableOf(machine);
  for (const ArithmeticCeiling &ceiling : machine.arithmetic) {
    if (ceiling.type != ElementType::f32 || ceiling.gflops.empty())
      continue;
    auto with = [&](const char *registers) { return ceiling.instruction.find(registers) != std::string::npos; };
    double lanes = with("zmm") ? 16 : with("ymm") ? 8 : 4;
    double expected = 2 * table.fmaPerCycle * lanes * machine.clockGhz;
    if (ceiling.gflops[0] < least * expected || ceiling.gflops[0] > most * expected)
      return fmt::format("one thread has {:.1f} GFLOPS, by the table of CPUs about {:.0f} at {:.2f} GHz",
                         ceiling.gflops[0], expected, machine.clockGhz);
  }
  std::vector<double> rates;
  for (const MemoryLevel &level : machine.levels)
    rates.push_back(MachineCeilings::bandwidth(level, 1).read / machine.clockGhz);
  return implausibleRates(rates, table);
}

} // namespace

std::string implausible(const MachineCeilings &machine) {
  if (!(machine.clockGhz > 0.1 && machine.clockGhz < 10))
    return fmt::format("a clock of {:.2f} GHz", machine.clockGhz);
  for (const ArithmeticCeiling &ceiling : machine.arithmetic)
    if (std::string why = beside(ceiling.instruction, "GFLOPS", ceiling.gflops, 0.9); !why.empty())
      return why;
  for (const MemoryLevel &level : machine.levels) {
    std::vector<double> reads;
    for (const Bandwidth &bandwidth : level.bandwidth)
      reads.push_back(bandwidth.read);
    if (std::string why = beside("reading " + level.name, "GB/s", reads, 0.7); !why.empty())
      return why;
  }
  return besideTable(machine);
}

MachineCeilings measureWhenQuiet(const QuietHooks &hooks, double patience) {
  constexpr int leastTries = 2; // another program may have been busy only for a moment
  double end = hooks.now() + patience;
  bool said = false;
  for (int tries = 1;; ++tries) {
    for (double busy = hooks.others(); busy > disturbingProcessors && hooks.now() < end; busy = hooks.others()) {
      if (!said)
        hooks.say(fmt::format("waiting for a quiet machine, {:.0f} s at most: other programs keep {:.1f} processors "
                              "busy; Ctrl-C leaves what is known as it is",
                              patience, busy));
      said = true;
    }
    MachineCeilings measured = hooks.measure();
    std::string why = implausible(measured);
    if (why.empty())
      return measured;
    if (hooks.now() >= end && tries >= leastTries)
      fail("the figures cannot be right: {}; nothing is kept, measure again while no other program runs", why);
    hooks.say(fmt::format("measuring again, the figures cannot be right: {}", why));
  }
}

} // namespace lathe::lab
