// Family "attention", algorithm attention/2: softmax(q k^T) v for a register block of queries at a time, the scores in
// scratch.
//
// Keys (transposed) and values of a head are copied into scratch in the order in which the microkernel reads them.
// Then, for each register block of queries: scores of all keys, bias and mask, exponentials and their sum, product with
// the values, division by the sum, store. With keys in blocks, each query keeps its greatest score, sum and result,
// which are rescaled from block to block (the online softmax). Operands of products in scratch have the units of the
// format (codegen/space/ContractionFormat.h).
#include "codegen/families/Attention.h"
#include "codegen/Families.h"
#include "codegen/builder/RowSweep.h"
#include "codegen/families/AttentionOperands.h"
#include "codegen/space/WorkItems.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

class AttentionKernel : AttentionOperands {
public:
  AttentionKernel(KernelBuilder &k, const AttentionPlan &plan, const RunTimeDims &dims)
      : AttentionOperands(k, plan, dims), micro(k, plan.format, plan.lanes, plan.unroll) {}

  void emit() {
    k.loop(k.begin(), k.end(), 1, [&](Value unit) { emitUnit(unit); });
  }

private:
  Microkernel micro;

  // ---- Units ----

  /// Calls body(rows, first query) for the register blocks of queries of chunk `chunk`.
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
    if (plan.single() && !plan.packs)
      return forBlocks(chunk, [&](int64_t rows, Value first) { emitBlock(rows, first, zero, keys); });
    if (plan.single()) {
      auto pack = [&] {
        packKeys(zero, keys);
        packValues(zero, keys);
      };
      // Consecutive units of one head reuse the keys in scratch.
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
      if (plan.packs) {
        packKeys(first, count);
        packValues(first, count);
      }
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

  /// 1 / sum; 0 for a sum of 0, which occurs only where a query sees no key. There may be no keys at run time.
  Value inverse(Value sum) {
    ScalarBuilder b = scalar(sum);
    Value result = b.reciprocal(sum);
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
    // Skips the keys after the last key that the last query of the block sees.
    Value seen = k.sub(k.add(k.add(firstRow, rows), extent(plan.visible)), firstKey);
    if (plan.single())
      return emitVisible(rows, firstRow, firstKey, k.min(count, k.max(seen, k.constant(1))));
    k.ifThen(k.less(k.constant(0), seen), [&] { emitVisible(rows, firstRow, firstKey, k.min(count, seen)); });
  }

  void emitVisible(int64_t rows, Value firstRow, Value firstKey, Value count) {
    k.loop(k.constant(0), k.constant(rows), 1, [&](Value row) { packQuery(row, k.add(firstRow, row)); });
    if (plan.packs)
      emitScores(rows, count);
    else
      lineScores(rows, firstKey, count);
    // The exponentials of these rows stay in registers.
    int64_t together = std::min<int64_t>(k.target.vectorRegisters / 8, plan.lanes), main = rows / together * together;
    k.loop(k.constant(0), k.constant(main), together,
           [&](Value row) { emitSoftmax({together, row, k.add(firstRow, row), firstKey, count}); });
    if (main < rows)
      emitSoftmax({rows - main, k.constant(main), k.add(firstRow, main), firstKey, count});
    if (!plan.packs)
      return lineResults(rows, firstRow, firstKey, count);
    for (int64_t tile = 0; tile < valueTiles(); ++tile)
      emitResults(rows, firstRow, count, tile);
  }

  // ---- Keys and values read in place ----

  /// Scores of all queries of the block, for one vector of keys at a time.
  void lineScores(int64_t rows, Value firstKey, Value count) {
    Value last = k.sub(count, k.constant(1));
    k.loop(k.constant(0), roundedUp(count, plan.lanes), plan.lanes, [&](Value at) {
      k.loop(k.constant(0), k.constant(rows), 1, [&](Value row) {
        Values sums(plan.lanes);
        forLanes(plan.depth, [&](int64_t lane, Value mask) {
          Value query = read(scratch(plan.queriesAt() + lane, k.mul(row, plan.depthPitch())), plan.lanes);
          ScalarBuilder b = scalar(query);
          for (int64_t i = 0; i < plan.lanes; ++i) { // lanes after the last key repeat it
            Value at1 = k.add(firstKey, k.min(k.add(at, i), last));
            Value x = readLanes(key, at1, k.constant(lane), plan.lanes, mask);
            sums[i] = lane == 0 ? b.mul(query, x) : b.fma(query, x, sums[i]);
          }
        });
        RowSweep sweep(k, plan.compute, plan.lanes, 1);
        RowSweep::Results all = sweep.across(sums, [](ScalarBuilder &b, Value x, Value y) { return b.add(x, y); });
        Value scores = k.b.create<mlir::vector::ShuffleOp>(k.loc, all.all, all.all, all.laneOfRow);
        write(scores, scratch(plan.scoresAt(), k.add(k.mul(row, plan.scorePitch()), at)));
      });
    });
  }

  /// Results of all queries of the block: sums over the keys, in all vectors of a row of values.
  void lineResults(int64_t rows, Value firstRow, Value firstKey, Value count) {
    int64_t wide = plan.widthVectors() * plan.lanes;
    k.loop(k.constant(0), k.constant(rows), 1, [&](Value row) {
      Value query = k.add(firstRow, row);
      Value factor = k.splat(read(scratch(plan.factorsAt(), row), 1), plan.lanes);
      auto kept = [&](int64_t lane) { return scratch(plan.resultsAt() + lane, k.mul(k.sub(query, unitFirst), wide)); };
      Values acc;
      forLanes(plan.width, [&](int64_t lane, Value) {
        Value sums = plan.single() ? k.zero(vector) : read(kept(lane), plan.lanes);
        acc.push_back(plan.single() ? sums : scalar(sums).mul(sums, factor));
      });
      Value weights = scratch(plan.scoresAt(), k.mul(row, plan.scorePitch()));
      acc = k.loop(k.constant(0), count, 1, acc, [&](Value at, mlir::ValueRange state) {
        Value weight = k.splat(read(k.gep(weights, at, element), 1), plan.lanes);
        Values next;
        forLanes(plan.width, [&](int64_t lane, Value mask) {
          Value x = readLanes(value, k.add(firstKey, at), k.constant(lane), plan.lanes, mask);
          next.push_back(scalar(x).fma(weight, x, state[next.size()]));
        });
        return next;
      });
      forLanes(plan.width, [&](int64_t lane, Value) {
        Value sums = acc[lane / plan.lanes];
        if (plan.single())
          storeResult(scalar(sums).mul(sums, factor), query, lane);
        else
          write(sums, kept(lane));
      });
    });
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
    // The last panel has only vectors that contain keys, if their number is known.
    auto known = mlir::getConstantIntValue(count);
    int64_t tail = known ? (*known % plan.panel() + plan.lanes - 1) / plan.lanes : 0;
    Value whole = tail > 0 && tail < plan.vectors ? k.constant(*known / plan.panel() * plan.panel())
                                                  : roundedUp(count, plan.panel());
    k.loop(k.constant(0), whole, plan.panel(), [&](Value at) { panel(at, plan.vectors); });
    if (tail > 0 && tail < plan.vectors)
      panel(whole, tail);
  }

  bool changesScores() const { return plan.softcap > 0 || plan.bias || plan.mask || plan.causal; }

  /// Applies softcap, bias, mask and causality to one vector of scores.
  Value changed(Value score, Value row, Value firstKey, Value index, Value lanesMask) {
    ScalarBuilder b = scalar(score);
    Value at = k.add(firstKey, index);
    if (plan.softcap > 0)
      score = b.mul(b.tanh(b.mul(score, b.constant(1 / plan.softcap))), b.constant(plan.softcap));
    if (plan.bias)
      score = b.add(score, readLanes(bias, row, at, plan.lanes, lanesMask));
    if (plan.mask) {
      Value other = readLanes(mask, row, at, plan.lanes, lanesMask);
      score = plan.mask->type == ElementType::boolean ? b.select(other, score, k.constantF(plan.fill, vector))
                                                      : b.add(score, other);
    }
    if (plan.causal) {
      Value seen = k.sub(k.add(k.add(row, extent(plan.visible)), 1), at); // keys that the query sees in this vector
      score = b.select(k.prefixMask(seen, plan.lanes), score, infinity(vector));
    }
    return score;
  }

  /// Neighbouring queries of a register block whose softmax is computed side by side.
  struct SoftmaxRows {
    int64_t rows;
    Value first, query;    // number of the first query in the register block, and in the head
    Value firstKey, count; // of the keys in scratch
  };
  Value scorePlace(const SoftmaxRows &of, int64_t row, Value index) {
    return scratch(plan.scoresAt(), k.add(k.mul(k.add(of.first, row), plan.scorePitch()), index));
  }
  /// A number that is kept for a query from one block of keys to the next.
  Value kept(const SoftmaxRows &of, int64_t at, int64_t row) {
    return scratch(at, k.add(k.sub(of.query, unitFirst), row));
  }
  static Value larger(ScalarBuilder &b, Value x, Value y) { return b.select(b.less(x, y), y, x); }

  /// Replaces scores by exponentials (zero after the last key) and stores the factors for the results at factorsAt.
  void emitSoftmax(const SoftmaxRows &of) {
    RowSweep sweep(k, plan.compute, plan.lanes, 1);
    RowSweep::Results greatest = greatestScores(sweep, of);
    Values before, shifts;
    if (plan.single() && plan.zeroMaskedRows) { // weights of zero, where -inf - -inf would be NaN
      ScalarBuilder b = scalar(greatest.all);
      greatest.all = larger(b, b.constant(lowest()), greatest.all);
    }
    for (int64_t row = 0; row < of.rows; ++row) {
      if (plan.single()) {
        shifts.push_back(sweep.splat(greatest, row));
        continue;
      }
      before.push_back(read(kept(of, plan.greatestAt(), row), 1)); // finite
      ScalarBuilder b = scalar(before.back());
      Value now = larger(b, before.back(), sweep.scalar(greatest, row));
      write(now, kept(of, plan.greatestAt(), row));
      before.back() = b.sub(before.back(), now);
      shifts.push_back(k.splat(now, plan.lanes));
    }
    RowSweep::Results total = writeWeights(sweep, of, shifts);
    if (plan.single())
      total.all = inverse(total.all);
    for (int64_t row = 0; row < of.rows; ++row) {
      Value factor = sweep.scalar(total, row);
      if (!plan.single()) {
        ScalarBuilder b = scalar(factor);
        Value sums = kept(of, plan.sumsAt(), row), added = factor;
        factor = b.expNegative(before[row]);
        write(b.fma(read(sums, 1), factor, added), sums);
      }
      write(factor, scratch(plan.factorsAt(), k.add(of.first, row)));
    }
  }

  /// The greatest score of each query, after bias, mask and causality are applied in place.
  RowSweep::Results greatestScores(RowSweep &sweep, const SoftmaxRows &of) {
    return sweep.over(
        of.count, of.rows, -std::numeric_limits<double>::infinity(),
        [&](int64_t row, Value state, Value index, Value mask) {
          Value score = read(scorePlace(of, row, index), plan.lanes);
          ScalarBuilder b = scalar(score);
          if (changesScores()) {
            score = changed(score, k.add(of.query, row), of.firstKey, index, mask);
            write(score, scorePlace(of, row, index));
          }
          Value next = larger(b, state, score);
          return mask ? b.select(mask, next, state) : next;
        },
        larger);
  }

  /// Replaces each score by exp(score - shift of its query). Returns the sums of these weights.
  RowSweep::Results writeWeights(RowSweep &sweep, const SoftmaxRows &of, const Values &shifts) {
    return sweep.over(
        of.count, of.rows, 0,
        [&](int64_t row, Value state, Value index, Value mask) {
          Value score = read(scorePlace(of, row, index), plan.lanes);
          ScalarBuilder b = scalar(score);
          Value weight = b.expNegative(b.sub(score, shifts[row]));
          if (mask)
            weight = b.select(mask, weight, k.zero(vector));
          if (plan.format.converts) // converted units are smaller, so no score is overwritten before it is read
            units::storeNeighbours(k, plan.format, weight, scorePlace(of, row, k.constant(0)),
                                   k.div(index, plan.ofStep()));
          else
            write(weight, scorePlace(of, row, index));
          return b.add(state, weight);
        },
        [](ScalarBuilder &b, Value x, Value y) { return b.add(x, y); });
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
    auto sumsOf = [&](int64_t row, int64_t v) {
      return scratch(plan.resultsAt() + firstLane + v * plan.lanes + row * wide, k.mul(unitRow, wide));
    };
    Values acc = micro.zeros(rows * vectors);
    if (!plan.single())
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t v = 0; v < vectors; ++v) {
          Value sums = read(sumsOf(row, v), plan.lanes);
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
    else // up to a whole vector, weights after the last key are zero
      acc = k.loop(k.constant(0), roundedUp(count, plan.lanes), plan.lanes, acc,
                   [&](Value at, mlir::ValueRange state) { return reduce(state, at, plan.lanes); });
    for (int64_t row = 0; row < rows; ++row) {
      Value scale = plan.single() ? factor(row) : Value();
      for (int64_t v = 0; v < vectors; ++v) {
        Value sums = acc[row * vectors + v];
        if (plan.single())
          storeResult(scalar(sums).mul(sums, scale), k.add(firstRow, row), firstLane + v * plan.lanes);
        else
          write(sums, sumsOf(row, v));
      }
    }
  }
};

GeneratedKernel generateAttention(const KernelProblem &problem, const KernelFacts &facts, const Schedule &schedule) {
  AttentionPlan plan(static_cast<const AttentionFacts &>(facts), schedule);
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
  KernelBuilder k(problem, "kernel", writable, dims.list().size());
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

extern const KernelFamily attentionFamily = {"attention", readAttention, generateAttention};

} // namespace lathe
