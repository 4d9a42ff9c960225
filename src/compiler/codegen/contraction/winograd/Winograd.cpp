// winograd/2: a 3x3 convolution of stride 1 on blocked activations as m x m output tiles (Winograd's minimal filtering
// F(m x m, 3 x 3); the matrices are in codegen/contraction/winograd/WinogradTransform.h). A work unit is a chunk of tiles of one image and a
// share of the output channels: it transforms the chunk's input into scratch, then, one tile of output channels after
// the other, multiplies at each of the (m + 2)^2 points and transforms back into the epilogue.
//
// With pointsplit > 1, a work item of a first stage computes its share of the points for all tiles and channels, and
// reads only its share of the weights; a second stage transforms back. Transforms and products stay fp32 with
// type=bf16.
//
// Weights are transformed in double and stored as f32 or bf16: (m + 2)^2 / 9 of their plain size.
//
// With 8-bit operands everything is exact: F(2x2) is computed in whole numbers, and its sums are four times the
// results.
#include "codegen/builder/Runs.h"
#include "codegen/contraction/common/ContractionKernel.h"
#include "codegen/contraction/common/FormatCode.h"
#include "codegen/contraction/common/OpenConv.h"
#include "codegen/contraction/winograd/WinogradCode.h"
#include "codegen/contraction/winograd/WinogradPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {

namespace {

class WinogradGenerator {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  WinogradGenerator(KernelBuilder &k, const WinogradPlan &plan, const Epilogue &epilogue, const RunTimeDims &dims,
                    bool paddedBias)
      : k(k), plan(plan), conv(plan.conv), epilogue(epilogue), dims(dims),
        micro(k, plan.format, plan.lanes, plan.unroll), paddedBias(paddedBias),
        wholeVectors(epilogue.wholeVectors() && (!plan.conv.bias || paddedBias)) {}

  void emit() {
    zeroPoint = units::zeroPoint(k, conv.inputZero, conv.inputType, plan.lanes);
    if (!plan.staged())
      return k.loop(k.begin(), k.end(), 1, [&](Value unit) { emitUnit(unit); });
    // Two stages per image, first points, then outputs; each has one work item per share.
    forRuns(k, k.begin(), k.end(), plan.pointShares, [&](Value stage, Value low, Value high) {
      image = k.div(stage, 2);
      firstTile = k.constant(0);
      tiles = k.constant(plan.tiles());
      k.loop(low, high, 1, [&](Value share) {
        temporary = k.mul(share, plan.temporaries());
        k.ifThen(k.less(k.rem(stage, 2), k.constant(1)), [&] { emitPoints(share); }, [&] { emitOutputs(share); });
      });
    });
  }

private:
  KernelBuilder &k;
  const WinogradPlan &plan;
  const ConvGeometry &conv;
  const Epilogue &epilogue;
  const RunTimeDims &dims;
  Microkernel micro;
  bool paddedBias, wholeVectors;
  Value image, firstTile, tiles; // of the current unit; `tiles` are there, at most a chunk
  Value temporary;               // elements from the first share's temporaries in scratch to the unit's
  Value zeroPoint;               // of the input, for all lanes; null: none

  // Extents of the code: constants, or numbers of the run.
  Value extent(int64_t constant, const Dim &open) { return conv.open ? dims.value(k, open) : k.constant(constant); }
  Value inRows() { return extent(conv.in[1], conv.inExtent(1)); }
  Value lastRow() { return conv.open ? k.add(inRows(), -1) : k.constant(conv.in[1] - 1); }
  Value inColumns() { return extent(conv.in[2], conv.inExtent(2)); }
  Value outRows() { return extent(conv.out[1], conv.outExtent(1)); }
  Value outColumns() { return extent(conv.out[2], conv.outExtent(2)); }
  Value allTiles() { return extent(plan.tiles(), plan.openTiles()); }
  Value overColumns(Value tile) {
    return conv.open ? quotient(k, tile, dims.value(k, plan.openTileColumns())) : k.div(tile, plan.tileColumns());
  }
  Value columnOf(Value tile) {
    return conv.open ? remainder(k, tile, dims.value(k, plan.openTileColumns())) : k.rem(tile, plan.tileColumns());
  }

