#include "codegen/contraction/common/Microkernel.h"

#include "codegen/contraction/common/FormatCode.h"
#include "codegen/space/AddedOperands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {

Microkernel::Values Microkernel::zeros(int64_t count) {
  Value zero = k.zero(KernelBuilder::vectorOf(k.computeType(format.sum), lanes));
  return Values(count, zero);
}

mlir::Type Microkernel::stepType(ElementType type) {
  return bitWidth(type) == 16 ? mlir::Type(k.b.getIntegerType(16)) : k.computeType(type);
}

mlir::Value Microkernel::at(Value pointer, int64_t elements, ElementType type) {
  // A constant index keeps the address in the instruction.
  if (elements == 0)
    return pointer;
  return k.b.create<mlir::LLVM::GEPOp>(k.loc, k.pointer(), k.b.getI8Type(), pointer,
                                       llvm::ArrayRef<mlir::LLVM::GEPArg>{int32_t(elements * bitWidth(type) / 8)});
}

int64_t Microkernel::lineElements() const {
  constexpr int64_t lineBytes = 64;
  return lineBytes * 8 / bitWidth(type);
}

int64_t Microkernel::iterations(const ReductionAxis &axis) const {
  int64_t rest = axis.extent % axis.run;
  return axis.extent / axis.run * iterationsOfRun(axis.run) + (rest ? iterationsOfRun(rest) : 0);
}

PanelPrefetch Microkernel::shareOfPanel(Value panel, int64_t elements, Value block, int64_t blocks,
                                        const ReductionAxis &axis, int64_t reductions) {
  int64_t each = iterations(axis) * reductions, all = (elements + lineElements() - 1) / lineElements();
  int64_t lines = (all + blocks * each - 1) / (blocks * each), run = lines * each * lineElements();
  Value last = k.constant(std::max<int64_t>(0, elements - run));
  return {k.add(panel, k.min(k.mul(block, run), last)), lines};
}

PanelPrefetch Microkernel::continued(const PanelPrefetch &share, Value number, const ReductionAxis &axis) {
  if (!share.first)
    return share;
  return {k.add(share.first, k.mul(number, iterations(axis) * share.lines * lineElements())), share.lines};
}

void Microkernel::fetchAhead(Value base, Value iteration) {
  if (!prefetch.first)
    return;
  Value first = k.add(prefetch.first, k.mul(iteration, prefetch.lines * lineElements()));
  Value ahead = k.gep(base, first, stepType(type));
  for (int64_t line = 0; line < prefetch.lines; ++line)
    k.b.create<mlir::LLVM::Prefetch>(k.loc, at(ahead, line * lineElements()), /*rw=*/0, /*hint=*/2, /*cache=*/1);
}

mlir::Value Microkernel::launder(Value pointer) {
  auto dialect = mlir::LLVM::AsmDialectAttr::get(k.b.getContext(), mlir::LLVM::AsmDialect::AD_ATT);
  return k.b
      .create<mlir::LLVM::InlineAsmOp>(k.loc, k.pointer(), mlir::ValueRange{pointer}, "", "=r,0",
                                       /*has_side_effects=*/false,
                                       /*is_align_stack=*/false, dialect, mlir::ArrayAttr())
      .getRes();
}

mlir::Value Microkernel::loadVector(const VectorOperand &b, Value pointer, int64_t elements, int64_t v) {
  int64_t valid = b.validLanes < 0 ? lanes : std::min(lanes, b.validLanes - v * lanes);
  Value zero = k.constant(0);
  Value start = at(pointer, elements + v * lanes * b.laneStride);
  if (b.laneStride == 1) {
    if (valid == lanes)
      return k.load(start, zero, type, lanes);
    return k.maskedLoad(start, zero, type, lanes, k.prefixMask(k.constant(valid), lanes));
  }
  Value vector = k.zero(KernelBuilder::vectorOf(k.computeType(type), lanes));
  for (int64_t i = 0; i < valid; ++i)
    vector = k.b.create<mlir::vector::InsertOp>(k.loc, k.load(at(start, i * b.laneStride), zero, type), vector, i);
  return vector;
}

void Microkernel::steps(Values &acc, llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a,
                        const ReductionAxis &axis, const VectorOperand &b, Value bPointer, int64_t first,
                        int64_t count) {
  if (addsOperands(format))
    return addedSteps(acc, rowOffsets, vectors, a, axis, b, bPointer, first, count);
  int64_t rows = rowOffsets.size(), sums = acc.size() / (rows * vectors);
  int64_t group = std::max<int64_t>(1, heldVectors(k.target, rows * sums, vectors));
  Value zero = k.constant(0);
  // LLVM makes up to four loads from one base together; where the vectors of two steps have no room, sums would wait in
  // memory for them.
  bool tight = group == vectors && rows * sums * vectors + 2 * vectors >= int64_t(k.target.vectorRegisters);
  for (int64_t s = first; s < first + count; ++s) {
    if (s > first && tight)
      bPointer = launder(bPointer);
    for (int64_t v0 = 0; v0 < vectors; v0 += group) {
      int64_t v1 = std::min(vectors, v0 + group);
      Values vectorsOfStep;
      for (int64_t v = v0; v < v1; ++v)
        vectorsOfStep.push_back(loadVector(b, bPointer, s * b.stepStride, v));
      Value source = v0 == 0 ? a : launder(a);
      for (int64_t p = 0; p < rows; ++p) {
        Value scalar = k.load(at(source, rowOffsets[p] + s * axis.stepStride, leftType), zero, leftType);
        Value broadcast = k.splat(scalar, lanes);
        for (int64_t v = v0; v < v1; ++v) {
          Value &sum = acc[(s % sums * rows + p) * vectors + v];
          sum = units::multiplyAdd(k, format, broadcast, vectorsOfStep[v - v0], sum);
        }
      }
    }
  }
}

