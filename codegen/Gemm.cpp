// gemm/1: a matrix product as tiles of `rows` broadcast rows times `vectors` vectors of columns.
//
//   rows     rows a register block (at most; a static row count is split evenly)
//   vectors  vectors of columns a register block
//   unroll   reduction steps per loop iteration
//   mc       register blocks of rows a work unit
//   kc       reduction steps done for all units of a chunk of rows before the next ones (0: all); partial sums then
//   wait in scratch prefetch 1: while one tile of a constant right operand is used, the next one is fetched packb    1:
//   a right operand that is not constant is copied into scratch, one tile of columns at a time type     bf16: both
//   operands are rounded (codegen/Bf16.h); a slot rounds the rows of one chunk into its scratch and runs all its
//            units of that chunk from there. A right operand that is not constant is rounded while it is copied
//            (packb=1)
//
// A constant right operand is stored tile by tile, so that a product with one row streams it from memory in order.
#include "codegen/Bf16.h"
#include "codegen/Caches.h"
#include "codegen/Contraction.h"
#include "codegen/Copy.h"
#include "codegen/OperandView.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <cstring>
#include <numeric>

namespace lathe {
namespace {

/// The axes of a stack of `all` matrices as an operand with stack extents `own`, matrices of `size` elements, walks
/// them.
ViewAxis stackWalk(const Dims &own, const Dims &all, Dim size) {
  ViewAxis walk;
  size_t missing = all.size() - own.size();
  for (size_t i = all.size(); i-- > 0;) {
    bool there = i >= missing && own[i - missing] == all[i];
    if (!there && i >= missing && !(own[i - missing] == Dim(1)))
      throw Declined{fmt::format("a stack of {} matrices meets one of {}", str(own), str(all))};
    if (!(all[i] == Dim(1)))
      walk.insert(walk.begin(), {all[i], there ? size : Dim(0)});
    if (there)
      size = size * all[i];
  }
  return walk;
}

int64_t fixed(const Dim &dim, const char *what) {
  if (!dim.isConstant())
    throw Declined{fmt::format("{} {} is not static", what, dim.str())};
  return dim.constant();
}

} // namespace

GemmGeometry gemmGeometry(const ContractionProblem &problem) {
  mlir::Operation *anchor = problem.anchor;
  auto operands = nn::operandsByRecord(anchor);
  TensorInfo a = problem.shapes.of(operands[0]), b = problem.shapes.of(operands[1]);
  GemmGeometry gemm;
  gemm.type = a.type;
  if (bitWidth(gemm.type) < 8 || gemm.type == ElementType::boolean || (!isFloat(gemm.type) && !isInteger(gemm.type)))
    throw Declined{fmt::format("no matrix product of elements of type {}", name(gemm.type))};
  gemm.result = anchor->getResult(0);
  for (mlir::Value value : {operands[0], operands[1], gemm.result})
    if (nn::layoutOf(value))
      throw Declined{"a matrix product in a blocked layout"};
  gemm.a = argumentOf(operands[0], "the left operand");
  gemm.b = argumentOf(operands[1], "the right operand");
  mlir::func::FuncOp function = problem.function();
  gemm.constantB = function.getArgAttr(gemm.b, "nn.constant") && gemm.a != gemm.b;

  if (nn::recordOf(anchor)->name == std::string_view("gemm")) {
    auto attrs = nn::attrsAs<GemmAttrs>(anchor);
    gemm.batch = 1;
    gemm.m = a.dims[attrs.trans_a ? 1 : 0];
    gemm.k = fixed(a.dims[attrs.trans_a ? 0 : 1], "the reduction extent");
    gemm.n = fixed(b.dims[attrs.trans_b ? 0 : 1], "the column count");
    gemm.aRowStride = attrs.trans_a ? 1 : gemm.k;
    gemm.aStepStride = attrs.trans_a ? fixed(gemm.m, "the row count of a transposed operand") : 1;
    gemm.transB = attrs.trans_b;
    gemm.alpha = attrs.alpha;
    gemm.beta = attrs.beta;
    gemm.addend = operands.size() > 2 ? operands[2] : mlir::Value();
  } else {
    if (b.rank() < 2)
      throw Declined{"the right operand is a vector"};
    bool row = a.rank() == 1;
    gemm.m = row ? Dim(1) : a.dims[a.rank() - 2];
    gemm.k = fixed(a.dims.back(), "the reduction extent");
    gemm.n = fixed(b.dims.back(), "the column count");
    gemm.aRowStride = gemm.k;
    gemm.aStepStride = 1;
    Dims aBatch(a.dims.begin(), a.dims.end() - std::min<size_t>(2, a.rank())), bBatch(b.dims.begin(), b.dims.end() - 2);
    Dim aCount = product(aBatch), bCount = product(bBatch);
    Dims all = problem.shapes.of(gemm.result).dims;
    all.resize(all.size() - (row ? 1 : 2));
    gemm.batch = product(all);
    if (bCount == Dim(1) && !row) {
      // One right operand for all: the outer axes of the left one are just more rows.
      gemm.m = gemm.m * aCount;
      gemm.batch = 1;
      gemm.pixelAxes = all.size() + 1;
    } else {
      if (gemm.batch == Dim(0))
        throw Declined{"a matrix product without elements"};
      CommonAxes common =
          commonAxes({stackWalk(aBatch, all, gemm.m * Dim(gemm.k)), stackWalk(bBatch, all, gemm.k * gemm.n)});
      gemm.outer = common.extents;
      gemm.aOuter = common.strides[0];
      gemm.bOuter = common.strides[1];
      gemm.constantB = gemm.constantB && bCount == Dim(1);
      if (row)
        gemm.pixelAxes = 0;
    }
  }
  gemm.bStepStride = gemm.transB ? 1 : gemm.n;
  gemm.bLaneStride = gemm.transB ? gemm.k : 1;
  if (gemm.n == 0 || gemm.k == 0)
    throw Declined{"a matrix product without elements"};
  return gemm;
}

namespace {

struct Plan {
  GemmGeometry gemm;
  int64_t lanes, unroll, rows, vectors, mc, kc;
  bool packB, prefetch, bf16;
  int64_t allSteps() const { return bf16 ? bf16::pairsOf(gemm.k) : gemm.k; }
  int64_t passes() const { return (allSteps() + kc - 1) / kc; }
  /// Reduction steps of a pass but the last one, and of the last one; with bf16 pairs of them, and kc counts pairs.
  int64_t steps(bool last) const { return last ? allSteps() - (passes() - 1) * kc : kc; }
  int64_t tiles() const { return (columnVectors() + vectors - 1) / vectors; }
  int64_t columnVectors() const { return (gemm.n + lanes - 1) / lanes; }
  int64_t tailVectors() const { return columnVectors() - (tiles() - 1) * vectors; }
  /// Register blocks of rows.
  Dim pieces() const { return ceilDiv(gemm.m, rows); }
  Dim chunks() const { return ceilDiv(pieces(), mc); }
  /// Rows of a chunk, at most.
  int64_t chunkRows() const { return gemm.m.isConstant() ? std::min(gemm.m.constant(), mc * rows) : mc * rows; }
  /// What accumulators are, and so what waits in scratch.
  ElementType partialType() const {
    return isFloat(gemm.type) && bitWidth(gemm.type) == 16 ? ElementType::f32 : gemm.type;
  }
  int64_t partialBytes() const { return bitWidth(partialType()) / 8; }
  /// Elements of one tile's partial sums, and the byte of scratch where the first one's begin: behind a tile of the
  /// right operand and rounded rows of the left one.
  int64_t partialStride() const { return chunkRows() * vectors * lanes; }
  int64_t partialStart() const { return leftStart() + (bf16 ? chunkRows() * roundedRow() * bf16::unitBytes : 0); }
  /// The byte where rounded rows of the left operand begin. A unit of bf16 is as large as an element.
  int64_t leftStart() const { return packB ? (kc * vectors * lanes * bitWidth(gemm.type) / 8 + 63) / 64 * 64 : 0; }
  /// Units between rounded rows: whole vectors, and a line more where rows would lie in the same sets of the
  /// first-level cache.
  int64_t roundedRow() const {
    int64_t line = 64 / bf16::unitBytes, units = (allSteps() + line - 1) / line * line;
    return units % (16 * line) ? units : units + line;
  }
};

Plan makePlan(const ContractionProblem &problem, const Schedule &schedule) {
  onlyParameters(schedule, {"rows", "vectors", "unroll", "mc", "kc", "packb", "prefetch", "type"});
  Plan plan;
  plan.gemm = gemmGeometry(problem);
  plan.lanes = problem.target().lanes(std::max(32u, bitWidth(plan.gemm.type)));
  if (bitWidth(plan.gemm.type) < 32 && !isFloat(plan.gemm.type))
    plan.lanes = problem.target().lanes(bitWidth(plan.gemm.type));
  plan.rows = parameter(schedule, "rows", 1, 1, 64);
  if (plan.gemm.m.isConstant())
    plan.rows = std::max<int64_t>(1, std::min(plan.rows, plan.gemm.m.constant()));
  plan.vectors = std::min(parameter(schedule, "vectors", 1, 1, 32), plan.columnVectors());
  plan.unroll = parameter(schedule, "unroll", 4, 1, 64);
  plan.mc = parameter(schedule, "mc", 1, 1, int64_t(1) << 40);
  plan.kc = parameter(schedule, "kc", 0, 0, int64_t(1) << 40);
  plan.bf16 = bf16::scheduled(schedule, problem.target(), plan.gemm.type);
  if (plan.bf16 && plan.gemm.aStepStride != 1)
    throw Declined{"type=bf16 is not for transposed left operands"};
  plan.kc = plan.kc == 0 ? plan.allSteps() : std::min(plan.kc, plan.allSteps());
  plan.packB = parameter(schedule, "packb", 0, 0, 1) && !plan.gemm.constantB;
  if (plan.bf16 && !plan.gemm.constantB && !plan.packB)
    throw Declined{"type=bf16 copies a right operand that is not constant (packb=1)"};
  plan.prefetch = parameter(schedule, "prefetch", 0, 0, 1) && plan.gemm.constantB;
  if (!Microkernel::fits(problem.target(), plan.rows, plan.vectors))
    throw Declined{fmt::format("rows={} vectors={} needs more than {} registers", plan.rows, plan.vectors,
                               problem.target().vectorRegisters)};
  return plan;
}

/// K x N (or N x K) to [pass][tile][k][lane of all vectors of the tile], columns beyond the last zero.
std::vector<char> packColumns(const nn::ConstantData &data, const Plan &plan) {
  const GemmGeometry &gemm = plan.gemm;
  int64_t size = bitWidth(data.type) / 8;
  std::vector<char> packed(plan.columnVectors() * plan.lanes * gemm.k * size);
  char *to = packed.data();
  for (int64_t begin = 0; begin < gemm.k; begin += plan.kc)
    for (int64_t tile = 0; tile < plan.tiles(); ++tile) {
      int64_t first = tile * plan.vectors * plan.lanes, steps = std::min(plan.kc, gemm.k - begin);
      int64_t wide = (tile + 1 < plan.tiles() ? plan.vectors : plan.tailVectors()) * plan.lanes;
      int64_t real = std::min(wide, gemm.n - first);
      auto copy = [&](int64_t k, int64_t j, int64_t from) {
        std::memcpy(to + (k * wide + j) * size, data.bytes.data() + (data.splat ? 0 : from * size), size);
      };
      if (gemm.transB) // a row of the source at a time: it is as long as the reduction
        for (int64_t j = 0; j < real; ++j)
          for (int64_t k = 0; k < steps; ++k)
            copy(k, j, (first + j) * gemm.k + begin + k);
      else
        for (int64_t k = 0; k < steps; ++k)
          for (int64_t j = 0; j < real; ++j)
            copy(k, j, (begin + k) * gemm.n + first + j);
      to += wide * steps * size;
    }
  return packed;
}

/// K x N (or N x K) rounded, to [pass][tile][pair of steps][lane of all vectors of the tile][step of the pair].
std::vector<char> packPairs(const nn::ConstantData &data, const Plan &plan) {
  const GemmGeometry &gemm = plan.gemm;
  std::vector<char> packed(plan.columnVectors() * plan.lanes * plan.allSteps() * bf16::unitBytes);
  char *to = packed.data();
  for (int64_t begin = 0; begin < plan.allSteps(); begin += plan.kc)
    for (int64_t tile = 0; tile < plan.tiles(); ++tile) {
      int64_t first = tile * plan.vectors * plan.lanes, steps = std::min(plan.kc, plan.allSteps() - begin);
      int64_t wide = (tile + 1 < plan.tiles() ? plan.vectors : plan.tailVectors()) * plan.lanes;
      int64_t real = std::min(wide, gemm.n - first), low = begin * bf16::pair,
              high = std::min(gemm.k, low + steps * bf16::pair);
      auto copy = [&](int64_t k, int64_t j) {
        int64_t from = gemm.transB ? (first + j) * gemm.k + k : k * gemm.n + first + j;
        float value;
        std::memcpy(&value, data.bytes.data() + (data.splat ? 0 : from * sizeof value), sizeof value);
        uint16_t half = bf16::rounded(value);
        std::memcpy(to + ((k - low) / bf16::pair * wide + j) * bf16::unitBytes + k % bf16::pair * sizeof half, &half,
                    sizeof half);
      };
      if (gemm.transB) // a row of the source at a time: it is as long as the reduction
        for (int64_t j = 0; j < real; ++j)
          for (int64_t k = low; k < high; ++k)
            copy(k, j);
      else
        for (int64_t k = low; k < high; ++k)
          for (int64_t j = 0; j < real; ++j)
            copy(k, j);
      to += wide * steps * bf16::unitBytes;
    }
  return packed;
}

class GemmGenerator {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  GemmGenerator(KernelBuilder &k, const Plan &plan, const Epilogue &epilogue, const RunTimeDims &dims)
      : k(k), plan(plan), gemm(plan.gemm), epilogue(epilogue), dims(dims),
        micro(k, gemm.type, plan.lanes, plan.unroll, plan.bf16) {}