  Value load(Value offset) { return k.load(k.scratch(), offset, plan.format.sum, plan.lanes); }
  void store(Value vector, Value offset) { k.store(vector, k.scratch(), offset, plan.format.sum); }
  Value zero() { return k.zero(KernelBuilder::vectorOf(k.computeType(plan.format.sum), plan.lanes)); }
  /// Input elements, less their zero point.
  Value loadInput(Value base, Value offset) {
    return units::operand(k, plan.format, k.load(base, offset, conv.inputType, plan.lanes), conv.inputType, zeroPoint);
  }
  /// Where the row of zeros lies in scratch, in elements of the input.
  Value zeros() { return k.mul(k.add(temporary, plan.zerosAt()), 32 / bitWidth(conv.inputType)); }
  /// Where (i, j) of the tile between the two halves of a transform lies in scratch.
  Value half(Value i, Value j) {
    return k.add(k.add(temporary, k.mul(k.add(k.mul(i, plan.alpha()), j), plan.lanes)), plan.halfAt());
  }
  /// Where the products of a tile of channels begin in scratch.
  Value productsOf(Value channelTile) {
    return plan.staged() ? k.add(k.mul(channelTile, plan.products()), plan.productsAt())
                         : k.constant(plan.productsAt());
  }
  Value firstPoint(Value shareOfRows) {
    return k.mul(k.div(k.mul(shareOfRows, plan.alpha()), plan.pointShares), plan.alpha());
  }
  void emitUnit(Value unit);
  void emitPoints(Value share);
  void emitOutputs(Value share);
  void clearZeros();
  void transformInput(Value tile, int64_t firstRow, int64_t endRow);
  void storePoints(Value block, Value tile, int64_t firstRow, int64_t endRow);
  Value realLanes(Value block);
  void multiply(Value channelTile, Value low, Value high);
  void transformOutput(Value channelTile, Value vector, Value tile);
  void emitRows(Value row, Value rows, Value tileColumn, Value channel, int64_t channels);
  Value integerResult(Value sum, Value bias);
  void emitOpenWidth(Value left, const std::function<void(int64_t width)> &emit);
};

void WinogradGenerator::emitUnit(Value unit) { // (image, chunk, share of the channels)
  temporary = k.constant(0);
  Value none = k.constant(0), share = k.rem(unit, plan.split), rest = k.div(unit, plan.split);
  if (conv.open) {
    Value chunks = dims.value(k, plan.openChunks());
    auto [first, last] = pieceOf(k, allTiles(), remainder(k, rest, chunks), chunks);
    image = quotient(k, rest, chunks);
    firstTile = first;
    tiles = k.sub(last, first);
  } else {
    firstTile = k.mul(k.rem(rest, plan.chunks()), plan.chunk());
    image = k.div(rest, plan.chunks());
    tiles = k.min(k.sub(k.constant(plan.tiles()), firstTile), k.constant(plan.chunk()));
  }
  clearZeros();
  k.loop(none, tiles, 1, [&](Value tile) { transformInput(tile, 0, plan.alpha()); });
  Value low = k.div(k.mul(share, plan.channelTiles()), plan.split);
  Value high = k.div(k.mul(k.add(share, 1), plan.channelTiles()), plan.split);
  k.loop(low, high, 1, [&](Value channelTile) {
    multiply(channelTile, none, k.constant(plan.points()));
    k.loop(none, tiles, 1, [&](Value tile) {
      k.loop(none, k.constant(plan.oc), 1, [&](Value vector) { transformOutput(channelTile, vector, tile); });
    });
  });
}

/// The products of one share of the points.
void WinogradGenerator::emitPoints(Value share) {
  clearZeros();
  // Each share of the rows has code of its own, with its coefficients.
  std::function<void(int64_t)> transformFrom = [&](int64_t number) {
    auto transform = [&] {
      k.loop(k.constant(0), tiles, 1,
             [&](Value tile) { transformInput(tile, plan.firstRowOf(number), plan.firstRowOf(number + 1)); });
    };
    if (number + 1 == plan.pointShares)
      return transform();
    k.ifThen(k.less(share, k.constant(number + 1)), transform, [&] { transformFrom(number + 1); });
  };
  transformFrom(0);
  k.loop(k.constant(0), k.constant(plan.channelTiles()), 1,
         [&](Value channelTile) { multiply(channelTile, firstPoint(share), firstPoint(k.add(share, 1))); });
}

/// One share of the results, (vector of channels, tile): slots meet in as few cache lines as can be.
void WinogradGenerator::emitOutputs(Value share) {
  int64_t all = plan.outVectors() * plan.tiles();
  auto bound = [&](Value number) { return k.div(k.mul(number, all), plan.pointShares); };
  k.loop(bound(share), bound(k.add(share, 1)), 1, [&](Value number) {
    Value vector = k.div(number, plan.tiles());
    transformOutput(k.div(vector, plan.oc), k.rem(vector, plan.oc), k.rem(number, plan.tiles()));
  });
}

/// The row of zeros, or of zero points, that stands for rows of padding.
void WinogradGenerator::clearZeros() {
  Value element = conv.inputZero ? k.splat(k.load(k.buffer(*conv.inputZero), k.constant(0), conv.inputType), plan.lanes)
                                 : k.zero(KernelBuilder::vectorOf(k.computeType(conv.inputType), plan.lanes));
  for (int64_t j = 0; j < plan.alpha(); ++j)
    k.store(element, k.scratch(), k.add(zeros(), j * plan.lanes), conv.inputType);
}

/// Lanes of a block that hold a channel, where the last unit has lanes that do not and may be anything; null: nothing
/// reads the others.
mlir::Value WinogradGenerator::realLanes(Value block) {
  if (conv.inChannels % plan.format.group == 0)
    return {};
  Value rest = k.sub(k.constant(conv.inChannels), k.mul(block, plan.lanes));
  return k.prefixMask(k.min(rest, k.constant(plan.lanes)), plan.lanes);
}

/// Rows [firstRow, endRow) of B^T d B of one tile, for all channels.
void WinogradGenerator::transformInput(Value tile, int64_t firstRow, int64_t endRow) {
  int64_t alpha = plan.alpha(), lanes = plan.lanes;
  Value none = k.constant(0), all = k.constant(alpha), at = k.add(firstTile, tile);
  Value row = k.sub(k.mul(overColumns(at), plan.m()), k.constant(conv.padBegin[1]));
  Value column = k.sub(k.mul(columnOf(at), plan.m()), k.constant(conv.padBegin[2]));
  // The tile's columns inside the input; the others are the same for all channels.
  Value firstInside = k.min(k.max(k.sub(none, column), none), all);
  Value endInside = k.max(k.min(k.sub(inColumns(), column), all), firstInside);
  auto clear = [&](Value j) {
    for (int64_t i = firstRow; i < endRow; ++i)
      store(zero(), half(k.constant(i), j));
  };
  k.loop(none, firstInside, 1, clear);
  k.loop(endInside, all, 1, clear);
  int64_t pixel = conv.inPixelStride(); // of zeros: `lanes`
  auto columns = [&](const std::function<Value(int64_t i, Value j)> &element) {
    k.loop(firstInside, endInside, 1, [&](Value j) {
      Values d;
      for (int64_t i = 0; i < alpha; ++i)
        d.push_back(element(i, j));
      Values t = applyRows(k, plan.transform.input, d);
      for (int64_t i = firstRow; i < endRow; ++i)
        store(t[i], half(k.constant(i), j));
    });
  };
  Value above = k.less(row, none);
  Value below = k.less(conv.open ? k.add(inRows(), -alpha) : k.constant(conv.in[1] - alpha), row);
  Value padded = k.b.create<mlir::arith::OrIOp>(k.loc, above, below);
  Value imageAt = k.mul(image, extent(conv.inImageStride(), conv.inPlane() * Dim(conv.storedChannels())));
  k.loop(none, k.constant(plan.inBlocks()), 1, [&](Value block) {
    Value plane = k.add(imageAt, conv.open ? k.mul(k.mul(block, dims.value(k, conv.inPlane())), lanes)
                                           : k.mul(block, conv.inChannelStride() * lanes));
    Value corner = k.add(plane, k.mul(k.add(k.mul(row, inColumns()), column), pixel));
    auto lineOf = [&](int64_t i) { // of the tile
      return conv.open ? k.mul(inColumns(), i * lanes) : k.constant(i * conv.in[2] * pixel);
    };
    k.ifThen(
        padded,
        [&] {
          Values bases, lines, steps;
          for (int64_t i = 0; i < alpha; ++i) {
            Value y = k.add(row, i);
            Value outside = k.b.create<mlir::arith::OrIOp>(k.loc, k.less(y, none), k.less(lastRow(), y));
            bases.push_back(k.select(outside, k.scratch(), k.buffer(conv.input)));
            lines.push_back(k.select(outside, zeros(), k.add(corner, lineOf(i))));
            Value step = k.constant(pixel);
            steps.push_back(pixel == lanes ? step : k.select(outside, k.constant(lanes), step));
          }
          columns([&](int64_t i, Value j) { return loadInput(bases[i], k.add(lines[i], k.mul(j, steps[i]))); });
        },
        [&] {
          auto lineAt = [&](int64_t i) { return k.add(corner, lineOf(i)); };
          columns(
              [&](int64_t i, Value j) { return loadInput(k.buffer(conv.input), k.add(lineAt(i), k.mul(j, pixel))); });
        });
    storePoints(block, tile, firstRow, endRow);
  });
}

/// The second half of B^T d B: rows [firstRow, endRow) of the half in scratch become points of one block of channels.
void WinogradGenerator::storePoints(Value block, Value tile, int64_t firstRow, int64_t endRow) {
  int64_t alpha = plan.alpha();
  Value to = k.mul(k.add(k.mul(block, plan.chunk()), tile), plan.blockSteps());
  Value real = realLanes(block);
  k.loop(k.constant(firstRow), k.constant(endRow), 1, [&](Value i) {
    Values t;
    for (int64_t j = 0; j < alpha; ++j)
      t.push_back(load(half(i, k.constant(j))));
    Values v = applyRows(k, plan.transform.input, t);
    for (int64_t j = 0; j < alpha; ++j) {
      Value at = k.add(k.add(to, k.mul(i, alpha * plan.inputPlane())), j * plan.inputPlane());
      units::storeNeighbours(k, plan.format, real ? k.select(real, v[j], k.zero(v[j].getType())) : v[j], k.scratch(),
                             at);
    }
  });
}

/// At each point of [low, high): tiles x input channels times input channels x wide.
void WinogradGenerator::multiply(Value channelTile, Value low, Value high) {
  int64_t lanes = plan.lanes, panel = plan.steps() * plan.wide(), run = plan.blockSteps();
  llvm::SmallVector<int64_t> rows, offsets;
  for (int64_t p = 0; p < plan.px; ++p) {
    rows.push_back(p);
    offsets.push_back(p * run);
  }
  ReductionAxis axis{plan.steps(), run, 1, plan.chunk() * run};
  VectorOperand b{k.buffer(conv.weights), plan.wide()};
  Value weights = k.mul(channelTile, plan.points() * panel), products = productsOf(channelTile);
  k.loop(low, high, 1, [&](Value point) {
    Value firstBlock = k.constant(0), blocks = conv.open ? quotientUp(k, tiles, plan.px) : k.constant(plan.blocks);
    k.loop(firstBlock, blocks, 1, [&](Value block) {
      Value own = k.add(weights, k.mul(point, panel));
      if (plan.prefetch) // points, and tiles of channels behind them, lie in the order they are used
        micro.prefetch = micro.shareOfPanel(k.add(own, panel), panel, block, plan.blocks, axis, 1);
      Value a = k.add(k.mul(point, plan.inputPlane()), k.mul(block, plan.px * run));
      Values acc = micro.reduce(micro.zeros(plan.px * plan.oc), rows, offsets, plan.oc, k.scratch(), a, axis, b, own);
      Value to = k.add(k.add(k.mul(point, plan.productPlane()), k.mul(block, plan.px * plan.wide())), products);
      for (int64_t i = 0; i < plan.px * plan.oc; ++i)
        store(acc[i], k.add(to, i * lanes));
    });
  });
}

/// A^T m A of one tile and vector of its tile of channels, into the epilogue.
void WinogradGenerator::transformOutput(Value channelTile, Value vector, Value tile) {
  int64_t alpha = plan.alpha(), m = plan.m(), lanes = plan.lanes;
  Value at = k.add(firstTile, tile);
  Value row = k.mul(overColumns(at), m), tileColumn = columnOf(at);
  Value rows = k.min(k.sub(outRows(), row), k.constant(m));
  Value from = k.add(k.add(k.mul(tile, plan.wide()), k.mul(vector, lanes)), productsOf(channelTile));
  k.loop(k.constant(0), k.constant(alpha), 1, [&](Value j) {
    Values products;
    for (int64_t i = 0; i < alpha; ++i)
      products.push_back(load(k.add(k.add(from, k.mul(j, plan.productPlane())), i * alpha * plan.productPlane())));
    Values t = applyRows(k, plan.transform.output, products);
    for (int64_t i = 0; i < m; ++i)
      store(t[i], half(k.constant(i), j));
  });
  Value channel = k.mul(k.add(k.mul(channelTile, plan.oc), vector), lanes);
  int64_t rest = conv.outChannels % lanes;
  auto finish = [&](int64_t channels) { emitRows(row, rows, tileColumn, channel, channels); };
  if (rest == 0 || wholeVectors)
    finish(lanes);
  else // the last vector has lanes without a channel
    k.ifThen(k.less(channel, k.constant(conv.outChannels - rest)), [&] { finish(lanes); }, [&] { finish(rest); });
}

/// The second half of A^T m A, row by row, for one vector of `channels` valid channels.
void WinogradGenerator::emitRows(Value row, Value rows, Value tileColumn, Value channel, int64_t channels) {
  int64_t alpha = plan.alpha(), m = plan.m(), lanes = plan.lanes;
  Value bias;
  if (conv.bias)
    bias = Epilogue::loadLanes(k, biasAccess(*conv.bias, conv.type, paddedBias), channel, lanes, channels);
  k.loop(k.constant(0), rows, 1, [&](Value i) {
    Values t;
    for (int64_t j = 0; j < alpha; ++j)
      t.push_back(load(half(i, k.constant(j))));
    Values y = applyRows(k, plan.transform.output, t);
    for (Value &value : y)
      value = plan.integers() ? integerResult(value, bias)
              : bias          ? k.b.create<mlir::arith::AddFOp>(k.loc, value, bias).getResult()
                              : value;
    auto emit = [&](int64_t width) {
      Epilogue::Tile out;
      out.image = image;
      out.pixel = k.add(k.mul(k.add(row, i), outColumns()), k.mul(tileColumn, m));
      out.channel = channel;
      for (int64_t p = 0; p < width; ++p)
        out.pixels.push_back(p);
      out.channels = channels;
      epilogue.emit(k, dims, out, mlir::ValueRange(y).take_front(width));
    };
    if (conv.open)
      return emitOpenWidth(k.sub(outColumns(), k.mul(tileColumn, m)), emit);
    int64_t rest = conv.out[2] % m;
    if (rest == 0)
      emit(m);
    else if (plan.tileColumns() == 1)
      emit(rest);
    else
      k.ifThen(k.less(tileColumn, k.constant(plan.tileColumns() - 1)), [&] { emit(m); }, [&] { emit(rest); });
  });
}

/// What a sum of whole numbers stands for, and the bias, if there is one.
mlir::Value WinogradGenerator::integerResult(Value sum, Value bias) {
  sum = k.b.create<mlir::arith::ShRSIOp>(k.loc, sum, units::integer(k, plan.transform.resultShift, plan.lanes));
  return bias ? k.b.create<mlir::arith::AddIOp>(k.loc, sum, bias).getResult() : sum;
}

/// `left`: output columns from the tile's first one on.
void WinogradGenerator::emitOpenWidth(Value left, const std::function<void(int64_t width)> &emit) {
  std::function<void(int64_t)> upTo = [&](int64_t width) {
    if (width == 1)
      return emit(1);
    k.ifThen(k.less(k.constant(width - 1), left), [&] { emit(width); }, [&] { upTo(width - 1); });
  };
  upTo(plan.m());
}

} // namespace

GeneratedKernel generateFrom(const ContractionProblem &problem, const WinogradPlan &plan, const Schedule &schedule) {
  const ConvGeometry &conv = plan.conv;
  RunTimeDims dims;
  dims.need(conv.images);
  if (conv.open) {
    needExtents(dims, conv);
    for (const Dim &dim : {plan.openTiles(), plan.openTileColumns(), plan.openChunks()})
      dims.need(dim);
  }
  Epilogue epilogue = convEpilogue(problem, conv, dims);
  ContractionKernel kernel(problem, dims);
  WinogradGenerator(kernel.k, plan, epilogue, dims, hasPaddedBias(problem, conv)).emit();

  GeneratedKernel result = kernel.finish(schedule);
  if (plan.staged()) {
    result.stages = conv.images * Dim(2);
    result.units = result.stages * Dim(plan.pointShares);
  } else {
    result.images = conv.images;
    result.units = conv.images * (conv.open ? plan.openChunks() : Dim(plan.chunks())) * Dim(plan.split);
  }
  result.scratchBytes = plan.scratchFloats() * int64_t(sizeof(float));
  addConvPackings(result, problem, conv, packingOf(plan), epilogue);
  return result;
}

} // namespace lathe
