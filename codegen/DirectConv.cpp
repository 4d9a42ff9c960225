// direct/1: a convolution as a batch of small matrix products on unpadded input. A register block is `px` neighbouring output
// positions of one row times `oc` vectors of output channels; kernel taps that fall into padding are left out: along
// the width statically (each class of tiles knows which of its positions a tap reaches), along height and depth by the bounds of the
// tap loops.
//
//   px      output positions a register block (at most; rows are split evenly)
//   oc      vectors of output channels a register block
//   unroll  reduction steps per loop iteration
//   rows    output rows a work unit
//   width   output positions a row; pointwise convolutions may merge or split rows, strided ones of one tap may merge them
//   kc      input channels reduced before the next row (0: all); partial sums then wait in scratch
//   prefetch  1: while one panel of weights (a tile's share of one pass) is used, the next one is fetched
//   outer   rows: units of one row range follow each other (input stays hot); channels: units of one weight tile do
//   type    bf16: both operands are rounded (codegen/Bf16.h); a slot rounds the input rows of one row range into its scratch and
//           runs all its units of that range from there, so that only outer=rows and kc=0 are possible
#include "codegen/Bf16.h"
#include "codegen/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cstring>

namespace lathe {
namespace {

/// One tile of output channels: `count` of them with `vectors` vectors each.
struct ChannelTiles {
  int64_t full = 0;       // tiles of `vectors` vectors a group
  int64_t vectors = 1;
  int64_t tailVectors = 0; // vectors of the last tile, when it is smaller
  int64_t perGroup() const { return full + (tailVectors ? 1 : 0); }
};

struct Plan {
  ConvGeometry conv; // with rows merged or split as `width` says
  int64_t lanes, px, unroll, rows, kc, units;
  ChannelTiles tiles;
  bool channelsOuter, prefetch, bf16;
  int64_t steps; // of the reduction over all input channels of a group: channels, or their pairs
  int64_t rowWidth; // output positions of a row that lie side by side in the input
  std::vector<TileClass> classes;
  ReductionAxis axis; // of one pass over kc channels

