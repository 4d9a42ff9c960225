// winograd/1: a 3x3 convolution of stride 1 on blocked activations as m x m output tiles (Winograd's minimal filtering
// F(m x m, 3 x 3); the matrices are in codegen/WinogradTransform.h). A work unit is a chunk of tiles of one image and a
// share of the output channels: it transforms the chunk's input into scratch, then, one tile of output channels after
// the other, multiplies at each of the (m + 2)^2 points and transforms back into the epilogue.
//
//   m         outputs a tile and axis: 2, 4 or 6; with type=bf16 2, 3 or 4
//   px        tiles a register block of the multiplication
//   blocks    register blocks a chunk: a chunk is px * blocks tiles
//   oc        vectors of output channels a register block; divides the number of vectors
//   split     shares of the output channels; the input transform is repeated in each
//   unroll    reduction steps per loop iteration
//   prefetch  1: while one point's weights are used, the next one's are fetched
//   type      bf16: transformed input and transformed weights are rounded (codegen/Bf16.h); transforms and products
//   stay fp32
//
// Weights are transformed in double and stored as f32 or bf16: (m + 2)^2 / 9 of their plain size.
#include "codegen/Bf16.h"
#include "codegen/Caches.h"
#include "codegen/Contraction.h"
#include "codegen/WinogradTransform.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <cstring>

namespace lathe {
namespace {

constexpr int64_t apart =
    80; // floats between the planes of two points beyond their size: planes would share cache sets

struct Plan {
  ConvGeometry conv;
  WinogradTransform transform;
  int64_t lanes, px, blocks, oc, split, unroll;
  bool prefetch, bf16 = false;

