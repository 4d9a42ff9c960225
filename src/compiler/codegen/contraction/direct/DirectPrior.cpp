// The schedule of direct/1 without search: a small model of the register block's cost, then cache sizes.
#include "codegen/contraction/common/ContractionFacts.h"
#include "codegen/contraction/direct/DirectPlan.h"
#include "codegen/space/RegisterBlock.h"
#include "codegen/target/Caches.h"

#include <array>
#include <cmath>

namespace lathe {
namespace {

struct Block {
  int64_t width, px, oc;
  double cycles; // of one reduction step over all outputs of one image and group
};

constexpr int64_t unrolled = 8; // reduction steps per loop iteration
// Fewest tiles per panel of weights with which prefetching pays. A panel that fewer tiles use is read in order, and the
// hardware prefetches it by itself.
constexpr int64_t leastTiles = 3;

/// What prefetching adds to the time of a tile, as a share of it, when `tiles` of them follow each other on one panel
/// of weights: each tile fetches its share of the lines that an iteration needs, at 0.6 cycles a line as measured.
double prefetchCost(const Target &target, int64_t px, int64_t oc, int64_t tiles) {
  int64_t lines = unrolled * oc * target.vectorBits / 512;
  return 0.6 * double((lines + tiles - 1) / tiles) / (unrolled * stepCycles(target, px, oc, false));
}

/// Work of the busiest of `threads` slots over an equal share, when each slot gets a consecutive range of work items
/// and all ranges have the same number of items. `before`: work that a slot does once for each row of outputs in its
/// range, over the work of one vector of output channels on this row.
double slotWaste(const ConvGeometry &conv, const Block &block, int64_t lanes, int64_t rows, int64_t chunk,
                 bool channelsOuter, int64_t threads, double before = 0) {
  int64_t images = conv.images.isConstant() ? conv.images.constant() : 1;
  WorkAxis tiles = WorkAxis::cut((conv.outChannels + lanes - 1) / lanes, block.oc);
  auto axes = directItems(images, conv.groups, tiles, WorkAxis::cut(rows, chunk), channelsOuter);
  if (before == 0)
    return busiestShare(axes, threads);
  auto ranges = std::span(axes).first(2); // of images and rows, which are outermost
  int64_t inRange = conv.groups * tiles.pieces, items = images * axes[1].pieces * inRange;
  double busiest = 0;
  for (int64_t slot = 0; slot < threads; ++slot) {
    int64_t begin = items * slot / threads, end = items * (slot + 1) / threads;
    double work = workBefore(axes, end) - workBefore(axes, begin);
    if (begin < end)
      work += before * (workBefore(ranges, (end - 1) / inRange + 1) - workBefore(ranges, begin / inRange));
    busiest = std::max(busiest, work);
  }
  double total = workBefore(axes, items) + before * double(images) * rows;
  return busiest * threads / total;
}

/// How much longer a plan takes whose busiest slot does `waste` times an equal share. What is compiled for one thread
/// may run on two: there it only tells plans apart that are nearly as fast.
double slowdown(double waste, int threads) { return threads > 1 ? waste : 1 + 0.02 * (waste - 1); }

ContractionFormat formatOf(const KernelFacts &facts, const ConvGeometry &conv) {
  if (conv.open && conv.inputType == conv.type)
    return plainFormat(conv.type);
  ContractionFormat format = fastestFormat(facts.precision, facts.target, conv.types());
  // Instructions with two operands alone would need copies of the operands that are added. What is taken from the sums
  // of a tap shows beside few products: of 64 channels it cost 1 to 5 %, of 128 adding gained 9 % (Zen 4).
  constexpr int64_t fewest = 96; // input channels
  if (format.element == ElementType::i16 && facts.target.has("avx2") && conv.inBlock && conv.groups == 1 &&
      conv.inChannels >= fewest && !conv.open)
    if (ContractionFormat added = formatNamed("i16add", conv.type);
        added.takes(conv.types()) && added.productsPerCycle(facts.target) > format.productsPerCycle(facts.target))
      return added;
  return format;
}

/// Cycles per step for reading the input once per tile of channels, at best from the second level, if this is visible
/// beside the products of a pointwise convolution.
double inputCycles(const Target &target, const ConvGeometry &conv, int64_t lanes, int64_t tiles) {
  // Few blocks of channels are few streams, which a core with one multiply-add a cycle has the time to follow.
  constexpr int64_t fewStreams = 4;
  if (conv.pointwise() && target.fmaPerCycle() <= 1 && conv.inChannels <= fewStreams * lanes)
    return 0;
  return 0.5 * double(conv.outPixels()) * double(tiles) * 4 / target.machine.readRate(1) / double(conv.taps());
}

/// Cycles of a step that a tile of a pointwise convolution waits beyond its products: for the tile before it, and for
/// weights that do not stay in the first level. Where one tile of channels is all, waiting for weights is worth less
/// than reading the input once more.
double betweenTiles(const Target &target, const ConvGeometry &conv, const ContractionFormat &format, int64_t lanes,
                    int64_t oc) {
  constexpr double shown = 0.05;
  double lines = double(oc * target.vectorBits) / 8; // bytes of a step
  bool far =
      oc * lanes<conv.outChannels &&double(format.unitsOf(conv.inChannels)) * lines> target.machine.bytesPerCore(0);
  return (oc > 1 ? wideTileCycles / double(conv.inChannels) : 0) + (far ? shown * lines / 32 : 0);
}

/// Cycles of a step that all tiles take beside their products. `tiles`: of positions.
double besideProducts(const Target &target, const ConvGeometry &conv, const ContractionFormat &format, int64_t lanes,
                      int64_t oc, double tiles) {
  int64_t columns = (conv.outChannels + lanes * oc - 1) / (lanes * oc);
  double between = conv.pointwise() ? betweenTiles(target, conv, format, lanes, oc) : 0;
  return inputCycles(target, conv, lanes, columns) + between * tiles * double(columns);
}

/// Rows that a work item has at least, so that enough tiles follow one another on a panel that is fetched.
int64_t fewestRows(const ConvGeometry &conv, int64_t rows, int64_t tilesOfRow, bool prefetch) {
  constexpr int64_t enough = 4; // tiles
  return prefetch && conv.pointwise() ? std::min(rows, (enough + tilesOfRow - 1) / tilesOfRow) : 1;
}

/// True if the rows of a convolution of open extents are cut into tiles one by one, with their padding.
bool computesOpenRows(const ConvGeometry &conv) { return conv.open && (conv.taps() > 1 || conv.padded()); }

/// Tiles of `px` positions that compute a tap of the width, over all of its taps, in a row of `columns` open outputs: a
/// tile computes a tap for all of its positions or for none (docs/dynamic-shapes.md).
int64_t tilesTimesTaps(const ConvGeometry &conv, int64_t columns, int64_t px) {
  int64_t in = (columns - 1) * conv.stride[2] + (conv.kernel[2] - 1) * conv.dilation[2] + 1 - 2 * conv.padBegin[2];
  int64_t sum = 0;
  for (int64_t tap = 0; tap < conv.kernel[2]; ++tap) { // output columns [first, end) find the tap inside
    int64_t before = conv.padBegin[2] - tap * conv.dilation[2], stride = conv.stride[2];
    int64_t first = (std::max<int64_t>(before, 0) + stride - 1) / stride;
    int64_t end = std::min((std::max<int64_t>(in + before, 0) + stride - 1) / stride, columns);
    sum += std::max<int64_t>((end + px - 1) / px - first / px, 0);
  }
  return sum;
}

/// Cycles of a step over a row of open outputs, as many as the costs assume. The code chooses the width of its tiles
/// for the columns of a run, so longer rows count as much.
double openRowCycles(const KernelFacts &facts, const ConvGeometry &conv, int64_t lanes, int64_t px, int64_t oc) {
  ContractionFormat format = formatOf(facts, conv);
  int64_t vectors = (conv.outChannels + lanes - 1) / lanes;
  bool far = panelIsFar(facts.target, conv.taps() * format.unitsOf(conv.inChannels), oc);
  double mean = 0;
  constexpr std::array longer = {1.0, 1.4};
  for (double times : longer) {
    int64_t columns = std::llround(conv.out[2] * times);
    double best = INFINITY;
    for (int64_t width : openTileWidths(px)) {
      if (width > columns)
        continue;
      double cycles = double(vectors / oc) * stepCycles(facts.target, width, oc, far, format);
      if (vectors % oc)
        cycles += stepCycles(facts.target, width, vectors % oc, far, format);
      best = std::min(best, cycles * double(tilesTimesTaps(conv, columns, width)) / double(conv.kernel[2]));
    }
    mean += best * double(conv.out[2]) / double(columns) / longer.size();
  }
  return mean;
}

/// Cycles of a step over one row that is cut into `pieces`.
double rowCycles(const KernelFacts &facts, const ConvGeometry &conv, int64_t lanes, const EvenPieces &pieces,
                 int64_t oc) {
  ContractionFormat format = formatOf(facts, conv);
  int64_t vectors = (conv.outChannels + lanes - 1) / lanes;
  bool far = panelIsFar(facts.target, conv.taps() * format.unitsOf(conv.inChannels), oc);
  double cycles = 0;
  for (auto [piece, times] :
       {std::pair(pieces.small + 1, pieces.large), std::pair(pieces.small, pieces.count - pieces.large)}) {
    if (times)
      cycles += double(times) * (vectors / oc) * stepCycles(facts.target, piece, oc, far, format);
    if (times && vectors % oc)
      cycles += double(times) * stepCycles(facts.target, piece, vectors % oc, far, format);
  }
  return cycles;
}

Block bestBlock(const KernelFacts &facts, const ConvGeometry &conv, int64_t lanes, bool prefetch) {
  const Target &target = facts.target;
  const Caches caches = cachesOf(target, 1); // with the rate that threads share, blocks were measured to be slower
  ContractionFormat format = formatOf(facts, conv);
  int64_t vectors = (conv.outChannels + lanes - 1) / lanes;
  // Tiles that step over the ends of strided rows each have code of their own.
  int64_t longest = conv.pointwise() ? 400 : 64;
  std::vector<int64_t> widths = {conv.out[2]};
  if (conv.mergesRows())
    for (int64_t rows = 2; rows <= conv.out[0] * conv.out[1] && conv.out[2] * rows <= longest; ++rows)
      if (conv.out[0] * conv.out[1] % rows == 0)
        widths.push_back(conv.out[2] * rows);
  Block best{conv.out[2], 1, 1, INFINITY};
  for (int64_t width : widths)
    for (int64_t px = 1; px <= std::min<int64_t>(width, 28); ++px)
      for (int64_t oc = 1; oc <= std::min<int64_t>(vectors, 8); ++oc) {
        EvenPieces pieces = evenPieces(width, px);
        if (pieces.size(0) != px || !fitsRegisters(target, format, px, oc))
          continue;
        double cycles = computesOpenRows(conv) ? openRowCycles(facts, conv, lanes, px, oc)
                                               : rowCycles(facts, conv, lanes, pieces, oc);
        cycles *= double(conv.outPixels()) / width;
        // One tap is two nested short loops over channels, and LLVM spills between them where accumulators leave few
        // registers.
        if (conv.taps() == 1 && target.vectorRegisters >= 32 && px * oc >= 28)
          cycles *= 1.05;
        // Large weights are walked tile by tile: an odd number of tiles is hard to split.
        if (double(conv.taps()) * conv.inChannels * conv.outChannels * 4 > caches.secondLevel / 2 &&
            (vectors + oc - 1) / oc % 2)
          cycles *= 1.02;
        cycles += besideProducts(target, conv, format, lanes, oc, double(pieces.count * conv.outPixels() / width));
        // The panel in use and the one that is fetched share the second level with the input.
        if (double both = 2.0 * conv.taps() * conv.inChannels * oc * target.vectorBits / 8;
            both > caches.secondLevel / 2)
          cycles *= 1 + 0.04 * both / (caches.secondLevel / 2);
        // With one vector every multiplication loads its scalar: measured, more than twenty rows of them cost.
        if (oc == 1 && px > 20)
          cycles *= 1.08;
        if (cycles >= best.cycles * 0.999)
          continue;
        int64_t rows = conv.outPixels() / width;
        Block block{width, px, oc, cycles};
        block.cycles *= slowdown(slotWaste(conv, block, lanes, rows, fewestRows(conv, rows, pieces.count, prefetch),
                                           false, std::max(2, facts.threads)),
                                 facts.threads);
        if (int64_t tiles = rows * pieces.count; prefetch && tiles >= leastTiles)
          block.cycles *= 1 + prefetchCost(target, px, oc, tiles);
        if (block.cycles < best.cycles * 0.999)
          best = block;
      }
  return best;
}

/// Weights of this size come from memory each time the network runs.
bool weightsFromMemory(const ConvGeometry &conv) {
  return double(conv.taps()) * conv.inChannels * conv.outChannels * bitWidth(conv.type) / 8 > 96 << 10;
}

} // namespace

double directCycles(const KernelFacts &facts, const ConvGeometry &conv) {
  const Target &target = facts.target;
  int64_t lanes = target.lanes(std::max(32u, bitWidth(conv.type))), vectors = (conv.outChannels + lanes - 1) / lanes;
  Block block = bestBlock(facts, conv, lanes, weightsFromMemory(conv));
  ContractionFormat format = formatOf(facts, conv);
  int64_t steps = format.unitsOf(conv.inChannels);
  bool far = panelIsFar(target, conv.taps() * steps, block.oc);
  if (computesOpenRows(conv))
    return openRowCycles(facts, conv, lanes, block.px, block.oc) * double(conv.kernel[2]) * 1.04 * conv.reached(0) *
           conv.reached(1) * double(steps) * conv.groups;
  double row = 0; // all taps of the width, over one row of outputs
  for (const TileClass &tile : tileClasses(conv, block.px))
    for (auto &[first, last] : tile.reach)
      for (int64_t done = 0; done < vectors && last > first; done += block.oc) {
        int64_t oc = std::min(block.oc, vectors - done), positions = last - first;
        // Few sums do not hide what stands between the loops: measured.
        double between = positions * oc < 12 ? 1.12 : 1.04;
        row += tile.count * stepCycles(target, positions, oc, far, format) * between;
      }
  return row * conv.reached(0) * conv.reached(1) * double(steps) * conv.groups;
}

namespace {

/// Chooses the schedule of `direct`: the register block, then what lies in the caches, then shares of equal work.
class DirectRule {
public:
  DirectRule(const KernelFacts &facts, const ConvGeometry &conv, const RowsBefore *before)
      : target(facts.target), conv(conv), before(before), caches(cachesOf(target, 1)),
        lanes(target.lanes(std::max(32u, bitWidth(conv.type)))), threads(facts.threads), format(formatOf(facts, conv)),
        prefetch(weightsFromMemory(conv)), block(bestBlock(facts, conv, lanes, prefetch)),
        rows(conv.outPixels() / block.width), tiles((conv.outChannels + block.oc * lanes - 1) / (block.oc * lanes)),
        images(conv.images.isConstant() ? double(conv.images.constant()) : 1), size(format.bytesPerStep()),
        tileWeights(double(conv.taps()) * conv.inChannels * block.oc * lanes * size),
        weights(double(conv.taps()) * conv.inChannels * conv.outChannels * size),
        input(double(conv.inChannels) * conv.inPixels() * size), work(block.cycles * conv.inChannels * conv.taps()) {
    for (int axis = 0; axis < 2; ++axis) // strides leave rows out; what they leave out of a row comes with it
      input *= std::min(1.0, double(conv.kernel[axis]) / conv.stride[axis]);
  }

