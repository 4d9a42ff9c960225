// direct/1: a convolution as a batch of small matrix products on unpadded input. A register block is `px` neighbouring
// output positions of one row times `oc` vectors of output channels; kernel taps that fall into padding are left out:
// along the width statically (each class of tiles knows which of its positions a tap reaches), along height and depth
// by the bounds of the tap loops.
//
// With a format that converts operands (codegen/space/ContractionFormat.h), each slot converts the input rows of a row
// range into its scratch memory, and computes its work items of that range from there (ConvertedInput.cpp). Bytes that
// products take without conversion are read in place.
#include "codegen/contraction/direct/DirectConv.h"

#include "codegen/contraction/common/ContractionKernel.h"
#include "codegen/contraction/common/OpenConv.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {

void DirectCode::emitUnits(const std::function<void(Value range)> &hold,
                           const std::function<void(Value unit, Value first)> &emit) {
  if (!plan.held)
    return k.loop(k.begin(), k.end(), 1, [&](Value unit) { emit(unit, {}); });
  int64_t tiles = channelTiles();
  k.loop(k.div(k.begin(), tiles), k.div(k.add(k.end(), tiles - 1), tiles), 1, [&](Value range) {
    hold(range);
    Value first = k.mul(range, tiles);
    k.loop(k.max(k.begin(), first), k.min(k.end(), k.add(first, tiles)), 1, [&](Value unit) { emit(unit, first); });
  });
}

void DirectCode::emitTileOfChannels(Value tile, const std::function<void()> &positions) {
  group = conv.groups == 1 ? k.constant(0) : k.div(tile, plan.tiles.perGroup());
  tileOfGroup = conv.groups == 1 ? tile : k.rem(tile, plan.tiles.perGroup());
  int64_t full = plan.tiles.full, lanes = plan.tiles.vectors * plan.lanes;
  auto emit = [&](int64_t count, int64_t valid) {
    vectors = count;
    validChannels = valid;
    positions();
  };
  auto whole = [&](int64_t valid) { emit(plan.tiles.vectors, valid); };
  auto tail = [&] { emit(plan.tiles.tailVectors, conv.outChannels - full * lanes); };
  int64_t rest = conv.outChannels - (full - 1) * lanes; // of the last full tile
  if (plan.tiles.tailVectors && full)
    k.ifThen(k.less(tileOfGroup, k.constant(full)), [&] { whole(lanes); }, tail);
  else if (plan.tiles.tailVectors)
    tail();
  else if (rest == lanes || wholeVectors)
    whole(lanes);
  else if (full == 1)
    whole(rest);
  else // only the last tile has lanes without a channel
    k.ifThen(k.less(tileOfGroup, k.constant(full - 1)), [&] { whole(lanes); }, [&] { whole(rest); });
}

mlir::Value DirectCode::channelOfTile() {
  return k.add(k.mul(group, conv.outChannels), k.mul(tileOfGroup, plan.tiles.vectors * plan.lanes));
}

mlir::Value DirectCode::weightsOfTile() {
  return k.add(k.mul(group, plan.groupStride()), k.mul(tileOfGroup, plan.tileStride(plan.tiles.vectors)));
}

/// Offset of what corrects the sums of the tile: a vector a tap for each vector of weights.
mlir::Value DirectCode::sumsOfTile() {
  return k.add(k.mul(group, plan.groupStride() / plan.steps),
               k.mul(tileOfGroup, plan.tileStride(plan.tiles.vectors) / plan.steps));
}

DirectCode::Values DirectCode::biasOfTile(Value channel) {
  return biasVectors(k, conv, paddedBias, channel, vectors, plan.lanes, validChannels,
                     [&] { return micro.zeros(1)[0]; });
}

DirectCode::Values DirectCode::repeated(const Values &vectors, int64_t positions) {
  Values all;
  for (int64_t p = 0; p < positions; ++p)
    all.append(vectors.begin(), vectors.end());
  return all;
}

