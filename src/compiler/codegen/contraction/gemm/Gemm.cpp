// gemm/2: a matrix product as tiles of `rows` broadcast rows times `vectors` vectors of columns.
//
// A format that converts operands (codegen/space/ContractionFormat.h) has a slot convert the rows of a chunk into its
// scratch and run all its work items of that chunk from there; a right operand that is not constant is converted as it
// is copied (packb=1). A constant right operand is stored tile by tile, so that a product with one row streams it from memory in order.
#include "codegen/contraction/common/ContractionKernel.h"
#include "codegen/contraction/common/FormatCode.h"
#include "codegen/contraction/gemm/GemmPlan.h"
#include "codegen/contraction/gemm/PackedColumns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

class GemmGenerator {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  GemmGenerator(KernelBuilder &k, const GemmPlan &plan, const Epilogue &epilogue, const RunTimeDims &dims)
      : k(k), plan(plan), gemm(plan.gemm), epilogue(epilogue), dims(dims),
        micro(k, plan.format, plan.lanes, plan.unroll), readsCodes(plan.readsCodes()) {
    if (gemm.packed)
      packed.emplace(k, plan);
  }

  void emit() {
    if (plan.format.correctsSums())
      correction = units::correction(k, gemm.leftZero, gemm.leftType, plan.lanes);
    if (plan.passes() == 1 && !plan.format.converts) {
      setPass(k.constant(0));
      return k.loop(k.begin(), k.end(), 1, [&](Value unit) { emitUnit(unit); });
    }
    // Chunk of rows by chunk of rows: all passes over the work items of a chunk that the slot has.
    Value firstChunk = k.div(k.begin(), plan.tiles()), endChunk = k.div(k.add(k.end(), plan.tiles() - 1), plan.tiles());
    k.loop(firstChunk, endChunk, 1, [&](Value number) {
      firstUnit = k.max(k.begin(), k.mul(number, plan.tiles()));
      Value endUnit = k.min(k.end(), k.mul(k.add(number, 1), plan.tiles()));
      if (plan.format.converts) {
        locate(number);
        convertRows();
      }
      auto units = [&](Value pass) {
        setPass(pass);
        k.loop(firstUnit, endUnit, 1, [&](Value unit) { emitUnit(unit); });
      };
      lastPass = false;
      k.loop(k.constant(0), k.constant(plan.passes() - 1), 1, units);
      lastPass = true;
      units(k.constant(plan.passes() - 1));
    });
  }

private:
  KernelBuilder &k;
  const GemmPlan &plan;
  const GemmGeometry &gemm;
  const Epilogue &epilogue;
  const RunTimeDims &dims;
  Microkernel micro;
  std::optional<PackedColumns> packed; // of a right operand of small integers
  bool readsCodes;                     // sums are made of its codes
  Value image, tile, chunk, aBase, bBase;
  Value pass, firstStep; // of the reduction
  bool lastPass = true;
  Value firstUnit, chunkRow; // of the chunk: its first unit in this slot, its first row
  Value blockOfChunk;        // the register block's number among those of its size
  Value partials;            // of the tile, in scratch
  Value correction;          // units::correction()

  int64_t steps() const { return plan.steps(lastPass); }
  void locate(Value number);
  void convertRows();
  void storeRowSum(Value row, Value sums);
  std::pair<Value, Value> rowsOf(Value chunkNumber);
  void setPass(Value number) {
    pass = number;
    firstStep = k.mul(pass, plan.kc);
  }
  void emitUnit(Value unit);
  Values corrections(int64_t rows, int64_t vectors);
  Values beginning(int64_t rows, Value firstRow, int64_t vectors);
  Values initial(int64_t rows, Value firstRow, int64_t vectors, Value partial);
  void emitColumns(int64_t vectors, int64_t valid);
  void emitPacked(int64_t vectors, int64_t valid);
  void emitRows(int64_t vectors, int64_t valid, const VectorOperand &b, Value bOffset);
  void emitBlock(int64_t rows, Value firstRow, int64_t vectors, int64_t valid, const VectorOperand &b, Value bOffset);
  PanelPrefetch nextTile(int64_t vectors, Value block, const ReductionAxis &axis, Value bOffset);
  void copyColumns(int64_t vectors, int64_t valid, Value from);
  void copyUnits(int64_t vectors, int64_t valid, Value from);
  Value leftRows() { return k.gep(k.scratch(), k.constant(plan.leftStart()), k.b.getI8Type()); }
  Value rowSums() { return k.gep(k.scratch(), k.constant(plan.rowSumsStart()), k.b.getI8Type()); }
};

