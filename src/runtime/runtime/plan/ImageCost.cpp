#include "runtime/plan/ImageCost.h"

#include <algorithm>
#include <limits>

namespace lathe::runtime {
namespace {

/// Divides calls into stretches with the greatest sum of savings. `savingOf(end)` returns a function that is called
/// with first = end - 1, end - 2, ... and returns the saving of the stretch [first, end).
template <class SavingOf> std::vector<Stretch> bestStretches(size_t calls, const SavingOf &savingOf) {
  std::vector<double> best(calls + 1, 0); // saved before call i
  std::vector<size_t> from(calls + 1);    // where the stretch that ends before call i begins; i: none does
  for (size_t end = 1; end <= calls; ++end) {
    best[end] = best[end - 1];
    from[end] = end;
    auto saving = savingOf(end);
    for (size_t first = end; first-- > 0;)
      if (double all = best[first] + saving(first); all > best[end]) {
        best[end] = all;
        from[end] = first;
      }
  }
  std::vector<Stretch> stretches;
  for (size_t end = calls; end > 0;)
    if (from[end] == end) {
      --end;
    } else {
      stretches.push_back({from[end], end});
      end = from[end];
    }
  std::reverse(stretches.begin(), stretches.end());
  return stretches;
}

/// The saving if a value stays near, by the call that makes the value.
struct Gain {
  size_t last; // call that uses the value
  double saved;
};
using Gains = std::vector<std::vector<Gain>>;

/// `ofUse(use)`: saving for one byte of a value in the call `use`.
template <class OfUse> Gains gainsOf(size_t calls, const std::vector<ImageValue> &values, const OfUse &ofUse) {
  Gains madeBy(calls);
  for (const ImageValue &value : values) {
    double saved = 0;
    for (size_t use : value.uses)
      saved += value.bytes * ofUse(use);
    madeBy[value.made].push_back({value.last, saved});
  }
  return madeBy;
}

/// The saving of values that call `first` makes and that are used up before call `end`.
double savedBy(const Gains &gains, size_t first, size_t end) {
  double saved = 0;
  for (const Gain &gain : gains[first])
    saved += gain.last < end ? gain.saved : 0;
  return saved;
}

/// Seconds that calls save image by image, compared with call by call.
class MeasuredSavings {
public:
  MeasuredSavings(const std::vector<ImageCall> &calls, const std::vector<ImageValue> &values,
                  const std::vector<Stretch> &predicted, const MemoryLevels &levels)
      : calls(calls), levels(levels), predictedFrom(calls.size() + 1, calls.size()) {
    std::vector<bool> inside(calls.size());
    for (const Stretch &stretch : predicted) {
      predictedFrom[stretch.last] = stretch.first;
      std::fill(inside.begin() + long(stretch.first), inside.begin() + long(stretch.last), true);
    }
    for (size_t i = 0; i < calls.size(); ++i) {
      double doubt = 1 + imageDoubt, byCalls = calls[i].callSeconds, byImages = calls[i].imagesSeconds;
      alone.push_back(inside[i] ? doubt * byCalls - byImages : byCalls - doubt * byImages);
    }
    gains = gainsOf(calls.size(), values, [&](size_t use) {
      return calls[use].passing > 0 ? std::max(0.0, alone[use]) / calls[use].passing : 0;
    });
  }

  auto operator()(size_t end) const {
    return [this, end, saved = 0.0, whole = 0.0, weights = 0.0, passing = 0.0, measured = true,
            nearest = levels.size()](size_t first) mutable {
      const ImageCall &call = calls[first];
      whole += alone[first];
      saved += savedBy(gains, first, end) + std::min(0.0, alone[first]);
      weights += call.weights;
      passing = std::max(passing, call.passing);
      measured = measured && call.isMeasured();
      if (call.weights > 0)
        nearest = std::min(nearest, levels.levelOf(call.weights + call.passing));
      if (predictedFrom[end] == first)
        return measured ? whole : kept;
      return measured && levels.levelOf(weights + passing) <= nearest ? saved : -unlimited;
    };
  }

private:
  static constexpr double unlimited = std::numeric_limits<double>::infinity();
  static constexpr double kept = 1000; // seconds: more than any run saves, but small enough for exact sums
  const std::vector<ImageCall> &calls;
  const MemoryLevels &levels;
  std::vector<size_t> predictedFrom; // by end: where a predicted stretch begins
  std::vector<double> alone;         // by call: saved if all its values stay near
  Gains gains;
};

} // namespace

std::vector<Stretch> imageStretches(const std::vector<ImageCall> &calls, const std::vector<ImageValue> &values,
                                    int64_t images, int threads, const ImageCosts &costs) {
  // Images beyond whole rounds pass call by call, shared by all threads.
  const double rounds = double(images / std::max(1, threads));
  const MemoryLevels &levels = costs.levels;
  if (rounds < 2 || levels.size() == 0)
    return {};
  Gains gains = gainsOf(calls.size(), values, [&](size_t use) {
    return rounds * (levels.cyclesPerByte(calls[use].passing * rounds) - levels.cyclesPerByte(calls[use].passing));
  });
  std::vector<double> weightCycles(calls.size()); // waits for weights that each call reads again
  for (size_t i = 0; i < calls.size(); ++i)
    weightCycles[i] = calls[i].weights * levels.cyclesPerByte(calls[i].weights + calls[i].passing);

  return bestStretches(calls.size(), [&](size_t end) {
    return [&, end, saved = 0.0, weights = 0.0, passing = 0.0, callByCall = 0.0](size_t first) mutable {
      saved += savedBy(gains, first, end);
      weights += calls[first].weights;
      passing = std::max(passing, calls[first].passing);
      callByCall += weightCycles[first];
      double again = (rounds - 1) * (weights * levels.cyclesPerByte(weights + passing) - callByCall);
      double starts = (rounds - 1) * double(end - first) * costs.callCycles;
      return saved - again - starts;
    };
  });
}

std::vector<Stretch> measuredStretches(const std::vector<ImageCall> &calls, const std::vector<ImageValue> &values,
                                       const std::vector<Stretch> &predicted, const ImageCosts &costs) {
  return bestStretches(calls.size(), MeasuredSavings(calls, values, predicted, costs.levels));
}

} // namespace lathe::runtime