  int64_t m() const { return transform.outputs; }
  int64_t alpha() const { return transform.size(); }
  int64_t points() const { return alpha() * alpha(); }
  int64_t tileRows() const { return (conv.out[1] + m() - 1) / m(); }
  int64_t tileColumns() const { return (conv.out[2] + m() - 1) / m(); }
  int64_t tiles() const { return tileRows() * tileColumns(); }
  int64_t chunk() const { return px * blocks; }
  int64_t chunks() const { return (tiles() + chunk() - 1) / chunk(); }
  int64_t inBlocks() const { return (conv.inChannels + lanes - 1) / lanes; }
  int64_t channelTiles() const { return (conv.outChannels + lanes * oc - 1) / (lanes * oc); }
  int64_t wide() const { return oc * lanes; }
  /// Reduction steps of all input channels and of a block of them, and the channels of a step.
  int64_t channelsOfStep() const { return bf16 ? bf16::pair : 1; }
  int64_t steps() const { return bf16 ? bf16::pairsOf(conv.inChannels) : conv.inChannels; }
  int64_t blockSteps() const { return lanes / channelsOfStep(); }
  // Scratch, in floats: transformed input [point][channel block][tile][step of the block], products
  // [point][tile][vector][lane], and one tile between the two halves of a transform, beside a copy of its input with
  // zeros where it is padded.
  int64_t inputPlane() const { return inBlocks() * chunk() * blockSteps() + apart; }
  int64_t productPlane() const { return chunk() * wide() + apart; }
  int64_t productsAt() const { return points() * inputPlane(); }
  int64_t halfAt() const { return productsAt() + points() * productPlane(); }
  int64_t patchAt() const { return halfAt() + points() * lanes; }
  int64_t scratchFloats() const { return patchAt() + points() * lanes; }
};

/// Why winograd/1 does not compute `conv`; "" when it does.
std::string obstacle(const ContractionProblem &problem, const ConvGeometry &conv) {
  int64_t lanes = problem.target().lanes(32);
  if (problem.kernel.exactMath)
    return "exact math forbids Winograd transforms";
  if (problem.kernel.smallMemory)
    return "--memory small forbids Winograd transforms, which grow the weights";
  if (conv.type != ElementType::f32)
    return fmt::format("Winograd transforms of elements of type {}", name(conv.type));
  if (conv.groups != 1 || conv.kernel != ConvGeometry::Axes{1, 3, 3} || conv.stride != ConvGeometry::Axes{1, 1, 1} ||
      conv.dilation != ConvGeometry::Axes{1, 1, 1} || conv.in[0] != 1)
    return "Winograd transforms are for dense 3x3 convolutions of stride 1";
  if (conv.inBlock != lanes || conv.outBlock != lanes)
    return fmt::format("Winograd transforms need blocks of {} channels", lanes);
  return "";
}

Plan makePlan(const ContractionProblem &problem, const ConvGeometry &conv, const Schedule &schedule) {
  onlyParameters(schedule, {"m", "px", "blocks", "oc", "split", "unroll", "prefetch", "type"});
  if (std::string reason = obstacle(problem, conv); !reason.empty())
    throw Declined{reason};
  int64_t lanes = problem.target().lanes(32);
  bool rounds = bf16::scheduled(schedule, problem.target(), conv.type);
  Plan plan{conv, winogradTransform(parameter(schedule, "m", 4, 2, 6), rounds), lanes, 1, 1, 1, 1, 1, false, rounds};
  plan.px = parameter(schedule, "px", 1, 1, 64);
  plan.blocks = parameter(schedule, "blocks", 1, 1, 4096);
  plan.oc = parameter(schedule, "oc", 1, 1, 32);
  int64_t vectors = (conv.outChannels + lanes - 1) / lanes;
  if (vectors % plan.oc)
    throw Declined{fmt::format("oc={} does not divide {} vectors of output channels", plan.oc, vectors)};
  if (!Microkernel::fits(problem.target(), plan.px, plan.oc))
    throw Declined{
        fmt::format("px={} oc={} needs more than {} registers", plan.px, plan.oc, problem.target().vectorRegisters)};
  plan.split = parameter(schedule, "split", 1, 1, plan.channelTiles());
  plan.unroll = parameter(schedule, "unroll", 8, 1, lanes);
  if (plan.blockSteps() % plan.unroll)
    throw Declined{fmt::format("unroll={} does not divide blocks of {} channels", plan.unroll, lanes)};
  plan.prefetch = parameter(schedule, "prefetch", 0, 0, 1);
  if (plan.scratchFloats() > (int64_t(1) << 26))
    throw Declined{fmt::format("chunks of {} tiles need {} MiB of scratch", plan.chunk(), plan.scratchFloats() >> 18)};
  return plan;
}

/// O x I x 3 x 3 to G g G^T as [tile of channels][point][input channel][lane of the tile's vectors], rounded with the
/// channels of a pair innermost.
std::vector<char> packWeights(const nn::ConstantData &data, const Plan &plan) {
  const ConvGeometry &conv = plan.conv;
  int64_t alpha = plan.alpha(), wide = plan.wide();
  const CoefficientRows &g = plan.transform.filter;
  int64_t panel = plan.steps() * wide;
  std::vector<char> packed(plan.channelTiles() * plan.points() * panel * sizeof(float));
  auto *weights = reinterpret_cast<const float *>(data.bytes.data());
  std::vector<double> half(alpha * 3);
  for (int64_t o = 0; o < conv.outChannels; ++o)
    for (int64_t c = 0; c < conv.inChannels; ++c) {
      double taps[9];
      for (int64_t i = 0; i < 9; ++i) {
        float value;
        std::memcpy(&value, weights + (data.splat ? 0 : (o * conv.inChannels + c) * 9 + i), sizeof value);
        taps[i] = value;
      }
      for (int64_t i = 0; i < alpha; ++i)
        for (int64_t x = 0; x < 3; ++x)
          half[i * 3 + x] = g[i][0] * taps[x] + g[i][1] * taps[3 + x] + g[i][2] * taps[6 + x];
      char *to = packed.data() +
                 (o / wide * plan.points() * panel + c / plan.channelsOfStep() * wide + o % wide) * sizeof(float);
      for (int64_t i = 0; i < alpha; ++i)
        for (int64_t j = 0; j < alpha; ++j, to += panel * sizeof(float)) {
          auto value = float(g[j][0] * half[i * 3] + g[j][1] * half[i * 3 + 1] + g[j][2] * half[i * 3 + 2]);
          uint16_t rounded = bf16::rounded(value);
          if (plan.bf16)
            std::memcpy(to + c % bf16::pair * sizeof rounded, &rounded, sizeof rounded);
          else
            std::memcpy(to, &value, sizeof value);
        }
    }
  return packed;
}

class WinogradGenerator {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  WinogradGenerator(KernelBuilder &k, const Plan &plan, const Epilogue &epilogue, const RunTimeDims &dims,
                    bool paddedBias)
      : k(k), plan(plan), conv(plan.conv), epilogue(epilogue), dims(dims),
        micro(k, ElementType::f32, plan.lanes, plan.unroll, plan.bf16), paddedBias(paddedBias),
        wholeVectors(epilogue.wholeVectors() && (!plan.conv.bias || paddedBias)) {}