  DirectChoice choose() {
    Schedule schedule = emptySchedule("direct");
    schedule.numbers = {{"px", block.px}, {"oc", block.oc}, {"width", block.width}, {"kc", 0}};
    int64_t chunk = chunkInSecondLevel();
    bool outer = false;
    if (weightsPassOnce(chunk)) {
      outer = mayTurn();
      if (outer || conv.open) // with open extents one chunk of all rows passes the weights once, too
        chunk = rows;
      if (outer && !conv.open)
        schedule.numbers["kc"] = reductionCut();
    }
    auto [best, waste] = equalShares(chunk, outer);
    schedule.numbers["rows"] = best;
    schedule.words["outer"] = outer ? "channels" : "rows";
    schedule.numbers["prefetch"] = prefetch && best * tilesOfRow() >= leastTiles;
    schedule.numbers["unroll"] = unroll();
    if (format.converts)
      schedule.words["type"] = format.name;
    return {schedule, work, waste};
  }

private:
  const Target &target;
  const ConvGeometry &conv;
  const RowsBefore *before;
  const Caches caches;
  const int64_t lanes;
  const int threads;
  const ContractionFormat format;
  const bool prefetch;
  const Block block;
  const int64_t rows, tiles; // tiles of channels
  const double images, size; // size: bytes of an operand's element
  const double tileWeights, weights;
  double input; // bytes of an image's and group's input that are read
  const double work;

