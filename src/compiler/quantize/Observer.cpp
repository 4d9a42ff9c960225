#include "quantize/Observer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lathe::quantize {

CalibrationMethod methodFromName(const std::string &name) {
  if (name == "minmax")
    return CalibrationMethod::minMax;
  if (name == "percentile")
    return CalibrationMethod::percentile;
  if (name == "entropy")
    return CalibrationMethod::entropy;
  fail("calibration method '{}' is not known, expected minmax, percentile or entropy", name);
}

void Histogram::add(const float *values, int64_t count) {
  if (limit <= 0) {
    counts[binCount / 2] += static_cast<uint64_t>(count);
    return;
  }
  const double perUnit = binCount / (2 * limit);
  for (int64_t i = 0; i < count; ++i) {
    double position = std::floor((values[i] + limit) * perUnit);
    counts[static_cast<size_t>(std::clamp(position, 0.0, static_cast<double>(binCount - 1)))] += 1;
  }
}

void Histogram::add(const Histogram &other) {
  require(other.limit == limit, "internal: histograms of different limits are added");
  for (size_t i = 0; i < binCount; ++i)
    counts[i] += other.counts[i];
}

uint64_t Histogram::total() const { return std::accumulate(counts.begin(), counts.end(), uint64_t(0)); }

Range percentileRange(const Histogram &histogram, double percent, Range seen) {
  const std::vector<uint64_t> &bins = histogram.bins();
  const double outside = static_cast<double>(histogram.total()) * (100 - percent) / 100;
  auto edge = [&](size_t bin) { return static_cast<double>(bin) * histogram.width() - histogram.extent(); };
  double below = 0, above = 0;
  size_t first = 0, last = bins.size();
  while (first < bins.size() && below + static_cast<double>(bins[first]) <= outside)
    below += static_cast<double>(bins[first++]);
  while (last > first && above + static_cast<double>(bins[last - 1]) <= outside)
    above += static_cast<double>(bins[--last]);
  return {std::min(0.0, std::max(seen.least, edge(first))), std::max(0.0, std::min(seen.most, edge(last)))};
}

namespace {

/// Kullback-Leibler divergence between the first `kept` bins of `counts`, whose last bin counts all values beyond, and
/// the same bins quantised to `levels` integers.
double divergence(const std::vector<double> &counts, size_t kept, size_t levels) {
  std::vector<double> p(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(kept)), q(kept, 0.0);
  double beyond = std::accumulate(counts.begin() + static_cast<std::ptrdiff_t>(kept), counts.end(), 0.0);
  for (size_t level = 0; level < levels; ++level) {
    size_t begin = level * kept / levels, end = (level + 1) * kept / levels;
    double sum = 0, filled = 0;
    for (size_t i = begin; i < end; ++i) {
      sum += p[i];
      filled += p[i] > 0;
    }
    for (size_t i = begin; i < end; ++i)
      if (p[i] > 0)
        q[i] = sum / filled;
  }
  p.back() += beyond; // p counts clipped values, q does not: this is the cost of clipping
  double pSum = std::accumulate(p.begin(), p.end(), 0.0), qSum = std::accumulate(q.begin(), q.end(), 0.0);
  if (qSum == 0)
    return std::numeric_limits<double>::infinity();
  constexpr double least = 1e-9; // probability of a value that is impossible according to q
  double sum = 0;
  for (size_t i = 0; i < kept; ++i)
    if (p[i] > 0)
      sum += p[i] / pSum * std::log(p[i] / pSum / std::max(q[i] / qSum, least));
  return sum;
}

} // namespace

Range entropyRange(const Histogram &histogram, size_t levels, Range seen) {
  constexpr size_t half = Histogram::binCount / 2, step = 8;
  std::vector<double> magnitude(half);
  for (size_t i = 0; i < half; ++i)
    magnitude[i] = static_cast<double>(histogram.bins()[half + i] + histogram.bins()[half - 1 - i]);
  magnitude[0] = magnitude[1]; // zeros, which a relu makes often, are exact with any scale
  size_t best = half;
  double least = std::numeric_limits<double>::infinity();
  for (size_t kept = levels; kept <= half; kept += step)
    if (double found = divergence(magnitude, kept, levels); found < least) {
      least = found;
      best = kept;
    }
  double threshold = static_cast<double>(best) * histogram.width();
  return {std::max(seen.least, -threshold), std::min(seen.most, threshold)};
}

void Observer::addLimits(const Tensor &tensor) {
  const float *values = tensor.as<float>();
  const int64_t count = tensor.elements();
  for (int64_t i = 0; i < count; ++i) {
    require(std::isfinite(values[i]), "has a value that is not finite, expected finite values");
    seen.least = std::min(seen.least, static_cast<double>(values[i]));
    seen.most = std::max(seen.most, static_cast<double>(values[i]));
  }
  if (channelAxis < 0 || count == 0)
    return;
  const auto axis = static_cast<size_t>(channelAxis);
  const int64_t channels = tensor.dim(axis);
  int64_t inner = 1;
  for (size_t i = axis + 1; i < tensor.rank(); ++i)
    inner *= tensor.dim(i);
  sums.resize(static_cast<size_t>(channels), 0.0);
  for (int64_t begin = 0; begin < count; begin += inner) {
    double sum = 0;
    for (int64_t i = 0; i < inner; ++i)
      sum += values[begin + i];
    sums[static_cast<size_t>(begin / inner % channels)] += sum;
  }
  perChannel += static_cast<uint64_t>(count / channels);
}

void Observer::addDistribution(const Tensor &tensor) { histogram.add(tensor.as<float>(), tensor.elements()); }

std::vector<double> Observer::channelMeans() const {
  std::vector<double> means = sums;
  for (double &mean : means)
    mean /= static_cast<double>(perChannel);
  return means;
}

} // namespace lathe::quantize
