// Statistics that calibration collects for a tensor (limits, distribution of values, channel means), and the ranges
// that follow from them.
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

/// Smallest and largest value that the integers have to represent; 0 is inside.
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
  void add(const Histogram &other); // must have the same limit

  double extent() const { return limit; }
  double width() const { return 2 * limit / binCount; }
  const std::vector<uint64_t> &bins() const { return counts; }
  uint64_t total() const;

private:
  double limit;
  std::vector<uint64_t> counts;
};

/// The range without the smallest and the largest (100 - `percent`) / 100 of the values, to the precision of a bin, and
/// at most the limits `seen`.
Range percentileRange(const Histogram &histogram, double percent, Range seen);

/// The range [-T, T] within `seen` for which the quantised distribution of |x| has the smallest Kullback-Leibler
/// divergence from the observed one. Source: S. Migacz, "8-bit inference with TensorRT", GTC 2017. `levels`: number of
/// integers for |x|.
Range entropyRange(const Histogram &histogram, size_t levels, Range seen);

/// Limits and channel means of the values of one tensor over all calibration inputs (first pass), and their distribution
/// (second pass, within the limits).
class Observer {
public:
  /// `channelAxis`: axis whose positions get separate means; -1: none.
  explicit Observer(int64_t channelAxis = -1) : channelAxis(channelAxis) {}
  /// First pass. Throws Error for NaN and infinities.
  void addLimits(const Tensor &tensor);
  /// Second pass.
  void addDistribution(const Tensor &tensor);

  Range limits() const { return seen; }
  const Histogram &distribution() const { return histogram; }
  /// Mean of each channel; empty without a channel axis.
  std::vector<double> channelMeans() const;
  /// Sets the limits of the histogram. Call it between the passes.
  void beginDistribution(double limit) { histogram = Histogram(limit); }

private:
  int64_t channelAxis;
  Range seen;
  Histogram histogram;
  std::vector<double> sums;
  uint64_t perChannel = 0; // values that went into each sum
};

} // namespace lathe::quantize