/// The rows [first, second) of a chunk, counted within its matrix.
std::pair<mlir::Value, mlir::Value> GemmGenerator::rowsOf(Value chunkNumber) {
  if (!gemm.m.isConstant()) {
    Value size = dims.value(k, plan.evenChunk()), first = k.mul(chunkNumber, size);
    return {first, k.min(k.add(first, size), dims.value(k, gemm.m))};
  }
  // Blocks of two sizes, larger ones first.
  auto [count, small, large] = evenPieces(gemm.m.constant(), plan.rows);
  auto start = [&](Value piece) { return k.add(k.mul(piece, small), k.min(piece, k.constant(large))); };
  Value first = k.mul(chunkNumber, plan.mc);
  return {start(first), start(k.min(k.add(first, plan.mc), k.constant(count)))};
}

/// Stores the term that the right operand's zero point adds to the sums of a row of the chunk: minus the zero point,
/// times the sum of the row without its own zero points. `sums`: partial sums of the row's elements.
void GemmGenerator::storeRowSum(Value row, Value sums) {
  auto zero = [&](unsigned buffer, ElementType type) {
    return units::widened(k, k.load(k.buffer(buffer), k.constant(0), type), type);
  };
  auto multiplied = [&](Value x, Value y) -> Value { return k.b.create<mlir::arith::MulIOp>(k.loc, x, y); };
  Value sum = k.b.create<mlir::vector::ReductionOp>(k.loc, mlir::vector::CombiningKind::ADD, sums);
  if (gemm.leftZero)
    sum = k.b.create<mlir::arith::SubIOp>(k.loc, sum,
                                          multiplied(zero(*gemm.leftZero, gemm.leftType), units::integer(k, gemm.k)));
  sum = multiplied(sum, zero(*gemm.rightZero, gemm.rightType));
  k.store(k.b.create<mlir::arith::SubIOp>(k.loc, units::integer(k, 0), sum), rowSums(), row, plan.format.sum);
}

/// The left operand's rows of the chunk as units in scratch.
void GemmGenerator::convertRows() {
  auto [first, last] = rowsOf(chunk);
  int64_t whole = gemm.k / plan.lanes * plan.lanes, rest = gemm.k - whole;
  Value from = k.add(aBase, k.mul(first, gemm.aRowStride)), a = k.buffer(gemm.a), converted = leftRows();
  Value zero = units::zeroPoint(k, gemm.leftZero, gemm.leftType, plan.lanes);
  k.loop(k.constant(0), k.sub(last, first), 1, [&](Value row) {
    Value source = k.add(from, k.mul(row, gemm.aRowStride)), to = k.mul(row, plan.convertedRow());
    auto store = [&](Value values, Value offset, Values sums) {
      if (plan.weightsZero())
        sums[0] = k.b.create<mlir::arith::AddIOp>(k.loc, sums[0], units::widened(k, values, gemm.leftType)).getResult();
      values = units::operand(k, plan.format, values, gemm.leftType, zero);
      if (plan.lanes < plan.format.group) // part of a unit, `offset` in vectors
        k.b.create<mlir::LLVM::StoreOp>(k.loc, values, k.gep(converted, k.mul(offset, plan.lanes), k.b.getI8Type()), 4);
      else
        units::storeNeighbours(k, plan.format, values, converted, offset);
      return sums;
    };
    // Vectors of a unit, or units of a vector.
    int64_t parts = std::max<int64_t>(1, plan.format.group / plan.lanes),
            each = std::max<int64_t>(1, plan.lanes / plan.format.group);
    if (parts > 1)
      to = k.mul(to, parts);
    Values sums(plan.weightsZero() ? 1 : 0, units::integer(k, 0, plan.lanes));
    sums = k.loop(k.constant(0), k.constant(whole / plan.lanes), 1, sums, [&](Value vector, mlir::ValueRange carried) {
      return store(k.load(a, k.add(source, k.mul(vector, plan.lanes)), gemm.leftType, plan.lanes),
                   k.add(to, k.mul(vector, each)), Values(carried.begin(), carried.end()));
    });
    if (rest)
      sums = store(
          k.maskedLoad(a, k.add(source, whole), gemm.leftType, plan.lanes, k.prefixMask(k.constant(rest), plan.lanes)),
          k.add(to, whole / plan.lanes * each), sums);
    if (plan.weightsZero())
      storeRowSum(row, sums[0]);
  });
}

