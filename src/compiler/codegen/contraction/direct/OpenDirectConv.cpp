// direct/1 with spatial extents that are known only at run time. Rows are divided into tiles of a width that is chosen
// at run time. The last tile ends with the row and may overlap the one before, so that all tiles have equal width.
//
// A pointwise convolution of blocks reads the input where it is, and the positions of an image are one row. All others
// copy the input rows of a range of output rows into scratch (OpenRows.h) and run their work items of that range from
// there. So does a format that converts operands, except for bytes in blocks that products take as they are; sums are
// corrected for zero points tile by tile.
#include "codegen/contraction/common/ContractionKernel.h"
#include "codegen/contraction/direct/DirectConv.h"
#include "codegen/contraction/direct/OpenRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

namespace lathe {
namespace {

/// Extents of the code that depend on the plan.
struct OpenDirectExtents {
  Dim chunks, positions; // of an image: ranges of rows or positions, and its output positions
  OpenRows held;

  OpenDirectExtents(const DirectPlan &plan, RunTimeDims &dims) : held(plan) {
    const ConvGeometry &geometry = plan.conv;
    positions = geometry.outPlane();
    chunks = geometry.mergesOpenRows() ? maximum(Dim(1), floorDiv(positions, plan.rows * plan.rowWidth))
                                       : ceilDiv(geometry.outExtent(1), plan.rows);
    needExtents(dims, geometry);
    for (const Dim &dim : {chunks, positions, held.plane, held.columns})
      dims.need(dim);
  }
};

class OpenDirectGenerator : DirectCode {
public:
  OpenDirectGenerator(KernelBuilder &k, const DirectPlan &plan, const OpenDirectExtents &extents,
                      const Epilogue &epilogue, const RunTimeDims &dims, bool paddedBias)
      : DirectCode(k, plan, epilogue, dims, paddedBias), extents(extents), copy(k, plan, extents.held, dims),
        chunks(value(extents.chunks)), outColumns(value(conv.outExtent(2))) {}

  void emit() {
    if (plan.format.correctsSums())
      correction = units::correction(k, conv.inputZero, conv.inputType, plan.lanes);
    auto hold = [&](Value range) {
      setRange(range);
      copy.emit(image, first, last);
    };
    emitUnits(hold, [&](Value unit, Value firstOfRange) {
      firstOfRange ? emitTileOfChannels(k.sub(unit, firstOfRange), [&] { emitPositions(); }) : emitUnit(unit);
    });
  }

private:
  const OpenDirectExtents &extents;
  OpenRowsCopy copy;
  Value chunks, outColumns;
  Value first, last; // of the current work item: rows, or positions of pointwise convolutions
  using Range = std::pair<Value, Value>;