/// The same, two steps at a time, in a format that adds operands.
void Microkernel::addedSteps(Values &acc, llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a,
                             const ReductionAxis &axis, const VectorOperand &b, Value bPointer, int64_t first,
                             int64_t count) {
  assert(count % 2 == 0 && "operands are added in pairs of steps");
  int64_t rows = rowOffsets.size(), sums = acc.size() / (rows * vectors);
  mlir::VectorType pairs = KernelBuilder::vectorOf(k.b.getIntegerType(16), 2 * lanes);
  auto elements = [&](Value units) -> Value { return k.b.create<mlir::vector::BitCastOp>(k.loc, pairs, units); };
  auto added = [&](Value x, Value y) -> Value { // element by element
    Value sum = k.b.create<mlir::arith::AddIOp>(k.loc, elements(x), elements(y));
    return k.b.create<mlir::vector::BitCastOp>(k.loc, x.getType(), sum);
  };
  for (int64_t s = first; s < first + count; s += 2) {
    if (s > first) // no registers are left for vectors of later steps
      bPointer = launder(bPointer);
    Values vectorsOf[2];
    for (int64_t v = 0; v < vectors; ++v)
      for (int64_t step : {0, 1})
        vectorsOf[step].push_back(loadVector(b, bPointer, (s + step) * b.stepStride, v));
    for (int64_t p = 0; p < rows; ++p) {
      auto broadcast = [&](int64_t step) {
        return k.splat(k.load(at(a, rowOffsets[p] + step * axis.stepStride), k.constant(0), type), lanes);
      };
      Value x = broadcast(s), y = broadcast(s + 1);
      for (int64_t v = 0; v < vectors; ++v) {
        Value &sum = acc[(s / 2 % sums * rows + p) * vectors + v];
        sum = units::multiplyAdd(k, format, added(x, vectorsOf[1][v]), added(y, vectorsOf[0][v]), sum);
      }
    }
  }
}

/// Adds up `chains` accumulators of each result, in pairs; `acc` keeps the results.
void Microkernel::addChains(Values &acc, int64_t chains) {
  int64_t results = int64_t(acc.size()) / chains;
  for (; chains > 1; chains /= 2)
    for (int64_t i = 0; i < chains / 2 * results; ++i) {
      Value &sum = acc[i], other = acc[chains / 2 * results + i];
      if (isFloat(type))
        sum = k.b.create<mlir::arith::AddFOp>(k.loc, sum, other);
      else
        sum = k.b.create<mlir::arith::AddIOp>(k.loc, sum, other);
    }
  acc.resize(results);
}

/// One unit of all rows, two at a time, and of all columns: `acc[(pair * vectors + v) * 2 + half]` holds the sums of two
/// rows and of two columns of vector v.
void Microkernel::stepOfPairs(Values &acc, llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a,
                              const VectorOperand &b, Value bPointer, int64_t step) {
  auto rows = static_cast<int64_t>(rowOffsets.size());
  Value zero = k.constant(0);
  Values columns; // two of them each
  for (int64_t v = 0; v < vectors; ++v) {
    Value vector = loadVector(b, bPointer, step * b.stepStride, v);
    for (int64_t first : {0, 2})
      columns.push_back(
          k.b.create<mlir::vector::ShuffleOp>(k.loc, vector, vector, llvm::ArrayRef<int64_t>{first, first + 1}));
  }
  for (int64_t pair = 0; pair < (rows + 1) / 2; ++pair) {
    auto unitOf = [&](int64_t row) { return k.load(at(a, rowOffsets[std::min(row, rows - 1)] + step), zero, type); };
    Value both = k.splat(unitOf(2 * pair), 2);
    both = k.b.create<mlir::vector::InsertOp>(k.loc, unitOf(2 * pair + 1), both, 1);
    for (int64_t i = 0; i < 2 * vectors; ++i) {
      Value &sum = acc[pair * 2 * vectors + i];
      sum = units::multiplyAdd(k, format, both, columns[i], sum);
    }
  }
}

