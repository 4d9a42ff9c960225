// Predicts the latency of a network from the predicted costs of its kernels, with an interval.
//
// The cost model's cycles are corrected twice by ridge regressions of logarithms of measured over predicted times:
//
// 1. of kernels: one regression over all kernels, one for each algorithm that is drawn towards it the more, the fewer
//    kernels of the algorithm were measured, and one for each algorithm and number of threads that is drawn towards the
//    algorithm's in the same way;
// 2. of whole networks: one regression over all networks, and one for each number of threads that is drawn towards it.
//    The latency that they correct is the sum over the kernels and a cost of each call.
//
// The features are few (kernelFeatures, networkFeatures); the coefficients are factors on the time.
//
// The interval is split conformal prediction (Vovk, Gammerman, Shafer, "Algorithmic Learning in a Random World", 2005;
// Lei et al., "Distribution-Free Predictive Inference for Regression", 2018) in the logarithm of the time, with whole
// families of networks held out: each family is predicted by a fit in which it took no part, and the interval is wide
// enough for the stated share of these predictions.
#pragma once

#include "predict/Points.h"
#include "predict/Ridge.h"

#include <map>
#include <set>
#include <tuple>

namespace lathe::predict {

using KernelFeatures = std::array<double, 8>;
using NetworkFeatures = std::array<double, 5>;

/// Wait for a byte of a constant of a network as a share of the wait for a byte from memory. `bytes`: what the caches
/// must hold from run to run for all constants to stay in them. The cost model takes all constants from memory.
double waitShare(double bytes, int threads, const MachineFacts &facts);

/// 1; logarithms of cycles, operations, bytes and threads; the share of the cycles that the bytes would take from
/// memory; how far the bytes of one thread exceed the cache of one core (logarithm, limited); the logarithm of what
/// remains of the cycles if those of reading constants become `wait` times as many (waitShare of the network).
KernelFeatures kernelFeatures(const KernelCost &kernel, int threads, double wait, const MachineFacts &facts);
/// 1; logarithms of cycles, number of kernels and threads; the share of the kernels' cycles that their bytes would take
/// from memory.
NetworkFeatures networkFeatures(double cycles, size_t kernels, double memoryShare, int threads);

/// A score of conformal prediction: how far a prediction was off.
struct Score {
  double value = 0;
  std::string family;
};
/// Returns the smallest number that is at least as large as a share of `share` * (n + 1) / n of the n scores, each
/// family counting the same. If scores are exchangeable, a further one is at most this number with a probability of at
/// least `share`. Infinity if there are too few scores for that.
double conformalQuantile(std::vector<Score> scores, double share);

/// The correction of predicted costs that is learned from one kind of machine.
class Residual {
public:
  /// Sums up the points. `points` must outlive the object.
  explicit Residual(const MachinePoints &points);

  /// What is fitted to all families except some.
  struct Fit {
    KernelFeatures anyAlgorithm{};
    std::map<std::string, KernelFeatures> byAlgorithm;
    std::map<std::pair<std::string, int>, KernelFeatures> byThreads; // by algorithm and threads
    std::map<int, double> callCycles; // by threads: cycles of a network outside its kernels, for each kernel
    NetworkFeatures anyNetwork{};
    std::map<int, NetworkFeatures> networks; // by threads

    /// Factor on the predicted cycles of a kernel with these features.
    double factorOf(const KernelCost &kernel, int threads, const KernelFeatures &features) const;
    /// Factor on the cycles of a network before the second correction.
    double factorOf(int threads, const NetworkFeatures &features) const;
  };
  Fit fit(const std::set<std::string> &without = {}) const;

  /// A prediction for a network that took no part in the fit.
  struct HeldOut {
    const MeasuredNetwork *network;
    double seconds;
    /// Logarithm of measured over predicted.
    double error() const;
  };
  /// Predicts each family by a fit without it and without the families in `without`, which are left out. Networks that
  /// take part in no fit are predicted, too.
  std::vector<HeldOut> heldOut(const std::set<std::string> &without = {}) const;

  /// Families of the networks that take part in fits.
  std::set<std::string> families() const;

private:
  struct Prepared {
    std::vector<KernelFeatures> features; // of the kernels
    double memoryShare = 0;
  };
  const MachinePoints &points;
  std::vector<Prepared> prepared; // by network
  // by family, algorithm and threads
  std::map<std::tuple<std::string, std::string, int>, RidgeSums<std::tuple_size_v<KernelFeatures>>> sums;

  void fitNetworks(Fit &fit, const std::set<std::string> &without) const;

  /// Cycles of a network before the second correction.
  double cyclesOf(size_t network, const Fit &fit) const;
};

/// The errors of held-out predictions of networks that take part in other fits.
class Spread {
public:
  explicit Spread(const std::vector<Residual::HeldOut> &heldOut);
  /// Half width of the interval for a number of threads, in logarithms, that holds `share` of the latencies. With few
  /// networks of this number of threads, those of all numbers decide. Infinity: too little was measured.
  double of(int threads, double share) const;

private:
  std::vector<Score> scores;
  std::map<int, std::vector<Score>> byThreads;
};

/// Cycles of a network before the second correction, from its corrected kernels.
double networkCycles(const Residual::Fit &fit, double kernelCycles, size_t kernels, int threads);

/// A predicted latency in seconds.
struct Latency {
  double seconds = 0, low = 0, high = 0; // low and high: the interval; both 0 if there is none
  std::vector<double> kernelSeconds;     // by kernel, corrected
};

/// The share of latencies that lie in the interval.
inline constexpr double intervalShare = 0.9;

/// Predicts latencies on one kind of machine.
class Predictor {
public:
  /// Learns from `points`, which must outlive the object. Throws Error for fewer than two families.
  explicit Predictor(const MachinePoints &points);
  /// Predicts a network of these kernels, at least one. `besideOthers`: cycles of the cost model that kernels beside
  /// each other save.
  Latency predict(const std::vector<KernelCost> &kernels, int threads, const MachineFacts &facts, double clockHz,
                  double besideOthers = 0) const;

private:
  Residual residual;
  Residual::Fit all;
  Spread spread;
};

/// Time of as many operations at the peak of fp32.
double peakSeconds(double flops, const MachineFacts &facts, int vectorBits, int threads, double clockHz);
/// Half width, in logarithms, of an interval around the cost model alone, from the errors of the cost model on other
/// machines; infinity without points.
double costModelSpread(std::span<const MachinePoints> machines);

} // namespace lathe::predict
