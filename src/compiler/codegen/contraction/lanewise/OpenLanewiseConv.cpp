// lanewise/1 where a run knows the spatial extents. For groups that read the lanes of their own block, a row of outputs is
// a tile at its beginning, tiles inside, and a tile at its end, which overlap where they must; all have the width that
// the run chooses. So each of them knows which of its positions a tap finds inside. Rows too short for that are computed
// position by position, and so are volumes and lanes that are gathered.
#include "codegen/contraction/common/ContractionKernel.h"
#include "codegen/contraction/common/OpenConv.h"
#include "codegen/contraction/lanewise/LanewiseConv.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

class OpenLanewiseGenerator : LanewiseCode {
public:
  OpenLanewiseGenerator(KernelBuilder &k, const LanewisePlan &plan, const Dim &chunks, const Epilogue &epilogue,
                        const RunTimeDims &dims, bool paddedBias)
      : LanewiseCode(k, plan, epilogue, dims, paddedBias), chunks(value(chunks)) {
    inPlane = value(conv.inPlane());
    inRows = value(conv.inExtent(1));
    inColumns = value(conv.inExtent(2));
    outRows = value(conv.outExtent(1));
    outColumns = value(conv.outExtent(2));
    shift = value(conv.open->shift[2]);
    zeroPoint = units::zeroPoint(k, conv.inputZero, conv.inputType, plan.lanes);
  }

  /// Work items: (image, block, chunk of rows).
  void emit() {
    k.loop(k.begin(), k.end(), 1, [&](Value unit) {
      Value rest = quotient(k, unit, chunks);
      Value rows = k.mul(value(conv.outExtent(0)), outRows); // of all planes
      std::tie(firstRow, lastRow) = pieceOf(k, rows, remainder(k, unit, chunks), chunks);
      image = k.div(rest, plan.blocks());
      block = k.rem(rest, plan.blocks());
      input = k.mul(image, value(conv.inPlane() * Dim(conv.storedChannels())));
      if (plan.access != Lanes::gathered)
        input = k.add(input, k.mul(k.mul(block, inPlane), plan.lanes));
      emitBlock([&] { emitRows(); });
    });
  }

private:
  Value chunks, inRows, inColumns, outRows;
  Value shift; // columns that windows lie behind the place that padBefore() states
  Value input; // of the work item

  int64_t taps() const { return conv.kernel[2]; }
  /// Columns from the first tap of a position to its last one.
  int64_t span() const { return (taps() - 1) * conv.dilation[2]; }
  int64_t padBefore() const { return conv.padBegin[2]; }
  int64_t padAfter() const { return conv.open->padEnd[2]; }
  /// The first output column whose taps are all behind the beginning of the row, whatever the shift.
  int64_t firstInside() const { return (padBefore() + conv.stride[2] - 1) / conv.stride[2]; }
  Value lastInside();
  Value endOfInput();
  TileWidth tileWidth(int64_t width, Value last);
  void emitRows();
  void emitRow(int64_t width, Value row);
  void emitFirstTile(int64_t width, Value row);
  void emitLastTile(int64_t width, Value row);
  Reach reach(int64_t width, const std::function<bool(int64_t position, int64_t tap)> &inside) const;
  Reach reachAtEnd(int64_t width, int64_t beyond) const;
  Value loadInput(Value offset, int64_t channel);
  Values overRowsOfTaps(Value row, Values acc, const std::function<Values(Values, Value inRow, Value weights)> &body);
  void emitTile(int64_t width, const Reach &reach, Value row, Value column);
  Values rowsOfPlane(Value height, Value plane, Value weights, Values acc,
                     const std::function<Values(Values, Value inRow, Value weights)> &body);
  void emitPosition(Value row, Value column);
  Values positionTap(mlir::ValueRange sums, Value position, Value weights);
};

/// The last output column whose taps are all inside, below 0 if there is none.
mlir::Value OpenLanewiseGenerator::lastInside() {
  int64_t stride = conv.stride[2];
  Value room = k.sub(k.add(inColumns, padBefore() - 1 - span()), shift); // for the first tap
  return k.sub(k.div(k.add(k.max(room, k.constant(-stride)), stride), stride), k.constant(1));
}

/// How many columns the last tap of the last output column is beyond the last input column.
mlir::Value OpenLanewiseGenerator::endOfInput() {
  Value last = k.mul(k.sub(outColumns, k.constant(1)), conv.stride[2]);
  return k.sub(k.add(k.add(last, shift), span() - padBefore() + 1), inColumns);
}

