#include "codegen/space/WorkItems.h"

#include <algorithm>

namespace lathe {

double workBefore(std::span<const WorkAxis> axes, int64_t end) {
  if (axes.empty())
    return end > 0 ? 1 : 0;
  std::span<const WorkAxis> inner = axes.subspan(1);
  int64_t items = 1;
  for (const WorkAxis &axis : inner)
    items *= axis.pieces;
  const WorkAxis &axis = axes.front();
  auto size = [&](int64_t piece) { return piece + 1 < axis.pieces ? axis.whole : axis.last; };
  int64_t before = std::min(end / items, axis.pieces), rest = end - before * items;
  double sizes = double(before) * axis.whole + (before == axis.pieces ? axis.last - axis.whole : 0);
  return sizes * workBefore(inner, items) + (rest > 0 ? size(before) * workBefore(inner, rest) : 0);
}

double busiestShare(std::span<const WorkAxis> axes, int64_t threads) {
  int64_t items = 1;
  for (const WorkAxis &axis : axes)
    items *= axis.pieces;
  double busiest = 0, before = 0;
  for (int64_t slot = 0; slot < threads; ++slot) {
    double after = workBefore(axes, items * (slot + 1) / threads);
    busiest = std::max(busiest, after - before);
    before = after;
  }
  return before > 0 ? busiest * double(threads) / before : 1;
}

EvenPieces evenPieces(int64_t extent, int64_t most) {
  int64_t count = (extent + most - 1) / most;
  return {count, extent / count, extent % count};
}

} // namespace lathe
