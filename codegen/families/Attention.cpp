// Family "attention", algorithm attention/1: softmax(q k^T) v for a register block of queries at a time, the scores in
// scratch.
//
// Keys (transposed) and values of a head are brought into scratch in the order in
// which the microkernel reads them, wherever they come from; then, for each register block of queries: scores of all
// keys, bias and mask, exponentials and their sum, product with the values, division by the sum, store. With keys in
// blocks the greatest score, the sum and the result of each query are kept and rescaled from block to block (the online
// softmax). With operands rounded to bf16 what lies in scratch for a product are units of two neighbouring steps.
#include "codegen/Families.h"
#include "codegen/builder/RowSweep.h"
#include "codegen/contraction/Contraction.h"
#include "codegen/families/AttentionPlan.h"
#include "codegen/families/Copy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <limits>

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

class AttentionKernel {
public:
  AttentionKernel(KernelBuilder &k, const AttentionPlan &plan, const RunTimeDims &dims)
      : k(k), plan(plan), dims(dims), micro(k, plan.compute, plan.lanes, plan.unroll, plan.bf16),
        element(k.computeType(plan.compute)), vector(KernelBuilder::vectorOf(element, plan.lanes)) {}

  void emit() {
    k.loop(k.begin(), k.end(), 1, [&](Value unit) { emitUnit(unit); });
  }

private:
  KernelBuilder &k;
  const AttentionPlan &plan;
  const RunTimeDims &dims;
  Microkernel micro;
  mlir::Type element, vector;

  // Of the unit: where its head starts in each operand, and its first query.
  struct Source {
    const AttentionWalk *walk = nullptr;
    Value offset;
  };
  Source q, key, value, result, bias, mask;
  Value unitFirst;

  // ---- Scratch and arithmetic ----

  Value scratch(int64_t at, Value offset) { return k.gep(k.scratch(), k.add(offset, at), element); }
  Value read(Value pointer, int64_t lanes) { return k.load(pointer, k.constant(0), plan.compute, lanes); }
  void write(Value value, Value pointer) { k.store(value, pointer, k.constant(0), plan.compute); }
  ScalarBuilder scalar(Value like) { return ScalarBuilder(k, plan.compute, plan.compute, like); }
  Value extent(const Dim &dim) { return dims.value(k, dim); }
  Value infinity(mlir::Type type) { return k.constantF(-std::numeric_limits<double>::infinity(), type); }
  /// ceil(x / y) * y
  Value roundedUp(Value x, int64_t y) { return k.mul(k.div(k.add(x, y - 1), y), y); }

  // ---- Operands ----

  Source sourceOf(const AttentionWalk &walk, const Values &head) {
    Value offset = extent(walk.base);
    for (auto [index, stride] : llvm::zip(head, walk.outer))
      offset = k.add(offset, k.mul(index, extent(stride)));
    return {&walk, offset};
  }

  /// Elements [lane, lane + lanes) of a row, those from `valid` on zero; widened to `compute`.
  Value readLanes(const Source &source, Value row, Value lane, int64_t lanes, Value mask) {
    Value offset = k.add(k.add(source.offset, k.mul(row, extent(source.walk->rowStride))),
                         k.mul(lane, extent(source.walk->laneStride)));
    Value buffer = k.buffer(source.walk->buffer);
    if (source.walk->laneStride == Dim(0))
      return k.splat(k.load(buffer, offset, source.walk->type), lanes);
    return mask ? k.maskedLoad(buffer, offset, source.walk->type, lanes, mask)
                : k.load(buffer, offset, source.walk->type, lanes);
  }

  /// body(first lane, mask or null) for the vectors of `count` static lanes.
  void forLanes(int64_t count, const std::function<void(int64_t, Value)> &body) {
    for (int64_t lane = 0; lane < count; lane += plan.lanes)
      body(lane, count - lane >= plan.lanes ? Value() : k.prefixMask(k.constant(count - lane), plan.lanes));
  }

  /// Element `i` of a row becomes lane i - lane of a vector, for the rows of a matrix whose lanes are apart.
  Value gathered(int64_t count, const std::function<Value(int64_t)> &element) {
    Value result = k.zero(vector);
    for (int64_t i = 0; i < count; ++i)
      result = k.b.create<mlir::vector::InsertOp>(k.loc, element(i), result, i);
    return result;
  }