/// The time of a row in tiles of `width`. The first tile must not reach the end of the row nor the last tile its
/// beginning, and the tiles between must fit inside.
TileWidth OpenLanewiseGenerator::tileWidth(int64_t width, Value last) {
  int64_t pads = padBefore() || padAfter() ? 2 : 1; // tiles, at least
  Value tiles = k.max(quotientUp(k, outColumns, width), k.constant(pads));
  Value time = k.mul(tiles, width + 2);
  auto needs = [&](Value least, Value most) { time = k.select(k.less(most, least), k.constant(never), time); };
  needs(k.constant(width), outColumns);
  if (pads > 1) {
    needs(k.constant(width - 1), last);
    needs(k.constant(width + firstInside()), outColumns);
    Value between = k.less(k.constant(2 * width), outColumns); // tiles
    Value room = k.sub(last, k.constant(firstInside() - 1));
    needs(k.select(between, k.constant(width), k.constant(0)), k.select(between, room, k.constant(0)));
  }
  return {width, time};
}

void OpenLanewiseGenerator::emitRows() {
  Value last = lastInside();
  llvm::SmallVector<TileWidth> widths;
  bool tiles = plan.access != Lanes::gathered && conv.planar();
  for (int64_t eighths : {8, 6, 4, 2}) {
    int64_t width = (plan.px * eighths + 7) / 8;
    bool holdsPads = width * conv.stride[2] >= std::max(padBefore(), padAfter());
    if (tiles && width > 1 && holdsPads && conv.stride[2] <= 4 && (widths.empty() || width < widths.back().positions))
      widths.push_back(tileWidth(width, last));
  }
  widths.push_back({1, k.constant(never - 1)});
  forBestWidth(k, widths, [&](int64_t width) {
    k.loop(firstRow, lastRow, 1, [&](Value row) {
      if (width > 1)
        return emitRow(width, row);
      k.loop(k.constant(0), outColumns, 1, [&](Value column) { emitPosition(row, column); });
    });
  });
}

OpenLanewiseGenerator::Reach
OpenLanewiseGenerator::reach(int64_t width, const std::function<bool(int64_t position, int64_t tap)> &inside) const {
  Reach result;
  for (int64_t tap = 0; tap < taps(); ++tap) {
    int64_t first = width, last = 0;
    for (int64_t p = 0; p < width; ++p)
      if (inside(p, tap)) {
        first = std::min(first, p);
        last = p + 1;
      }
    result.emplace_back(std::min(first, last), last);
  }
  return result;
}

/// Of the last tile, whose last tap is `beyond` columns beyond the input.
OpenLanewiseGenerator::Reach OpenLanewiseGenerator::reachAtEnd(int64_t width, int64_t beyond) const {
  return reach(width, [&](int64_t p, int64_t tap) {
    return beyond <= (taps() - 1 - tap) * conv.dilation[2] + (width - 1 - p) * conv.stride[2];
  });
}

void OpenLanewiseGenerator::emitRow(int64_t width, Value row) {
  Reach all = reach(width, [](int64_t, int64_t) { return true; });
  if (!padBefore() && !padAfter()) {
    Value end = k.sub(outColumns, k.constant(width));
    return k.loop(k.constant(0), outColumns, width,
                  [&](Value column) { emitTile(width, all, row, k.min(column, end)); });
  }
  emitFirstTile(width, row);
  Value end = k.sub(lastInside(), k.constant(width - 1));
  k.loop(k.constant(width), k.sub(outColumns, k.constant(width)), width,
         [&](Value column) { emitTile(width, all, row, k.min(column, end)); });
  emitLastTile(width, row);
}

void OpenLanewiseGenerator::emitFirstTile(int64_t width, Value row) {
  std::function<void(int64_t)> from = [&](int64_t most) {
    Reach reached = reach(width, [&](int64_t p, int64_t tap) {
      return p * conv.stride[2] + tap * conv.dilation[2] + most >= padBefore();
    });
    auto emit = [&] { emitTile(width, reached, row, k.constant(0)); };
    if (most == 0)
      return emit();
    k.ifThen(k.less(k.constant(most - 1), shift), emit, [&] { from(most - 1); });
  };
  from(conv.open->mostShift[2]);
}

void OpenLanewiseGenerator::emitLastTile(int64_t width, Value row) {
  Value column = k.sub(outColumns, k.constant(width)), beyond = endOfInput();
  // Where rows are strided, the last position may leave columns behind it.
  int64_t least = padAfter() - (conv.stride[2] - 1);
  std::function<void(int64_t)> from = [&](int64_t most) {
    auto emit = [&] { emitTile(width, reachAtEnd(width, most), row, column); };
    if (most == least)
      return emit();
    k.ifThen(k.less(k.constant(most - 1), beyond), emit, [&] { from(most - 1); });
  };
  from(padAfter());
}

/// What each lane multiplies in step `channel` of its group.
mlir::Value OpenLanewiseGenerator::loadInput(Value offset, int64_t channel) {
  return permuted(converted(k.load(k.buffer(conv.input), offset, conv.inputType, plan.lanes)), channel);
}

