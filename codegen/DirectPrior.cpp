// The schedule of direct/1 without search: a small model of the register block's cost, then cache sizes.
#include "codegen/Contraction.h"

#include <cmath>

namespace lathe {
namespace {

// Capacities the prior plans with; schedules say what was made of them.
constexpr double firstLevelBytes = 48 << 10, secondLevelBytes = 1 << 20;

/// Cycles of one reduction step of a register block: two multiply-adds and two loads a cycle, four cycles until a sum can be
/// added to again, and weights beyond the first level arriving at 24 bytes a cycle.
double stepCycles(const Target &target, int64_t rows, int64_t vectors, bool weightsFar) {
  int64_t held = std::min<int64_t>(vectors, int64_t(target.vectorRegisters) - rows * vectors - 1);
  int64_t groups = vectors == 1 ? 1 : (vectors + held - 1) / std::max<int64_t>(held, 1);
  double multiplies = rows * vectors / 2.0, loads = (vectors + rows * groups) / 2.0;
  double arrival = weightsFar ? vectors * target.vectorBits / 8 / 24.0 : 0;
  return std::max({multiplies, loads, arrival, 4.0}) + 0.05 * loads;
}

struct Block {
  int64_t width, px, oc;
  double cycles; // of one reduction step over all outputs of one image and group
};

Block bestBlock(const Target &target, const ConvGeometry &conv, int64_t lanes) {
  int64_t vectors = (conv.outChannels + lanes - 1) / lanes;
  std::vector<int64_t> widths = {conv.out[2]};
  if (conv.mergesRows())
    for (int64_t rows = 2; rows <= conv.out[0] * conv.out[1] && conv.out[2] * rows <= 64; ++rows)
      if (conv.out[0] * conv.out[1] % rows == 0)
        widths.push_back(conv.out[2] * rows);
  Block best{conv.out[2], 1, 1, INFINITY};
  for (int64_t width : widths)
    for (int64_t px = 1; px <= std::min<int64_t>(width, 28); ++px)
      for (int64_t oc = 1; oc <= std::min<int64_t>(vectors, 8); ++oc) {
        std::vector<int64_t> pieces = evenPieces(width, px);
        if (pieces[0] != px || !Microkernel::fits(target, px, oc))
          continue;
        double cycles = 0;
        bool far = double(conv.taps()) * conv.inChannels * oc * target.vectorBits / 8 > firstLevelBytes / 2;
        for (int64_t piece : pieces) {
          cycles += vectors / oc * stepCycles(target, piece, oc, far);
          if (vectors % oc)
            cycles += stepCycles(target, piece, vectors % oc, far);
        }
        cycles *= double(conv.outPixels()) / width;
        // One tap is two nested short loops over channels, and LLVM spills between them where accumulators leave few registers.
        if (conv.taps() == 1 && target.vectorRegisters >= 32 && px * oc >= 28)
          cycles *= 1.05;
        // Large weights are walked tile by tile: an odd number of tiles is hard to split.
        if (double(conv.taps()) * conv.inChannels * conv.outChannels * 4 > secondLevelBytes / 2 && (vectors + oc - 1) / oc % 2)
          cycles *= 1.02;
        if (cycles < best.cycles * 0.999)
          best = {width, px, oc, cycles};
      }
  return best;
}

/// Work of the busiest of `threads` slots over an equal share, when each gets the same number of consecutive units.
double slotWaste(const ConvGeometry &conv, const Block &block, int64_t lanes, int64_t rows, int64_t chunk, bool channelsOuter,
                 int64_t threads) {
  int64_t vectors = (conv.outChannels + lanes - 1) / lanes, chunks = (rows + chunk - 1) / chunk;
  int64_t perGroup = (vectors + block.oc - 1) / block.oc, tiles = conv.groups * perGroup;
  int64_t images = conv.images.isConstant() ? conv.images.constant() : 1, units = images * tiles * chunks;
  if (units > 100000)
    return 1;
  double total = 0, busiest = 0;
  for (int64_t slot = 0; slot < threads; ++slot) {
    double work = 0;
    for (int64_t unit = units * slot / threads; unit < units * (slot + 1) / threads; ++unit) {
      int64_t at = channelsOuter ? unit % chunks : unit / tiles % chunks;
      int64_t tile = (channelsOuter ? unit / (chunks * images) : unit % tiles) % perGroup;
      work += double(std::min(chunk, rows - at * chunk)) * std::min(block.oc, vectors - tile * block.oc);
    }
    total += work;
    busiest = std::max(busiest, work);
  }
  return busiest * threads / total;
}

} // namespace

Schedule directPrior(const ContractionProblem &problem, const ConvGeometry &conv) {
  const Target &target = problem.target();
  int64_t lanes = target.lanes(std::max(32u, bitWidth(conv.type)));
  Block block = bestBlock(target, conv, lanes);
  int64_t rows = conv.outPixels() / block.width;
  double size = bitWidth(conv.type) / 8.0;
  double tileWeights = double(conv.taps()) * conv.inChannels * block.oc * lanes * size;
  double weights = double(conv.taps()) * conv.inChannels * conv.outChannels * size;
  double input = double(conv.inChannels) * conv.inPixels() * size;
  int64_t tiles = (conv.outChannels + block.oc * lanes - 1) / (block.oc * lanes);

  Schedule schedule;
  schedule.algorithm = "direct";
  schedule.numbers = {{"px", block.px}, {"oc", block.oc}, {"width", block.width}, {"kc", 0}};

  // Whichever operand is read again should come from the second level, the other passes by once.
  int64_t chunk = std::clamp<int64_t>(int64_t(secondLevelBytes / 4 / (input / rows + 1)), 1, rows);
  double chunks = std::ceil(double(rows) / chunk);
  double rowsOuter = input + weights * (weights > secondLevelBytes / 2 ? chunks : 1);
  double channelsOuter = weights + input * (input > secondLevelBytes / 2 ? tiles : 1);
  bool outer = channelsOuter < rowsOuter;
  if (outer) {
    chunk = rows;
    int64_t unit = conv.inBlock ? conv.inBlock : 1;
    int64_t kc = conv.inChannels;
    for (int64_t parts = 2; tileWeights * kc / conv.inChannels > secondLevelBytes * 0.375 && parts <= conv.inChannels; ++parts)
      if (conv.inChannels % parts == 0 && (conv.inChannels / parts) % unit == 0)
        kc = conv.inChannels / parts;
    schedule.numbers["kc"] = kc == conv.inChannels ? 0 : kc;
  }
  // Slots get equal shares of the work, also when a program compiled for one thread runs on two.
  int64_t threads = std::max(2, problem.kernel.threads), best = chunk;
  double least = INFINITY;
  for (int64_t candidate = chunk; candidate >= std::max<int64_t>(1, chunk / (4 * threads)) && least > 1.02; --candidate)
    if (double waste = slotWaste(conv, block, lanes, rows, candidate, outer, threads); waste < least - 0.005) {
      least = waste;
      best = candidate;
    }
  chunk = best;
  schedule.numbers["rows"] = chunk;
  schedule.words["outer"] = outer ? "channels" : "rows";

  // Weights of this size come from memory each time the network runs.
  schedule.numbers["prefetch"] = weights > 96 << 10;

  int64_t unroll = 8;
  if (conv.inBlock)
    while (conv.inBlock % unroll)
      unroll /= 2;
  schedule.numbers["unroll"] = unroll;
  return schedule;
}

} // namespace lathe