  int64_t allRows() const { return conv.out[0] * conv.out[1]; }
  int64_t chunks() const { return (allRows() + rows - 1) / rows; }
  int64_t passes() const { return steps / kc; }
  int64_t tileStride(int64_t vectors) const { return conv.taps() * steps * vectors * lanes; }
  /// Input rows between those of neighbouring (merged) output rows.
  int64_t rowStep() const { return conv.stride[1] * (conv.out[2] / rowWidth); }
  /// Input rows, of all planes, whose rounded form is held for a range of output rows, and their positions. Volumes are held whole.
  bool holdsAll() const { return conv.in[0] > 1 || conv.out[0] > 1; }
  int64_t heldRows() const {
    int64_t all = conv.in[0] * conv.in[1];
    int64_t last = conv.stride[1] * (conv.out[2] / rowWidth - 1); // of a merged row, from its first
    return holdsAll() ? all : std::min(all, (rows - 1) * rowStep() + last + (conv.kernel[1] - 1) * conv.dilation[1] + 1);
  }
  int64_t heldPixels() const { return heldRows() * conv.in[2]; }
  int64_t heldUnits() const {
    if (conv.inBlock)
      return (conv.groups * conv.inChannels + conv.inBlock - 1) / conv.inBlock * conv.inBlock / bf16::pair * heldPixels();
    return conv.groups * steps * heldPixels();
  }
  /// Units or elements between neighbouring input positions, and between the input channels of two groups, where the kernel reads.
  int64_t pixelStride() const { return bf16 && conv.inBlock ? conv.inBlock / bf16::pair : conv.inPixelStride(); }
  int64_t groupInput() const { return bf16 ? steps * heldPixels() : conv.inChannels * conv.inChannelStride(); }
  /// Input positions from the first of a row to the one that column `q` of one tap reads; merged rows go on in later input rows.
  int64_t inAt(int64_t q) const {
    return q / rowWidth * conv.stride[1] * conv.in[2] + q % rowWidth * conv.stride[2];
  }
  int64_t groupStride() const { return tileStride(tiles.full * tiles.vectors + tiles.tailVectors); }
};

Plan makePlan(const ContractionProblem &problem, const ConvGeometry &geometry, const Schedule &schedule) {
  onlyParameters(schedule, {"px", "oc", "unroll", "rows", "width", "kc", "outer", "prefetch", "type"});
  Plan plan;
  plan.conv = geometry;
  ConvGeometry &conv = plan.conv;
  plan.lanes = problem.target().lanes(std::max(32u, bitWidth(conv.type)));
  if (conv.outBlock && conv.outBlock != plan.lanes)
    throw Declined{fmt::format("the result has blocks of {} channels, vectors have {}", conv.outBlock, plan.lanes)};
  if (conv.groups > 1 && ((conv.inBlock && conv.inChannels % conv.inBlock) || (conv.outBlock && conv.outChannels % conv.outBlock)))
    throw Declined{"the groups do not end where channel blocks do"};

  int64_t pixels = conv.outPixels();
  int64_t width = parameter(schedule, "width", conv.out[2], 1, pixels);
  plan.rowWidth = conv.out[2];
  if (width != conv.out[2]) {
    bool pointwise = conv.pointwise();
    if (!conv.mergesRows() || pixels % width || (!pointwise && width % conv.out[2]))
      throw Declined{fmt::format("width={} does not divide the {} positions of a pointwise convolution", width, pixels)};
    conv.out = {1, pixels / width, width};
    if (pointwise) {
      conv.in = conv.out;
      plan.rowWidth = width;
    }
  }
  plan.px = parameter(schedule, "px", 1, 1, 64);
  plan.px = std::min(plan.px, width);
  int64_t vectors = (conv.outChannels + plan.lanes - 1) / plan.lanes;
  int64_t oc = std::min(vectors, parameter(schedule, "oc", 1, 1, 32));
  if (!Microkernel::fits(problem.target(), evenPieces(width, plan.px)[0], oc))
    throw Declined{fmt::format("px={} oc={} needs more than {} registers", plan.px, oc, problem.target().vectorRegisters)};
  plan.tiles = {vectors / oc, oc, vectors % oc};
  plan.unroll = parameter(schedule, "unroll", 8, 1, 64);
  plan.rows = std::min(plan.allRows(), parameter(schedule, "rows", plan.allRows(), 1, int64_t(1) << 40));
  plan.bf16 = bf16::scheduled(schedule, problem.target(), conv.type);
  plan.steps = plan.bf16 ? bf16::pairsOf(conv.inChannels) : conv.inChannels;
  plan.kc = parameter(schedule, "kc", 0, 0, conv.inChannels);
  if (plan.bf16 && plan.kc)
    throw Declined{fmt::format("kc={}: type=bf16 reduces all channels at once", plan.kc)};
  if (plan.kc == 0)
    plan.kc = plan.steps;
  if (!plan.bf16 && (plan.steps % plan.kc || (plan.kc != conv.inChannels && conv.inBlock && plan.kc % conv.inBlock)))
    throw Declined{fmt::format("kc={} does not divide {} channels into whole blocks", plan.kc, conv.inChannels)};
  if (plan.bf16) {
    int64_t run = conv.inBlock ? conv.inBlock / bf16::pair : plan.steps;
    if (conv.inBlock && (plan.unroll > run || run % plan.unroll))
      throw Declined{fmt::format("unroll={} does not divide blocks of {} pairs of channels", plan.unroll, run)};
    plan.axis = conv.inBlock ? ReductionAxis{plan.steps, run, 1, run * plan.heldPixels()}
                             : ReductionAxis{plan.steps, run, plan.heldPixels(), 0};
  } else if (conv.inBlock) {
    if (plan.unroll > conv.inBlock || conv.inBlock % plan.unroll)
      throw Declined{fmt::format("unroll={} does not divide blocks of {} channels", plan.unroll, conv.inBlock)};
    plan.axis = {plan.kc, conv.inBlock, 1, conv.inBlock * conv.inPixels()};
  } else {
    plan.axis = {plan.kc, plan.kc, conv.inPixels(), 0};
  }
  std::string outer = schedule.word("outer", "rows");
  if (outer != "rows" && outer != "channels")
    throw Declined{fmt::format("outer={} is neither rows nor channels", outer)};
  plan.channelsOuter = outer == "channels";
  if (plan.bf16 && plan.channelsOuter)
    throw Declined{"outer=channels: type=bf16 rounds a range of rows once for all its channels"};
  if (plan.bf16 && plan.heldUnits() * bf16::unitBytes > (int64_t(1) << 28))
    throw Declined{fmt::format("rows={} need {} MiB of scratch", plan.rows, plan.heldUnits() * bf16::unitBytes >> 20)};
  plan.prefetch = parameter(schedule, "prefetch", 0, 0, 1);
  plan.classes = tileClasses(conv, plan.px);
  if (plan.rowWidth != width) { // every tile steps over the ends of rows in its own way
    plan.classes.clear();
    int64_t start = 0;
    for (int64_t piece : evenPieces(width, plan.px)) {
      TileClass tile;
      tile.start = start;
      tile.count = 1;
      tile.width = piece;
      tile.reach.emplace_back(0, piece);
      plan.classes.push_back(tile);
      start += piece;
    }
  }
  int64_t bodies = 0;
  for (const TileClass &tile : plan.classes)
    bodies += tile.reach.size();
  if (bodies * (plan.tiles.tailVectors ? 2 : 1) > 1500)
    throw Declined{fmt::format("px={} gives {} different tile and tap bodies", plan.px, bodies)};
  return plan;
}

/// O x I x kernel to [group][tile][pass][tap][channel][lane of all vectors of the tile], channels beyond the last zero.
std::vector<char> packWeights(const nn::ConstantData &data, const Plan &plan) {
  const ConvGeometry &conv = plan.conv;
  int64_t size = bitWidth(data.type) / 8, taps = conv.taps();
  std::vector<char> packed(conv.groups * plan.groupStride() * size);
  char *to = packed.data();
  for (int64_t g = 0; g < conv.groups; ++g)
    for (int64_t t = 0; t < plan.tiles.perGroup(); ++t) {
      int64_t wide = (t < plan.tiles.full ? plan.tiles.vectors : plan.tiles.tailVectors) * plan.lanes;
      int64_t first = t * plan.tiles.vectors * plan.lanes;
      int64_t real = std::min(wide, conv.outChannels - first);
      for (int64_t pass = 0; pass < plan.passes(); ++pass)
        for (int64_t tap = 0; tap < taps; ++tap)
          for (int64_t c = 0; c < plan.kc; ++c, to += wide * size)
            for (int64_t o = 0; o < real; ++o) {
              int64_t from = ((g * conv.outChannels + first + o) * conv.inChannels + pass * plan.kc + c) * taps + tap;
              std::memcpy(to + o * size, data.bytes.data() + (data.splat ? 0 : from * size), size);
            }
    }
  return packed;
}

/// O x I x kernel rounded, to [group][tile][tap][pair of channels][lane of all vectors of the tile][channel of the pair].
std::vector<char> packPairs(const nn::ConstantData &data, const Plan &plan) {
  const ConvGeometry &conv = plan.conv;
  int64_t taps = conv.taps();
  std::vector<char> packed(conv.groups * plan.groupStride() * bf16::unitBytes);
  char *to = packed.data();
  for (int64_t g = 0; g < conv.groups; ++g)
    for (int64_t t = 0; t < plan.tiles.perGroup(); ++t) {
      int64_t wide = (t < plan.tiles.full ? plan.tiles.vectors : plan.tiles.tailVectors) * plan.lanes;
      int64_t first = t * plan.tiles.vectors * plan.lanes;
      int64_t real = std::min(wide, conv.outChannels - first);
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t step = 0; step < plan.steps; ++step, to += wide * bf16::unitBytes)
          for (int64_t o = 0; o < real; ++o)
            for (int64_t c = step * bf16::pair; c < std::min(conv.inChannels, (step + 1) * bf16::pair); ++c) {
              int64_t from = ((g * conv.outChannels + first + o) * conv.inChannels + c) * taps + tap;
              float value;
              std::memcpy(&value, data.bytes.data() + (data.splat ? 0 : from * sizeof value), sizeof value);
              uint16_t half = bf16::rounded(value);
              std::memcpy(to + (o * bf16::pair + c % bf16::pair) * sizeof half, &half, sizeof half);
            }
    }
  return packed;
}

class DirectGenerator {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  DirectGenerator(KernelBuilder &k, const Plan &plan, const Epilogue &epilogue, const RunTimeDims &dims, bool paddedBias)
      : k(k), plan(plan), conv(plan.conv), epilogue(epilogue), dims(dims), micro(k, plan.conv.type, plan.lanes, plan.unroll, plan.bf16),
        paddedBias(paddedBias), wholeVectors(epilogue.wholeVectors() && (!plan.conv.bias || paddedBias)) {}

