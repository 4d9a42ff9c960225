// recurrent/2: all steps of a recurrent network in one call. A work item is one direction of one block of batch rows.
// It carries the states through all steps in scratch, so a step has no overhead beyond the loop.
//
// With stages=1 the slots share the columns of every step. A stage (GeneratedKernel::stages) is one step, or one of the
// two products in a step of a gru. A work item is one tile of one block of rows, and all slots share the states in
// scratch. One slot still computes each whole sum, in the same order.
//
// A step multiplies the block's hidden states by the recurrent weights, one tile of columns at a time for all gates,
// then applies the cell's functions to vectors. The weights are read once per step, and their traffic limits single
// rows. Even steps traverse the tiles forwards and odd steps backwards, so that a cache that is slightly too small
// still keeps part of the weights.
#include "codegen/families/Recurrent.h"

#include "codegen/Families.h"
#include "codegen/builder/RunTimeDims.h"
#include "codegen/builder/Runs.h"
#include "codegen/builder/Scalar.h"
#include "codegen/contraction/common/Microkernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

class RecurrentKernel {
public:
  RecurrentKernel(KernelBuilder &k, const RecurrentPlan &plan, const RunTimeDims &dims)
      : k(k), plan(plan), form(plan.form), dims(dims), micro(k, plainFormat(plan.type), plan.lanes, plan.unroll) {}

  void emit() {
    steps = dims.value(k, plan.steps);
    batch = dims.value(k, plan.batch);
    if (plan.split)
      return plan.batch.isConstant() ? emitStages() : emitOpenStages();
    firstColumn = k.constant(0);
    endColumn = k.constant(plan.padded());
    k.loop(k.begin(), k.end(), 1, [&](Value unit) { emitUnit(unit); });
  }

private:
  KernelBuilder &k;
  const RecurrentPlan &plan;
  const RecurrentForm &form;
  const RunTimeDims &dims;
  Microkernel micro;
  Value steps, batch;
  Value d; // direction
  int64_t functionsOf = 0;
  // The current block.
  int64_t rows = 0;
  Value openRows; // rows of a split plan with an open batch; null: `rows`
  Value firstRow;
  Value firstColumn, endColumn; // all columns unless split
  Value scratchStart;           // in elements; null: 0
  // The current step.
  Value step, odd;
  Value current, next; // offsets of the hidden states read and written
  Value stage;         // of a split plan

  int64_t gates() const { return form.gates(); }
  Value scratch(int64_t offset) {
    Value at = k.constant(offset);
    return k.gep(k.scratch(), scratchStart ? k.add(scratchStart, at) : at, k.computeType(plan.type));
  }
  mlir::VectorType vector() { return KernelBuilder::vectorOf(k.computeType(plan.type), plan.lanes); }

  /// Emits one direction of one block of rows.
  void emitUnit(Value unit) {
    Value chunks = dims.value(k, plan.chunks());
    bool two = form.directions() == 2;
    d = two ? Value(k.b.create<mlir::arith::DivUIOp>(k.loc, unit, chunks)) : k.constant(0);
    Value chunk = two ? k.sub(unit, k.mul(d, chunks)) : unit;
    if (!plan.constantR)
      emitPacking(k, plan, d, [&] { return scratch(plan.weightsOffset()); });
    ofDirection([&] { emitChunk(chunk); });
  }

  // ---- Stages ----

  /// Emits the tiles of [begin, end), stage by stage, and block by block within a stage.
  void emitStages() {
    forRuns(k, k.begin(), k.end(), plan.stageUnits().constant(), [&](Value number, Value low, Value high) {
      stage = number;
      forRuns(k, low, high, plan.tiles(), [&](Value unit, Value lowTile, Value highTile) {
        firstColumn = k.mul(lowTile, plan.tileColumns());
        endColumn = k.mul(highTile, plan.tileColumns());
        scratchStart = plan.blocks() == Dim(1) ? Value() : k.mul(unit, plan.blockScratch());
        emitUnit(unit);
      });
    });
  }