  /// Row `row` of `source`, times `factor`, as whole vectors, zero beyond the last lane.
  void readRow(const Source &source, Value row, int64_t count, double factor,
               const std::function<void(int64_t lane, Value)> &take) {
    forLanes(count, [&](int64_t lane, Value mask) {
      Value x;
      if (source.walk->laneStride == Dim(1) || count == 1)
        x = readLanes(source, row, k.constant(lane), plan.lanes, mask);
      else
        x = gathered(std::min(count - lane, plan.lanes), [&](int64_t i) {
          Value offset = k.add(source.offset, k.mul(row, extent(source.walk->rowStride)));
          return k.load(k.buffer(source.walk->buffer),
                        k.add(offset, k.mul(k.constant(lane + i), extent(source.walk->laneStride))), source.walk->type);
        });
      take(lane, factor == 1 ? x : scalar(x).mul(x, k.constantF(factor, x.getType())));
    });
  }

  // ---- Packing: with bf16 in units of two lanes of depth (queries, keys) or of two keys (values) ----

  void packQuery(Value row, Value from) {
    Value to = k.mul(row, plan.depthPitch());
    readRow(q, from, plan.depth, plan.scale, [&](int64_t lane, Value x) {
      if (plan.bf16)
        bf16::storeNeighbours(k, x, scratch(plan.queriesAt() + lane / bf16::pair, to), k.constant(0));
      else
        write(x, scratch(plan.queriesAt() + lane, to));
    });
  }

  /// Keys [first, first + count) as panels [panel][step of depth][key of the panel].
  void packKeys(Value first, Value count) {
    int64_t wide = plan.panel(), most = plan.lanes * plan.ofStep();
    Value last = k.sub(count, k.constant(1));
    k.loop(k.constant(0), roundedUp(count, wide), plan.lanes, [&](Value at) {
      Value panel = k.div(at, wide), inside = k.sub(at, k.mul(panel, wide));
      Value to = k.add(k.mul(panel, wide * plan.depthSteps()), inside);
      auto line = [&](Value step) { return scratch(plan.keysAt(), k.add(to, k.mul(step, wide))); };
      if (key.walk->laneStride == Dim(1) && plan.lanes > 1) {
        int64_t whole = plan.depth / most * most;
        k.loop(k.constant(0), k.constant(whole), most, [&](Value d) { transposeKeys(first, at, last, d, most, line); });
        if (plan.depth % most)
          transposeKeys(first, at, last, k.constant(whole), plan.depth % most, line);
        return;
      }
      auto keysAt = [&](Value d) { return readKeys(first, at, last, d); };
      if (!plan.bf16)
        return k.loop(k.constant(0), k.constant(plan.depth), 1, [&](Value d) { write(keysAt(d), line(d)); });
      int64_t whole = plan.depth / bf16::pair;
      k.loop(k.constant(0), k.constant(whole), 1, [&](Value step) {
        Value d = k.mul(step, bf16::pair);
        bf16::storeInterleaved(k, keysAt(d), keysAt(k.add(d, 1)), line(step), k.constant(0));
      });
      if (plan.depth % bf16::pair)
        bf16::storeInterleaved(k, keysAt(k.constant(plan.depth - 1)), {}, line(k.constant(whole)), k.constant(0));
    });
  }

  /// Lane `d` of depth of a vector of keys from `at` on; keys beyond the last are zero or repeat it.
  Value readKeys(Value first, Value at, Value last, Value d) {
    Value buffer = k.buffer(key.walk->buffer), offset = k.add(key.offset, k.mul(d, extent(key.walk->laneStride)));
    if (key.walk->rowStride == Dim(1))
      return k.maskedLoad(buffer, k.add(offset, k.add(first, at)), key.walk->type, plan.lanes,
                          k.prefixMask(k.sub(k.add(last, 1), at), plan.lanes));
    return gathered(plan.lanes, [&](int64_t i) {
      Value row = k.add(first, k.min(k.add(at, i), last));
      return k.load(buffer, k.add(offset, k.mul(row, extent(key.walk->rowStride))), key.walk->type);
    });
  }