  void emit() {
    if (!plan.bf16)
      return k.loop(k.begin(), k.end(), 1, [&](Value unit) { emitUnit(unit); });
    // One range of rows after the other: its input is rounded for all units that the slot has of it.
    int64_t tiles = conv.groups * plan.tiles.perGroup();
    k.loop(k.div(k.begin(), tiles), k.div(k.add(k.end(), tiles - 1), tiles), 1, [&](Value range) {
      setRange(range);
      roundInput();
      Value first = k.mul(range, tiles);
      k.loop(k.max(k.begin(), first), k.min(k.end(), k.add(first, tiles)), 1, [&](Value unit) { emitUnit(unit); });
    });
  }

private:
  KernelBuilder &k;
  const Plan &plan;
  const ConvGeometry &conv;
  const Epilogue &epilogue;
  const RunTimeDims &dims;
  Microkernel micro;
  bool paddedBias, wholeVectors;
  // Where the current unit is.
  Value image, group, tileOfGroup, firstRow, lastRow, tileOfPanel;
  Value firstHeld; // input row, where rounded ones are held
  int64_t vectors = 1, validChannels = 0; // of the current channel tile

  /// What accumulators are, and so what waits in scratch.
  ElementType partialType() const { return isFloat(conv.type) && bitWidth(conv.type) == 16 ? ElementType::f32 : conv.type; }
  void emitUnit(Value unit);
  void setRows(Value chunk);
  void setRange(Value range);
  void roundInput();
  void emitRows();
  void emitTile(const TileClass &tile, Value row, Value column, Value pass);
  PanelPrefetch nextPanel(Value panel, Value tileOfPanel);
  Values initial(int64_t width, Value channel, Value partial, Value pass);
  Values reduceTaps(const TileClass &tile, Values acc, Value row, Value column, Value pass);
};

void DirectGenerator::setRows(Value chunk) {
  firstRow = k.mul(chunk, plan.rows);
  lastRow = plan.allRows() % plan.rows ? k.min(k.add(firstRow, plan.rows), k.constant(plan.allRows()))
                                       : k.add(firstRow, plan.rows);
}

/// `range`: (image, chunk of rows).
void DirectGenerator::setRange(Value range) {
  image = k.div(range, plan.chunks());
  setRows(k.rem(range, plan.chunks()));
  if (!plan.bf16)
    return;
  firstHeld = k.constant(0);
  if (!plan.holdsAll() && plan.heldRows() < conv.in[1])
    firstHeld = k.min(k.max(k.sub(k.mul(firstRow, plan.rowStep()), k.constant(conv.padBegin[1])), k.constant(0)), k.constant(conv.in[1]));
}

/// The input rows of a range as units in scratch: blocked [block][position][pair], row-major [group][pair][position].
void DirectGenerator::roundInput() {
  int64_t allRows = conv.in[0] * conv.in[1];
  Value rows = k.min(k.sub(k.constant(allRows), firstHeld), k.constant(plan.heldRows()));
  Value pixels = k.mul(rows, conv.in[2]), none = k.constant(0);
  Value from = k.add(k.mul(image, conv.inImageStride()), k.mul(firstHeld, conv.in[2] * conv.inPixelStride()));
  ElementType type = ElementType::f32;
  if (conv.inBlock) {
    int64_t channels = conv.groups * conv.inChannels, whole = channels / conv.inBlock, rest = channels % conv.inBlock;
    auto roundBlock = [&](Value block, int64_t valid) {
      Value source = k.add(from, k.mul(block, conv.inPixels() * conv.inBlock));
      Value to = k.mul(block, plan.heldPixels() * plan.pixelStride());
      k.loop(none, pixels, 1, [&](Value pixel) {
        Value at = k.add(source, k.mul(pixel, conv.inBlock));
        // Lanes without a channel may hold anything, and zero times that is not always zero.
        Value vector = valid == conv.inBlock ? k.load(k.buffer(conv.input), at, type, plan.lanes)
                                             : k.maskedLoad(k.buffer(conv.input), at, type, plan.lanes, k.prefixMask(k.constant(valid), plan.lanes));
        bf16::storeNeighbours(k, vector, k.scratch(), k.add(to, k.mul(pixel, plan.pixelStride())));
      });
    };
    k.loop(none, k.constant(whole), 1, [&](Value block) { roundBlock(block, conv.inBlock); });
    if (rest)
      roundBlock(k.constant(whole), rest);
    return;
  }
  k.loop(none, k.constant(conv.groups), 1, [&](Value g) {
    auto roundPair = [&](Value pair, bool both) {
      Value source = k.add(from, k.mul(k.add(k.mul(g, conv.inChannels), k.mul(pair, bf16::pair)), conv.inPixels()));
      Value to = k.mul(k.add(k.mul(g, plan.steps), pair), plan.heldPixels());
      auto round = [&](Value pixel, Value mask) {
        auto plane = [&](int64_t channel) -> Value {
          Value at = k.add(source, k.add(pixel, channel * conv.inPixels()));
          return mask ? k.maskedLoad(k.buffer(conv.input), at, type, plan.lanes, mask) : k.load(k.buffer(conv.input), at, type, plan.lanes);
        };
        bf16::storeInterleaved(k, plane(0), both ? plane(1) : Value(), k.scratch(), k.add(to, pixel));
      };
      Value whole = k.mul(k.div(pixels, plan.lanes), plan.lanes);
      k.loop(none, whole, plan.lanes, [&](Value pixel) { round(pixel, {}); });
      k.ifThen(k.less(whole, pixels), [&] { round(whole, k.prefixMask(k.sub(pixels, whole), plan.lanes)); });
    };
    k.loop(none, k.constant(conv.inChannels / bf16::pair), 1, [&](Value pair) { roundPair(pair, true); });
    if (conv.inChannels % bf16::pair)
      roundPair(k.constant(conv.inChannels / bf16::pair), false);
  });
}

void DirectGenerator::emitUnit(Value unit) {
  int64_t tiles = conv.groups * plan.tiles.perGroup();
  Value tile;
  if (plan.channelsOuter) { // (tile, image, chunk)
    Value images = dims.value(k, conv.images);
    setRows(k.rem(unit, plan.chunks()));
    Value rest = k.div(unit, plan.chunks());
    image = k.b.create<mlir::arith::RemUIOp>(k.loc, rest, images);
    tile = k.b.create<mlir::arith::DivUIOp>(k.loc, rest, images);
  } else { // (image, chunk, tile)
    tile = k.rem(unit, tiles);
    setRange(k.div(unit, tiles));
  }
  group = k.div(tile, plan.tiles.perGroup());
  tileOfGroup = k.rem(tile, plan.tiles.perGroup());
  if (conv.groups == 1) {
    group = k.constant(0);
    tileOfGroup = tile;
  }
  int64_t full = plan.tiles.full, fullLanes = plan.tiles.vectors * plan.lanes;
  auto whole = [&](int64_t valid) {
    vectors = plan.tiles.vectors;
    validChannels = valid;
    emitRows();
  };
  auto tail = [&] {
    vectors = plan.tiles.tailVectors;
    validChannels = conv.outChannels - full * fullLanes;
    emitRows();
  };
  if (plan.tiles.tailVectors && full)
    k.ifThen(k.less(tileOfGroup, k.constant(full)), [&] { whole(fullLanes); }, tail);
  else if (plan.tiles.tailVectors)
    tail();
  else if (conv.outChannels == full * fullLanes || wholeVectors)
    whole(fullLanes);
  else if (full == 1)
    whole(conv.outChannels);
  else // only the last tile has lanes without a channel
    k.ifThen(k.less(tileOfGroup, k.constant(full - 1)), [&] { whole(fullLanes); },
             [&] { whole(conv.outChannels - (full - 1) * fullLanes); });
}

void DirectGenerator::emitRows() {
  k.loop(k.constant(0), k.constant(plan.passes()), 1, [&](Value pass) {
    k.loop(firstRow, lastRow, 1, [&](Value row) {
      int64_t before = 0, inRow = 0;
      for (const TileClass &tile : plan.classes)
        inRow += tile.count;
      for (const TileClass &tile : plan.classes) {
        k.loop(k.constant(0), k.constant(tile.count), 1, [&](Value i) {
          tileOfPanel = k.add(k.add(k.mul(k.sub(row, firstRow), inRow), before), i);
          emitTile(tile, row, k.add(k.mul(i, tile.width), tile.start), pass);
        });
        before += tile.count;
      }
    });
  });
}

/// Panels lie one after the other in the order they are used, so the next one begins where this one, at `panel`, ends.
/// Every tile of the unit's rows fetches its share.
PanelPrefetch DirectGenerator::nextPanel(Value panel, Value tileOfPanel) {
  if (!plan.prefetch)
    return {};
  int64_t inRow = 0, elements = conv.taps() * plan.kc * vectors * plan.lanes;
  for (const TileClass &tile : plan.classes)
    inRow += tile.count;
  return micro.shareOfPanel(k.add(panel, elements), elements, tileOfPanel, plan.rows * inRow, plan.axis, conv.taps());
}

DirectGenerator::Values DirectGenerator::initial(int64_t width, Value channel, Value partial, Value pass) {
  Values acc;
  if (conv.bias) {
    PointAccess access;
    access.buffer = *conv.bias;
    access.type = conv.type;
    access.laneStride = 1;
    access.wholeBlocks = paddedBias;
    Values bias;
    for (int64_t v = 0; v < vectors; ++v) {
      int64_t real = std::min(plan.lanes, validChannels - v * plan.lanes);
      bias.push_back(real > 0 ? Epilogue::loadLanes(k, access, k.add(channel, v * plan.lanes), plan.lanes, real)
                              : micro.zeros(1)[0]);
    }
    for (int64_t p = 0; p < width; ++p)
      acc.append(bias.begin(), bias.end());
  } else {
    acc = micro.zeros(width * vectors);
  }
  if (plan.passes() == 1)
    return acc;
  // Later passes go on from the partial sums.
  mlir::Type type = acc[0].getType();
  llvm::SmallVector<mlir::Type> types(acc.size(), type);
  auto op = k.b.create<mlir::scf::IfOp>(k.loc, types, k.less(k.constant(0), pass), true);
  mlir::OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPointToEnd(op.thenBlock());
  Values loaded;
  ElementType computed = partialType();
  for (int64_t i = 0; i < width * vectors; ++i)
    loaded.push_back(k.load(k.scratch(), k.add(partial, i * plan.lanes), computed, plan.lanes));
  k.b.create<mlir::scf::YieldOp>(k.loc, loaded);
  k.b.setInsertionPointToEnd(op.elseBlock());
  k.b.create<mlir::scf::YieldOp>(k.loc, acc);
  return Values(op.getResults().begin(), op.getResults().end());
}

DirectGenerator::Values DirectGenerator::reduceTaps(const TileClass &tile, Values acc, Value row, Value column, Value pass) {
  Value depth = conv.out[0] == 1 ? k.constant(0) : k.div(row, conv.out[1]);
  Value height = conv.out[0] == 1 ? row : k.rem(row, conv.out[1]);
  int64_t wide = vectors * plan.lanes, pixel = plan.pixelStride();
  auto [depthLow, depthHigh] = tapRange(k, conv, 0, depth);
  auto [heightLow, heightHigh] = tapRange(k, conv, 1, height);

  Value input = plan.bf16 ? k.constant(0) : k.mul(image, conv.inImageStride());
  input = k.add(input, k.mul(group, plan.groupInput()));
  input = k.add(input, k.mul(pass, plan.kc * conv.inChannelStride()));
  Value weights = k.mul(group, plan.groupStride());
  weights = k.add(weights, k.mul(tileOfGroup, plan.tileStride(plan.tiles.vectors)));
  weights = k.add(weights, k.mul(pass, conv.taps() * plan.kc * wide));
  PanelPrefetch share = nextPanel(weights, tileOfPanel);
  Value inDepth = k.sub(k.mul(depth, conv.stride[0]), k.constant(conv.padBegin[0]));
  bool merged = plan.rowWidth != conv.out[2];
  Value inHeight = k.sub(k.mul(height, plan.rowStep()), k.constant(conv.padBegin[1]));
  if (plan.bf16)
    inHeight = k.sub(inHeight, firstHeld);
  Value inputs = plan.bf16 ? k.scratch() : k.buffer(conv.input);
  Value inColumn =
      merged ? k.constant(plan.inAt(tile.start)) : k.sub(k.mul(column, conv.stride[2]), k.constant(conv.padBegin[2]));

  llvm::SmallVector<int64_t> offsets;
  for (int64_t p = 0; p < tile.width; ++p)
    offsets.push_back((merged ? plan.inAt(tile.start + p) - plan.inAt(tile.start) : p * conv.stride[2]) * pixel);
  VectorOperand b{k.buffer(conv.weights), wide};
  // Kernel columns that reach the same positions share one body, unless a column is so short that its loop would cost.
  bool loopColumns = plan.kc >= 2 * plan.unroll;
  auto column1 = [&](mlir::ValueRange carried, Value inRow, Value tapRow, Value kw, std::pair<int64_t, int64_t> reach) {
    llvm::SmallVector<int64_t> rows;
    for (int64_t p = reach.first; p < reach.second; ++p)
      rows.push_back(p);
    Value at = k.add(inRow, k.mul(k.add(inColumn, k.mul(kw, conv.dilation[2])), pixel));
    // Unrolled columns read the same inputs at other positions.
    Value source = loopColumns ? inputs : micro.launder(inputs);
    Value tap = k.add(tapRow, kw);
    micro.prefetch = micro.continued(share, tap, plan.axis);
    return micro.reduce(carried, rows, offsets, vectors, source, at, plan.axis, b,
                        k.add(weights, k.mul(tap, plan.kc * wide)));
  };
  return k.loop(depthLow, depthHigh, 1, acc, [&](Value kd, mlir::ValueRange acc1) {
    return k.loop(heightLow, heightHigh, 1, acc1, [&](Value kh, mlir::ValueRange acc2) {
      Value inPlane = k.mul(k.add(inDepth, k.mul(kd, conv.dilation[0])), conv.in[1]);
      Value inRow = k.mul(k.add(inPlane, k.add(inHeight, k.mul(kh, conv.dilation[1]))), conv.in[2] * pixel);
      inRow = k.add(input, inRow);
      Value tapRow = k.mul(k.add(k.mul(kd, conv.kernel[1]), kh), conv.kernel[2]);
      Values state(acc2.begin(), acc2.end());
      for (int64_t kw = 0; kw < conv.kernel[2];) {
        int64_t same = kw + 1;
        while (loopColumns && same < conv.kernel[2] && tile.reach[same] == tile.reach[kw])
          ++same;
        state = k.loop(k.constant(kw), k.constant(same), 1, state, [&](Value at, mlir::ValueRange carried) {
          return column1(carried, inRow, tapRow, at, tile.reach[kw]);
        });
        kw = same;
      }
      return state;
    });
  });
}

void DirectGenerator::emitTile(const TileClass &tile, Value row, Value column, Value pass) {
  int64_t wide = vectors * plan.lanes;
  Value channel = k.add(k.mul(group, conv.outChannels), k.mul(tileOfGroup, plan.tiles.vectors * plan.lanes));
  Value partial = k.mul(k.add(k.mul(k.sub(row, firstRow), conv.out[2]), column), wide);
  Values acc = initial(tile.width, channel, partial, pass);
  acc = reduceTaps(tile, acc, row, column, pass);

  auto finish = [&] {
    Epilogue::Tile out;
    out.image = image;
    out.pixel = k.add(k.mul(row, conv.out[2]), column);
    out.channel = channel;
    for (int64_t p = 0; p < tile.width; ++p)
      out.pixels.push_back(p);
    out.vectors = vectors;
    out.channels = validChannels;
    epilogue.emit(k, dims, out, acc);
  };
  if (plan.passes() == 1)
    return finish();
  ElementType computed = partialType();
  k.ifThen(k.less(pass, k.constant(plan.passes() - 1)),
           [&] {
             for (size_t i = 0; i < acc.size(); ++i)
               k.store(acc[i], k.scratch(), k.add(partial, i * plan.lanes), computed);
           },
           finish);
}

} // namespace

