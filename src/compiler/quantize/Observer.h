// Statistics that calibration collects for a tensor (limits, distribution of values, channel means), and the ranges
// for quantisation that follow from them.
#pragma once

#include "runtime/Tensor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::quantize {

/// How the range of a tensor is computed from its values (`--calibrate-method`).
enum class CalibrationMethod { minMax, percentile, entropy };
/// Parses "minmax", "percentile" or "entropy". Throws Error with the valid names.
CalibrationMethod methodFromName(const std::string &name);

/// The range of real numbers that the integers of a quantised tensor must represent. 0 is always in it.
struct Range {
  double least = 0, most = 0;
};

/// Distribution of values over [-limit, limit] in an even number of equal bins, so that a bin boundary is at zero.
/// Values outside count in the first or last bin.
class Histogram {
public:
  static constexpr size_t binCount = 4096;

  explicit Histogram(double limit = 0) : limit(limit), counts(binCount, 0) {}
  void add(const float *values, int64_t count);
  void add(const Histogram &other); // the other histogram must have the same limit

  double extent() const { return limit; }
  double width() const { return 2 * limit / binCount; }
  const std::vector<uint64_t> &bins() const { return counts; }
  uint64_t total() const;

private:
  double limit;
  std::vector<uint64_t> counts;
};

/// Returns the range that leaves out the smallest (100 - `percent`) / 100 of a histogram's values, and as many of the
/// largest. It is exact to one bin and never wider than `seen`, the observed limits.
Range percentileRange(const Histogram &histogram, double percent, Range seen);

/// Returns the range [-T, T], within the observed limits `seen`, for which the quantised distribution of |x| has the
/// smallest Kullback-Leibler divergence from the observed distribution. `levels`: number of integers that represent
/// |x|. Source: S. Migacz, "8-bit inference with TensorRT", GTC 2017.
Range entropyRange(const Histogram &histogram, size_t levels, Range seen);

/// Statistics of one tensor over all calibration inputs: limits and channel means from a first pass, the distribution
/// of values within these limits from a second pass.
class Observer {
public:
  /// `channelAxis`: axis of the tensor whose positions get separate means; -1: none.
  explicit Observer(int64_t channelAxis = -1) : channelAxis(channelAxis) {}
  /// First pass over the calibration inputs: extends the limits and sums up channels. Throws Error for NaN and
  /// infinities.
  void addLimits(const Tensor &tensor);
  /// Second pass over the calibration inputs: adds the values to the histogram.
  void addDistribution(const Tensor &tensor);

  Range limits() const { return seen; }
  const Histogram &distribution() const { return histogram; }
  /// Mean of each channel of the tensor; empty without a channel axis.
  std::vector<double> channelMeans() const;
  /// Starts the second pass with an empty histogram over [-limit, limit].
  void beginDistribution(double limit) { histogram = Histogram(limit); }

private:
  int64_t channelAxis;
  Range seen;
  Histogram histogram;
  std::vector<double> sums;
  uint64_t perChannel = 0; // number of values added to each of `sums`
};

} // namespace lathe::quantize