  /// `count` lanes of depth from `d` on, for the keys from `at` on; keys beyond the last repeat it.
  void transposeKeys(Value first, Value at, Value last, Value d, int64_t count,
                     const std::function<Value(Value)> &line) {
    auto part = [&](Value row, int64_t from) { // one vector of them
      int64_t real = std::min(plan.lanes, count - from);
      Value mask = real == plan.lanes ? Value() : k.prefixMask(k.constant(real), plan.lanes);
      return readLanes(key, row, k.add(d, from), plan.lanes, mask);
    };
    llvm::SmallVector<Value> rows;
    for (int64_t i = 0; i < plan.lanes; ++i) {
      Value row = k.add(first, k.min(k.add(at, i), last)), low = part(row, 0);
      rows.push_back(!plan.bf16 ? low : bf16::units(k, low, count > plan.lanes ? part(row, plan.lanes) : Value()));
    }
    rows = transposed(k, std::move(rows));
    Value step = k.div(d, plan.ofStep());
    for (int64_t i = 0; i * plan.ofStep() < count; ++i)
      write(rows[i], line(k.add(step, i)));
  }

  int64_t valueVectors(int64_t tile) const { return std::min(plan.vectors, plan.widthVectors() - tile * plan.vectors); }
  int64_t valueTiles() const { return (plan.widthVectors() + plan.vectors - 1) / plan.vectors; }
  /// Tiles of columns one after another: [tile][step of keys][lane of the tile].
  int64_t valueTileAt(int64_t tile) const {
    return plan.valuesAt() + tile * (plan.keyCapacity() / plan.ofStep()) * plan.panel();
  }

  void packValues(Value first, Value count) {
    Value last = k.sub(count, k.constant(1));
    auto rowAt = [&](Value at) { return k.add(first, k.min(at, last)); };
    auto to = [&](Value at, int64_t lane) {
      int64_t tile = lane / plan.panel(), wide = valueVectors(tile) * plan.lanes;
      return scratch(valueTileAt(tile), k.add(k.mul(k.div(at, plan.ofStep()), wide), lane - tile * plan.panel()));
    };
    // What is read in whole vectors of keys meets weights of zero beyond the last: any finite number will do.
    Value end = mlir::getConstantIntValue(count) && !plan.causal ? count : roundedUp(count, plan.lanes);
    k.loop(k.constant(0), end, plan.ofStep(), [&](Value at) {
      if (!plan.bf16)
        return readRow(value, rowAt(at), plan.width, 1, [&](int64_t lane, Value x) { write(x, to(at, lane)); });
      Values early;
      readRow(value, rowAt(at), plan.width, 1, [&](int64_t, Value x) { early.push_back(x); });
      readRow(value, rowAt(k.add(at, 1)), plan.width, 1, [&](int64_t lane, Value x) {
        bf16::storeInterleaved(k, early[lane / plan.lanes], x, to(at, lane), k.constant(0));
      });
    });
  }

  // ---- Units ----

  /// body(rows, first query) for the register blocks of queries of chunk `chunk`.
  void forBlocks(Value chunk, const std::function<void(int64_t, Value)> &body) {
    Value first = k.mul(chunk, plan.mc);
    if (plan.queries.isConstant()) {
      auto [count, small, large] = evenPieces(plan.queries.constant(), plan.rows);
      Value last = k.min(k.add(first, plan.mc), k.constant(count));
      if (large > 0)
        k.loop(first, k.min(last, k.constant(large)), 1,
               [&](Value piece) { body(small + 1, k.mul(piece, small + 1)); });
      k.loop(large ? k.max(first, k.constant(large)) : first, last, 1,
             [&](Value piece) { body(small, k.add(k.mul(piece, small), large)); });
      return;
    }
    first = k.mul(first, plan.rows);
    Value last = k.min(k.add(first, plan.mc * plan.rows), extent(plan.queries));
    for (int64_t rows = plan.rows; rows > 0; rows = rows == 1 ? 0 : (rows + 2) / 3) {
      Value count = k.div(k.sub(last, first), rows), start = first;
      k.loop(k.constant(0), count, 1, [&](Value i) { body(rows, k.add(start, k.mul(i, rows))); });
      first = k.add(first, k.mul(count, rows));
    }
  }