  void emitStage() {
    auto phases = static_cast<int64_t>(plan.phases.size());
    Value done = k.sub(stage, k.constant(1)); // phases before this one
    k.ifThen(
        k.less(stage, k.constant(1)), [&] { fetchStates(); },
        [&] {
          beginStep(k.div(done, phases));
          if (phases == 1)
            return emitPhase(0);
          k.ifThen(k.less(k.rem(done, phases), k.constant(1)), [&] { emitPhase(0); }, [&] { emitPhase(1); });
        });
    k.ifThen(k.less(k.mul(steps, phases), k.add(stage, 1)),
             [&] { storeStates(k.mul(k.rem(steps, 2), plan.stateSize())); });
  }

  // ---- Stages of an open batch ----

  /// The same as for a static batch, with a variable number of rows per block.
  void emitOpenStages() {
    forRuns(k, k.begin(), k.end(), dims.value(k, plan.stageUnits()), [&](Value number, Value low, Value high) {
      stage = number;
      forRuns(k, low, high, plan.tiles(), [&](Value block, Value lowTile, Value highTile) {
        firstColumn = k.mul(lowTile, plan.tileColumns());
        endColumn = k.mul(highTile, plan.tileColumns());
        enterBlock(block);
        ofDirection([&] { emitStage(); });
      });
    });
  }

  /// Blocks of two sizes, larger ones first.
  void enterBlock(Value block) {
    Value chunks = dims.value(k, plan.evenChunks()), small = dims.value(k, plan.evenRows()),
          large = k.sub(batch, k.mul(small, chunks));
    bool two = form.directions() == 2;
    d = two ? Value(k.b.create<mlir::arith::DivUIOp>(k.loc, block, chunks)) : k.constant(0);
    Value chunk = two ? k.sub(block, k.mul(d, chunks)) : block;
    firstRow = k.add(k.mul(chunk, small), k.min(chunk, large));
    openRows = k.add(small, k.b.create<mlir::arith::ExtUIOp>(k.loc, k.i64(), k.less(chunk, large)));
    scratchStart = k.mul(block, plan.blockScratch());
  }

  /// Calls body() with the functions of direction d selected.
  void ofDirection(const std::function<void()> &body) {
    functionsOf = 0;
    if (sameFunctions())
      return body();
    k.ifThen(k.less(d, k.constant(1)), body, [&] {
      functionsOf = 1;
      body();
    });
  }

  bool sameFunctions() const {
    bool same = true;
    for (int64_t i = 0; i < form.functions(); ++i)
      same &= form.activation(0, i) == form.activation(form.directions() - 1, i);
    return same;
  }

  // ---- Blocks of rows ----

  void emitChunk(Value chunk) {
    Value first = k.mul(chunk, plan.rows);
    if (plan.batch.isConstant()) {
      int64_t whole = plan.batch.constant() / plan.rows, rest = plan.batch.constant() % plan.rows;
      if (rest == 0)
        return emitBlock(first, plan.rows);
      return k.ifThen(
          k.less(chunk, k.constant(whole)), [&] { emitBlock(first, plan.rows); }, [&] { emitBlock(first, rest); });
    }
    // A whole block, or the remaining rows in smaller and smaller blocks.
    Value last = k.min(k.add(first, plan.rows), batch);
    for (int64_t size = plan.rows; size > 0; size = size == 1 ? 0 : (size + 2) / 3) {
      Value count = k.b.create<mlir::arith::DivUIOp>(k.loc, k.sub(last, first), k.constant(size));
      Value start = first;
      k.loop(k.constant(0), count, 1, [&](Value i) { emitBlock(k.add(start, k.mul(i, size)), size); });
      first = k.add(start, k.mul(count, size));
    }
  }

  /// The number of rows of the current block.
  Value rowCount() { return openRows ? openRows : k.constant(rows); }

  void emitBlock(Value begin, int64_t count) {
    firstRow = begin;
    rows = count;
    if (plan.split)
      return emitStage();
    Value longest = steps;
    if (plan.lengths) {
      longest = k.constant(0);
      for (int64_t row = 0; row < rows; ++row) {
        Value length = givenLength(k.constant(row));
        k.store(length, scratch(plan.lengthsOffset()), k.constant(row), ElementType::i64);
        longest = k.max(longest, length);
      }
    }
    fetchStates();
    k.loop(k.constant(0), longest, 1, [&](Value s) {
      beginStep(s);
      for (size_t phase = 0; phase < plan.phases.size(); ++phase)
        emitPhase(phase);
    });
    storeStates(k.mul(k.rem(longest, 2), plan.stateSize()));
  }