/// Sets the matrix and the chunk of its rows from their common number.
void GemmGenerator::locate(Value number) {
  Dim chunks = plan.chunks();
  if (chunks == Dim(1)) {
    chunk = k.constant(0);
    image = number;
  } else if (gemm.batch == Dim(1)) {
    chunk = number;
    image = k.constant(0);
  } else {
    Value count = dims.value(k, chunks);
    chunk = k.b.create<mlir::arith::RemUIOp>(k.loc, number, count);
    image = k.b.create<mlir::arith::DivUIOp>(k.loc, number, count);
  }
  aBase = bBase = k.constant(0);
  number = image;
  for (size_t axis = gemm.outer.size(); axis-- > 0;) {
    Value index = number;
    if (axis > 0) {
      Value extent = dims.value(k, gemm.outer[axis]);
      index = k.b.createOrFold<mlir::arith::RemUIOp>(k.loc, number, extent);
      number = k.b.createOrFold<mlir::arith::DivUIOp>(k.loc, number, extent);
    }
    aBase = k.add(aBase, k.mul(index, dims.value(k, gemm.aOuter[axis])));
    bBase = k.add(bBase, k.mul(index, dims.value(k, gemm.bOuter[axis])));
  }
}

void GemmGenerator::emitUnit(Value unit) { // (image, chunk of rows, tile of columns)
  tile = k.rem(unit, plan.tiles());
  locate(k.div(unit, plan.tiles()));
  if (plan.passes() > 1)
    partials = k.add(k.mul(k.sub(unit, firstUnit), plan.partialStride()), plan.partialStart() / plan.partialBytes());
  int64_t last = plan.tiles() - 1, wide = plan.vectors * plan.lanes;
  if (gemm.n == plan.tiles() * wide)
    emitColumns(plan.vectors, wide);
  else if (last == 0)
    emitColumns(plan.tailVectors(), gemm.n);
  else
    k.ifThen(
        k.less(tile, k.constant(last)), [&] { emitColumns(plan.vectors, wide); },
        [&] { emitColumns(plan.tailVectors(), gemm.n - last * wide); });
}

/// Copies one pass of one tile of columns of the right operand into scratch, as packColumns does for constants.
void GemmGenerator::copyColumns(int64_t vectors, int64_t valid, Value from) {
  Value source = k.buffer(gemm.b);
  if (gemm.bLaneStride == 1) {
    k.loop(k.constant(0), k.constant(steps()), 1, [&](Value step) {
      for (int64_t v = 0; v < vectors; ++v) {
        Value at = k.add(k.add(from, k.mul(step, gemm.bStepStride)), v * plan.lanes);
        int64_t real = std::min(plan.lanes, valid - v * plan.lanes);
        Value vector = real == plan.lanes ? k.load(source, at, gemm.type, plan.lanes)
                                          : k.maskedLoad(source, at, gemm.type, plan.lanes,
                                                         k.prefixMask(k.constant(real), plan.lanes));
        k.store(vector, k.scratch(), k.add(k.mul(step, vectors * plan.lanes), v * plan.lanes), gemm.type);
      }
    });
    return;
  }
  k.loop(k.constant(0), k.constant(valid), 1, [&](Value lane) {
    Value row = k.add(from, k.mul(lane, gemm.bLaneStride));
    k.loop(k.constant(0), k.constant(steps()), 1, [&](Value step) {
      Value element = k.load(source, k.add(row, k.mul(step, gemm.bStepStride)), gemm.type);
      k.store(element, k.scratch(), k.add(k.mul(step, vectors * plan.lanes), lane), gemm.type);
    });
  });
}