  Value firstQuery(Value chunk) {
    Value piece = k.mul(chunk, plan.mc);
    if (!plan.queries.isConstant())
      return k.mul(piece, plan.rows);
    auto [count, small, large] = evenPieces(plan.queries.constant(), plan.rows);
    return k.add(k.mul(piece, small), k.min(piece, k.constant(large)));
  }

  Value divided(Value x, Value y, bool remainder) {
    if (auto known = mlir::getConstantIntValue(y))
      return remainder ? k.rem(x, *known) : k.div(x, *known);
    if (remainder)
      return k.b.create<mlir::arith::RemUIOp>(k.loc, x, y);
    return k.b.create<mlir::arith::DivUIOp>(k.loc, x, y);
  }

  void emitUnit(Value unit) { // (head, chunk of queries)
    Value chunks = extent(plan.chunks());
    Value chunk = divided(unit, chunks, true), rest = divided(unit, chunks, false);
    Values head(plan.outer.size());
    for (size_t axis = plan.outer.size(); axis-- > 0;) {
      Value size = extent(plan.outer[axis]);
      head[axis] = axis == 0 ? rest : divided(rest, size, true);
      if (axis > 0)
        rest = divided(rest, size, false);
    }
    q = sourceOf(plan.q, head);
    key = sourceOf(plan.k, head);
    value = sourceOf(plan.v, head);
    result = sourceOf(plan.y, head);
    bias = plan.bias ? sourceOf(*plan.bias, head) : Source();
    mask = plan.mask ? sourceOf(*plan.mask, head) : Source();
    unitFirst = firstQuery(chunk);

    Value keys = extent(plan.keys), zero = k.constant(0);
    if (plan.single()) {
      auto pack = [&] {
        packKeys(zero, keys);
        packValues(zero, keys);
      };
      // Consecutive units of one head find its keys in place.
      Value same = k.b.create<mlir::arith::CmpIOp>(k.loc, mlir::arith::CmpIPredicate::eq, unit, k.begin());
      Value fresh = k.b.create<mlir::arith::CmpIOp>(k.loc, mlir::arith::CmpIPredicate::eq, chunk, zero);
      k.ifThen(k.b.create<mlir::arith::OrIOp>(k.loc, same, fresh), pack);
      forBlocks(chunk, [&](int64_t rows, Value first) { emitBlock(rows, first, zero, keys); });
      return;
    }
    Value unitRows = k.sub(k.min(firstQuery(k.add(chunk, 1)), extent(plan.queries)), unitFirst);
    int64_t wide = plan.widthVectors() * plan.lanes;
    k.loop(zero, unitRows, 1, [&](Value row) {
      write(k.constantF(lowest(), element), scratch(plan.greatestAt(), row));
      write(k.zero(element), scratch(plan.sumsAt(), row));
      for (int64_t lane = 0; lane < wide; lane += plan.lanes)
        write(k.zero(vector), scratch(plan.resultsAt() + lane, k.mul(row, wide)));
    });
    Value seen = keys;
    if (plan.causal)
      seen = k.min(keys, k.max(k.add(k.add(unitFirst, unitRows), extent(plan.visible)), k.constant(1)));
    k.loop(zero, seen, plan.kc, [&](Value first) {
      Value count = k.min(k.sub(keys, first), k.constant(plan.kc));
      packKeys(first, count);
      packValues(first, count);
      forBlocks(chunk, [&](int64_t rows, Value query) { emitBlock(rows, query, first, count); });
    });
    k.loop(zero, unitRows, 1, [&](Value row) {
      Value factor = k.splat(inverse(read(scratch(plan.sumsAt(), row), 1)), plan.lanes);
      forLanes(plan.width, [&](int64_t lane, Value) {
        Value sums = read(scratch(plan.resultsAt() + lane, k.mul(row, wide)), plan.lanes);
        storeResult(scalar(sums).mul(sums, factor), k.add(unitFirst, row), lane);
      });
    });
  }

  double lowest() const {
    return plan.compute == ElementType::f64 ? std::numeric_limits<double>::lowest()
                                            : double(std::numeric_limits<float>::lowest());
  }

