// The schedule of `gemm` without search: register blocks, and how rows and the reduction are cut for the caches.
#include "codegen/contraction/common/ContractionFacts.h"
#include "codegen/contraction/gemm/GemmPlan.h"
#include "codegen/target/Caches.h"

#include <cmath>
#include <numeric>

namespace lathe {
namespace {

/// Number of left rows, out of `rows`, whose elements of one step are in the same set of the first-level cache (a way
/// has 4 KiB).
int64_t rowsInOneSet(const GemmGeometry &gemm, int64_t rows) {
  int64_t bytes = gemm.aRowStride * int64_t(bitWidth(gemm.type) / 8), way = 4096;
  int64_t sets = std::max<int64_t>(1, way / std::gcd(bytes, way));
  return (rows + sets - 1) / sets;
}

/// Cuts rows into chunks and the reduction into passes. While all columns pass by, the chunk's rows of one pass stay in
/// the second-level cache beside two tiles of columns, the one in use and the one that is fetched. Chunks read the
/// right operand again, ahead of its use, passes read and write all partial sums.
void setBlocking(const GemmGeometry &gemm, int64_t lanes, const ContractionFormat &format, const Caches &caches,
                 Schedule &schedule) {
  constexpr int64_t leastSteps = 256;
  auto secondLevel = int64_t(caches.secondLevel * 0.86);
  int64_t rows = schedule.number("mr"), wide = schedule.number("vectors") * lanes, size = format.unitBytes();
  int64_t steps = format.unitsOf(gemm.k); // of `size` bytes each
  int64_t m = gemm.m.constantOr(0);
  // Open extents are cut into chunks of a few hundred rows at most.
  int64_t pieces = m > 0 ? (m + rows - 1) / rows : std::max<int64_t>(1, 392 / rows), all = m > 0 ? m : pieces * rows;
  schedule.numbers["mc"] = 1;
  schedule.numbers["kc"] = 0;
  if (pieces == 1)
    return;
  double least = INFINITY;
  // Tries the smallest number of chunks for each size of chunks, because more chunks read more.
  for (int64_t chunks = 1, next = 0; chunks <= pieces; chunks = next) {
    int64_t mc = (pieces + chunks - 1) / chunks, held = mc * rows;
    next = mc > 1 ? (pieces + mc - 2) / (mc - 1) : pieces + 1;
    int64_t most =
        (secondLevel / size - held * wide) / (held + 2 * wide); // held * kc + 2 * kc * wide + held * wide elements
    if (most < std::min(leastSteps, steps) && mc > 1)
      continue;
    int64_t passes = most < leastSteps ? 1 : (steps + most - 1) / most, kc = (steps + passes - 1) / passes;
    double moved = caches.aheadCosts * double(chunks) * double(steps) * double(gemm.n) +
                   2 * double(passes - 1) * double(all) * double(gemm.n);
    if (moved >= least)
      continue;
    least = moved;
    schedule.numbers["mc"] = mc;
    schedule.numbers["kc"] = passes == 1 ? 0 : (kc + lanes - 1) / lanes * lanes;
  }
}

} // namespace

namespace {

/// Packed weights. Few rows make their sums from the codes, a block of rows at once; more rows bring a tile of columns
/// to the cache as numbers first.
Schedule packedPrior(const Target &target, const GemmGeometry &gemm) {
  int64_t lanes = gemmLanes(target, gemm), columns = (gemm.n + lanes - 1) / lanes, m = gemm.m.constantOr(0);
  bool wide = target.vectorRegisters >= 32;
  Schedule schedule = emptySchedule("gemm");
  schedule.numbers["unroll"] = 4;
  schedule.numbers["kc"] = 0;
  if (m > 0 && m <= mostPackedRows) {
    int64_t vectors = std::min<int64_t>(8, columns), rows = m;
    while (rows > 1 && packedRegisters(*gemm.packed, rows, 1) > target.vectorRegisters)
      --rows;
    while (vectors > 1 && packedRegisters(*gemm.packed, rows, vectors) > target.vectorRegisters)
      --vectors;
    schedule.numbers["mr"] = rows;
    schedule.numbers["vectors"] = vectors;
    schedule.numbers["mc"] = 1;
    schedule.numbers["packb"] = 0;
    return schedule;
  }
  int64_t rows = wide ? 14 : 6, held = 392; // rows of a chunk: they stay in the second-level cache beside the tile
  if (m > 0)
    rows = std::min(rows, m);
  schedule.numbers["mr"] = rows;
  schedule.numbers["vectors"] = std::min<int64_t>(2, columns);
  schedule.numbers["mc"] = held / rows;
  schedule.numbers["packb"] = 1;
  return schedule;
}

} // namespace

Schedule gemmPrior(const KernelFacts &facts, const GemmGeometry &gemm) {
  const Target &target = facts.target;
  if (gemm.packed)
    return packedPrior(target, gemm);
  int64_t lanes = target.lanes(std::max(32u, bitWidth(gemm.type)));
  int64_t columns = (gemm.n + lanes - 1) / lanes;
  bool wide = target.vectorRegisters >= 32;
  Schedule schedule = emptySchedule("gemm");
  auto set = [&](int64_t rows, int64_t vectors, int64_t unroll) {
    schedule.numbers = {{"mr", rows}, {"vectors", std::min(vectors, columns)}, {"unroll", unroll}};
  };
  int64_t m = gemm.m.constantOr(0);
  // Lower bound of the number of rows, which may be a symbolic batch times the rows of one image.
  int64_t least = gemm.m.evaluate([](const std::string &) { return 1; });
  if (m == 1)
    set(1, wide ? 8 : 4, 4); // bound by memory: long runs of the right operand
  else if (!gemm.m.isConstant() && least < (wide ? 28 : 12))
    set(wide ? 6 : 3, wide ? 4 : 3, 4);
  else if (m > 0 && m <= (wide ? 6 : 3))
    set(m, wide ? 4 : 3, 4);
  else
    set(wide ? 14 : 6, 2, 4);
  // Ways of the first-level cache are few: rows that lie a multiple of 4 KiB apart displace one another.
  bool mustConvert = !plainFormat(gemm.types()).takes(gemm.types());
  bool packs = !gemm.constantB && (m == 0 || m >= 8 || mustConvert);
  ContractionFormat format = plainFormat(gemm.types());
  if (gemm.aStepStride == 1 && (gemm.constantB || packs))
    format = (gemm.constantB ? preferredFormat : fastestFormat)(facts.precision, target, gemm.types());
  if (format.correctsSums() && m != 1 && formatApplies("i8mm", target, gemm.types()))
    format = formatNamed("i8mm", gemm.type);
  if (!format.converts && wide && schedule.number("mr") == 14 && rowsInOneSet(gemm, 14) > 10 && columns >= 3)
    set(9, 3, 4);
  setBlocking(gemm, lanes, format, cachesOf(target, facts.threads), schedule);
  int64_t rows = schedule.number("mr");
  int64_t bytes = gemm.k * format.unitBytes() / format.group;
  if (format.converts)
    schedule.words["type"] = format.name;
  // Weights of this size come from memory each time the network runs. One register block of rows uses each once and in
  // order, which the hardware follows; the next tile, far ahead, would be gone again when its turn comes.
  if (gemm.constantB)
    schedule.numbers["prefetch"] = (m == 0 || m > rows) && bytes * gemm.n > (96 << 10);
  if (!gemm.constantB) {
    schedule.numbers["packb"] = packs;
    schedule.numbers["kc"] = 0;
    if (m > 0 && packs && !format.converts) // converted rows have to stay near
      schedule.numbers["mc"] = (m + rows - 1) / rows;
  }
  return schedule;
}

} // namespace lathe
