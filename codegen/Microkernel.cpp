#include "codegen/Microkernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {

namespace {
/// Vectors of one step that can be held in registers beside the accumulators and one broadcast.
int64_t groupSize(const Target &target, int64_t rows, int64_t vectors) {
  return std::min<int64_t>(vectors, int64_t(target.vectorRegisters) - rows * vectors - 1);
}
} // namespace

bool Microkernel::fits(const Target &target, int64_t rows, int64_t vectors) {
  // With one vector a step the broadcasts are memory operands and take no register.
  if (vectors == 1)
    return rows + 1 < target.vectorRegisters;
  return rows * vectors < target.vectorRegisters && groupSize(target, rows, vectors) * 2 >= vectors;
}

Microkernel::Values Microkernel::zeros(int64_t count) {
  Value zero = k.zero(KernelBuilder::vectorOf(k.computeType(type), lanes));
  return Values(count, zero);
}

mlir::Value Microkernel::at(Value pointer, int64_t elements) {
  // A constant index keeps the address in the instruction.
  if (elements == 0)
    return pointer;
  return k.b.create<mlir::LLVM::GEPOp>(k.loc, k.pointer(), k.b.getI8Type(), pointer,
                                       llvm::ArrayRef<mlir::LLVM::GEPArg>{int32_t(elements * bitWidth(type) / 8)});
}

void Microkernel::fetchAhead(Value bPointer) {
  if (!prefetch.distance)
    return;
  constexpr int64_t lineBytes = 64;
  Value ahead = k.gep(bPointer, prefetch.distance, bitWidth(type) == 16 ? mlir::Type(k.b.getIntegerType(16)) : k.computeType(type));
  for (int64_t line = 0; line < prefetch.lines; ++line)
    k.b.create<mlir::LLVM::Prefetch>(k.loc, at(ahead, line * lineBytes * 8 / bitWidth(type)), /*rw=*/0, /*hint=*/2, /*cache=*/1);
}

mlir::Value Microkernel::launder(Value pointer) {
  auto dialect = mlir::LLVM::AsmDialectAttr::get(k.b.getContext(), mlir::LLVM::AsmDialect::AD_ATT);
  return k.b
      .create<mlir::LLVM::InlineAsmOp>(k.loc, k.pointer(), mlir::ValueRange{pointer}, "", "=r,0", /*has_side_effects=*/false,
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

void Microkernel::steps(Values &acc, llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a, const ReductionAxis &axis,
                        const VectorOperand &b, Value bPointer, int64_t first, int64_t count) {
  int64_t rows = rowOffsets.size();
  int64_t group = std::max<int64_t>(1, groupSize(k.target, rows, vectors));
  Value zero = k.constant(0);
  bool floating = isFloat(type);
  for (int64_t s = first; s < first + count; ++s)
    for (int64_t v0 = 0; v0 < vectors; v0 += group) {
      int64_t v1 = std::min(vectors, v0 + group);
      Values vectorsOfStep;
      for (int64_t v = v0; v < v1; ++v)
        vectorsOfStep.push_back(loadVector(b, bPointer, s * b.stepStride, v));
      Value source = v0 == 0 ? a : launder(a);
      for (int64_t p = 0; p < rows; ++p) {
        Value scalar = k.load(at(source, rowOffsets[p] + s * axis.stepStride), zero, type);
        Value broadcast = k.splat(scalar, lanes);
        for (int64_t v = v0; v < v1; ++v) {
          Value &sum = acc[p * vectors + v];
          if (floating)
            sum = k.fma(broadcast, vectorsOfStep[v - v0], sum);
          else
            sum = k.b.create<mlir::arith::AddIOp>(
                k.loc, sum, k.b.create<mlir::arith::MulIOp>(k.loc, broadcast, vectorsOfStep[v - v0]));
        }
      }
    }
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
  mlir::Type element = k.computeType(type);
  if (bitWidth(type) == 16)
    element = k.b.getIntegerType(16);
  Value aStart = k.gep(a, aOffset, element), bStart = k.gep(b.base, bOffset, element);

  // One run from (aStart, bStart), in loops of `unroll` steps and a rest.
  auto run = [&](Values state, Value aRun, Value bRun, int64_t count) {
    int64_t whole = count / unroll;
    if (whole <= 1)
      fetchAhead(bRun);
    if (whole == 1)
      steps(state, offsets, vectors, aRun, axis, b, bRun, 0, unroll);
    else if (whole > 1)
      state = k.loop(k.constant(0), k.constant(whole), 1, state, [&](Value i, mlir::ValueRange carried) {
        Values next(carried.begin(), carried.end());
        Value bStep = k.gep(bRun, k.mul(i, unroll * b.stepStride), element);
        fetchAhead(bStep);
        steps(next, offsets, vectors, k.gep(aRun, k.mul(i, unroll * axis.stepStride), element), axis, b, bStep, 0, unroll);
        return next;
      });
    if (count % unroll)
      steps(state, offsets, vectors, aRun, axis, b, bRun, whole * unroll, count % unroll);
    return state;
  };
  int64_t runs = axis.extent / axis.run, rest = axis.extent % axis.run;
  if (runs > 0)
    acc = k.loop(k.constant(0), k.constant(runs), 1, acc, [&](Value i, mlir::ValueRange carried) {
      return run(Values(carried.begin(), carried.end()), k.gep(aStart, k.mul(i, axis.runStride), element),
                 k.gep(bStart, k.mul(i, axis.run * b.stepStride), element), axis.run);
    });
  if (rest > 0)
    acc = run(acc, k.gep(aStart, k.constant(runs * axis.runStride), element),
              k.gep(bStart, k.constant(runs * axis.run * b.stepStride), element), rest);

  for (size_t i = 0; i < rows.size(); ++i)
    for (int64_t v = 0; v < vectors; ++v)
      result[rows[i] * vectors + v] = acc[i * vectors + v];
  return result;
}

} // namespace lathe