  void emit() {
    k.loop(k.begin(), k.end(), 1, [&](Value unit) { emitUnit(unit); });
  }

private:
  KernelBuilder &k;
  const Plan &plan;
  const ConvGeometry &conv;
  const Epilogue &epilogue;
  const RunTimeDims &dims;
  Microkernel micro;
  bool paddedBias, wholeVectors;
  Value image, firstTile, tiles; // of the current unit; `tiles` are there, at most a chunk

  Value load(Value base, Value offset) { return k.load(base, offset, ElementType::f32, plan.lanes); }
  void store(Value vector, Value offset) { k.store(vector, k.scratch(), offset, ElementType::f32); }
  void emitUnit(Value unit);
  void transformInput(Value tile);
  Value realLanes(Value block);
  void copyPatch(Value source, Value row, Value column);
  void multiply(Value channelTile);
  void transformOutput(Value channelTile, Value tile);
  void emitRows(Value row, Value rows, Value tileColumn, Value channel, int64_t channels);
};

void WinogradGenerator::emitUnit(Value unit) { // (image, chunk, share of the channels)
  Value share = k.rem(unit, plan.split), rest = k.div(unit, plan.split);
  firstTile = k.mul(k.rem(rest, plan.chunks()), plan.chunk());
  image = k.div(rest, plan.chunks());
  tiles = k.min(k.sub(k.constant(plan.tiles()), firstTile), k.constant(plan.chunk()));
  k.loop(k.constant(0), tiles, 1, [&](Value tile) { transformInput(tile); });
  Value low = k.div(k.mul(share, plan.channelTiles()), plan.split);
  Value high = k.div(k.mul(k.add(share, 1), plan.channelTiles()), plan.split);
  k.loop(low, high, 1, [&](Value channelTile) {
    multiply(channelTile);
    k.loop(k.constant(0), tiles, 1, [&](Value tile) { transformOutput(channelTile, tile); });
  });
}

/// alpha x alpha vectors from `source` (the plane of a channel block) at (row, column), zeros where they are padding.
void WinogradGenerator::copyPatch(Value source, Value row, Value column) {
  Value zero = k.zero(KernelBuilder::vectorOf(k.b.getF32Type(), plan.lanes)), none = k.constant(0);
  auto inside = [&](Value at, int64_t extent) {
    Value notBefore = k.less(k.constant(-1), at);
    return k.b.create<mlir::arith::AndIOp>(k.loc, notBefore, k.less(at, k.constant(extent))).getResult();
  };
  auto clamped = [&](Value at, int64_t extent) { return k.min(k.max(at, none), k.constant(extent - 1)); };
  k.loop(none, k.constant(plan.alpha()), 1, [&](Value i) {
    Value y = k.add(row, i), rowInside = inside(y, conv.in[1]);
    Value line = k.add(source, k.mul(clamped(y, conv.in[1]), conv.in[2] * plan.lanes));
    Value to = k.add(k.mul(i, plan.alpha() * plan.lanes), plan.patchAt());
    for (int64_t j = 0; j < plan.alpha(); ++j) {
      Value x = k.add(column, j);
      Value both = k.b.create<mlir::arith::AndIOp>(k.loc, rowInside, inside(x, conv.in[2]));
      Value vector = load(k.buffer(conv.input), k.add(line, k.mul(clamped(x, conv.in[2]), plan.lanes)));
      store(k.select(both, vector, zero), k.add(to, j * plan.lanes));
    }
  });
}

/// Lanes of a block that hold a channel, where an odd last one is paired with one that does not and may be anything;
/// null: nothing reads the others.
mlir::Value WinogradGenerator::realLanes(Value block) {
  if (!plan.bf16 || conv.inChannels % bf16::pair == 0)
    return {};
  Value rest = k.sub(k.constant(conv.inChannels), k.mul(block, plan.lanes));
  return k.prefixMask(k.min(rest, k.constant(plan.lanes)), plan.lanes);
}

/// B^T d B of one tile, for all channels.
void WinogradGenerator::transformInput(Value tile) {
  int64_t alpha = plan.alpha(), lanes = plan.lanes;
  Value at = k.add(firstTile, tile);
  Value row = k.sub(k.mul(k.div(at, plan.tileColumns()), plan.m()), k.constant(conv.padBegin[1]));
  Value column = k.sub(k.mul(k.rem(at, plan.tileColumns()), plan.m()), k.constant(conv.padBegin[2]));
  auto outside = [&](Value low, int64_t extent) { // any of alpha positions
    Value before = k.less(low, k.constant(0)), behind = k.less(k.constant(extent - alpha), low);
    return k.b.create<mlir::arith::OrIOp>(k.loc, before, behind).getResult();
  };
  Value padded = k.b.create<mlir::arith::OrIOp>(k.loc, outside(row, conv.in[1]), outside(column, conv.in[2]));
  Value imageAt = k.mul(image, conv.inImageStride());
  k.loop(k.constant(0), k.constant(plan.inBlocks()), 1, [&](Value block) {
    Value plane = k.add(imageAt, k.mul(block, conv.inPixels() * lanes));
    k.ifThen(padded, [&] { copyPatch(plane, row, column); });
    Value inside = k.add(plane, k.mul(k.add(k.mul(row, conv.in[2]), column), lanes));
    Value source = k.select(padded, k.scratch(), k.buffer(conv.input));
    Value from = k.select(padded, k.constant(plan.patchAt()), inside);
    Value line = k.select(padded, k.constant(alpha * lanes), k.constant(conv.in[2] * lanes));
    k.loop(k.constant(0), k.constant(alpha), 1, [&](Value j) {
      Values d;
      for (int64_t i = 0; i < alpha; ++i)
        d.push_back(load(source, k.add(k.add(from, k.mul(line, i)), k.mul(j, lanes))));
      Values t = applyRows(k, plan.transform.input, d);
      for (int64_t i = 0; i < alpha; ++i)
        store(t[i], k.add(k.mul(j, lanes), plan.halfAt() + i * alpha * lanes));
    });
    Value to = k.mul(k.add(k.mul(block, plan.chunk()), tile), plan.blockSteps());
    Value real = realLanes(block);
    k.loop(k.constant(0), k.constant(alpha), 1, [&](Value i) {
      Value half = k.add(k.mul(i, alpha * lanes), plan.halfAt());
      Values t;
      for (int64_t j = 0; j < alpha; ++j)
        t.push_back(load(k.scratch(), k.add(half, j * lanes)));
      Values v = applyRows(k, plan.transform.input, t);
      for (int64_t j = 0; j < alpha; ++j) {
        Value at = k.add(k.add(to, k.mul(i, alpha * plan.inputPlane())), j * plan.inputPlane());
        if (plan.bf16)
          bf16::storeNeighbours(k, real ? k.select(real, v[j], k.zero(v[j].getType())) : v[j], k.scratch(), at);
        else
          store(v[j], at);
      }
    });
  });
}

/// At each point: tiles x input channels times input channels x wide.
void WinogradGenerator::multiply(Value channelTile) {
  int64_t lanes = plan.lanes, panel = plan.steps() * plan.wide(), run = plan.blockSteps();
  llvm::SmallVector<int64_t> rows, offsets;
  for (int64_t p = 0; p < plan.px; ++p) {
    rows.push_back(p);
    offsets.push_back(p * run);
  }
  ReductionAxis axis{plan.steps(), run, 1, plan.chunk() * run};
  VectorOperand b{k.buffer(conv.weights), plan.wide()};
  Value weights = k.mul(channelTile, plan.points() * panel);
  k.loop(k.constant(0), k.constant(plan.points()), 1, [&](Value point) {
    k.loop(k.constant(0), k.constant(plan.blocks), 1, [&](Value block) {
      Value own = k.add(weights, k.mul(point, panel));
      if (plan.prefetch) // points, and tiles of channels behind them, lie in the order they are used
        micro.prefetch = micro.shareOfPanel(k.add(own, panel), panel, block, plan.blocks, axis, 1);
      Value a = k.add(k.mul(point, plan.inputPlane()), k.mul(block, plan.px * run));
      Values acc = micro.reduce(micro.zeros(plan.px * plan.oc), rows, offsets, plan.oc, k.scratch(), a, axis, b, own);
      Value to =
          k.add(k.add(k.mul(point, plan.productPlane()), k.mul(block, plan.px * plan.wide())), plan.productsAt());
      for (int64_t i = 0; i < plan.px * plan.oc; ++i)
        store(acc[i], k.add(to, i * lanes));
    });
  });
}

/// A^T m A of one tile, into the epilogue.
void WinogradGenerator::transformOutput(Value channelTile, Value tile) {
  int64_t alpha = plan.alpha(), m = plan.m(), lanes = plan.lanes;
  Value at = k.add(firstTile, tile);
  Value row = k.mul(k.div(at, plan.tileColumns()), m), tileColumn = k.rem(at, plan.tileColumns());
  Value rows = k.min(k.sub(k.constant(conv.out[1]), row), k.constant(m));
  k.loop(k.constant(0), k.constant(plan.oc), 1, [&](Value v) {
    Value from = k.add(k.add(k.mul(tile, plan.wide()), k.mul(v, lanes)), plan.productsAt());
    k.loop(k.constant(0), k.constant(alpha), 1, [&](Value j) {
      Values products;
      for (int64_t i = 0; i < alpha; ++i)
        products.push_back(
            load(k.scratch(), k.add(k.add(from, k.mul(j, plan.productPlane())), i * alpha * plan.productPlane())));
      Values t = applyRows(k, plan.transform.output, products);
      for (int64_t i = 0; i < m; ++i)
        store(t[i], k.add(k.mul(j, lanes), plan.halfAt() + i * alpha * lanes));
    });
    Value channel = k.mul(k.add(k.mul(channelTile, plan.oc), v), lanes);
    int64_t rest = conv.outChannels % lanes;
    auto finish = [&](int64_t channels) { emitRows(row, rows, tileColumn, channel, channels); };
    if (rest == 0 || wholeVectors)
      finish(lanes);
    else // the last vector has lanes without a channel
      k.ifThen(k.less(channel, k.constant(conv.outChannels - rest)), [&] { finish(lanes); }, [&] { finish(rest); });
  });
}

/// The second half of A^T m A, row by row, for one vector of `channels` valid channels.
void WinogradGenerator::emitRows(Value row, Value rows, Value tileColumn, Value channel, int64_t channels) {
  int64_t alpha = plan.alpha(), m = plan.m(), lanes = plan.lanes;
  Value bias;
  if (conv.bias) {
    PointAccess access;
    access.buffer = *conv.bias;
    access.type = conv.type;
    access.laneStride = 1;
    access.wholeBlocks = paddedBias;
    bias = Epilogue::loadLanes(k, access, channel, lanes, channels);
  }
  k.loop(k.constant(0), rows, 1, [&](Value i) {
    Value half = k.add(k.mul(i, alpha * lanes), plan.halfAt());
    Values t;
    for (int64_t j = 0; j < alpha; ++j)
      t.push_back(load(k.scratch(), k.add(half, j * lanes)));
    Values y = applyRows(k, plan.transform.output, t);
    if (bias)
      for (Value &value : y)
        value = k.b.create<mlir::arith::AddFOp>(k.loc, value, bias);
    auto emit = [&](int64_t width) {
      Epilogue::Tile out;
      out.image = image;
      out.pixel = k.add(k.mul(k.add(row, i), conv.out[2]), k.mul(tileColumn, m));
      out.channel = channel;
      for (int64_t p = 0; p < width; ++p)
        out.pixels.push_back(p);
      out.channels = channels;
      epilogue.emit(k, dims, out, mlir::ValueRange(y).take_front(width));
    };
    int64_t rest = conv.out[2] % m;
    if (rest == 0)
      emit(m);
    else if (plan.tileColumns() == 1)
      emit(rest);
    else
      k.ifThen(k.less(tileColumn, k.constant(plan.tileColumns() - 1)), [&] { emit(m); }, [&] { emit(rest); });
  });
}

// ---- The prior ---------------------------------------------------------------------------------------------------

/// `in` and `out`: operations of the input's and the output's transform.
double predictedCycles(const Target &target, const Plan &plan, double in, double out) {
  Caches caches = cachesOf(target);
  double alpha = plan.alpha(), m = plan.m(), inBlocks = plan.inBlocks(), outVectors = plan.channelTiles() * plan.oc;
  // Two multiply-adds, two loads, one store a cycle; a transform is two passes of alpha (or m) rows.
  auto pass = [](double count, double loads, double operations, double stores) {
    return count * std::max({loads / 2, operations / 2, stores, 1.0}) * 1.3;
  };
  double padded = std::min(1.0, 2.0 * (plan.tileRows() + plan.tileColumns()) / plan.tiles());
  double input =
      plan.tiles() * inBlocks * plan.split * (2 * pass(alpha, alpha, in, alpha) + padded * alpha * alpha * 3);
  double output = plan.tiles() * outVectors * (pass(alpha, alpha, out, m) + pass(m, alpha, out, m) + m * m);
  double rows = plan.px, vectors = plan.oc;
  double step = stepCycles(target, plan.px, plan.oc, panelIsFar(target, plan.steps(), plan.oc), plan.bf16);
  double products = double(plan.chunks()) * plan.blocks * plan.points() * plan.channelTiles() *
                    (plan.steps() * step + 1.5 * rows * vectors);
  double weights = double(plan.points()) * plan.steps() * outVectors * plan.lanes * 4;
  double again = caches.read(weights) * plan.chunks();
  double held = plan.productsAt() * 4.0; // the transformed input passes by once a tile of channels
  double inputAgain =
      caches.read(held) * plan.channelTiles() * plan.chunks() * (held > caches.secondLevel * 0.7 ? 1 : 0.3);
  return input + output + std::max(products, again) + 0.25 * std::min(products, again) + 0.5 * inputAgain;
}

/// Work of the busiest of `threads` slots over an equal share, in register blocks: the last chunk of an image may be
/// smaller than the others, and shares of the channels may differ by a tile.
double slotWaste(const Plan &plan, int64_t images, int64_t threads) {
  int64_t units = images * plan.chunks() * plan.split;
  if (units > 100000)
    return 1;
  double total = 0, busiest = 0;
  for (int64_t slot = 0; slot < threads; ++slot) {
    double work = 0;
    for (int64_t unit = units * slot / threads; unit < units * (slot + 1) / threads; ++unit) {
      int64_t share = unit % plan.split, chunk = unit / plan.split % plan.chunks();
      int64_t tiles = std::min(plan.chunk(), plan.tiles() - chunk * plan.chunk());
      int64_t channels = plan.channelTiles() * (share + 1) / plan.split - plan.channelTiles() * share / plan.split;
      work += double((tiles + plan.px - 1) / plan.px) * channels;
    }
    total += work;
    busiest = std::max(busiest, work);
  }
  return busiest * threads / total;
}

} // namespace

std::optional<Schedule> winogradPrior(const ContractionProblem &problem, const ConvGeometry &conv) {
  if (!obstacle(problem, conv).empty() || problem.target().vectorRegisters < 16)
    return std::nullopt;
  int64_t lanes = problem.target().lanes(32), vectors = (conv.outChannels + lanes - 1) / lanes;
  int64_t images = conv.images.isConstant() ? conv.images.constant() : 1, threads = problem.kernel.threads;
  // What is compiled for one thread may run on two: of plans that are nearly as fast the one that can be halved.
  auto slowdown = [&](const Plan &plan) {
    return threads > 1 ? slotWaste(plan, images, threads) : 1 + 0.02 * (slotWaste(plan, images, 2) - 1);
  };
  double weights = 9.0 * conv.inChannels * vectors * lanes * (bf16::wanted(problem.kernel, conv.type) ? 2 : 4);
  double direct = std::max(directCycles(problem, conv), cachesOf(problem.target()).read(weights));
  double least = direct * 0.95; // a change of algorithm has to be worth it
  std::optional<Schedule> best;
  bool rounds = bf16::wanted(problem.kernel, conv.type) && !bf16::pairsAreSlow(problem.target());
  using Choice = std::pair<int64_t, bool>; // m, rounded
  std::vector<Choice> choices{{2, false}, {4, false}, {6, false}};
  if (rounds)
    choices.insert(choices.end(), {{2, true}, {3, true}, {4, true}});
  for (auto [m, rounded] : choices) {
    Plan plan{conv, winogradTransform(m, rounded), lanes, 1, 1, 1, 1, 1, true, rounded};
    plan.unroll = std::min<int64_t>(8, plan.blockSteps());
    double in = operationsOf(plan.transform.input), out = operationsOf(plan.transform.output);
    for (plan.oc = 1; plan.oc <= std::min<int64_t>(vectors, 6); ++plan.oc) {
      if (vectors % plan.oc)
        continue;
      for (plan.px = 1; plan.px <= std::min<int64_t>(plan.tiles(), 28); ++plan.px) {
        if (!Microkernel::fits(problem.target(), plan.px, plan.oc))
          continue;
        for (plan.blocks = 1; plan.blocks == 1 || plan.chunk() < plan.tiles() + plan.px; ++plan.blocks) {
          if (plan.scratchFloats() * 4 > 6 << 20)
            break;
          // Each share of the channels repeats the input's transform: more of them only where slots would wait.
          for (plan.split = 1; plan.split <= std::min(plan.channelTiles(), std::max<int64_t>(2, 2 * threads));
               ++plan.split) {
            double cycles = predictedCycles(problem.target(), plan, in, out);
            if (cycles >= least * 0.999)
              break;
            cycles *= slowdown(plan);
            if (cycles >= least * 0.999)
              continue;
            least = cycles;
            best.emplace();
            best->algorithm = "winograd";
            best->numbers = {{"m", m},        {"px", plan.px},       {"blocks", plan.blocks},
                             {"oc", plan.oc}, {"split", plan.split}, {"unroll", plan.unroll},
                             {"prefetch", 1}};
            best->words.clear();
            if (rounded)
              best->words = {{"type", "bf16"}};
          }
        }
      }
    }
  }
  return best;
}

GeneratedKernel generateWinograd(const ContractionProblem &problem, const ConvGeometry &conv,
                                 const Schedule &schedule) {
  Plan plan = makePlan(problem, conv, schedule);
  RunTimeDims dims;
  dims.need(conv.images);
  PointSpace space{problem.shapes.of(conv.result).dims, ChannelAxis::second, 0};
  space.pixelAxes = space.dims.size() - 2;
  mlir::func::FuncOp function = problem.function();
  Epilogue epilogue(function, conv.result, space, plan.lanes, problem.shapes, dims);
  bool paddedBias = conv.bias && function.getArgAttr(*conv.bias, "nn.constant");

  std::vector<bool> writable(function.getNumArguments(), false);
  writable.resize(writable.size() + function.getNumResults(), true);
  KernelBuilder k(function.getContext(), problem.target(), "kernel", writable, dims.list().size());
  WinogradGenerator(k, plan, epilogue, dims, paddedBias).emit();

  GeneratedKernel result;
  result.module = k.finish();
  result.images = conv.images;
  result.units = conv.images * Dim(plan.chunks() * plan.split);
  result.scratchBytes = plan.scratchFloats() * int64_t(sizeof(float));
  result.dims = dims.list();
  result.packings.resize(function.getNumArguments());
  result.packings[conv.weights] =
      Packing{[plan](const nn::ConstantData &data) { return packWeights(data, plan); },
              fmt::format("winograd m={} oc={}x{}{}", plan.m(), plan.oc, plan.lanes, plan.bf16 ? " bf16" : ""),
              plan.bf16 ? ElementType::bf16 : conv.type};
  if (paddedBias)
    result.packings[*conv.bias] = paddedChannels(plan.lanes);
  epilogue.addPackings(result.packings);
  result.schedule = schedule;
  return result;
}

} // namespace lathe