  int64_t tilesOfRow() const { return (block.width + block.px - 1) / block.px; }
  double chunksOf(int64_t chunk) const { return std::ceil(double(rows) / chunk); }

  /// Rows that lie in the second level beside the weights.
  int64_t chunkInSecondLevel() const {
    double rowBytes = input / rows, level = caches.secondLevel;
    if (before)
      rowBytes += double(before->conv.groups) * before->conv.inPixels() * size / rows;
    // What is computed here and what it is computed from pass through the second level beside each other; of more than
    // a quarter of it rows were read from farther away again (docs/notes/separable.md).
    double room = before ? level / 4 : std::max(level * 0.75 - 2 * tileWeights, level / 4);
    return std::clamp<int64_t>(int64_t(room / (rowBytes + 1)), 1, rows);
  }

  /// True if the weights should be read once and the input again for each tile of channels; false for the reverse. The
  /// operand that is read again should come from the second level.
  bool weightsPassOnce(int64_t chunk) const {
    double level = caches.secondLevel;
    double rowsOuter = images * input + weights * (weights > level / 2 ? images * chunksOf(chunk) : 1);
    double channelsOuter = weights + images * input * (images * input > level / 2 ? tiles : 1);
    // If both orders read the same (one chunk), the weights pass once only if a panel must be cut (reductionCut).
    return channelsOuter < rowsOuter || (channelsOuter == rowsOuter && tileWeights > level * 0.375);
  }

