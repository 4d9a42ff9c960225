// lanewise/1: convolutions whose groups are narrower than a vector, above all depthwise ones. Each vector lane is one
// output channel and reads its own group's input channels: the lane of the same number (depthwise), a permutation of
// the input block (groups of one size that fill a block), or gathered elements (anything else).
#include "codegen/contraction/lanewise/LanewiseConv.h"

#include "codegen/contraction/common/ContractionKernel.h"
#include "codegen/contraction/common/OpenConv.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {

void LanewiseCode::emitBlock(const std::function<void()> &rows) {
  auto emit = [&](int64_t valid) {
    validChannels = valid;
    laneChannels.clear(); // their addresses depend on the step
    for (int64_t lane = 0; plan.access == Lanes::gathered && lane < (oneGroup() ? 1 : valid); ++lane)
      laneChannels.push_back(k.mul(k.div(k.add(k.mul(block, plan.lanes), lane), conv.outChannels), conv.inChannels));
    rows();
  };
  int64_t last = plan.blocks() - 1, tail = plan.channels() - last * plan.lanes;
  if (tail == plan.lanes || wholeVectors)
    emit(plan.lanes);
  else if (last == 0)
    emit(tail);
  else
    k.ifThen(k.less(block, k.constant(last)), [&] { emit(plan.lanes); }, [&] { emit(tail); });
}

LanewiseCode::Values LanewiseCode::initial(int64_t width) {
  if (!conv.bias)
    return Values(width, k.zero(KernelBuilder::vectorOf(k.computeType(conv.type), plan.lanes)));
  PointAccess access = biasAccess(*conv.bias, conv.type, paddedBias);
  return Values(width, Epilogue::loadLanes(k, access, k.mul(block, plan.lanes), plan.lanes, validChannels));
}

/// One vector of weights at `at`: of bytes one unit a lane.
mlir::Value LanewiseCode::loadWeights(Value at) {
  return k.load(k.buffer(conv.weights), at, plan.convertsBytes() ? plan.format.unit : conv.type, plan.lanes);
}

/// What each lane multiplies in step `channel` of its group, of a vector of the block's channels.
mlir::Value LanewiseCode::permuted(Value vector, int64_t channel) {
  if (plan.access == Lanes::same)
    return vector;
  llvm::SmallVector<int64_t> from;
  for (int64_t lane = 0; lane < plan.lanes; ++lane)
    from.push_back(lane / conv.outChannels * conv.inChannels + channel);
  return k.b.create<mlir::vector::ShuffleOp>(k.loc, vector, vector, from);
}

/// Likewise, lane by lane from wherever its channel lies.
mlir::Value LanewiseCode::gatherInput(Value offset, Value channel) {
  Value vector = k.zero(KernelBuilder::vectorOf(k.computeType(conv.inputType), plan.lanes));
  for (auto [lane, first] : llvm::enumerate(laneChannels)) {
    Value c = k.add(first, channel), plane = conv.inLast ? c : k.mul(c, inPlane);
    if (conv.inBlock && !conv.inLast)
      plane = k.add(k.mul(k.mul(k.div(c, conv.inBlock), inPlane), conv.inBlock), k.rem(c, conv.inBlock));
    Value element = k.load(k.buffer(conv.input), k.add(offset, plane), conv.inputType);
    if (oneGroup())
      return converted(k.splat(element, plan.lanes));
    vector = k.b.create<mlir::vector::InsertOp>(k.loc, element, vector, int64_t(lane));
  }
  return converted(vector);
}

mlir::Value LanewiseCode::multiplyAdd(Value x, Value y, Value z) {
  if (plan.convertsBytes())
    return units::multiplyAdd(k, plan.format, x, y, z);
  if (isFloat(conv.type))
    return k.fma(x, y, z);
  return k.b.create<mlir::arith::AddIOp>(k.loc, k.b.create<mlir::arith::MulIOp>(k.loc, x, y), z);
}

/// Input columns of a row of taps in order, so that each is loaded once and used by every tap that reaches it.
LanewiseCode::Values LanewiseCode::tapsOfRow(const Reach &reach, Values acc, Value start, Value weightRow,
                                             const std::function<Value(Value offset, int64_t channel)> &load) {
  llvm::DenseMap<std::pair<int64_t, int64_t>, Value> inputs; // by column relative to the tile and channel
  for (int64_t kw = 0; kw < conv.kernel[2]; ++kw)
    for (int64_t c = 0; c < conv.inChannels; ++c) {
      if (reach[kw].first >= reach[kw].second)
        continue;
      Value weight = loadWeights(k.add(weightRow, (kw * conv.inChannels + c) * plan.lanes));
      for (int64_t p = reach[kw].first; p < reach[kw].second; ++p) {
        int64_t column = p * conv.stride[2] + kw * conv.dilation[2];
        Value &x = inputs[{column, c}];
        if (!x)
          x = load(k.add(start, column * conv.inPixelStride()), c);
        acc[p] = multiplyAdd(x, weight, acc[p]);
      }
    }
  return acc;
}