/// Copies one pass of one tile of columns likewise, converted to units. The last unit may have fewer steps.
void GemmGenerator::copyUnits(int64_t vectors, int64_t valid, Value from) {
  Value source = k.buffer(gemm.b);
  int64_t group = plan.format.group, rest = lastPass ? gemm.k % group : 0;
  int64_t wide = vectors * plan.lanes, whole = steps() - (rest ? 1 : 0);
  auto to = [&](Value step, int64_t lane) { return k.add(k.mul(step, wide), lane); };
  auto masked = [&](Value at, int64_t count) {
    return count == plan.lanes
               ? k.load(source, at, gemm.rightType, plan.lanes)
               : k.maskedLoad(source, at, gemm.rightType, plan.lanes, k.prefixMask(k.constant(count), plan.lanes));
  };
  Value zero = units::zeroPoint(k, gemm.rightZero, gemm.rightType, plan.lanes);
  auto converted = [&](Value at, int64_t count) {
    return units::operand(k, plan.format, masked(at, count), gemm.rightType, zero);
  };
  if (gemm.bLaneStride == 1) {
    auto copy = [&](Value step, int64_t count) {
      Value row = k.add(from, k.mul(step, gemm.bStepStride * group));
      for (int64_t v = 0; v < vectors; ++v) {
        int64_t lane = v * plan.lanes, real = std::min(plan.lanes, valid - lane);
        Values rows;
        for (int64_t i = 0; i < count; ++i)
          rows.push_back(converted(k.add(row, i * gemm.bStepStride + lane), real));
        units::storeInterleaved(k, plan.format, rows, k.scratch(), to(step, lane));
      }
    };
    k.loop(k.constant(0), k.constant(whole), 1, [&](Value step) { copy(step, group); });
    if (rest)
      copy(k.constant(whole), rest);
    return;
  }
  // Steps are neighbours in memory: squares of as many columns and units as a vector has lanes, exchanged. Columns
  // beyond the last repeat it, into lanes that are not stored.
  int64_t all = lastPass ? gemm.k - (plan.passes() - 1) * plan.kc * group : plan.kc * group;
  auto square = [&](Value step, int64_t lane, int64_t count) { // `count` steps of the operand, up to `group` vectors
    llvm::SmallVector<Value> rows;
    for (int64_t i = 0; i < plan.lanes; ++i) {
      Value row =
          k.add(k.add(from, k.mul(k.constant(std::min(lane + i, valid - 1)), gemm.bLaneStride)), k.mul(step, group));
      Values parts;
      for (int64_t first = 0; first < count; first += plan.lanes)
        parts.push_back(converted(k.add(row, first), std::min(count - first, plan.lanes)));
      rows.push_back(units::joined(k, plan.format, parts));
    }
    rows = k.transposed(std::move(rows));
    for (int64_t i = 0; i < plan.format.unitsOf(count); ++i)
      k.store(rows[i], k.scratch(), to(k.add(step, i), lane), plan.format.unit);
  };
  int64_t squares = all / (group * plan.lanes);
  for (int64_t lane = 0; lane < wide; lane += plan.lanes) {
    k.loop(k.constant(0), k.constant(squares * plan.lanes), plan.lanes,
           [&](Value step) { square(step, lane, group * plan.lanes); });
    if (int64_t left = all % (group * plan.lanes))
      square(k.constant(squares * plan.lanes), lane, left);
  }
}

/// Emits a tile of packed weights. If the number of rows is known only at run time, few rows also read codes.
void GemmGenerator::emitPacked(int64_t vectors, int64_t valid) {
  VectorOperand b{k.scratch(), vectors * plan.lanes};
  auto all = [&] {
    if (plan.packB)
      packed->toScratch(tile, vectors);
    emitRows(vectors, valid, b, k.constant(0));
  };
  if (!plan.packB || gemm.m.isConstant())
    return all();
  auto [first, last] = rowsOf(chunk);
  auto eachRow = [&, first = first, last = last] {
    chunkRow = first;
    readsCodes = true;
    k.loop(first, last, 1, [&](Value row) { emitBlock(1, row, vectors, valid, b, k.constant(0)); });
    readsCodes = false;
  };
  k.ifThen(k.less(k.sub(last, first), k.constant(mostPackedRows + 1)), eachRow, all);
}

void GemmGenerator::emitColumns(int64_t vectors, int64_t valid) {
  if (packed)
    return emitPacked(vectors, valid);
  int64_t wide = plan.vectors * plan.lanes;
  VectorOperand b;
  Value bOffset;
  if (gemm.constantB) {
    b = {k.buffer(gemm.b), vectors * plan.lanes};
    bOffset = k.add(k.mul(firstStep, plan.columnVectors() * plan.lanes), k.mul(tile, wide * steps()));
  } else {
    Value begin = k.mul(firstStep, plan.format.group);
    Value from = k.add(k.add(bBase, k.mul(tile, wide * gemm.bLaneStride)), k.mul(begin, gemm.bStepStride));
    if (plan.packB) {
      if (plan.format.converts)
        copyUnits(vectors, valid, from);
      else
        copyColumns(vectors, valid, from);
      b = {k.scratch(), vectors * plan.lanes};
      bOffset = k.constant(0);
    } else {
      b = {k.buffer(gemm.b), gemm.bStepStride, gemm.bLaneStride, valid};
      bOffset = from;
    }
  }
  emitRows(vectors, valid, b, bOffset);
}