/// Panels lie one after the other in the order they are used, so the next one begins where this one, at `panel`, ends.
/// Every tile of the unit's rows fetches its share. Of open extents the number of tiles is the one that costs assume.
PanelPrefetch DirectCode::panelBehind(Value panel, Value tileOfPanel, const ReductionAxis &axis, int64_t reductions) {
  if (!plan.prefetch)
    return {};
  int64_t inRow = 0, elements = conv.taps() * plan.kc * wide();
  for (const TileClass &tile : plan.classes)
    inRow += tile.count;
  return micro.shareOfPanel(k.add(panel, elements), elements, tileOfPanel, plan.rows * inRow, axis, reductions);
}

void DirectCode::finish(int64_t width, Value pixel, Value channel, mlir::ValueRange acc) {
  Epilogue::Tile out;
  out.image = image;
  out.pixel = pixel;
  out.channel = channel;
  for (int64_t p = 0; p < width; ++p)
    out.pixels.push_back(p);
  out.vectors = vectors;
  out.channels = validChannels;
  epilogue.emit(k, dims, out, acc);
}

void DirectGenerator::emit() {
  if (plan.format.correctsSums())
    correction = units::correction(k, conv.inputZero, conv.inputType, plan.lanes);
  if (correction)
    multiplyCorrections();
  if (plan.held)
    zeroPoint = units::zeroPoint(k, conv.inputZero, conv.inputType, plan.lanes);
  auto hold = [&](Value range) {
    setRange(range);
    computeRows ? computeRows(image, firstRow, lastRow) : convertInput();
  };
  emitUnits(hold, [&](Value unit, Value) { emitUnit(unit); });
}

void DirectGenerator::setRows(Value chunk) {
  firstRow = k.mul(chunk, plan.rows);
  lastRow = plan.allRows() % plan.rows ? k.min(k.add(firstRow, plan.rows), k.constant(plan.allRows()))
                                       : k.add(firstRow, plan.rows);
}

/// `range`: (image, chunk of rows).
void DirectGenerator::setRange(Value range) {
  image = k.div(range, plan.chunks());
  setRows(k.rem(range, plan.chunks()));
  if (!plan.held)
    return;
  firstHeld = k.constant(0);
  if (!plan.holdsAll() && plan.heldRows() < conv.in[1])
    firstHeld = k.min(k.max(k.sub(k.mul(firstRow, plan.rowStep()), k.constant(conv.padBegin[1])), k.constant(0)),
                      k.constant(conv.in[1]));
}