void LanewiseCode::finish(int64_t width, Value row, Value column, mlir::ValueRange acc, const Epilogue::Sink &sink) {
  Epilogue::Tile out;
  out.image = image;
  out.pixel = k.add(k.mul(row, outColumns), column);
  out.channel = k.mul(block, plan.lanes);
  for (int64_t p = 0; p < width; ++p)
    out.pixels.push_back(p);
  out.channels = validChannels;
  epilogue.emit(k, dims, out, acc, sink);
}

void LanewiseGenerator::emit() {
  if (plan.joined)
    setOutside();
  else
    zeroPoint = units::zeroPoint(k, conv.inputZero, conv.inputType, plan.lanes);
  k.loop(k.begin(), k.end(), 1, [&](Value unit) {
    Value rest = k.div(unit, plan.chunks());
    Value first = k.mul(k.rem(unit, plan.chunks()), plan.rows);
    Value last = k.min(k.add(first, plan.rows), k.constant(plan.allRows()));
    emitRows(k.div(rest, plan.blocks()), k.rem(rest, plan.blocks()), first, last);
  });
}

void LanewiseGenerator::emitRows(Value imageOfRows, Value blockOfRows, Value first, Value beyond) {
  image = imageOfRows;
  block = blockOfRows;
  firstRow = first;
  lastRow = beyond;
  emitBlock([&] {
    k.loop(firstRow, lastRow, 1, [&](Value row) {
      for (const TileClass &tile : plan.classes)
        k.loop(k.constant(0), k.constant(tile.count), 1,
               [&](Value i) { emitTile(tile, row, k.add(k.mul(i, tile.width), tile.start)); });
    });
  });
}

/// The block's channels at pixel offset `offset` of the image.
mlir::Value LanewiseGenerator::loadBlock(Value offset) {
  Value at = k.add(offset, k.mul(block, plan.lanes * conv.inChannelStride()));
  return converted(k.load(k.buffer(conv.input), at, conv.inputType, plan.lanes));
}

void LanewiseGenerator::setOutside() {
  correction = units::correction(k, conv.inputZero, conv.inputType, plan.lanes);
  mlir::VectorType bytes = KernelBuilder::vectorOf(k.computeType(conv.inputType), plan.lanes);
  Value zero = conv.inputZero ? k.splat(k.load(k.buffer(*conv.inputZero), k.constant(0), conv.inputType), plan.lanes)
                              : k.zero(bytes);
  outside = units::widened(k, converted(zero), ElementType::u8);
}

/// For joined columns: minus the excess of bytes times the sums of the weights, over the kernel rows inside the input.
mlir::Value LanewiseGenerator::corrected(Value depthLow, Value depthHigh, Value heightLow, Value heightHigh) {
  Values sums = {k.zero(KernelBuilder::vectorOf(k.computeType(conv.type), plan.lanes))};
  Value ofBlock = k.add(k.mul(block, conv.kernel[0] * conv.kernel[1] * plan.lanes), plan.sumsAt());
  sums = k.loop(depthLow, depthHigh, 1, sums, [&](Value kd, mlir::ValueRange outer) {
    return k.loop(heightLow, heightHigh, 1, outer, [&](Value kh, mlir::ValueRange inner) {
      Value at = k.add(ofBlock, k.mul(k.add(k.mul(kd, conv.kernel[1]), kh), plan.lanes));
      Value row = k.load(k.buffer(conv.weights), at, plan.format.sum, plan.lanes);
      return Values{k.b.create<mlir::arith::AddIOp>(k.loc, inner[0], row).getResult()};
    });
  });
  return k.b.create<mlir::arith::MulIOp>(k.loc, sums[0], correction);
}

/// One kernel row of joined columns, from the input's position `start` on. Each column of bytes is shifted into the
/// units of the columns before it, so that a unit ends with the last column that its products read.
LanewiseGenerator::Values LanewiseGenerator::joinedTaps(const TileClass &tile, mlir::ValueRange accumulators,
                                                        Value start, Value weightRow) {
  Values acc(accumulators.begin(), accumulators.end());
  int64_t kernel = conv.kernel[2], stride = conv.stride[2], group = plan.format.group, vectors = plan.rowVectors();
  auto isInside = [&](int64_t column) {
    for (int64_t kw = 0; kw < kernel; ++kw)
      if (int64_t p = (column - kw) / stride;
          column >= kw && (column - kw) % stride == 0 && p >= tile.reach[kw].first && p < tile.reach[kw].second)
        return true;
    return false;
  };
  Values weights;
  for (int64_t v = 0; v < vectors; ++v)
    weights.push_back(loadWeights(k.add(weightRow, v * plan.lanes)));
  Value shift = units::integer(k, 8, plan.lanes), units = k.zero(weights[0].getType());
  for (int64_t column = 0; column < (tile.width - 1) * stride + kernel; ++column) {
    Value next = outside;
    if (isInside(column))
      next = units::widened(k, loadBlock(k.add(start, column * conv.inPixelStride())), ElementType::u8);
    units = k.b.create<mlir::LLVM::CallIntrinsicOp>(k.loc, units.getType(), k.b.getStringAttr("llvm.fshr.v16i32"),
                                                    mlir::ValueRange{next, units, shift})
                .getResult(0);
    // Unit v of position p ends with column p * stride + kernel - 1 - (vectors - 1 - v) * group.
    for (int64_t v = 0; v < vectors; ++v) {
      int64_t first = column - (kernel - 1) + (vectors - 1 - v) * group;
      if (first >= 0 && first % stride == 0 && first / stride < tile.width)
        acc[first / stride] = multiplyAdd(units, weights[v], acc[first / stride]);
    }
  }
  return acc;
}

