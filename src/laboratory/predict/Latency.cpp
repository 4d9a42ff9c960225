#include "predict/Latency.h"

#include "support/Text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lathe::predict {
namespace {

/// Penalties of the regressions, in weights of one kernel or network.
constexpr double kernelPenalty = 10, groupPenalty = 30, networkPenalty = 20;
/// Fewest scores with one number of threads for an interval of their own.
constexpr size_t fewestScores = 50;

double memoryCycles(const KernelCost &kernel, int threads, const MachineFacts &facts) {
  return kernel.bytes / threads / facts.memoryRate(threads);
}

/// Bytes that the caches must hold from one run of a network to the next: its constants, and what passes meanwhile.
double heldBytes(const auto &kernels) {
  double constants = 0, passing = 0;
  for (const KernelCost &kernel : kernels) {
    constants += kernel.constantBytes;
    passing = std::max(passing, kernel.bytes - kernel.constantBytes);
  }
  return constants + std::max(0.0, passing);
}

double medianOf(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

} // namespace

double waitShare(double bytes, int threads, const MachineFacts &facts) {
  MemoryLevels levels = facts.memoryLevels(threads);
  return levels.cyclesPerByte(bytes / threads) / levels[levels.size() - 1].cyclesPerByte;
}

KernelFeatures kernelFeatures(const KernelCost &kernel, int threads, double wait, const MachineFacts &facts) {
  constexpr double scale = 4; // so that the penalty weighs all features about alike
  double constants = kernel.constantBytes / threads / facts.memoryRate(threads) / kernel.cycles;
  double cached = facts.bytesPerCore(facts.caches.size() > 1 ? 1 : 0);
  return {1,
          (std::log(kernel.cycles) - std::log(1e5)) / scale,
          std::log1p(kernel.flops / 1e4) / scale,
          std::log1p(kernel.bytes / 1e4) / scale,
          std::log(threads),
          std::min(2.0, memoryCycles(kernel, threads, facts) / kernel.cycles),
          std::clamp(std::log(std::max(kernel.bytes, 1.0) / threads / cached), -2.0, 2.0),
          std::log(1 - std::min(0.95, constants) * (1 - wait))};
}

NetworkFeatures networkFeatures(double cycles, size_t kernels, double memoryShare, int threads) {
  constexpr double scale = 4;
  return {1, (std::log(cycles) - std::log(1e7)) / scale,
          (std::log(static_cast<double>(kernels)) - std::log(50.0)) / scale, std::log(threads),
          std::min(2.0, memoryShare)};
}

double conformalQuantile(std::vector<Score> scores, double share) {
  auto n = static_cast<double>(scores.size());
  std::map<std::string, double> counts;
  for (const Score &score : scores)
    ++counts[score.family];
  double level = share * (n + 1) / n;
  if (scores.empty() || level > 1)
    return std::numeric_limits<double>::infinity();
  std::sort(scores.begin(), scores.end(), [](const Score &a, const Score &b) { return a.value < b.value; });
  double covered = 0, weight = 1 / static_cast<double>(counts.size());
  for (const Score &score : scores) {
    covered += weight / counts[score.family];
    if (covered >= level - 1e-12)
      return score.value;
  }
  return scores.back().value;
}

double Residual::Fit::factorOf(const KernelCost &kernel, int threads, const KernelFeatures &features) const {
  auto both = byThreads.find({kernel.algorithm, threads});
  auto own = byAlgorithm.find(kernel.algorithm);
  const KernelFeatures &coefficients = both != byThreads.end()    ? both->second
                                       : own != byAlgorithm.end() ? own->second
                                                                  : anyAlgorithm;
  return std::exp(dot(coefficients, features));
}

double Residual::Fit::factorOf(int threads, const NetworkFeatures &features) const {
  auto own = networks.find(threads);
  return std::exp(dot(own == networks.end() ? anyNetwork : own->second, features));
}

double networkCycles(const Residual::Fit &fit, double kernelCycles, size_t kernels, int threads) {
  auto known = fit.callCycles.lower_bound(threads); // more threads cost more
  double each = fit.callCycles.empty()          ? 0
                : known == fit.callCycles.end() ? fit.callCycles.rbegin()->second
                                                : known->second;
  return kernelCycles + each * static_cast<double>(kernels);
}

Residual::Residual(const MachinePoints &points) : points(points) {
  for (const MeasuredNetwork &network : points.networks) {
    Prepared &mine = prepared.emplace_back();
    double clock = points.clockHz(network.threads), measured = 0, cycles = 0, memory = 0;
    for (const MeasuredKernel &kernel : network.kernels) {
      measured += kernel.seconds;
      cycles += kernel.cycles;
      memory += memoryCycles(kernel, network.threads, points.facts);
    }
    mine.memoryShare = memory / cycles;
    const double wait = waitShare(heldBytes(network.kernels), network.threads, points.facts);
    for (const MeasuredKernel &kernel : network.kernels) {
      mine.features.push_back(kernelFeatures(kernel, network.threads, wait, points.facts));
      if (network.heldOut)
        continue;
      // A kernel counts by its share of the network's time, for it is whole networks that are predicted.
      double weight = kernel.seconds / measured * static_cast<double>(network.kernels.size());
      sums[{network.family, kernel.algorithm, network.threads}].add(
          mine.features.back(), std::log(kernel.seconds * clock / kernel.cycles), weight);
    }
  }
}

std::set<std::string> Residual::families() const {
  std::set<std::string> result;
  for (const MeasuredNetwork &network : points.networks)
    if (!network.heldOut)
      result.insert(network.family);
  return result;
}

Residual::Fit Residual::fit(const std::set<std::string> &without) const {
  Fit result;
  RidgeSums<std::tuple_size_v<KernelFeatures>> every;
  std::map<std::string, RidgeSums<std::tuple_size_v<KernelFeatures>>> byAlgorithm;
  std::map<std::pair<std::string, int>, RidgeSums<std::tuple_size_v<KernelFeatures>>> byThreads;
  for (const auto &[key, sum] : sums) {
    const auto &[family, algorithm, threads] = key;
    if (without.contains(family))
      continue;
    every.add(sum);
    byAlgorithm[algorithm].add(sum);
    byThreads[{algorithm, threads}].add(sum);
  }
  result.anyAlgorithm = every.fit(kernelPenalty, {}, true);
  for (const auto &[algorithm, sum] : byAlgorithm)
    result.byAlgorithm[algorithm] = sum.fit(groupPenalty, result.anyAlgorithm, false);
  for (const auto &[key, sum] : byThreads)
    result.byThreads[key] = sum.fit(groupPenalty, result.byAlgorithm[key.first], false);
  fitNetworks(result, without);
  return result;
}

void Residual::fitNetworks(Fit &fit, const std::set<std::string> &without) const {
  std::map<int, std::vector<double>> between;
  for (const MeasuredNetwork &network : points.networks)
    if (!network.heldOut && !without.contains(network.family)) {
      double inside = 0;
      for (const MeasuredKernel &kernel : network.kernels)
        inside += kernel.seconds;
      between[network.threads].push_back((network.seconds - inside) * points.clockHz(network.threads) /
                                         static_cast<double>(network.kernels.size()));
    }
  for (auto &[threads, cycles] : between)
    fit.callCycles[threads] = std::max(0.0, medianOf(std::move(cycles)));
  RidgeSums<std::tuple_size_v<NetworkFeatures>> every;
  std::map<int, RidgeSums<std::tuple_size_v<NetworkFeatures>>> byThreads;
  for (size_t i = 0; i < points.networks.size(); ++i) {
    const MeasuredNetwork &network = points.networks[i];
    if (network.heldOut || without.contains(network.family))
      continue;
    double cycles = cyclesOf(i, fit), measured = network.seconds * points.clockHz(network.threads);
    NetworkFeatures features =
        networkFeatures(cycles, network.kernels.size(), prepared[i].memoryShare, network.threads);
    every.add(features, std::log(measured / cycles));
    byThreads[network.threads].add(features, std::log(measured / cycles));
  }
  fit.anyNetwork = every.fit(networkPenalty, {}, true);
  for (const auto &[threads, sum] : byThreads)
    fit.networks[threads] = sum.fit(networkPenalty, fit.anyNetwork, false);
}

double Residual::cyclesOf(size_t index, const Fit &fit) const {
  const MeasuredNetwork &network = points.networks[index];
  double cycles = 0;
  for (size_t i = 0; i < network.kernels.size(); ++i)
    cycles +=
        network.kernels[i].cycles * fit.factorOf(network.kernels[i], network.threads, prepared[index].features[i]);
  return networkCycles(fit, cycles, network.kernels.size(), network.threads);
}

std::vector<Residual::HeldOut> Residual::heldOut(const std::set<std::string> &without) const {
  std::vector<HeldOut> result;
  std::set<std::string> all;
  for (const MeasuredNetwork &network : points.networks)
    all.insert(network.family);
  for (const std::string &family : all) {
    if (without.contains(family))
      continue;
    std::set<std::string> others = without;
    others.insert(family);
    Fit fitted = fit(others);
    for (size_t i = 0; i < points.networks.size(); ++i) {
      const MeasuredNetwork &network = points.networks[i];
      if (network.family != family)
        continue;
      double cycles = cyclesOf(i, fitted);
      NetworkFeatures features =
          networkFeatures(cycles, network.kernels.size(), prepared[i].memoryShare, network.threads);
      result.push_back(
          {&network, cycles * fitted.factorOf(network.threads, features) / points.clockHz(network.threads)});
    }
  }
  return result;
}

double Residual::HeldOut::error() const { return std::log(network->seconds / seconds); }

Spread::Spread(const std::vector<Residual::HeldOut> &heldOut) {
  for (const Residual::HeldOut &one : heldOut) {
    if (one.network->heldOut)
      continue;
    scores.push_back({std::abs(one.error()), one.network->family});
    byThreads[one.network->threads].push_back(scores.back());
  }
}

double Spread::of(int threads, double share) const {
  auto own = byThreads.find(threads);
  return conformalQuantile(own != byThreads.end() && own->second.size() >= fewestScores ? own->second : scores, share);
}

Predictor::Predictor(const MachinePoints &points) : residual(points), all(residual.fit()), spread(residual.heldOut()) {
  size_t families = residual.families().size();
  require(families >= 2, "{}: has {} of networks, expected at least 2", points.source,
          counted(static_cast<int64_t>(families), "family", "families"));
}

Latency Predictor::predict(const std::vector<KernelCost> &kernels, int threads, const MachineFacts &facts,
                           double clockHz, double besideOthers) const {
  Latency result;
  double cycles = 0, planned = 0, memory = 0;
  const double wait = waitShare(heldBytes(kernels), threads, facts);
  for (const KernelCost &kernel : kernels) {
    double corrected = kernel.cycles * all.factorOf(kernel, threads, kernelFeatures(kernel, threads, wait, facts));
    result.kernelSeconds.push_back(corrected / clockHz);
    cycles += corrected;
    planned += kernel.cycles;
    memory += memoryCycles(kernel, threads, facts);
  }
  cycles *= (planned - besideOthers) / planned;
  cycles = networkCycles(all, cycles, kernels.size(), threads);
  cycles *= all.factorOf(threads, networkFeatures(cycles, kernels.size(), memory / planned, threads));
  result.seconds = cycles / clockHz;
  if (double width = spread.of(threads, intervalShare); std::isfinite(width)) {
    result.low = result.seconds * std::exp(-width);
    result.high = result.seconds * std::exp(width);
  }
  return result;
}

double peakSeconds(double flops, const MachineFacts &facts, int vectorBits, int threads, double clockHz) {
  return flops / (2.0 * facts.fmaPerCycle * (vectorBits / 32) * threads * clockHz);
}

double costModelSpread(std::span<const MachinePoints> machines) {
  std::vector<Score> scores;
  for (const MachinePoints &machine : machines)
    for (const MeasuredNetwork &network : machine.networks) {
      double cycles = 0;
      for (const MeasuredKernel &kernel : network.kernels)
        cycles += kernel.cycles;
      scores.push_back(
          {std::abs(std::log(network.seconds * machine.clockHz(network.threads) / cycles)), network.family});
    }
  return conformalQuantile(std::move(scores), intervalShare);
}

} // namespace lathe::predict