void DirectGenerator::emitUnit(Value unit) {
  int64_t tiles = channelTiles();
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
  emitTileOfChannels(tile, [&] { emitRows(); });
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

DirectGenerator::Values DirectGenerator::initial(int64_t width, Value channel, Value partial, Value pass) {
  Values acc = conv.bias ? repeated(biasOfTile(channel), width) : micro.zeros(width * vectors);
  if (plan.passes() == 1)
    return acc;
  // Later passes go on from the partial sums.
  mlir::Type type = acc[0].getType();
  llvm::SmallVector<mlir::Type> types(acc.size(), type);
  auto op = k.b.create<mlir::scf::IfOp>(k.loc, types, k.less(k.constant(0), pass), true);
  mlir::OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPointToEnd(op.thenBlock());
  Values loaded;
  ElementType computed = plan.format.sum;
  for (int64_t i = 0; i < width * vectors; ++i)
    loaded.push_back(k.load(k.scratch(), k.add(partial, i * plan.lanes), computed, plan.lanes));
  k.b.create<mlir::scf::YieldOp>(k.loc, loaded);
  k.b.setInsertionPointToEnd(op.elseBlock());
  k.b.create<mlir::scf::YieldOp>(k.loc, acc);
  return Values(op.getResults().begin(), op.getResults().end());
}

DirectGenerator::TileOrigin DirectGenerator::originOf(const TileClass &tile, Value depth, Value height, Value column,
                                                      Value pass) {
  TileOrigin from;
  Value input = plan.held ? k.constant(0) : k.mul(image, plan.imageInput());
  input = k.add(input, k.mul(group, plan.groupInput()));
  from.input = k.add(input, k.mul(pass, plan.kc * conv.inChannelStride()));
  from.weights = k.add(weightsOfTile(), k.mul(pass, conv.taps() * plan.kc * wide()));
  bool added = addsOperands(plan.format); // what belongs to weights stands behind them
  if (correction || added)
    from.sums = k.add(sumsOfTile(), added ? conv.groups * plan.groupStride() : plan.correctionsAt());
  from.share = panelBehind(from.weights, tileOfPanel, plan.axis, conv.taps());
  from.depth = k.sub(k.mul(depth, conv.stride[0]), k.constant(conv.padBegin[0]));
  from.height = k.sub(k.mul(height, plan.rowStep()), k.constant(conv.padBegin[1]));
  if (plan.held)
    from.height = k.sub(from.height, firstHeld);
  from.source = plan.held ? k.scratch() : k.buffer(conv.input);
  bool merged = plan.rowWidth != conv.out[2];
  from.column =
      merged ? k.constant(plan.inAt(tile.start)) : k.sub(k.mul(column, conv.stride[2]), k.constant(conv.padBegin[2]));
  for (int64_t p = 0; p < tile.width; ++p)
    from.offsets.push_back((merged ? plan.inAt(tile.start + p) - plan.inAt(tile.start) : p * conv.stride[2]) *
                           plan.pixelStride());
  return from;
}

DirectGenerator::Values DirectGenerator::reduceTaps(const TileClass &tile, Values acc, Value row, Value column,
                                                    Value pass) {
  Value depth = conv.out[0] == 1 ? k.constant(0) : k.div(row, conv.out[1]);
  Value height = conv.out[0] == 1 ? row : k.rem(row, conv.out[1]);
  auto [depthLow, depthHigh] = tapRange(k, conv, dims, 0, depth);
  auto [heightLow, heightHigh] = tapRange(k, conv, dims, 1, height);
  TileOrigin from = originOf(tile, depth, height, column, pass);
  int64_t pixel = plan.pixelStride();
  VectorOperand b{k.buffer(conv.weights), wide()};
  // Kernel columns that reach the same positions share one body, unless a column is so short that its loop would cost.
  bool loopColumns = plan.kc >= 2 * plan.unroll;
  Value firstOfRow; // position of the row that the taps read
  auto column1 = [&](mlir::ValueRange carried, Value inRow, Value tapRow, Value kw, std::pair<int64_t, int64_t> reach) {
    llvm::SmallVector<int64_t> rows;
    for (int64_t p = reach.first; p < reach.second; ++p)
      rows.push_back(p);
    Value at = k.add(inRow, k.mul(k.add(from.column, k.mul(kw, conv.dilation[2])), pixel));
    // Unrolled columns read the same inputs at other positions.
    Value source = loopColumns ? from.source : micro.launder(from.source);
    Value tap = k.add(tapRow, kw);
    micro.prefetch = micro.continued(from.share, tap, plan.axis);
    Values sums = micro.reduce(carried, rows, from.offsets, vectors, source, at, plan.axis, b,
                               k.add(from.weights, k.mul(tap, plan.kc * wide())));
    if (plan.sumsPositions())
      sums = withPositions(std::move(sums), rows, from,
                           k.add(firstOfRow, k.add(from.column, k.mul(kw, conv.dilation[2]))));
    return from.sums ? corrected(std::move(sums), rows, k.add(from.sums, k.mul(tap, wide()))) : sums;
  };
  return k.loop(depthLow, depthHigh, 1, acc, [&](Value kd, mlir::ValueRange acc1) {
    return k.loop(heightLow, heightHigh, 1, acc1, [&](Value kh, mlir::ValueRange acc2) {
      Value inPlane = k.mul(k.add(from.depth, k.mul(kd, conv.dilation[0])), conv.in[1]);
      Value rowOfTap = k.add(inPlane, k.add(from.height, k.mul(kh, conv.dilation[1])));
      Value inRow = k.mul(rowOfTap, conv.in[2] * pixel);
      if (plan.sumsPositions())
        firstOfRow = k.mul(rowOfTap, conv.in[2]);
      inRow = k.add(from.input, inRow);
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

/// Subtracts one tap's correction from the sums of `rows`: the excess of its inputs times the sums of its weights, from
/// `at` on in scratch. For added operands, the sums of products of weights, from `at` on after the weights.
DirectGenerator::Values DirectGenerator::corrected(Values sums, llvm::ArrayRef<int64_t> rows, Value at) {
  for (int64_t v = 0; v < vectors; ++v) {
    Value less = k.load(addsOperands(plan.format) ? k.buffer(conv.weights) : k.scratch(), k.add(at, v * plan.lanes),
                        plan.format.sum, plan.lanes);
    for (int64_t row : rows)
      sums[row * vectors + v] = k.b.create<mlir::arith::AddIOp>(k.loc, sums[row * vectors + v], less);
  }
  return sums;
}

/// Adds the numbers of the positions that a tap reads to the sums of `rows`; the first position is `position`.
DirectGenerator::Values DirectGenerator::withPositions(Values sums, llvm::ArrayRef<int64_t> rows,
                                                       const TileOrigin &from, Value position) {
  for (int64_t row : rows) {
    Value at = k.add(position, plan.positionSumsAt() + from.offsets[row] / plan.pixelStride());
    Value ofPosition = k.splat(k.load(k.scratch(), at, plan.format.sum), plan.lanes);
    for (int64_t v = 0; v < vectors; ++v)
      sums[row * vectors + v] = k.b.create<mlir::arith::AddIOp>(k.loc, sums[row * vectors + v], ofPosition);
  }
  return sums;
}

void DirectGenerator::emitTile(const TileClass &tile, Value row, Value column, Value pass) {
  Value channel = channelOfTile();
  Value partial = k.mul(k.add(k.mul(k.sub(row, firstRow), conv.out[2]), column), wide());
  Values acc = reduceTaps(tile, initial(tile.width, channel, partial, pass), row, column, pass);
  auto store = [&] { finish(tile.width, k.add(k.mul(row, conv.out[2]), column), channel, acc); };
  if (plan.passes() == 1)
    return store();
  ElementType computed = plan.format.sum;
  k.ifThen(
      k.less(pass, k.constant(plan.passes() - 1)),
      [&] {
        for (size_t i = 0; i < acc.size(); ++i)
          k.store(acc[i], k.scratch(), k.add(partial, i * plan.lanes), computed);
      },
      store);
}

GeneratedKernel directKernel(const ContractionProblem &problem, const DirectPlan &plan, const Schedule &schedule,
                             RunTimeDims dims, const RowsComputer &rowsComputer) {
  const ConvGeometry &conv = plan.conv;
  dims.need(conv.images);
  Epilogue epilogue = convEpilogue(problem, conv, dims);
  ContractionKernel kernel(problem, dims);
  DirectGenerator(kernel.k, plan, epilogue, dims, hasPaddedBias(problem, conv),
                  rowsComputer ? rowsComputer(kernel.k, dims) : DirectGenerator::ComputeRows())
      .emit();

  GeneratedKernel result = kernel.finish(schedule);
  if (!plan.channelsOuter)
    result.images = conv.images;
  result.units = conv.images * Dim(conv.groups * plan.tiles.perGroup() * plan.chunks());
  if (plan.held || plan.format.correctsSums()) // the last vector of row-major units may be stored whole
    result.scratchBytes = plan.convertedUnits() * plan.format.unitBytes();
  else if (plan.passes() > 1)
    result.scratchBytes =
        plan.rows * conv.out[2] * plan.tiles.vectors * plan.lanes * std::max(4u, bitWidth(conv.type) / 8);
  addConvPackings(result, problem, conv, packingOf(plan), epilogue);
  return result;
}

GeneratedKernel generateFrom(const ContractionProblem &problem, const DirectPlan &plan, const Schedule &schedule) {
  return plan.conv.open ? openDirectKernel(problem, plan, schedule) : directKernel(problem, plan, schedule);
}

} // namespace lathe