  /// 1 / sum; a sum is zero where a query sees nothing, and never otherwise. There may be no keys when the program
  /// runs.
  Value inverse(Value sum) {
    ScalarBuilder b = scalar(sum);
    Value result = b.div(b.constant(1), sum);
    bool mayBeZero = plan.zeroMaskedRows || !plan.keys.isConstant();
    return mayBeZero ? b.select(b.equal(sum, b.constant(0)), b.constant(0), result) : result;
  }

  void storeResult(Value lanes, Value row, int64_t lane) {
    Value buffer = k.buffer(result.walk->buffer);
    Value offset = k.add(result.offset, k.mul(row, extent(result.walk->rowStride)));
    int64_t valid = std::min(plan.lanes, plan.width - lane);
    if (result.walk->laneStride == Dim(1) && valid == plan.lanes)
      return k.store(lanes, buffer, k.add(offset, lane), plan.type);
    if (result.walk->laneStride == Dim(1))
      return k.maskedStore(lanes, buffer, k.add(offset, lane), plan.type, k.prefixMask(k.constant(valid), plan.lanes));
    for (int64_t i = 0; i < valid; ++i)
      k.store(k.b.create<mlir::vector::ExtractOp>(k.loc, lanes, i), buffer,
              k.add(offset, k.mul(k.constant(lane + i), extent(result.walk->laneStride))), plan.type);
  }

  // ---- One register block of queries against the keys in scratch ----

  void emitBlock(int64_t rows, Value firstRow, Value firstKey, Value count) {
    if (!plan.causal)
      return emitVisible(rows, firstRow, firstKey, count);
    // Keys behind the last one that the last of these queries sees take no part.
    Value seen = k.sub(k.add(k.add(firstRow, rows), extent(plan.visible)), firstKey);
    if (plan.single())
      return emitVisible(rows, firstRow, firstKey, k.min(count, k.max(seen, k.constant(1))));
    k.ifThen(k.less(k.constant(0), seen), [&] { emitVisible(rows, firstRow, firstKey, k.min(count, seen)); });
  }

  void emitVisible(int64_t rows, Value firstRow, Value firstKey, Value count) {
    k.loop(k.constant(0), k.constant(rows), 1, [&](Value row) { packQuery(row, k.add(firstRow, row)); });
    emitScores(rows, count);
    // Their exponentials stay in registers.
    int64_t together = std::min<int64_t>(k.target.vectorRegisters / 8, plan.lanes), main = rows / together * together;
    k.loop(k.constant(0), k.constant(main), together,
           [&](Value row) { emitSoftmax(together, row, k.add(firstRow, row), firstKey, count); });
    if (main < rows)
      emitSoftmax(rows - main, k.constant(main), k.add(firstRow, main), firstKey, count);
    for (int64_t tile = 0; tile < valueTiles(); ++tile)
      emitResults(rows, firstRow, count, tile);
  }