  void beginStep(Value s) {
    step = s;
    odd = k.rem(s, 2);
    current = k.mul(odd, plan.stateSize());
    next = k.sub(k.constant(plan.stateSize()), current);
  }

  void emitPhase(size_t phase) {
    if (openRows)
      for (rows = plan.rows; rows > 0; --rows)
        k.ifThen(k.b.create<mlir::arith::CmpIOp>(k.loc, mlir::arith::CmpIPredicate::eq, openRows, k.constant(rows)),
                 [&] { emitTiles(phase); });
    else
      emitTiles(phase);
    finish(phase);
  }

  void emitTiles(size_t phase) {
    Value isOdd = k.less(k.constant(0), odd);
    k.loop(firstColumn, endColumn, plan.tileColumns(), [&](Value column) {
      Value down = k.sub(k.sub(endColumn, k.constant(plan.tileColumns())), k.sub(column, firstColumn));
      emitTile(phase, plan.tiles() == 1 ? column : k.select(isOdd, down, column));
    });
  }

  // ---- Places ----

  /// The mask of one vector of columns; null if no vector exceeds the hidden extent.
  Value maskAt(Value column) {
    if (plan.hidden % plan.tileColumns() == 0)
      return {};
    return k.prefixMask(k.sub(k.constant(plan.hidden), column), plan.lanes);
  }
  Value read(unsigned buffer, Value offset, Value mask) {
    return mask ? k.maskedLoad(k.buffer(buffer), offset, plan.type, plan.lanes, mask)
                : k.load(k.buffer(buffer), offset, plan.type, plan.lanes);
  }
  void write(Value value, unsigned buffer, Value offset, Value mask) {
    if (mask)
      k.maskedStore(value, k.buffer(buffer), offset, plan.type, mask);
    else
      k.store(value, k.buffer(buffer), offset, plan.type);
  }
  Value readScratch(int64_t place, Value offset) { return k.load(scratch(place), offset, plan.type, plan.lanes); }
  void writeScratch(Value value, int64_t place, Value offset) { k.store(value, scratch(place), offset, plan.type); }

  Value lengthOf(Value row) {
    if (!plan.lengths)
      return steps;
    return plan.split ? givenLength(row) : k.load(scratch(plan.lengthsOffset()), row, ElementType::i64);
  }
  Value givenLength(Value row) {
    Value narrow = k.load(k.buffer(*plan.lengths), k.add(firstRow, row), ElementType::i32);
    Value length = k.b.create<mlir::arith::ExtSIOp>(k.loc, k.i64(), narrow);
    return k.min(k.max(length, k.constant(0)), steps);
  }
  /// The position in the sequence that a row has reached; any position for a row that has ended.
  Value timeOf(Value row) {
    if (form.direction == "forward")
      return step;
    Value backwards = k.max(k.sub(k.sub(lengthOf(row), k.constant(1)), step), k.constant(0));
    if (form.direction == "reverse")
      return backwards;
    return k.select(k.less(d, k.constant(1)), step, backwards);
  }
  /// Offset of a row's gates in x.
  Value gatesAt(Value row) {
    Value place = k.add(k.mul(timeOf(row), batch), k.add(firstRow, row));
    return k.mul(k.add(k.mul(place, form.directions()), d), gates() * plan.hidden);
  }
  Value resultAt(Value time, Value row) {
    Value place = k.add(k.mul(k.add(k.mul(time, form.directions()), d), batch), k.add(firstRow, row));
    return k.mul(place, plan.hidden);
  }
  Value lastAt(Value row) { return k.mul(k.add(k.mul(d, batch), k.add(firstRow, row)), plan.hidden); }

  void forVectors(const std::function<void(Value row, Value column, Value offset, Value mask)> &body) {
    k.loop(k.constant(0), rowCount(), 1, [&](Value row) {
      k.loop(firstColumn, endColumn, plan.lanes,
             [&](Value column) { body(row, column, k.add(k.mul(row, plan.padded()), column), maskAt(column)); });
    });
  }

  void fetchStates() {
    forVectors([&](Value row, Value column, Value offset, Value mask) {
      Value at = k.add(lastAt(row), column);
      auto initial = [&](std::optional<unsigned> buffer) {
        Value state = buffer ? read(*buffer, at, mask) : k.zero(vector());
        // A row without steps has no state.
        return plan.lengths ? k.select(k.less(k.constant(0), lengthOf(row)), state, k.zero(vector())) : state;
      };
      writeScratch(initial(plan.initialH), 0, offset);
      if (form.cell == Cell::lstm)
        writeScratch(initial(plan.initialC), plan.cellOffset(), offset);
    });
  }

