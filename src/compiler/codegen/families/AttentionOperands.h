// Emits code that reads the operands of an attention kernel through their strides and packs them in scratch in the
// order in which the microkernel reads them.
#pragma once

#include "codegen/builder/RunTimeDims.h"
#include "codegen/builder/Scalar.h"
#include "codegen/contraction/common/FormatCode.h"
#include "codegen/contraction/common/Microkernel.h"
#include "codegen/space/AttentionPlan.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <limits>

namespace lathe {

class AttentionOperands {
protected:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  AttentionOperands(KernelBuilder &k, const AttentionPlan &plan, const RunTimeDims &dims)
      : k(k), plan(plan), dims(dims), element(k.computeType(plan.compute)),
        vector(KernelBuilder::vectorOf(element, plan.lanes)) {}

  KernelBuilder &k;
  const AttentionPlan &plan;
  const RunTimeDims &dims;
  mlir::Type element, vector;

  // An operand of the kernel: its view, and the offset of the head that the current work item computes.
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
  /// Emits x rounded up to a multiple of y.
  Value roundedUp(Value x, int64_t y) { return k.mul(k.div(k.add(x, y - 1), y), y); }

  // ---- Operands ----

  Source sourceOf(const AttentionWalk &walk, const Values &head) {
    Value offset = extent(walk.base);
    for (auto [index, stride] : llvm::zip(head, walk.outer))
      offset = k.add(offset, k.mul(index, extent(stride)));
    return {&walk, offset};
  }

  /// Emits the load of the elements [lane, lane + lanes) of a row of an operand, converted to `compute`. Where `mask`
  /// is off, nothing is read and the element is zero. Lane stride 0: every element is the row's first.
  Value readLanes(const Source &source, Value row, Value lane, int64_t lanes, Value mask) {
    Value offset = k.add(k.add(source.offset, k.mul(row, extent(source.walk->rowStride))),
                         k.mul(lane, extent(source.walk->laneStride)));
    Value buffer = k.buffer(source.walk->buffer);
    if (source.walk->laneStride == Dim(0))
      return k.splat(k.load(buffer, offset, source.walk->type), lanes);
    return mask ? k.maskedLoad(buffer, offset, source.walk->type, lanes, mask)
                : k.load(buffer, offset, source.walk->type, lanes);
  }

  /// Divides `count` lanes into vectors and calls body(first lane, mask) for each vector. The mask is null for a whole
  /// vector.
  void forLanes(int64_t count, const std::function<void(int64_t, Value)> &body) {
    for (int64_t lane = 0; lane < count; lane += plan.lanes)
      body(lane, count - lane >= plan.lanes ? Value() : k.prefixMask(k.constant(count - lane), plan.lanes));
  }

  /// Emits a vector that has element(0) ... element(count - 1) in its first lanes and zero in the other lanes. Used
  /// for rows whose elements are not contiguous.
  Value gathered(int64_t count, const std::function<Value(int64_t)> &element) {
    Value result = k.zero(vector);
    for (int64_t i = 0; i < count; ++i)
      result = k.b.create<mlir::vector::InsertOp>(k.loc, element(i), result, i);
    return result;
  }

  /// Emits code that reads row `row` of the operand `source`, multiplies it by `factor` and passes it to `take` in
  /// whole vectors, which are zero after the last element.
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

  // ---- Packing: units consist of elements along the depth (queries, keys) or of neighbouring keys (values) ----

  void packQuery(Value row, Value from) {
    Value to = k.mul(row, plan.depthPitch());
    readRow(q, from, plan.depth, plan.scale, [&](int64_t lane, Value x) {
      units::storeNeighbours(k, plan.format, x, scratch(plan.queriesAt() + lane / plan.ofStep(), to), k.constant(0));
    });
  }

  /// Emits the packing of the keys [first, first + count) in the order [panel][step of depth][key of the panel].
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
      if (!plan.format.converts)
        return k.loop(k.constant(0), k.constant(plan.depth), 1, [&](Value d) { write(keysAt(d), line(d)); });
      auto storeUnit = [&](Value step, int64_t depth) {
        Value d = k.mul(step, plan.ofStep());
        Values steps;
        for (int64_t i = 0; i < depth; ++i)
          steps.push_back(keysAt(k.add(d, i)));
        units::storeInterleaved(k, plan.format, steps, line(step), k.constant(0));
      };
      int64_t whole = plan.depth / plan.ofStep();
      k.loop(k.constant(0), k.constant(whole), 1, [&](Value step) { storeUnit(step, plan.ofStep()); });
      if (plan.depth % plan.ofStep())
        storeUnit(k.constant(whole), plan.depth % plan.ofStep());
    });
  }

  /// Emits the load of element `d` of the keys from `at` on, one key per lane. Lanes after the last key are zero or
  /// repeat the last key.
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

  /// Emits the packing of the elements [d, d + count) of the keys from `at` on. Places after the last key repeat the
  /// last key.
  void transposeKeys(Value first, Value at, Value last, Value d, int64_t count,
                     const std::function<Value(Value)> &line) {
    auto part = [&](Value row, int64_t from) { // one vector of the elements
      int64_t real = std::min(plan.lanes, count - from);
      Value mask = real == plan.lanes ? Value() : k.prefixMask(k.constant(real), plan.lanes);
      return readLanes(key, row, k.add(d, from), plan.lanes, mask);
    };
    llvm::SmallVector<Value> rows;
    for (int64_t i = 0; i < plan.lanes; ++i) {
      Value row = k.add(first, k.min(k.add(at, i), last));
      Values parts;
      for (int64_t from = 0; from < count; from += plan.lanes)
        parts.push_back(part(row, from));
      rows.push_back(plan.format.converts ? units::joined(k, plan.format, parts) : parts[0]);
    }
    rows = k.transposed(std::move(rows));
    Value step = k.div(d, plan.ofStep());
    for (int64_t i = 0; i * plan.ofStep() < count; ++i)
      write(rows[i], line(k.add(step, i)));
  }

  int64_t valueVectors(int64_t tile) const { return std::min(plan.vectors, plan.widthVectors() - tile * plan.vectors); }
  int64_t valueTiles() const { return (plan.widthVectors() + plan.vectors - 1) / plan.vectors; }
  /// Offset of tile `tile` of the packed values, whose order is [tile][step of keys][lane of the tile].
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
    // Rows after the last key are multiplied by weights of zero, so any finite number is allowed there.
    Value end = mlir::getConstantIntValue(count) && !plan.causal ? count : roundedUp(count, plan.lanes);
    k.loop(k.constant(0), end, plan.ofStep(), [&](Value at) {
      if (!plan.format.converts)
        return readRow(value, rowAt(at), plan.width, 1, [&](int64_t lane, Value x) { write(x, to(at, lane)); });
      std::vector<Values> steps(plan.widthVectors());
      for (int64_t key = 0; key < plan.ofStep(); ++key)
        readRow(value, rowAt(k.add(at, key)), plan.width, 1, [&](int64_t lane, Value x) {
          Values &unit = steps[lane / plan.lanes];
          unit.push_back(x);
          if (key + 1 == plan.ofStep())
            units::storeInterleaved(k, plan.format, unit, to(at, lane), k.constant(0));
        });
    });
  }
};

} // namespace lathe