  Value value(const Dim &dim) const { return dims.value(k, dim); }
  /// Units of a position.
  int64_t pixel() const { return conv.inBlock ? plan.blockUnits() : plan.steps; }
  /// Taps of a row that are one reduction: of a row-major input, whose columns are neighbours in scratch.
  bool joinsTaps() const { return !conv.inBlock && conv.dilation[2] == 1; }
  bool loopsOverTaps() const { return plan.kc >= 2 * plan.unroll; }
  void setRange(Value range);
  void emitUnit(Value unit);
  void emitPositions();
  void emitJoinedRows();
  void emitRows();
  Values initial(int64_t width, const Range &rows, const Range &columns);
  Values corrections(const Range &rows, const Range &columns);
  Value inputOfGroup();
  ReductionAxis axis() const;
  llvm::SmallVector<int64_t> offsets(int64_t width) const;
  Values reduce(mlir::ValueRange acc, int64_t width, Value source, Value at, const ReductionAxis &axis, Value weights);
  Value tilesTimesTaps(int64_t width);
  void emitPointTile(int64_t width, Value at, Value number, Value pixelOfResult);
  void emitTile(int64_t width, Value row, Value column, Value number);
  Values reduceTaps(int64_t width, Values acc, Value row, Value column, const Range &rows, const Range &columns,
                    Value number);
  Values reduceRowOfTaps(int64_t width, Values acc, Value inRow, Value tapRow, Value column, const Range &columns,
                         const PanelPrefetch &ahead);
  Range tapsOfWidth(int64_t width, Value column);
};

/// `range`: (image, chunk).
void OpenDirectGenerator::setRange(Value range) {
  image = quotient(k, range, chunks);
  Value all = value(conv.mergesOpenRows() ? extents.positions : conv.outExtent(1));
  std::tie(first, last) = pieceOf(k, all, remainder(k, range, chunks), chunks);
}

void OpenDirectGenerator::emitUnit(Value unit) {
  auto positions = [&] { emitPositions(); };
  if (!plan.channelsOuter) { // (image, chunk, tile)
    setRange(k.div(unit, channelTiles()));
    return emitTileOfChannels(k.rem(unit, channelTiles()), positions);
  }
  Value ranges = k.mul(value(conv.images), chunks); // (tile, image, chunk)
  setRange(remainder(k, unit, ranges));
  emitTileOfChannels(quotient(k, unit, ranges), positions);
}

void OpenDirectGenerator::emitPositions() { plan.held && !extents.held.packed ? emitRows() : emitJoinedRows(); }

/// The positions of all rows as one row.
void OpenDirectGenerator::emitJoinedRows() {
  Value count = k.sub(last, first), start = first;
  if (!conv.mergesOpenRows()) {
    count = k.mul(count, outColumns);
    start = k.mul(first, outColumns);
  }
  // Rows are long: only the smallest images have fewer positions than a tile.
  llvm::SmallVector<TileWidth> widths;
  for (int64_t width : {plan.px, (plan.px + 3) / 4, int64_t(1)})
    if (widths.empty() || width < widths.back().positions)
      widths.push_back({width, k.select(k.less(count, k.constant(width)), k.constant(never),
                                        k.constant(width == 1 ? never - 1 : plan.px - width))});
  forBestWidth(k, widths, [&](int64_t width) {
    Value end = k.sub(count, k.constant(width));
    k.loop(k.constant(0), count, width, [&](Value i) {
      Value at = width == 1 ? i : k.min(i, end);
      emitPointTile(width, at, k.div(i, width), k.add(start, at));
    });
  });
}

/// Sum, over the taps of the width, of the tiles that compute them, if tiles leave out taps.
mlir::Value OpenDirectGenerator::tilesTimesTaps(int64_t width) {
  if (!extents.held.skipsTaps)
    return quotientUp(k, outColumns, width);
  Value sum = k.constant(0), none = k.constant(0), inColumns = value(conv.inExtent(2));
  for (int64_t kw = 0; kw < conv.kernel[2]; ++kw) { // output columns [first, end) find the tap inside
    int64_t before = conv.padBegin[2] - kw * conv.dilation[2];
    Value first = k.constant((std::max<int64_t>(before, 0) + conv.stride[2] - 1) / conv.stride[2]);
    Value end = k.min(quotientUp(k, k.max(k.add(inColumns, before), none), conv.stride[2]), outColumns);
    sum = k.add(sum, k.max(k.sub(quotientUp(k, end, width), k.div(first, width)), none));
  }
  return sum;
}

void OpenDirectGenerator::emitRows() {
  constexpr double unit = 16; // of a cycle, so that times are integers
  bool far = panelIsFar(k.target, conv.taps() * plan.steps, vectors);
  llvm::SmallVector<TileWidth> widths;
  for (int64_t width : openTileWidths(plan.px)) {
    Value time =
        k.mul(tilesTimesTaps(width), std::llround(unit * stepCycles(k.target, width, vectors, far, plan.format)));
    widths.push_back({width, k.select(k.less(outColumns, k.constant(width)), k.constant(never), time)});
  }
  forBestWidth(k, widths, [&](int64_t width) {
    Value inRow = quotientUp(k, outColumns, width), end = k.sub(outColumns, k.constant(width));
    k.loop(first, last, 1, [&](Value row) {
      Value before = k.mul(k.sub(row, first), inRow);
      k.loop(k.constant(0), inRow, 1,
             [&](Value i) { emitTile(width, row, k.min(k.mul(i, width), end), k.add(before, i)); });
    });
  });
}

/// Offset of the group's channels, in scratch or in the input, in units.
mlir::Value OpenDirectGenerator::inputOfGroup() {
  Value plane = value(plan.held ? extents.held.plane : conv.inPlane());
  Value ofGroup = k.mul(k.mul(group, plan.steps), plane);
  if (plan.held)
    return ofGroup;
  return k.add(k.mul(image, k.mul(plane, conv.storedChannels() / conv.inBlock * plan.blockUnits())), ofGroup);
}

ReductionAxis OpenDirectGenerator::axis() const {
  if (conv.inBlock)
    return {plan.steps, plan.blockUnits(), 1, 0}; // Microkernel::runStride
  int64_t steps = plan.steps * (joinsTaps() ? conv.kernel[2] : 1);
  return {steps, steps, 1, 0};
}

llvm::SmallVector<int64_t> OpenDirectGenerator::offsets(int64_t width) const {
  int64_t step = plan.held && !extents.held.packed ? conv.stride[2] : 1;
  llvm::SmallVector<int64_t> all;
  for (int64_t p = 0; p < width; ++p)
    all.push_back(p * step * pixel());
  return all;
}

/// The initial value of sums: the bias, and the corrections of the taps in `rows` and `columns` of the kernel.
OpenDirectGenerator::Values OpenDirectGenerator::initial(int64_t width, const Range &rows, const Range &columns) {
  if (!conv.bias && !correction)
    return micro.zeros(width * vectors);
  Values first = conv.bias ? biasOfTile(channelOfTile()) : micro.zeros(vectors);
  if (correction)
    for (auto [sum, less] : llvm::zip(first, corrections(rows, columns)))
      sum = k.b.create<mlir::arith::AddIOp>(k.loc, sum, less);
  return repeated(first, width);
}

/// Minus the excess of the input's elements, padding included, times the sums of the weights of the taps.
OpenDirectGenerator::Values OpenDirectGenerator::corrections(const Range &rows, const Range &columns) {
  Value of = k.add(sumsOfTile(), conv.groups * plan.groupStride()); // behind the weights
  Values sums = k.loop(rows.first, rows.second, 1, micro.zeros(vectors), [&](Value kh, mlir::ValueRange ofRows) {
    return k.loop(columns.first, columns.second, 1, ofRows, [&](Value kw, mlir::ValueRange carried) {
      Values next;
      Value at = k.add(of, k.mul(k.add(k.mul(kh, conv.kernel[2]), kw), wide()));
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(k.b.create<mlir::arith::AddIOp>(
            k.loc, carried[v], k.load(k.buffer(conv.weights), k.add(at, v * plan.lanes), plan.format.sum, plan.lanes)));
      return next;
    });
  });
  for (Value &sum : sums)
    sum = k.b.create<mlir::arith::MulIOp>(k.loc, sum, correction);
  return sums;
}

/// Adds the products of one reduction from `at` in `source` on.
OpenDirectGenerator::Values OpenDirectGenerator::reduce(mlir::ValueRange acc, int64_t width, Value source, Value at,
                                                        const ReductionAxis &axis, Value weights) {
  llvm::SmallVector<int64_t> rows;
  for (int64_t p = 0; p < width; ++p)
    rows.push_back(p);
  if (conv.inBlock)
    micro.runStride = k.mul(value(plan.held ? extents.held.plane : conv.inPlane()), plan.blockUnits());
  VectorOperand b{k.buffer(conv.weights), wide()};
  return micro.reduce(acc, rows, offsets(width), vectors, source, at, axis, b, weights);
}

/// A tile of one tap, whose positions are neighbours; `at`: the first one, in scratch or from `first` on.
void OpenDirectGenerator::emitPointTile(int64_t width, Value at, Value number, Value pixelOfResult) {
  Value source = plan.held ? k.scratch() : k.buffer(conv.input);
  Value from = k.add(inputOfGroup(), k.mul(plan.held ? at : pixelOfResult, pixel()));
  ReductionAxis steps = axis();
  micro.prefetch = micro.continued(panelBehind(weightsOfTile(), number, steps, 1), k.constant(0), steps);
  Range one = {k.constant(0), k.constant(1)};
  Values acc = initial(width, one, one);
  acc = reduce(acc, width, source, from, steps, weightsOfTile());
  finish(width, pixelOfResult, channelOfTile(), acc);
}

void OpenDirectGenerator::emitTile(int64_t width, Value row, Value column, Value number) {
  Range rows = tapRange(k, conv, dims, 1, row), columns = tapsOfWidth(width, column);
  Values acc = reduceTaps(width, initial(width, rows, columns), row, column, rows, columns, number);
  finish(width, k.add(k.mul(row, outColumns), column), channelOfTile(), acc);
}

/// The taps of the width that at least one position of a tile finds inside; all taps if scratch has all of the padding.
OpenDirectGenerator::Range OpenDirectGenerator::tapsOfWidth(int64_t width, Value column) {
  int64_t taps = conv.kernel[2], dilation = conv.dilation[2];
  Value all = k.constant(taps), none = k.constant(0);
  if (!extents.held.skipsTaps)
    return {none, all};
  // The input column of the first tap of the first position.
  Value at = k.sub(windowAt(k, conv, dims, 2, column), k.constant(conv.padBegin[2]));
  Value missing = k.max(k.sub(k.constant(-(width - 1) * conv.stride[2]), at), none);
  Value room = k.max(k.sub(value(conv.inExtent(2)), at), none);
  return {quotientUp(k, missing, dilation), k.min(quotientUp(k, room, dilation), all)};
}

/// The taps in `rows` and `columns` of the kernel.
OpenDirectGenerator::Values OpenDirectGenerator::reduceTaps(int64_t width, Values acc, Value row, Value column,
                                                            const Range &rows, const Range &columns, Value number) {
  ReductionAxis steps = axis();
  PanelPrefetch ahead = panelBehind(weightsOfTile(), number, steps, joinsTaps() ? conv.kernel[1] : conv.taps());
  Value height = k.sub(k.add(windowAt(k, conv, dims, 1, row), -conv.padBegin[1]), copy.firstRow());
  return k.loop(rows.first, rows.second, 1, acc, [&](Value kh, mlir::ValueRange carried) {
    Value inRow = k.mul(k.add(height, k.mul(kh, conv.dilation[1])), value(extents.held.columns));
    inRow = k.add(inRow, extents.held.before - conv.padBegin[2]);
    return reduceRowOfTaps(width, Values(carried.begin(), carried.end()), inRow, kh, column, columns, ahead);
  });
}

/// The taps of row `kh`; `inRow`: position in scratch of the first tap of output column 0, at the begin that padBegin
/// states.
OpenDirectGenerator::Values OpenDirectGenerator::reduceRowOfTaps(int64_t width, Values acc, Value inRow, Value kh,
                                                                 Value column, const Range &columns,
                                                                 const PanelPrefetch &ahead) {
  ReductionAxis steps = axis();
  Value at = k.add(inRow, windowAt(k, conv, dims, 2, column)), weights = weightsOfTile(), group = inputOfGroup();
  auto tap = [&](mlir::ValueRange carried, Value number, Value kw) {
    micro.prefetch = micro.continued(ahead, joinsTaps() ? kh : number, steps);
    // Unrolled columns read the same inputs at other positions.
    Value source = loopsOverTaps() || joinsTaps() ? k.scratch() : micro.launder(k.scratch());
    Value from = k.add(group, k.mul(k.add(at, k.mul(kw, conv.dilation[2])), pixel()));
    return reduce(carried, width, source, from, steps, k.add(weights, k.mul(number, plan.kc * wide())));
  };
  Value firstTap = k.mul(kh, conv.kernel[2]);
  if (joinsTaps())
    return tap(acc, firstTap, k.constant(0));
  auto body = [&](Value kw, mlir::ValueRange carried) { return tap(carried, k.add(firstTap, kw), kw); };
  if (loopsOverTaps())
    return k.loop(columns.first, columns.second, 1, acc, body);
  for (int64_t kw = 0; kw < conv.kernel[2]; ++kw)
    acc = body(k.constant(kw), acc);
  return acc;
}

} // namespace

GeneratedKernel openDirectKernel(const ContractionProblem &problem, const DirectPlan &plan, const Schedule &schedule) {
  const ConvGeometry &conv = plan.conv;
  RunTimeDims dims;
  OpenDirectExtents extents(plan, dims);
  Epilogue epilogue = convEpilogue(problem, conv, dims);
  ContractionKernel kernel(problem, dims);
  OpenDirectGenerator(kernel.k, plan, extents, epilogue, dims, hasPaddedBias(problem, conv)).emit();

  GeneratedKernel result = kernel.finish(schedule);
  if (!plan.channelsOuter)
    result.images = conv.images;
  result.units = conv.images * extents.chunks * Dim(conv.groups * plan.tiles.perGroup());
  if (plan.held)
    result.scratchBytes = extents.held.units * Dim(plan.format.unitBytes());
  addConvPackings(result, problem, conv, packingOf(plan), epilogue);
  return result;
}

} // namespace lathe
