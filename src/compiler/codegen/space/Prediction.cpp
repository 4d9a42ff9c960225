#include "codegen/space/Prediction.h"

#include <algorithm>
#include <numeric>

namespace lathe {

double Prediction::total() const {
  return compute + std::accumulate(levels.begin(), levels.end(), 0.0) + start + forkJoin;
}

std::string Prediction::levelName(size_t index) const {
  return index + 1 == levels.size() ? "memory" : "L" + std::to_string(index + 2);
}

std::string Prediction::bound() const {
  double most = std::max({compute, start, forkJoin});
  std::string bound = most == compute ? "compute" : most == start ? "start" : "fork and join";
  for (size_t i = 0; i < levels.size(); ++i)
    if (levels[i] > most) {
      most = levels[i];
      bound = levelName(i);
    }
  return bound;
}

double forkJoinCycles(int threads) {
  // Two threads, measured: 0.13 us at 4 GHz (docs/notes/recurrent.md). A line travels to and from each further thread;
  // what that takes with more than two was not measured.
  return threads > 1 ? 520 + 100.0 * (threads - 2) : 0;
}

} // namespace lathe