/// All columns of one kernel row. Input columns in order, so that each is loaded once and used by every tap that
/// reaches it.
LanewiseGenerator::Values LanewiseGenerator::taps(const TileClass &tile, mlir::ValueRange accumulators, Value inRow,
                                                  Value weightRow, Value inColumn) {
  Values acc(accumulators.begin(), accumulators.end());
  int64_t pixel = conv.inPixelStride(), depth = conv.inChannels;
  Value start = k.add(inRow, k.mul(inColumn, pixel));
  if (plan.joined)
    return joinedTaps(tile, accumulators, start, weightRow);
  if (plan.access == Lanes::gathered)
    return k.loop(k.constant(0), k.constant(depth), 1, acc, [&](Value c, mlir::ValueRange carried) {
      Values next(carried.begin(), carried.end());
      llvm::DenseMap<int64_t, Value> inputs;
      for (int64_t kw = 0; kw < conv.kernel[2]; ++kw) {
        if (tile.reach[kw].first >= tile.reach[kw].second)
          continue;
        Value at = k.add(weightRow, k.mul(k.add(c, kw * depth), plan.lanes));
        Value weight = loadWeights(at);
        for (int64_t p = tile.reach[kw].first; p < tile.reach[kw].second; ++p) {
          int64_t column = p * conv.stride[2] + kw * conv.dilation[2];
          Value &x = inputs[column];
          if (!x)
            x = gatherInput(k.add(start, column * pixel), c);
          next[p] = multiplyAdd(x, weight, next[p]);
        }
      }
      return next;
    });
  return tapsOfRow(tile.reach, acc, start, weightRow,
                   [&](Value offset, int64_t channel) { return permuted(loadBlock(offset), channel); });
}

void LanewiseGenerator::emitTile(const TileClass &tile, Value row, Value column) {
  Value depth = conv.out[0] == 1 ? k.constant(0) : k.div(row, conv.out[1]);
  Value height = conv.out[0] == 1 ? row : k.rem(row, conv.out[1]);
  auto [depthLow, depthHigh] = tapRange(k, conv, dims, 0, depth);
  auto [heightLow, heightHigh] = tapRange(k, conv, dims, 1, height);
  Value input = k.mul(image, conv.inImageStride());
  Value inDepth = k.sub(k.mul(depth, conv.stride[0]), k.constant(conv.padBegin[0]));
  Value inHeight = k.sub(k.mul(height, conv.stride[1]), k.constant(conv.padBegin[1]));
  Value inColumn = k.sub(k.mul(column, conv.stride[2]), k.constant(conv.padBegin[2]));
  int64_t weightRowStride = plan.rowVectors() * plan.lanes;

  Values begin = initial(tile.width);
  if (correction) {
    Value less = corrected(depthLow, depthHigh, heightLow, heightHigh);
    for (Value &sum : begin)
      sum = k.b.create<mlir::arith::AddIOp>(k.loc, sum, less);
  }
  Values acc = k.loop(depthLow, depthHigh, 1, begin, [&](Value kd, mlir::ValueRange acc1) {
    return k.loop(heightLow, heightHigh, 1, acc1, [&](Value kh, mlir::ValueRange acc2) {
      Value plane = k.mul(k.add(inDepth, k.mul(kd, conv.dilation[0])), conv.in[1]);
      Value inRow =
          k.mul(k.add(plane, k.add(inHeight, k.mul(kh, conv.dilation[1]))), conv.in[2] * conv.inPixelStride());
      Value weightRow =
          k.add(k.mul(block, plan.blockStride()), k.mul(k.add(k.mul(kd, conv.kernel[1]), kh), weightRowStride));
      return taps(tile, acc2, k.add(input, inRow), weightRow, inColumn);
    });
  });
  finish(tile.width, row, column, acc, sink);
}

GeneratedKernel generateFrom(const ContractionProblem &problem, const LanewisePlan &plan, const Schedule &schedule) {
  const ConvGeometry &conv = plan.conv;
  if (conv.open)
    return openLanewiseKernel(problem, plan, schedule);
  RunTimeDims dims;
  Epilogue epilogue = convEpilogue(problem, conv, dims);
  ContractionKernel kernel(problem, dims);
  LanewiseGenerator(kernel.k, plan, epilogue, dims, hasPaddedBias(problem, conv)).emit();

  GeneratedKernel result = kernel.finish(schedule);
  result.images = conv.images;
  result.units = conv.images * Dim(plan.blocks() * plan.chunks());
  addConvPackings(result, problem, conv, packingOf(plan), epilogue);
  return result;
}

} // namespace lathe