void GemmGenerator::emitRows(int64_t vectors, int64_t valid, const VectorOperand &b, Value bOffset) {
  Value first = k.mul(chunk, plan.mc), last;
  chunkRow = k.mul(first, plan.rows);
  auto blocks = [&](Value low, Value high, int64_t rows, auto start) {
    k.loop(low, high, 1, [&](Value piece) {
      blockOfChunk = k.sub(piece, first);
      emitBlock(rows, start(piece), vectors, valid, b, bOffset);
    });
  };
  if (gemm.m.isConstant()) {
    // Blocks of two sizes, larger ones first.
    auto [count, small, large] = evenPieces(gemm.m.constant(), plan.rows);
    last = k.min(k.add(first, plan.mc), k.constant(count));
    chunkRow = rowsOf(chunk).first;
    if (large > 0)
      blocks(first, k.min(last, k.constant(large)), small + 1, [&](Value piece) { return k.mul(piece, small + 1); });
    blocks(large ? k.max(first, k.constant(large)) : first, last, small,
           [&](Value piece) { return k.add(k.mul(piece, small), large); });
    return;
  }
  std::tie(first, last) = rowsOf(chunk);
  chunkRow = first;
  // Whole blocks, then what is left in smaller and smaller ones.
  for (int64_t rows = plan.rows; rows > 0; rows = rows == 1 ? 0 : (rows + 2) / 3) {
    Value count = k.b.create<mlir::arith::DivUIOp>(k.loc, k.sub(last, first), k.constant(rows));
    Value end = k.add(first, k.mul(count, rows));
    Value start = first;
    k.loop(k.constant(0), count, 1, [&](Value i) {
      blockOfChunk = i;
      emitBlock(rows, k.add(start, k.mul(i, rows)), vectors, valid, b, bOffset);
    });
    first = end;
  }
}

/// Tiles lie one after the other in the order they are used. Each register block of the chunk, `block` the first ones,
/// fetches its share of the next.
PanelPrefetch GemmGenerator::nextTile(int64_t vectors, Value block, const ReductionAxis &axis, Value bOffset) {
  if (!plan.prefetch)
    return {};
  int64_t elements = steps() * vectors * plan.lanes;
  int64_t blocks = plan.pieces().isConstant() ? std::min(plan.mc, plan.pieces().constant()) : plan.mc;
  return micro.shareOfPanel(k.add(bOffset, elements), elements, block, blocks, axis, 1);
}

/// The sums of a tile before the first pass: zeros, or the corrections of the operands' excess.
KernelBuilder::Values GemmGenerator::beginning(int64_t rows, Value firstRow, int64_t vectors) {
  Values sums = correction ? corrections(rows, vectors) : micro.zeros(rows * vectors);
  for (int64_t row = 0; plan.weightsZero() && row < rows; ++row) {
    Value at = k.add(k.sub(firstRow, chunkRow), row);
    Value ofRow = k.splat(k.load(rowSums(), at, plan.format.sum), plan.lanes);
    for (int64_t v = 0; v < vectors; ++v) {
      Value &sum = sums[row * vectors + v];
      sum = correction ? k.b.create<mlir::arith::AddIOp>(k.loc, sum, ofRow).getResult() : ofRow;
    }
  }
  return sums;
}

/// Minus the excess of the left operand's elements, times the sums of the columns.
KernelBuilder::Values GemmGenerator::corrections(int64_t rows, int64_t vectors) {
  int64_t packed = plan.columnVectors() * plan.lanes * plan.allSteps() * plan.format.unitBytes();
  Value at = k.add(k.mul(tile, plan.vectors * plan.lanes), packed / 4);
  Values sums(rows * vectors);
  for (int64_t v = 0; v < vectors; ++v) {
    Value weights = k.load(k.buffer(gemm.b), k.add(at, v * plan.lanes), plan.format.sum, plan.lanes);
    Value less = k.b.create<mlir::arith::MulIOp>(k.loc, weights, correction);
    for (int64_t row = 0; row < rows; ++row)
      sums[row * vectors + v] = less;
  }
  return sums;
}

