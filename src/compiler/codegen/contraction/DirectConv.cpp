// direct/1: a convolution as a batch of small matrix products on unpadded input. A register block is `px` neighbouring
// output positions of one row times `oc` vectors of output channels; kernel taps that fall into padding are left out:
// along the width statically (each class of tiles knows which of its positions a tap reaches), along height and depth
// by the bounds of the tap loops.
//
// A format that converts operands (codegen/space/ContractionFormat.h) has a slot convert the input rows of one row
// range into its scratch and run all its work items of that range from there (ConvertedInput.cpp). Blocks of bytes that
// products take as they are stay where they are.
#include "codegen/contraction/DirectConv.h"

#include "codegen/contraction/ContractionKernel.h"
#include "codegen/contraction/WeightPacking.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {

void DirectGenerator::emit() {
  if (plan.format.correctsSums())
    correction = units::correction(k, conv.inputZero, conv.inputType, plan.lanes);
  if (correction)
    multiplyCorrections();
  if (!plan.held)
    return k.loop(k.begin(), k.end(), 1, [&](Value unit) { emitUnit(unit); });
  // Range of rows by range of rows: the input of a range is converted or computed once, for all work items of the range
  // that the slot has.
  int64_t tiles = conv.groups * plan.tiles.perGroup();
  zeroPoint = units::zeroPoint(k, conv.inputZero, conv.inputType, plan.lanes);
  k.loop(k.div(k.begin(), tiles), k.div(k.add(k.end(), tiles - 1), tiles), 1, [&](Value range) {
    setRange(range);
    computeRows ? computeRows(image, firstRow, lastRow) : convertInput();
    Value first = k.mul(range, tiles);
    k.loop(k.max(k.begin(), first), k.min(k.end(), k.add(first, tiles)), 1, [&](Value unit) { emitUnit(unit); });
  });
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
    k.ifThen(
        k.less(tileOfGroup, k.constant(full - 1)), [&] { whole(fullLanes); },
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
    Values bias = biasVectors(k, conv, paddedBias, channel, vectors, plan.lanes, validChannels,
                              [&] { return micro.zeros(1)[0]; });
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
  Value weights = k.mul(group, plan.groupStride());
  weights = k.add(weights, k.mul(tileOfGroup, plan.tileStride(plan.tiles.vectors)));
  from.weights = k.add(weights, k.mul(pass, conv.taps() * plan.kc * vectors * plan.lanes));
  bool added = addsOperands(plan.format); // additional sums follow the weights
  if (correction || added)
    from.sums = k.add(k.add(k.mul(group, plan.groupStride() / plan.steps),
                            k.mul(tileOfGroup, plan.tileStride(plan.tiles.vectors) / plan.steps)),
                      added ? conv.groups * plan.groupStride() : plan.correctionsAt());
  from.share = nextPanel(from.weights, tileOfPanel);
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
  auto [depthLow, depthHigh] = tapRange(k, conv, 0, depth);
  auto [heightLow, heightHigh] = tapRange(k, conv, 1, height);
  TileOrigin from = originOf(tile, depth, height, column, pass);
  int64_t wide = vectors * plan.lanes, pixel = plan.pixelStride();
  VectorOperand b{k.buffer(conv.weights), wide};
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
                               k.add(from.weights, k.mul(tap, plan.kc * wide)));
    if (plan.sumsPositions())
      sums = withPositions(std::move(sums), rows, from,
                           k.add(firstOfRow, k.add(from.column, k.mul(kw, conv.dilation[2]))));
    return from.sums ? corrected(std::move(sums), rows, k.add(from.sums, k.mul(tap, wide))) : sums;
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
  ElementType computed = plan.format.sum;
  k.ifThen(
      k.less(pass, k.constant(plan.passes() - 1)),
      [&] {
        for (size_t i = 0; i < acc.size(); ++i)
          k.store(acc[i], k.scratch(), k.add(partial, i * plan.lanes), computed);
      },
      finish);
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
  addConvPackings(result, problem, conv, directPacking(plan), epilogue);
  return result;
}

GeneratedKernel generateDirect(const ContractionProblem &problem, const ContractionFacts &facts,
                               const Schedule &schedule) {
  return directKernel(problem, makeDirectPlan(facts, *facts.conv, schedule), schedule);
}

} // namespace lathe
