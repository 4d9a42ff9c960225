#include "runtime/plan/ImageCost.h"

#include <algorithm>

namespace lathe::runtime {

std::vector<Stretch> imageStretches(const std::vector<ImageCall> &calls, const std::vector<ImageValue> &values,
                                    int64_t images, int threads, const ImageCosts &costs) {
  // Images beyond whole rounds are shared by all threads, call by call.
  const double rounds = double(images / std::max(1, threads));
  const MemoryLevels &levels = costs.levels;
  if (rounds < 2 || levels.size() == 0)
    return {};

  struct Gain {
    size_t last;
    double cycles;
  };
  std::vector<std::vector<Gain>> madeBy(calls.size()); // what keeping a value near saves, by the call that makes it
  for (const ImageValue &value : values) {
    double cycles = 0;
    for (size_t use : value.uses)
      cycles += rounds * value.bytes *
                (levels.cyclesPerByte(calls[use].passing * rounds) - levels.cyclesPerByte(calls[use].passing));
    madeBy[value.made].push_back({value.last, cycles});
  }
  std::vector<double> weightCycles(calls.size()); // waits for weights that are read again, call by call
  for (size_t i = 0; i < calls.size(); ++i)
    weightCycles[i] = calls[i].weights * levels.cyclesPerByte(calls[i].weights + calls[i].passing);

  std::vector<double> best(calls.size() + 1, 0); // cycles saved before call i
  std::vector<size_t> from(calls.size() + 1);    // where the stretch that ends before call i begins; i: none does
  for (size_t end = 1; end <= calls.size(); ++end) {
    best[end] = best[end - 1];
    from[end] = end;
    double saved = 0, weights = 0, passing = 0, callByCall = 0;
    for (size_t first = end; first-- > 0;) {
      for (const Gain &gain : madeBy[first])
        saved += gain.last < end ? gain.cycles : 0;
      weights += calls[first].weights;
      passing = std::max(passing, calls[first].passing);
      callByCall += weightCycles[first];
      double again = (rounds - 1) * (weights * levels.cyclesPerByte(weights + passing) - callByCall);
      double starts = (rounds - 1) * double(end - first) * costs.callCycles;
      if (double all = best[first] + saved - again - starts; all > best[end]) {
        best[end] = all;
        from[end] = first;
      }
    }
  }
  std::vector<Stretch> stretches;
  for (size_t end = calls.size(); end > 0;)
    if (from[end] == end) {
      --end;
    } else {
      stretches.push_back({from[end], end});
      end = from[end];
    }
  std::reverse(stretches.begin(), stretches.end());
  return stretches;
}

} // namespace lathe::runtime