  void emitScores(int64_t rows, Value count) {
    llvm::SmallVector<int64_t> all, offsets;
    for (int64_t row = 0; row < rows; ++row) {
      all.push_back(row);
      offsets.push_back(row * plan.depthPitch());
    }
    ReductionAxis axis{plan.depthSteps(), plan.depthSteps(), 1, 0};
    auto panel = [&](Value at, int64_t vectors) { // `at`: its first key
      VectorOperand keys{scratch(plan.keysAt(), k.constant(0)), plan.panel()};
      Values acc =
          micro.reduce(micro.zeros(rows * vectors), all, offsets, vectors, scratch(plan.queriesAt(), k.constant(0)),
                       k.constant(0), axis, keys, k.mul(at, plan.depthSteps()));
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t v = 0; v < vectors; ++v)
          write(acc[row * vectors + v], scratch(plan.scoresAt() + row * plan.scorePitch() + v * plan.lanes, at));
    };
    // The last panel has only the vectors that hold keys, where that is known.
    auto known = mlir::getConstantIntValue(count);
    int64_t tail = known ? (*known % plan.panel() + plan.lanes - 1) / plan.lanes : 0;
    Value whole = tail > 0 && tail < plan.vectors ? k.constant(*known / plan.panel() * plan.panel())
                                                  : roundedUp(count, plan.panel());
    k.loop(k.constant(0), whole, plan.panel(), [&](Value at) { panel(at, plan.vectors); });
    if (tail > 0 && tail < plan.vectors)
      panel(whole, tail);
  }

  bool changesScores() const { return plan.bias || plan.mask || plan.causal; }

  /// Bias, mask and causality applied to one vector of scores.
  Value changed(Value score, Value row, Value firstKey, Value index, Value lanesMask) {
    ScalarBuilder b = scalar(score);
    Value at = k.add(firstKey, index);
    if (plan.bias)
      score = b.add(score, readLanes(bias, row, at, plan.lanes, lanesMask));
    if (plan.mask) {
      Value other = readLanes(mask, row, at, plan.lanes, lanesMask);
      score = plan.mask->type == ElementType::boolean ? b.select(other, score, k.constantF(plan.fill, vector))
                                                      : b.add(score, other);
    }
    if (plan.causal) {
      Value seen = k.sub(k.add(k.add(row, extent(plan.visible)), 1), at); // keys of this vector
      score = b.select(k.prefixMask(seen, plan.lanes), score, infinity(vector));
    }
    return score;
  }

  /// Scores of `rows` queries from `first` on become exponentials, zero behind the last key; what the results are to be
  /// multiplied by goes to factorsAt.
  void emitSoftmax(int64_t rows, Value first, Value query, Value firstKey, Value count) {
    auto place = [&](int64_t row, Value index) {
      return scratch(plan.scoresAt(), k.add(k.mul(k.add(first, row), plan.scorePitch()), index));
    };
    auto larger = [](ScalarBuilder &b, Value x, Value y) { return b.select(b.less(x, y), y, x); };
    auto sum = [](ScalarBuilder &b, Value x, Value y) { return b.add(x, y); };
    RowSweep sweep(k, plan.compute, plan.lanes, 1);
    auto greatest = sweep.over(
        count, rows, -std::numeric_limits<double>::infinity(),
        [&](int64_t row, Value state, Value index, Value mask) {
          Value score = read(place(row, index), plan.lanes);
          ScalarBuilder b = scalar(score);
          if (changesScores()) {
            score = changed(score, k.add(query, row), firstKey, index, mask);
            write(score, place(row, index));
          }
          Value next = larger(b, state, score);
          return mask ? b.select(mask, next, state) : next;
        },
        larger);
    Values before, shifts;
    if (plan.single() && plan.zeroMaskedRows) { // weights of zero, where -inf - -inf would be NaN
      ScalarBuilder b = scalar(greatest.all);
      greatest.all = larger(b, b.constant(lowest()), greatest.all);
    }
    auto ofUnit = [&](int64_t at, int64_t row) { return scratch(at, k.add(k.sub(query, unitFirst), row)); };
    for (int64_t row = 0; row < rows; ++row) {
      if (plan.single()) {
        shifts.push_back(sweep.splat(greatest, row));
        continue;
      }
      before.push_back(read(ofUnit(plan.greatestAt(), row), 1)); // finite
      ScalarBuilder b = scalar(before.back());
      Value now = larger(b, before.back(), sweep.scalar(greatest, row));
      write(now, ofUnit(plan.greatestAt(), row));
      before.back() = b.sub(before.back(), now);
      shifts.push_back(k.splat(now, plan.lanes));
    }
    auto total = sweep.over(
        count, rows, 0,
        [&](int64_t row, Value state, Value index, Value mask) {
          Value score = read(place(row, index), plan.lanes);
          ScalarBuilder b = scalar(score);
          Value weight = b.expNegative(b.sub(score, shifts[row]));
          if (mask)
            weight = b.select(mask, weight, k.zero(vector));
          if (plan.bf16) // units take half the place, so none is written over before it is read
            bf16::storeNeighbours(k, weight, place(row, k.constant(0)), k.div(index, bf16::pair));
          else
            write(weight, place(row, index));
          return b.add(state, weight);
        },
        sum);
    if (plan.single())
      total.all = inverse(total.all);
    for (int64_t row = 0; row < rows; ++row) {
      Value factor = sweep.scalar(total, row);
      if (!plan.single()) {
        ScalarBuilder b = scalar(factor);
        Value sums = ofUnit(plan.sumsAt(), row), added = factor;
        factor = b.expNegative(before[row]);
        write(b.fma(read(sums, 1), factor, added), sums);
      }
      write(factor, scratch(plan.factorsAt(), k.add(first, row)));
    }
  }

  void emitResults(int64_t rows, Value firstRow, Value count, int64_t tile) {
    int64_t vectors = valueVectors(tile), firstLane = tile * plan.panel(), wide = plan.widthVectors() * plan.lanes;
    llvm::SmallVector<int64_t> all, offsets;
    for (int64_t row = 0; row < rows; ++row) {
      all.push_back(row);
      offsets.push_back(row * plan.scorePitch());
    }
    auto factor = [&](int64_t row) { return k.splat(read(scratch(plan.factorsAt(), k.constant(row)), 1), plan.lanes); };
    Value unitRow = plan.single() ? Value() : k.sub(firstRow, unitFirst);
    auto kept = [&](int64_t row, int64_t v) {
      return scratch(plan.resultsAt() + firstLane + v * plan.lanes + row * wide, k.mul(unitRow, wide));
    };
    Values acc = micro.zeros(rows * vectors);
    if (!plan.single())
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t v = 0; v < vectors; ++v) {
          Value sums = read(kept(row, v), plan.lanes);
          acc[row * vectors + v] = scalar(sums).mul(sums, factor(row));
        }
    Value weights = scratch(plan.scoresAt(), k.constant(0));
    VectorOperand values{scratch(valueTileAt(tile), k.constant(0)), vectors * plan.lanes};
    auto reduce = [&](mlir::ValueRange state, Value at, int64_t keys) {
      int64_t steps = (keys + plan.ofStep() - 1) / plan.ofStep();
      Value step = k.div(at, plan.ofStep());
      return micro.reduce(state, all, offsets, vectors, weights, step, ReductionAxis{steps, steps, 1, 0}, values,
                          k.mul(step, vectors * plan.lanes));
    };
    if (auto known = mlir::getConstantIntValue(count))
      acc = reduce(acc, k.constant(0), *known);
    else // weights behind the last key are zero up to a whole vector
      acc = k.loop(k.constant(0), roundedUp(count, plan.lanes), plan.lanes, acc,
                   [&](Value at, mlir::ValueRange state) { return reduce(state, at, plan.lanes); });
    for (int64_t row = 0; row < rows; ++row) {
      Value scale = plan.single() ? factor(row) : Value();
      for (int64_t v = 0; v < vectors; ++v) {
        Value sums = acc[row * vectors + v];
        if (plan.single())
          storeResult(scalar(sums).mul(sums, scale), k.add(firstRow, row), firstLane + v * plan.lanes);
        else
          write(sums, kept(row, v));
      }
    }
  }
};