  /// True if tiles of channels may be the outer loop.
  bool mayTurn() const { return !format.converts && !before && (!conv.open || conv.mergesOpenRows()); }

  /// Number of input channels per pass with which a panel fits the second level; 0: all.
  int64_t reductionCut() const {
    int64_t unit = conv.inBlock ? conv.inBlock : 1, kc = conv.inChannels;
    for (int64_t parts = 2; tileWeights * kc / conv.inChannels > caches.secondLevel * 0.375 && parts <= conv.inChannels;
         ++parts)
      if (conv.inChannels % parts == 0 && (conv.inChannels / parts) % unit == 0)
        kc = conv.inChannels / parts;
    return kc == conv.inChannels ? 0 : kc;
  }

  /// Bytes of the input rows of `first` that two ranges of rows read.
  double readTwice(const ConvGeometry &first) const {
    int64_t reach = (first.kernel[1] - 1) * first.dilation[1] + 1,
            shared = std::max<int64_t>(0, reach - first.stride[1]);
    return double(std::min(shared, first.in[1])) * first.in[2] * first.groups * size;
  }

  /// Time with `chunk` rows a work item, over the time of equal shares without cache misses. `busiest`: as slotWaste.
  double timeOf(int64_t chunk, bool outer, double busiest) const {
    double cost = slowdown(busiest, threads);
    if (prefetch)
      cost *= 1 + prefetchCost(target, block.px, block.oc, chunk * tilesOfRow());
    if (!outer)
      cost += 0.5 * caches.read(weights) * chunksOf(chunk) / work;
    if (before)
      cost += 0.5 * readTwice(before->conv) * chunksOf(chunk) / caches.fromSecond / work;
    // Rows computed here lie in the first level if they are few, or come from the second once a tile.
    if (before && chunk * input / rows > caches.firstLevel / 2)
      cost += 0.5 * input * tiles / caches.fromSecond / work;
    return cost;
  }