  void storeStates(Value hiddenPlace) {
    forVectors([&](Value row, Value column, Value offset, Value mask) {
      Value at = k.add(lastAt(row), column);
      if (plan.lastH)
        write(readScratch(0, k.add(hiddenPlace, offset)), *plan.lastH, at, mask);
      if (plan.lastC)
        write(readScratch(plan.cellOffset(), offset), *plan.lastC, at, mask);
      if (plan.y && plan.lengths)
        k.loop(lengthOf(row), steps, 1,
               [&](Value time) { write(k.zero(vector()), *plan.y, k.add(resultAt(time, row), column), mask); });
    });
  }

  // ---- One tile of one step ----

  void emitTile(size_t phase, Value column) {
    const auto &members = plan.phases[phase].gates;
    int64_t count = static_cast<int64_t>(members.size()), vectors = count * plan.vectors;
    Values sums;
    llvm::SmallVector<int64_t> all, offsets;
    for (int64_t row = 0; row < rows; ++row) {
      all.push_back(row);
      offsets.push_back(row * plan.padded());
      Value from = gatesAt(k.constant(row));
      for (int64_t gate : members)
        for (int64_t v = 0; v < plan.vectors; ++v)
          sums.push_back(startOf(gate, from, k.add(column, v * plan.lanes)));
    }
    Value weights = plan.constantR ? k.buffer(plan.r) : scratch(plan.weightsOffset());
    Value at = plan.constantR ? k.mul(d, plan.packedSize()) : k.constant(0);
    at = k.add(k.add(at, plan.packedOffset(phase)), k.mul(column, count * plan.hidden));
    Value left = phase == 0 ? current : k.constant(plan.resetOffset());
    sums = micro.reduce(sums, all, offsets, vectors, scratch(0), left, {plan.hidden, plan.hidden, 1, 0},
                        {weights, vectors * plan.lanes}, at);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < vectors; ++i) {
        Value at = k.add(k.constant((row * gates() + members[i / plan.vectors]) * plan.padded()), column);
        writeScratch(sums[row * vectors + i], plan.gatesOffset(), k.add(at, i % plan.vectors * plan.lanes));
      }
  }

  /// The initial value of a gate's sum: the share of the input, or the bias of the product that a reset gate scales.
  Value startOf(int64_t gate, Value from, Value column) {
    if (form.cell == Cell::gru && form.linearBeforeReset && gate == 2)
      return plan.hiddenBias ? read(*plan.hiddenBias, k.add(k.mul(d, plan.hidden), column), maskAt(column))
                             : k.zero(vector());
    return inputShare(gate, from, column);
  }
  Value inputShare(int64_t gate, Value from, Value column) {
    return read(plan.x, k.add(k.add(from, gate * plan.hidden), column), maskAt(column));
  }

  /// Computes the states from the sums of this phase's gates. This is a separate loop whose iterations overlap; after
  /// each tile's product, a single chain of functions would have to be waited for.
  void finish(size_t phase) {
    k.loop(k.constant(0), rowCount(), 1, [&](Value row) {
      // The functions of one vector form a chain of over a hundred instructions, so two vectors are computed together.
      int64_t pair = plan.vectors % 2 ? 1 : 2;
      auto columns = [&](const std::function<void(Value column)> &body) {
        k.loop(firstColumn, endColumn, pair * plan.lanes,
               [&](Value column) { k.sideBySide(pair, [&](int64_t i) { body(k.add(column, i * plan.lanes)); }); });
      };
      auto all = [&] { columns([&](Value column) { finishVector(phase, row, column); }); };
      if (!plan.lengths || phase + 1 < plan.phases.size())
        return all();
      // A row that has ended keeps its state.
      k.ifThen(k.less(step, lengthOf(row)), all, [&] {
        columns([&](Value column) {
          Value offset = k.add(k.mul(row, plan.padded()), column);
          writeScratch(readScratch(0, k.add(current, offset)), 0, k.add(next, offset));
        });
      });
    });
  }

  void finishVector(size_t phase, Value row, Value column) {
    Value offset = k.add(k.mul(row, plan.padded()), column);
    Values sums;
    for (int64_t gate : plan.phases[phase].gates)
      sums.push_back(
          readScratch(plan.gatesOffset(), k.add(k.mul(k.add(k.mul(row, gates()), gate), plan.padded()), column)));
    ScalarBuilder b(k, plan.type, plan.type, sums[0]);
    Value h;
    if (form.cell == Cell::rnn) {
      h = apply(0, sums[0]);
    } else if (form.cell == Cell::lstm) {
      h = finishLstm(column, offset, sums);
    } else {
      Value before = readScratch(0, k.add(current, offset));
      Value update, n;
      if (form.linearBeforeReset) {
        update = apply(0, sums[0]);
        n = apply(1, b.fma(apply(0, sums[1]), sums[2], inputShare(2, gatesAt(row), column)));
      } else if (phase == 0) {
        writeScratch(apply(0, sums[0]), plan.updateOffset(), offset);
        writeScratch(b.mul(apply(0, sums[1]), before), plan.resetOffset(), offset);
        return;
      } else {
        update = readScratch(plan.updateOffset(), offset);
        n = apply(1, sums[0]);
      }
      h = b.fma(update, b.sub(before, n), n); // (1 - z) n + z h
    }
    writeScratch(h, 0, k.add(next, offset));
    if (plan.y)
      write(h, *plan.y, k.add(resultAt(timeOf(row), row), column), maskAt(column));
  }

  Value finishLstm(Value column, Value offset, const Values &sums) {
    ScalarBuilder b(k, plan.type, plan.type, sums[0]);
    Value c = readScratch(plan.cellOffset(), offset);
    auto gate = [&](int64_t index, int64_t peephole, Value cell) {
      Value sum = sums[index];
      if (plan.peepholes) {
        Value at = k.add(k.add(k.mul(d, 3 * plan.hidden), peephole * plan.hidden), column);
        sum = b.fma(read(*plan.peepholes, at, maskAt(column)), cell, sum);
      }
      return apply(0, sum);
    };
    Value input = gate(0, 0, c);
    Value forget = form.inputForget ? b.sub(b.constant(1), input) : gate(2, 2, c);
    Value cell = b.fma(forget, c, b.mul(input, apply(1, sums[3])));
    writeScratch(cell, plan.cellOffset(), offset);
    return b.mul(gate(1, 1, cell), emitActivation(k, plan.type, form.activation(functionsOf, 2), cell));
  }

  /// Applies function `index` (f, g) to a sum after limiting it.
  Value apply(int64_t index, Value x) {
    if (std::isfinite(form.clip)) {
      ScalarBuilder b(k, plan.type, plan.type, x);
      x = b.atMost(b.atLeast(x, -form.clip), form.clip);
    }
    return emitActivation(k, plan.type, form.activation(functionsOf, index), x);
  }
};