GeneratedKernel generateDirect(const ContractionProblem &problem, const ConvGeometry &geometry, const Schedule &schedule) {
  Plan plan = makePlan(problem, geometry, schedule);
  const ConvGeometry &conv = plan.conv;
  RunTimeDims dims;
  dims.need(conv.images);
  PointSpace space{problem.shapes.of(conv.result).dims, ChannelAxis::second, 0};
  space.pixelAxes = space.dims.size() - 2;
  mlir::func::FuncOp function = problem.function();
  Epilogue epilogue(function, conv.result, space, plan.lanes, problem.shapes, dims);
  if (conv.groups > 1 && epilogue.blocked() && conv.outChannels % plan.lanes)
    throw Declined{"the groups do not end where channel blocks do"};

  std::vector<bool> writable(function.getNumArguments(), false);
  writable.resize(writable.size() + function.getNumResults(), true);
  KernelBuilder k(function.getContext(), problem.target(), "kernel", writable, dims.list().size());
  bool paddedBias = conv.bias && function.getArgAttr(*conv.bias, "nn.constant");
  DirectGenerator(k, plan, epilogue, dims, paddedBias).emit();

  GeneratedKernel result;
  result.module = k.finish();
  if (!plan.channelsOuter)
    result.images = conv.images;
  result.units = conv.images * Dim(conv.groups * plan.tiles.perGroup() * plan.chunks());
  if (plan.passes() > 1)
    result.scratchBytes = plan.rows * conv.out[2] * plan.tiles.vectors * plan.lanes * std::max(4u, bitWidth(conv.type) / 8);
  if (plan.bf16) // the last vector of a row-major pair may be stored whole
    result.scratchBytes = (plan.heldUnits() + plan.lanes) * bf16::unitBytes;
  result.dims = dims.list();
  result.packings.resize(function.getNumArguments());
  result.packings[conv.weights] = Packing{
      [plan](const nn::ConstantData &data) { return plan.bf16 ? packPairs(data, plan) : packWeights(data, plan); },
      fmt::format("goihw/oc={}x{} kc={}{}", plan.tiles.vectors, plan.lanes, plan.kc, plan.bf16 ? " bf16" : ""),
      plan.bf16 ? ElementType::bf16 : conv.type};
  if (paddedBias)
    result.packings[*conv.bias] = paddedChannels(plan.lanes);
  epilogue.addPackings(result.packings);
  result.schedule = schedule;
  return result;
}

} // namespace lathe