  /// Rows a work item, at most `chunk`, and the work of the busiest slot over an equal share. Slots get equal shares of
  /// the work, but the more rows a unit has the less each tile has to prefetch and the less often weights are read
  /// again.
  std::pair<int64_t, double> equalShares(int64_t chunk, bool outer) const {
    int64_t best = chunk;
    double least = INFINITY, waste = 1, rowsBefore = 0;
    if (before) { // over the work of a row of one vector
      int64_t vectors = (conv.outChannels + lanes - 1) / lanes;
      rowsBefore = before->cycles * conv.out[1] * vectors / work;
    }
    int64_t smallest = before ? 1 : std::max<int64_t>(1, chunk / (4 * std::max(2, threads)));
    for (int64_t candidate = chunk; candidate >= smallest; --candidate) {
      double busiest = slotWaste(conv, block, lanes, rows, candidate, outer, std::max(2, threads), rowsBefore);
      double cost = timeOf(candidate, outer, busiest);
      if (cost < least - 0.005) {
        least = cost;
        best = candidate;
        waste = threads > 1 ? busiest : 1;
      }
    }
    return {best, waste};
  }

  int64_t unroll() const {
    int64_t steps = unrolled;
    if (int64_t run = conv.inBlock / format.group)
      while (run % steps)
        steps /= 2;
    // A block of channels in a loop and part of one behind it: LLVM spills where accumulators leave few registers.
    if (conv.inBlock && conv.inChannels % conv.inBlock && block.px * block.oc >= 28)
      steps = std::min<int64_t>(steps, 4);
    return steps;
  }
};

} // namespace

DirectChoice chooseDirect(const KernelFacts &facts, const ConvGeometry &conv, const RowsBefore *before) {
  return DirectRule(facts, conv, before).choose();
}

} // namespace lathe