KernelBuilder::Values GemmGenerator::initial(int64_t rows, Value firstRow, int64_t vectors, Value partial) {
  int64_t count = rows * vectors;
  Values zeros = beginning(rows, firstRow, vectors);
  if (plan.passes() == 1)
    return zeros;
  auto load = [&] {
    Values loaded;
    for (int64_t i = 0; i < count; ++i)
      loaded.push_back(k.load(k.scratch(), k.add(partial, i * plan.lanes), plan.format.sum, plan.lanes));
    return loaded;
  };
  if (lastPass)
    return load();
  auto branch =
      k.b.create<mlir::scf::IfOp>(k.loc, mlir::TypeRange(mlir::ValueRange(zeros)), k.less(k.constant(0), pass), true);
  mlir::OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPointToEnd(branch.thenBlock());
  k.b.create<mlir::scf::YieldOp>(k.loc, load());
  k.b.setInsertionPointToEnd(branch.elseBlock());
  k.b.create<mlir::scf::YieldOp>(k.loc, zeros);
  return Values(branch.getResults().begin(), branch.getResults().end());
}

void GemmGenerator::emitBlock(int64_t rows, Value firstRow, int64_t vectors, int64_t valid, const VectorOperand &b,
                              Value bOffset) {
  Epilogue::Tile out;
  out.image = image;
  out.pixel = firstRow;
  out.channel = k.mul(tile, plan.vectors * plan.lanes);
  out.vectors = vectors;
  out.channels = valid;
  llvm::SmallVector<int64_t> offsets;
  for (int64_t row = 0; row < rows; ++row) {
    out.pixels.push_back(row);
    offsets.push_back(row * (plan.format.converts ? plan.convertedRow() : gemm.aRowStride));
  }
  Value partial;
  if (plan.passes() > 1)
    partial = k.add(partials, k.mul(k.sub(firstRow, chunkRow), vectors * plan.lanes));
  ReductionAxis axis{steps(), steps(), gemm.aStepStride, 0};
  micro.prefetch = nextTile(vectors, blockOfChunk, axis, bOffset);
  micro.widest = plan.vectors;
  Value aOffset = plan.format.converts
                      ? k.add(firstStep, k.mul(k.sub(firstRow, chunkRow), plan.convertedRow()))
                      : k.add(k.add(aBase, k.mul(firstStep, gemm.aStepStride)), k.mul(firstRow, gemm.aRowStride));
  Values acc;
  if (readsCodes) {
    acc = packed->sums(tile, vectors, k.buffer(gemm.a), aOffset, offsets);
  } else {
    Values begin = initial(rows, firstRow, vectors, partial);
    Value a = plan.format.converts ? leftRows() : k.buffer(gemm.a);
    acc = plan.format.pairsRows() ? micro.reducePairs(begin, offsets, vectors, a, aOffset, steps(), b, bOffset)
                                  : micro.reduce(begin, out.pixels, offsets, vectors, a, aOffset, axis, b, bOffset);
  }
  if (lastPass)
    return epilogue.emit(k, dims, out, acc);
  for (size_t i = 0; i < acc.size(); ++i)
    k.store(acc[i], k.scratch(), k.add(partial, i * plan.lanes), plan.format.sum);
}

} // namespace

GeneratedKernel generateFrom(const ContractionProblem &problem, const GemmPlan &plan, const Schedule &schedule) {
  const GemmGeometry &gemm = plan.gemm;
  RunTimeDims dims;
  for (const Dim &dim : {gemm.batch, gemm.m, plan.chunks()})
    dims.need(dim);
  if (!gemm.m.isConstant())
    dims.need(plan.evenChunk());
  for (const Dims *list : {&gemm.outer, &gemm.aOuter, &gemm.bOuter})
    for (const Dim &dim : *list)
      dims.need(dim);
  Epilogue epilogue = gemmEpilogue(problem, gemm, dims);
  ContractionKernel kernel(problem, dims);
  GemmGenerator(kernel.k, plan, epilogue, dims).emit();

  GeneratedKernel result = kernel.finish(schedule);
  result.units = gemm.batch * plan.chunks() * Dim(plan.tiles());
  if (plan.packB || plan.format.converts || plan.passes() > 1)
    result.scratchBytes =
        plan.partialStart() + (plan.passes() > 1 ? plan.tiles() * plan.partialStride() * plan.partialBytes() : 0);
  epilogue.addPackings(result.packings);
  if (gemm.packed)
    addPackedPackings(plan, result.packings);
  else if (gemm.constantB)
    result.packings[gemm.b] = packingOf(plan);
  return result;
}

} // namespace lathe