Outcome<Schedule> priorAttention(const KernelProblem &problem) { return attentionPrior(problem); }

Outcome<GeneratedKernel> generateAttention(const KernelProblem &problem, const Schedule &schedule) {
  AttentionPlan plan(problem, schedule);
  RunTimeDims dims;
  for (const Dim &dim : {plan.queries, plan.keys, plan.chunks(), plan.visible})
    dims.need(dim);
  for (const Dim &extent : plan.outer)
    dims.need(extent);
  std::vector<const AttentionWalk *> walks = {&plan.q, &plan.k, &plan.v, &plan.y};
  for (const std::optional<AttentionWalk> *optional : {&plan.bias, &plan.mask})
    if (*optional)
      walks.push_back(&**optional);
  for (const AttentionWalk *walk : walks) {
    for (const Dim &dim : {walk->base, walk->rowStride, walk->laneStride})
      dims.need(dim);
    for (const Dim &stride : walk->outer)
      dims.need(stride);
  }
  mlir::func::FuncOp function = problem.function;
  std::vector<bool> writable(function.getNumArguments(), false);
  writable.push_back(true);
  KernelBuilder k(function.getContext(), problem.target, "kernel", writable, dims.list().size());
  AttentionKernel(k, plan, dims).emit();
  GeneratedKernel result;
  result.module = k.finish();
  result.units = plan.heads() * plan.chunks();
  result.scratchBytes = plan.scratchElements() * int64_t(bitWidth(plan.compute) / 8);
  result.dims = dims.list();
  result.packings.resize(function.getNumArguments());
  result.schedule = schedule;
  return result;
}

} // namespace

extern const KernelFamily attentionFamily = {"attention", priorAttention, generateAttention};

} // namespace lathe