/// Calls `body` for each row of taps of output row `row` that is inside, with the offsets of its first tap of output
/// column 0 and of its weights. Rows of a volume count over all of its planes.
OpenLanewiseGenerator::Values
OpenLanewiseGenerator::overRowsOfTaps(Value row, Values acc,
                                      const std::function<Values(Values, Value inRow, Value weights)> &body) {
  Value weights = k.mul(block, plan.blockStride());
  if (conv.planar())
    return rowsOfPlane(row, k.constant(0), weights, std::move(acc), body);
  Value depth = quotient(k, row, outRows), height = remainder(k, row, outRows);
  auto [low, high] = tapRange(k, conv, dims, 0, depth);
  Value inDepth = k.add(windowAt(k, conv, dims, 0, depth), -conv.padBegin[0]);
  int64_t planeOfWeights = plan.blockStride() / conv.kernel[0];
  return k.loop(low, high, 1, acc, [&](Value kd, mlir::ValueRange carried) {
    return rowsOfPlane(height, k.add(inDepth, k.mul(kd, conv.dilation[0])), k.add(weights, k.mul(kd, planeOfWeights)),
                       Values(carried.begin(), carried.end()), body);
  });
}

/// The rows of taps of one plane of the kernel, whose weights begin at `weights`, in input plane `plane`.
OpenLanewiseGenerator::Values
OpenLanewiseGenerator::rowsOfPlane(Value height, Value plane, Value weights, Values acc,
                                   const std::function<Values(Values, Value inRow, Value weights)> &body) {
  auto [low, high] = tapRange(k, conv, dims, 1, height);
  Value inHeight = k.add(windowAt(k, conv, dims, 1, height), -conv.padBegin[1]);
  return k.loop(low, high, 1, acc, [&](Value kh, mlir::ValueRange carried) {
    Value row = k.add(k.mul(plane, inRows), k.add(inHeight, k.mul(kh, conv.dilation[1])));
    Value at = k.add(k.add(k.mul(row, inColumns), shift), -padBefore());
    return body(Values(carried.begin(), carried.end()), k.add(input, k.mul(at, conv.inPixelStride())),
                k.add(weights, k.mul(kh, taps() * conv.inChannels * plan.lanes)));
  });
}

void OpenLanewiseGenerator::emitTile(int64_t width, const Reach &reach, Value row, Value column) {
  Values acc = overRowsOfTaps(row, initial(width), [&](Values carried, Value inRow, Value weights) {
    return tapsOfRow(reach, carried, k.add(inRow, k.mul(column, conv.stride[2] * plan.lanes)), weights,
                     [&](Value offset, int64_t channel) { return loadInput(offset, channel); });
  });
  finish(width, row, column, acc);
}

/// One output position, whose taps the run bounds.
void OpenLanewiseGenerator::emitPosition(Value row, Value column) {
  auto [low, high] = tapRange(k, conv, dims, 2, column);
  Values acc = overRowsOfTaps(row, initial(1), [&](Values carried, Value inRow, Value weights) {
    int64_t pixel = conv.inPixelStride();
    Value start = k.add(inRow, k.mul(column, conv.stride[2] * pixel));
    return k.loop(low, high, 1, carried, [&](Value kw, mlir::ValueRange sums) {
      return positionTap(sums, k.add(start, k.mul(kw, conv.dilation[2] * pixel)),
                         k.add(weights, k.mul(kw, conv.inChannels * plan.lanes)));
    });
  });
  finish(1, row, column, acc);
}

/// One tap of one output position, whose weights begin at `weights`.
OpenLanewiseGenerator::Values OpenLanewiseGenerator::positionTap(mlir::ValueRange sums, Value position, Value weights) {
  if (plan.access == Lanes::gathered)
    return k.loop(k.constant(0), k.constant(conv.inChannels), 1, sums, [&](Value c, mlir::ValueRange carried) {
      Value weight = loadWeights(k.add(weights, k.mul(c, plan.lanes)));
      return Values{multiplyAdd(gatherInput(position, c), weight, carried[0])};
    });
  Value sum = sums[0];
  for (int64_t c = 0; c < conv.inChannels; ++c)
    sum = multiplyAdd(loadInput(position, c), loadWeights(k.add(weights, c * plan.lanes)), sum);
  return Values{sum};
}

} // namespace

GeneratedKernel openLanewiseKernel(const ContractionProblem &problem, const LanewisePlan &plan,
                                   const Schedule &schedule) {
  const ConvGeometry &conv = plan.conv;
  RunTimeDims dims;
  needExtents(dims, conv);
  Dim chunks = dims.need(ceilDiv(conv.outExtent(0) * conv.outExtent(1), plan.rows));
  Epilogue epilogue = convEpilogue(problem, conv, dims);
  ContractionKernel kernel(problem, dims);
  OpenLanewiseGenerator(kernel.k, plan, chunks, epilogue, dims, hasPaddedBias(problem, conv)).emit();

  GeneratedKernel result = kernel.finish(schedule);
  result.images = conv.images;
  result.units = conv.images * Dim(plan.blocks()) * chunks;
  addConvPackings(result, problem, conv, packingOf(plan), epilogue);
  return result;
}

} // namespace lathe
