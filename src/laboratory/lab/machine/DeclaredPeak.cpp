#include "lab/machine/DeclaredPeak.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace lathe::lab {
namespace {

constexpr double fastestClock = 6.5e9; // Hz; above every processor on the market

double declaredClock(const SystemFacts &system) {
  std::string kilohertz = firstLine(fmt::format("{}/cpu{}/cpufreq/cpuinfo_max_freq", kernelCpus, system.cpu));
  double declared = std::atof(kilohertz.c_str()) * 1e3;
  return declared > 1e9 ? declared : fastestClock;
}

/// Products of a type per 32-bit lane, and per tile instruction.
struct TypeRate {
  double ofLane = 1, ofTiles = 0;
};

TypeRate rateOf(ElementType type, const SystemFacts &system) {
  auto has = [&](const char *feature) {
    return std::find(system.features.begin(), system.features.end(), feature) != system.features.end();
  };
  constexpr double tile = 16 * 16 * 64 / 16.0; // products of bytes a cycle: 16 x 16 sums of 64, every 16 cycles
  switch (type) {
  case ElementType::i8:
  case ElementType::u8:
    return {has("i8mm") ? 8.0 : 4.0, has("amx-int8") ? tile : 0};
  case ElementType::bf16:
    return {has("avx512bf16") || has("bf16") ? 4.0 : 1.0, has("amx-bf16") ? tile / 2 : 0};
  case ElementType::f16:
    return {has("avx512fp16") || has("fullfp16") ? 2.0 : 1.0, 0};
  default:
    return {}; // f64: half of the rate of f32; no caller needs a closer bound
  }
}

} // namespace

double declaredPeak(const SystemFacts &system, std::optional<ElementType> type, int threads) {
  if (!type) {
    double most = 0;
    for (ElementType each : {ElementType::f32, ElementType::i8, ElementType::bf16, ElementType::f16})
      most = std::max(most, declaredPeak(system, each, threads));
    return most;
  }
  bool arm = system.architecture == "aarch64";
  bool wide = std::any_of(system.features.begin(), system.features.end(),
                          [](const std::string &feature) { return feature == "avx512f"; });
  double lanes = arm ? 4 : wide ? 16 : 8;
  // x86 cores start at most two of their widest multiply-adds a cycle, AArch64 cores at most four.
  MachineFacts facts = machineFromTable("", system.architecture, system.features, system.caches);
  double instructions = std::max(arm ? 4 : 2, facts.fmaPerCycle);
  TypeRate rate = rateOf(*type, system);
  double products = std::max(instructions * lanes * rate.ofLane, rate.ofTiles);
  return 2 * products * declaredClock(system) * std::max(1, threads);
}

double declaredPeak(std::optional<ElementType> type, int threads) { return declaredPeak(systemFacts(), type, threads); }

double declaredPeakAnywhere(int threads) {
  constexpr double mostProducts = 16 * 16 * 64 / 16.0; // tiles of bytes, as above
  return 2 * mostProducts * fastestClock * std::max(1, threads);
}

std::string beyondReach(double operations, double seconds, double peak) {
  if (operations <= 0 || seconds <= 0 || peak <= 0 || operations / mostSaving <= seconds * peak)
    return "";
  return fmt::format(
      "no algorithm takes {:.3g} s for {:.3g} operations: a quarter of them would need {:.3g} GFLOPS, and "
      "the processor has {:.3g} by its declared figures",
      seconds, operations, operations / mostSaving / seconds * 1e-9, peak * 1e-9);
}

} // namespace lathe::lab