Microkernel::Values Microkernel::reducePairs(Values sums, llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a,
                                             Value aOffset, int64_t extent, const VectorOperand &b, Value bOffset) {
  mlir::Type element = k.computeType(type);
  a = k.gep(a, aOffset, element);
  Value bStart = k.gep(b.base, bOffset, element);
  auto rows = static_cast<int64_t>(rowOffsets.size()), pairs = (rows + 1) / 2;
  auto halves = [&](Value x, Value y, int64_t half) -> Value { // both halves `half`
    return k.b.create<mlir::vector::ShuffleOp>(
        k.loc, x, y, llvm::ArrayRef<int64_t>{2 * half, 2 * half + 1, 4 + 2 * half, 5 + 2 * half});
  };
  auto rowSum = [&](int64_t row, int64_t v) -> Value & { return sums[std::min(row, rows - 1) * vectors + v]; };
  Values acc;
  for (int64_t pair = 0; pair < pairs; ++pair)
    for (int64_t v = 0; v < vectors; ++v)
      for (int64_t half = 0; half < 2; ++half)
        acc.push_back(halves(rowSum(2 * pair, v), rowSum(2 * pair + 1, v), half));
  int64_t whole = extent / unroll;
  acc = k.loop(k.constant(0), k.constant(whole), 1, acc, [&](Value i, mlir::ValueRange carried) {
    Values next(carried.begin(), carried.end());
    fetchAhead(b.base, i);
    Value first = k.mul(i, unroll), bStep = k.gep(bStart, k.mul(first, b.stepStride), element);
    for (int64_t step = 0; step < unroll; ++step)
      stepOfPairs(next, rowOffsets, vectors, k.gep(a, first, element), b, bStep, step);
    return next;
  });
  for (int64_t step = whole * unroll; step < extent; ++step)
    stepOfPairs(acc, rowOffsets, vectors, a, b, bStart, step);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t v = 0; v < vectors; ++v) {
      Value *both = &acc[(row / 2 * vectors + v) * 2];
      rowSum(row, v) = halves(both[0], both[1], row % 2);
    }
  return sums;
}

Microkernel::Values Microkernel::reduce(mlir::ValueRange accumulators, llvm::ArrayRef<int64_t> rows,
                                        llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a, Value aOffset,
                                        const ReductionAxis &axis, const VectorOperand &b, Value bOffset) {
  Values result(accumulators.begin(), accumulators.end());
  if (rows.empty())
    return result;
  Values acc;
  llvm::SmallVector<int64_t> offsets;
  for (int64_t row : rows) {
    offsets.push_back(rowOffsets[row]);
    for (int64_t v = 0; v < vectors; ++v)
      acc.push_back(result[row * vectors + v]);
  }
  constexpr int64_t longEnough = 64; // steps, for the additions at the end
  int64_t sums = accumulatorChains(k.target, rows.size(), std::max(vectors, widest)), results = acc.size();
  if (axis.extent < longEnough || unroll % sums)
    sums = 1;
  acc.append(zeros((sums - 1) * results));
  mlir::Type element = stepType(type), aElement = stepType(leftType);
  Value aStart = k.gep(a, aOffset, aElement), bStart = k.gep(b.base, bOffset, element);

  // One run from (aStart, bStart), in loops of `unroll` steps and a rest; `before` iterations went before it.
  auto run = [&](Values state, Value aRun, Value bRun, int64_t count, Value before) {
    int64_t whole = count / unroll;
    if (whole <= 1)
      fetchAhead(b.base, before);
    if (whole == 1)
      steps(state, offsets, vectors, aRun, axis, b, bRun, 0, unroll);
    else if (whole > 1)
      state = k.loop(k.constant(0), k.constant(whole), 1, state, [&](Value i, mlir::ValueRange carried) {
        Values next(carried.begin(), carried.end());
        Value bStep = k.gep(bRun, k.mul(i, unroll * b.stepStride), element);
        fetchAhead(b.base, k.add(before, i));
        steps(next, offsets, vectors, k.gep(aRun, k.mul(i, unroll * axis.stepStride), aElement), axis, b, bStep, 0,
              unroll);
        return next;
      });
    if (count % unroll)
      steps(state, offsets, vectors, aRun, axis, b, bRun, whole * unroll, count % unroll);
    return state;
  };
  auto strideOfRuns = [&] { return runStride ? runStride : k.constant(axis.runStride); };
  int64_t runs = axis.extent / axis.run, rest = axis.extent % axis.run, each = iterationsOfRun(axis.run);
  if (runs > 0)
    acc = k.loop(k.constant(0), k.constant(runs), 1, acc, [&](Value i, mlir::ValueRange carried) {
      return run(Values(carried.begin(), carried.end()), k.gep(aStart, k.mul(i, strideOfRuns()), aElement),
                 k.gep(bStart, k.mul(i, axis.run * b.stepStride), element), axis.run, k.mul(i, each));
    });
  if (rest > 0)
    acc = run(acc, k.gep(aStart, runStride ? k.mul(runStride, runs) : k.constant(runs * axis.runStride), aElement),
              k.gep(bStart, k.constant(runs * axis.run * b.stepStride), element), rest, k.constant(runs * each));
  addChains(acc, sums);
  for (size_t i = 0; i < rows.size(); ++i)
    for (int64_t v = 0; v < vectors; ++v)
      result[rows[i] * vectors + v] = acc[i * vectors + v];
  return result;
}

} // namespace lathe
