#include "codegen/space/RegisterBlock.h"

#include <algorithm>

namespace lathe {

int64_t heldVectors(const Target &target, int64_t rows, int64_t vectors) {
  return std::min<int64_t>(vectors, int64_t(target.vectorRegisters) - rows * vectors - 1);
}

bool fitsRegisters(const Target &target, int64_t rows, int64_t vectors) {
  // With one vector a step the broadcasts are memory operands and take no register.
  if (vectors == 1)
    return rows + 1 < target.vectorRegisters;
  return rows * vectors < target.vectorRegisters && heldVectors(target, rows, vectors) * 2 >= vectors;
}

int64_t accumulatorChains(const Target &target, int64_t rows, int64_t vectors) {
  constexpr int64_t underWay = 8;
  int64_t sums = rows * vectors, count = 1;
  // One fewer is as good: loading its operands takes as long.
  while (sums * count < underWay - 1 && fitsRegisters(target, rows * count * 2, vectors))
    count *= 2;
  return count;
}

} // namespace lathe