  void emit() {
    if (plan.passes() == 1 && !plan.bf16) {
      setPass(k.constant(0));
      return k.loop(k.begin(), k.end(), 1, [&](Value unit) { emitUnit(unit); });
    }
    // All passes over what the slot has of one chunk of rows, then the next chunk.
    Value firstChunk = k.div(k.begin(), plan.tiles()), endChunk = k.div(k.add(k.end(), plan.tiles() - 1), plan.tiles());
    k.loop(firstChunk, endChunk, 1, [&](Value number) {
      firstUnit = k.max(k.begin(), k.mul(number, plan.tiles()));
      Value endUnit = k.min(k.end(), k.mul(k.add(number, 1), plan.tiles()));
      if (plan.bf16) {
        locate(number);
        roundRows();
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
  const Plan &plan;
  const GemmGeometry &gemm;
  const Epilogue &epilogue;
  const RunTimeDims &dims;
  Microkernel micro;
  Value image, tile, chunk, aBase, bBase;
  Value pass, firstStep; // of the reduction
  bool lastPass = true;
  Value firstUnit, chunkRow; // of the chunk: its first unit in this slot, its first row
  Value blockOfChunk;        // the register block's number among those of its size
  Value partials;            // of the tile, in scratch

  int64_t steps() const { return plan.steps(lastPass); }
  void locate(Value number);
  void roundRows();
  std::pair<Value, Value> rowsOf(Value chunkNumber);
  void setPass(Value number) {
    pass = number;
    firstStep = k.mul(pass, plan.kc);
  }
  void emitUnit(Value unit);
  Values initial(int64_t count, Value partial);
  void emitColumns(int64_t vectors, int64_t valid);
  void emitBlock(int64_t rows, Value firstRow, int64_t vectors, int64_t valid, const VectorOperand &b, Value bOffset);
  PanelPrefetch nextTile(int64_t vectors, Value block, const ReductionAxis &axis, Value bOffset);
  void copyColumns(int64_t vectors, int64_t valid, Value from);
  void copyPairs(int64_t vectors, int64_t valid, Value from);
  Value leftRows() { return k.gep(k.scratch(), k.constant(plan.leftStart()), k.b.getI8Type()); }
};

/// First row of a chunk and the first behind it, of one matrix.
std::pair<mlir::Value, mlir::Value> GemmGenerator::rowsOf(Value chunkNumber) {
  if (!gemm.m.isConstant()) {
    Value first = k.mul(chunkNumber, plan.mc * plan.rows);
    return {first, k.min(k.add(first, plan.mc * plan.rows), dims.value(k, gemm.m))};
  }
  // Blocks of two sizes, larger ones first.
  std::vector<int64_t> pieces = evenPieces(gemm.m.constant(), plan.rows);
  int64_t count = pieces.size(), small = pieces.back(), large = std::count(pieces.begin(), pieces.end(), small + 1);
  auto start = [&](Value piece) { return k.add(k.mul(piece, small), k.min(piece, k.constant(large))); };
  Value first = k.mul(chunkNumber, plan.mc);
  return {start(first), start(k.min(k.add(first, plan.mc), k.constant(count)))};
}

/// The left operand's rows of the chunk as units in scratch.
void GemmGenerator::roundRows() {
  auto [first, last] = rowsOf(chunk);
  int64_t whole = gemm.k / plan.lanes * plan.lanes, rest = gemm.k - whole;
  Value from = k.add(aBase, k.mul(first, gemm.aRowStride)), a = k.buffer(gemm.a), rounded = leftRows();
  k.loop(k.constant(0), k.sub(last, first), 1, [&](Value row) {
    Value source = k.add(from, k.mul(row, gemm.aRowStride)), to = k.mul(row, plan.roundedRow());
    k.loop(k.constant(0), k.constant(whole / plan.lanes), 1, [&](Value vector) {
      Value values = k.load(a, k.add(source, k.mul(vector, plan.lanes)), gemm.type, plan.lanes);
      bf16::storeNeighbours(k, values, rounded, k.add(to, k.mul(vector, plan.lanes / bf16::pair)));
    });
    if (rest)
      bf16::storeNeighbours(
          k, k.maskedLoad(a, k.add(source, whole), gemm.type, plan.lanes, k.prefixMask(k.constant(rest), plan.lanes)),
          rounded, k.add(to, whole / bf16::pair));
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

/// Likewise rounded, as packPairs does for constants. A step is a pair of the operand's, the last one perhaps without a
/// partner.
void GemmGenerator::copyPairs(int64_t vectors, int64_t valid, Value from) {
  Value source = k.buffer(gemm.b);
  int64_t wide = vectors * plan.lanes, odd = lastPass ? gemm.k % bf16::pair : 0, whole = steps() - odd;
  auto to = [&](Value step, int64_t lane) { return k.add(k.mul(step, wide), lane); };
  auto masked = [&](Value at, int64_t count) {
    return count == plan.lanes
               ? k.load(source, at, gemm.type, plan.lanes)
               : k.maskedLoad(source, at, gemm.type, plan.lanes, k.prefixMask(k.constant(count), plan.lanes));
  };
  if (gemm.bLaneStride == 1) {
    auto copy = [&](Value step, bool both) {
      Value row = k.add(from, k.mul(step, gemm.bStepStride * bf16::pair));
      for (int64_t v = 0; v < vectors; ++v) {
        int64_t lane = v * plan.lanes, real = std::min(plan.lanes, valid - lane);
        Value low = masked(k.add(row, lane), real),
              high = both ? masked(k.add(row, gemm.bStepStride + lane), real) : Value();
        bf16::storeInterleaved(k, low, high, k.scratch(), to(step, lane));
      }
    };
    k.loop(k.constant(0), k.constant(whole), 1, [&](Value step) { copy(step, true); });
    if (odd)
      copy(k.constant(whole), false);
    return;
  }
  // Steps are neighbours in memory: squares of 16 columns by 16 pairs, exchanged. Columns beyond the last repeat it,
  // into lanes that are not stored.
  int64_t all = lastPass ? gemm.k - (plan.passes() - 1) * plan.kc * bf16::pair : plan.kc * bf16::pair;
  auto square = [&](Value step, int64_t lane, int64_t count) { // `count` steps of the operand, up to two vectors
    llvm::SmallVector<Value> rows;
    for (int64_t i = 0; i < plan.lanes; ++i) {
      Value row = k.add(k.add(from, k.mul(k.constant(std::min(lane + i, valid - 1)), gemm.bLaneStride)),
                        k.mul(step, bf16::pair));
      Value low = masked(row, std::min(count, plan.lanes));
      rows.push_back(
          bf16::units(k, low, count > plan.lanes ? masked(k.add(row, plan.lanes), count - plan.lanes) : Value()));
    }
    rows = transposed(k, std::move(rows));
    for (int64_t i = 0; i < bf16::pairsOf(count); ++i)
      k.store(rows[i], k.scratch(), to(k.add(step, i), lane), gemm.type);
  };
  int64_t squares = all / (bf16::pair * plan.lanes);
  for (int64_t lane = 0; lane < wide; lane += plan.lanes) {
    k.loop(k.constant(0), k.constant(squares * plan.lanes), plan.lanes,
           [&](Value step) { square(step, lane, bf16::pair * plan.lanes); });
    if (int64_t rest = all % (bf16::pair * plan.lanes))
      square(k.constant(squares * plan.lanes), lane, rest);
  }
}

void GemmGenerator::emitColumns(int64_t vectors, int64_t valid) {
  int64_t wide = plan.vectors * plan.lanes;
  VectorOperand b;
  Value bOffset;
  if (gemm.constantB) {
    b = {k.buffer(gemm.b), vectors * plan.lanes};
    bOffset = k.add(k.mul(firstStep, plan.columnVectors() * plan.lanes), k.mul(tile, wide * steps()));
  } else {
    Value begin = plan.bf16 ? k.mul(firstStep, bf16::pair) : firstStep;
    Value from = k.add(k.add(bBase, k.mul(tile, wide * gemm.bLaneStride)), k.mul(begin, gemm.bStepStride));
    if (plan.packB) {
      if (plan.bf16)
        copyPairs(vectors, valid, from);
      else
        copyColumns(vectors, valid, from);
      b = {k.scratch(), vectors * plan.lanes};
      bOffset = k.constant(0);
    } else {
      b = {k.buffer(gemm.b), gemm.bStepStride, gemm.bLaneStride, valid};
      bOffset = from;
    }
  }
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
    std::vector<int64_t> pieces = evenPieces(gemm.m.constant(), plan.rows);
    int64_t count = pieces.size(), small = pieces.back();
    int64_t large = std::count(pieces.begin(), pieces.end(), small + 1);
    last = k.min(k.add(first, plan.mc), k.constant(count));
    chunkRow = rowsOf(chunk).first;
    if (large > 0)
      blocks(first, k.min(last, k.constant(large)), small + 1, [&](Value piece) { return k.mul(piece, small + 1); });
    blocks(large ? k.max(first, k.constant(large)) : first, last, small,
           [&](Value piece) { return k.add(k.mul(piece, small), large); });
    return;
  }
  Value m = dims.value(k, gemm.m);
  first = chunkRow;
  last = k.min(k.add(first, plan.mc * plan.rows), m);
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

KernelBuilder::Values GemmGenerator::initial(int64_t count, Value partial) {
  Values zeros = micro.zeros(count);
  if (plan.passes() == 1)
    return zeros;
  auto load = [&] {
    Values loaded;
    for (int64_t i = 0; i < count; ++i)
      loaded.push_back(k.load(k.scratch(), k.add(partial, i * plan.lanes), plan.partialType(), plan.lanes));
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
    offsets.push_back(row * (plan.bf16 ? plan.roundedRow() : gemm.aRowStride));
  }
  Value partial;
  if (plan.passes() > 1)
    partial = k.add(partials, k.mul(k.sub(firstRow, chunkRow), vectors * plan.lanes));
  ReductionAxis axis{steps(), steps(), gemm.aStepStride, 0};
  micro.prefetch = nextTile(vectors, blockOfChunk, axis, bOffset);
  micro.widest = plan.vectors;
  Value aOffset = plan.bf16 ? k.add(firstStep, k.mul(k.sub(firstRow, chunkRow), plan.roundedRow()))
                            : k.add(k.add(aBase, k.mul(firstStep, gemm.aStepStride)), k.mul(firstRow, gemm.aRowStride));
  Values acc = micro.reduce(initial(rows * vectors, partial), out.pixels, offsets, vectors,
                            plan.bf16 ? leftRows() : k.buffer(gemm.a), aOffset, axis, b, bOffset);
  if (lastPass)
    return epilogue.emit(k, dims, out, acc);
  for (size_t i = 0; i < acc.size(); ++i)
    k.store(acc[i], k.scratch(), k.add(partial, i * plan.lanes), plan.partialType());
}

} // namespace

GeneratedKernel generateGemm(const ContractionProblem &problem, const Schedule &schedule) {
  Plan plan = makePlan(problem, schedule);
  const GemmGeometry &gemm = plan.gemm;
  RunTimeDims dims;
  for (const Dim &dim : {gemm.batch, gemm.m, plan.chunks()})
    dims.need(dim);
  for (const Dims *list : {&gemm.outer, &gemm.aOuter, &gemm.bOuter})
    for (const Dim &dim : *list)
      dims.need(dim);
  PointSpace space{problem.shapes.of(gemm.result).dims, ChannelAxis::last, gemm.pixelAxes};
  mlir::func::FuncOp function = problem.function();
  Epilogue epilogue(function, gemm.result, space, plan.lanes, problem.shapes, dims);
  epilogue.setAddend(gemm.addend, gemm.alpha, gemm.beta, problem.shapes, dims);

  std::vector<bool> writable(function.getNumArguments(), false);
  writable.resize(writable.size() + function.getNumResults(), true);
  KernelBuilder k(function.getContext(), problem.target(), "kernel", writable, dims.list().size());
  GemmGenerator(k, plan, epilogue, dims).emit();

  GeneratedKernel result;
  result.module = k.finish();
  result.units = gemm.batch * plan.chunks() * Dim(plan.tiles());
  if (plan.packB || plan.bf16 || plan.passes() > 1)
    result.scratchBytes =
        plan.partialStart() + (plan.passes() > 1 ? plan.tiles() * plan.partialStride() * plan.partialBytes() : 0);
  result.dims = dims.list();
  result.packings.resize(function.getNumArguments());
  epilogue.addPackings(result.packings);
  if (gemm.constantB) {
    if (result.packings[gemm.b])
      throw Declined{"the right operand is also a bias"};
    result.packings[gemm.b] = Packing{
        [plan](const nn::ConstantData &data) { return plan.bf16 ? packPairs(data, plan) : packColumns(data, plan); },
        fmt::format("kn/{}x{}{}", plan.vectors, plan.lanes, plan.bf16 ? " bf16" : ""),
        plan.bf16 ? ElementType::bf16 : gemm.type};
  }
  result.schedule = schedule;
  return result;
}

namespace {

/// Left rows whose elements of one step fall into the same set of the first-level cache, of `rows` rows (a way has 4
/// KiB).
int64_t rowsInOneSet(const GemmGeometry &gemm, int64_t rows) {
  int64_t bytes = gemm.aRowStride * int64_t(bitWidth(gemm.type) / 8), way = 4096;
  int64_t sets = std::max<int64_t>(1, way / std::gcd(bytes, way));
  return (rows + sets - 1) / sets;
}

/// Cuts rows into chunks and the reduction into passes. While all columns pass by, the chunk's rows of one pass stay in
/// the second-level cache beside two tiles of columns, the one in use and the one that is fetched. Chunks read the
/// right operand again, passes read and write all partial sums.
void setBlocking(const GemmGeometry &gemm, int64_t lanes, bool pairs, const Caches &caches, Schedule &schedule) {
  constexpr int64_t leastSteps = 256;
  auto secondLevel = int64_t(caches.secondLevel * 0.86);
  int64_t rows = schedule.number("rows", 1), wide = schedule.number("vectors", 1) * lanes,
          size = bitWidth(gemm.type) / 8;
  int64_t steps = pairs ? bf16::pairsOf(gemm.k) : gemm.k; // of `size` bytes each
  int64_t m = gemm.m.constantOr(0);
  // Open extents are cut into chunks of a few hundred rows at most.
  int64_t pieces = m > 0 ? (m + rows - 1) / rows : std::max<int64_t>(1, 392 / rows), all = m > 0 ? m : pieces * rows;
  schedule.numbers["mc"] = 1;
  schedule.numbers["kc"] = 0;
  if (pieces == 1)
    return;
  double least = INFINITY;
  for (int64_t chunks = 1; chunks <= pieces; ++chunks) {
    int64_t mc = (pieces + chunks - 1) / chunks, held = mc * rows;
    int64_t most =
        (secondLevel / size - held * wide) / (held + 2 * wide); // held * kc + 2 * kc * wide + held * wide elements
    if (most < std::min(leastSteps, steps) && mc > 1)
      continue;
    int64_t passes = most < leastSteps ? 1 : (steps + most - 1) / most, kc = (steps + passes - 1) / passes;
    double moved =
        double(chunks) * double(steps) * double(gemm.n) + 2 * double(passes - 1) * double(all) * double(gemm.n);
    if (moved >= least)
      continue;
    least = moved;
    schedule.numbers["mc"] = mc;
    schedule.numbers["kc"] = passes == 1 ? 0 : (kc + lanes - 1) / lanes * lanes;
  }
}

} // namespace

Schedule gemmPrior(const ContractionProblem &problem) {
  GemmGeometry gemm = gemmGeometry(problem);
  if (std::optional<Schedule> tiles = tilePrior(problem, gemm))
    return *tiles;
  const Target &target = problem.target();
  int64_t lanes = target.lanes(std::max(32u, bitWidth(gemm.type)));
  int64_t columns = (gemm.n + lanes - 1) / lanes;
  bool wide = target.vectorRegisters >= 32;
  Schedule schedule;
  schedule.algorithm = "gemm";
  auto set = [&](int64_t rows, int64_t vectors, int64_t unroll) {
    schedule.numbers = {{"rows", rows}, {"vectors", std::min(vectors, columns)}, {"unroll", unroll}};
  };
  int64_t m = gemm.m.constantOr(0);
  // What the row count is at least: a symbolic batch times the rows of one image.
  int64_t least = gemm.m.evaluate([](const std::string &) { return 1; });
  if (m == 1)
    set(1, wide ? 8 : 4, 4); // bound by memory: long runs of the right operand
  else if (!gemm.m.isConstant() && least < (wide ? 28 : 12))
    set(wide ? 6 : 3, wide ? 4 : 3, 4);
  else if (m > 0 && m <= (wide ? 6 : 3))
    set(m, wide ? 4 : 3, 4);
  else
    set(wide ? 14 : 6, 2, 4);
  // Ways of the first-level cache are few: rows that lie a multiple of 4 KiB apart displace one another.
  bool packs = !gemm.constantB && (m == 0 || m >= 8);
  bool pairs = bf16::wanted(problem.kernel, gemm.type) && gemm.aStepStride == 1 &&
               (gemm.constantB || (packs && !bf16::pairsAreSlow(target)));
  if (!pairs && wide && schedule.number("rows", 1) == 14 && rowsInOneSet(gemm, 14) > 10 && columns >= 3)
    set(9, 3, 4);
  setBlocking(gemm, lanes, pairs, cachesOf(target), schedule);
  int64_t rows = schedule.number("rows", 1);
  int64_t bytes = gemm.k * int64_t(bitWidth(gemm.type) / 8) / (pairs ? bf16::pair : 1);
  if (pairs)
    schedule.words["type"] = "bf16";
  // Weights of this size come from memory each time the network runs. One row uses each once and in order, which the
  // hardware follows; the next tile, far ahead, would be gone again when its turn comes.
  if (gemm.constantB && (m == 0 || m >= rows))
    schedule.numbers["prefetch"] = m != 1 && bytes * gemm.n > (96 << 10);
  if (!gemm.constantB) {
    schedule.numbers["packb"] = packs;
    schedule.numbers["kc"] = 0;
    if (m > 0 && packs && !pairs) // rounded rows have to stay near
      schedule.numbers["mc"] = (m + rows - 1) / rows;
  }
  return schedule;
}

} // namespace lathe