GeneratedKernel generateRecurrent(const KernelProblem &problem, const KernelFacts &facts, const Schedule &schedule) {
  RecurrentPlan plan(static_cast<const RecurrentFacts &>(facts), schedule);
  RunTimeDims dims;
  for (const Dim &dim : {plan.steps, plan.batch, plan.chunks()})
    dims.need(dim);
  if (plan.split)
    for (const Dim &dim : {plan.evenChunks(), plan.stageUnits(), plan.evenRows()})
      dims.need(dim);
  mlir::func::FuncOp function = problem.function;
  std::vector<bool> writable(function.getNumArguments(), false);
  writable.resize(writable.size() + function.getNumResults(), true);
  KernelBuilder k(problem, "kernel", writable, dims.list().size());
  RecurrentKernel(k, plan, dims).emit();

  GeneratedKernel result;
  result.module = k.finish();
  result.units = plan.chunks() * Dim(plan.form.directions());
  if (plan.split) {
    result.stages = plan.stages();
    result.units = result.stages * plan.stageUnits();
  }
  result.scratchBytes = plan.scratchBytes();
  result.dims = dims.list();
  result.packings.resize(function.getNumArguments());
  if (plan.constantR)
    result.packings[plan.r] = Packing{[plan](const nn::ConstantData &data) { return packedWeights(plan, data); },
                                      fmt::format("dkgj/{}x{}", plan.vectors, plan.lanes)};
  result.schedule = schedule;
  return result;
}

} // namespace

const KernelFamily recurrentFamily{"recurrent", readRecurrent, generateRecurrent};

} // namespace lathe
