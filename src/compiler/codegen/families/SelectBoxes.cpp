// nn.select_boxes: for each batch and class, visits the boxes in the order of their scores and selects each box that no
// selected box overlaps. Selected boxes are vectors of coordinates: a box is compared with many at once.
#include "codegen/families/RadixSort.h"
#include "codegen/families/Selection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <array>

namespace lathe {
namespace {

namespace arith = mlir::arith;
using mlir::Value;
using Values = KernelBuilder::Values;

class SelectBoxes {
public:
  explicit SelectBoxes(const SelectionKernel &kernel)
      : kernel(kernel), boxes(kernel.in(0)), scores(kernel.in(1)), count(boxes.dims[1]), words(count + 1),
        padded(ceilDiv(count, lanesOf(kernel)) * lanesOf(kernel) + lanesOf(kernel)), lanes(lanesOf(kernel)),
        bits(keyBits(scores.type)),
        h(kernel.problem, kernel.tensors, {count, count * 4, scores.dims[1], words, words * 2, padded}), k(h.k) {
    // A word has room for keys of 32 bits and positions.
    if (bits > 32)
      throw Declined{"boxes of 64-bit numbers"};
    for (size_t i = 3; i < 5; ++i)
      if (kernel.operands[i] && kernel.in(i).type != boxes.type)
        throw Declined{"thresholds of another type than the boxes"};
    type = k.computeType(boxes.type);
  }

  GeneratedKernel generate(const Schedule &schedule) {
    Dim bytes = words * 16 + 8 * radixHistogram(bits) + padded * (fields * 4);
    k.loop(k.begin(), k.end(), 1, [&](Value unit) { selectKind(unit); });
    return h.finish(schedule, scores.dims[0] * scores.dims[1], bytes);
  }

private:
  static constexpr int64_t fields = 5; // y1, x1, y2, x2, area
  using Box = std::array<Value, fields>;
  const SelectionKernel &kernel;
  const KernelTensor &boxes, &scores;
  Dim count, words, padded;
  int64_t lanes, bits;
  KernelHarness h;
  KernelBuilder &k;
  mlir::Type type;

  static int64_t lanesOf(const SelectionKernel &kernel) { return kernel.problem.target.lanes(32); }

  Value atWord(const Dim &offset) { return k.gep(k.scratch(), h.extent(offset), k.i64()); }
  /// Field `index` of the selected boxes.
  Value selectedField(int64_t index) {
    Value first = k.gep(atWord(words * 2), k.constant(radixHistogram(bits)), k.i64());
    return k.gep(first, k.mul(h.extent(padded), index), k.b.getF32Type());
  }
  Value greater(Value x, Value y) { return k.b.create<arith::CmpFOp>(k.loc, arith::CmpFPredicate::OGT, x, y); }
  Value both(Value x, Value y) { return k.b.create<arith::AndIOp>(k.loc, x, y); }
  Value minus(Value x, Value y) { return k.b.create<arith::SubFOp>(k.loc, x, y); }
  Value plus(Value x, Value y) { return k.b.create<arith::AddFOp>(k.loc, x, y); }
  Value times(Value x, Value y) { return k.b.create<arith::MulFOp>(k.loc, x, y); }

  /// Limit of selected boxes: at most the number of boxes; 0 without a limit operand.
  Value limit() {
    if (!kernel.operands[2])
      return k.constant(0);
    const KernelTensor &most = kernel.in(2);
    Value number = k.load(k.buffer(most.buffer), k.constant(0), most.type);
    if (bitWidth(most.type) < 64) {
      if (isSignedInteger(most.type))
        number = k.b.create<arith::ExtSIOp>(k.loc, k.i64(), number);
      else
        number = k.b.create<arith::ExtUIOp>(k.loc, k.i64(), number);
    }
    return k.min(k.max(number, k.constant(0)), h.extent(count));
  }

  void selectKind(Value unit) {
    Value most = limit(), counts = k.buffer(kernel.out(1).buffer);
    k.store(k.constant(0), counts, unit, ElementType::i64);
    k.ifThen(k.less(k.constant(0), most), [&] {
      SortBuffers buffers{k.scratch(), atWord(words), {}, {}, {}};
      buffers.histogram = atWord(words * 2);
      Value candidates = gatherCandidates(unit, buffers.words);
      buffers = radixSort(k, buffers, candidates, 32, bits);
      Value batch = h.divide(unit, h.extent(scores.dims[1]));
      Value from = h.advance(k.constant(0), batch, count * 4), to = h.advance(k.constant(0), unit, count);
      k.loop(k.constant(0), candidates, 1, [&](Value i) {
        Value chosen = k.load(counts, unit, ElementType::i64);
        k.ifThen(k.less(chosen, most), [&] {
          Value word = k.load(buffers.words, i, ElementType::i64);
          Value index = k.b.create<arith::AndIOp>(k.loc, word, k.constant(0xffffffff));
          Box box = boxAt(k.add(from, k.mul(index, 4)));
          k.ifThen(isFree(box, chosen), [&] {
            keep(box, chosen);
            k.store(k.b.create<arith::TruncIOp>(k.loc, k.b.getI32Type(), index), k.buffer(kernel.out(0).buffer),
                    k.add(to, chosen), ElementType::i32);
            k.store(k.add(chosen, 1), counts, unit, ElementType::i64);
          });
        });
      });
    });
  }

  /// Writes a word for every box with a sufficient score: the key of its score above its number. Returns their number.
  Value gatherCandidates(Value unit, Value words) {
    Value start = h.advance(k.constant(0), unit, count), base = k.buffer(scores.buffer);
    Value least =
        kernel.operands[4] ? k.load(k.buffer(kernel.in(4).buffer), k.constant(0), kernel.in(4).type) : Value();
    auto step = [&](Value at, Value mask, Value place) {
      Value value = mask ? k.maskedLoad(base, k.add(start, at), scores.type, lanes, mask)
                         : k.load(base, k.add(start, at), scores.type, lanes);
      Value counts = least ? greater(value, k.splat(least, lanes))
                           : k.b.create<arith::CmpFOp>(k.loc, arith::CmpFPredicate::ORD, value, value).getResult();
      Value bitsSet = bitsOf(k, mask ? both(counts, mask) : counts);
      forBits(k, bitsSet, [&](Value i, Value bit) {
        Value number = k.add(at, bit), score = k.load(base, k.add(start, number), scores.type);
        Value key = k.b.create<arith::ShLIOp>(k.loc, orderedKey(k, score, scores.type, true), k.constant(32));
        k.store(k.b.create<arith::OrIOp>(k.loc, key, number), words, k.add(place, i), ElementType::i64);
      });
      return k.add(place, countBits(k, bitsSet));
    };
    Value all = h.extent(count), whole = k.mul(k.div(all, lanes), lanes);
    Value found = k.loop(k.constant(0), whole, lanes, {k.constant(0)},
                         [&](Value at, mlir::ValueRange state) { return Values{step(at, {}, state[0])}; })[0];
    return lanes == 1 ? found : step(whole, k.prefixMask(k.sub(all, whole), lanes), found);
  }

  Box boxAt(Value at) {
    std::array<Value, 4> given;
    for (int64_t i = 0; i < 4; ++i)
      given[static_cast<size_t>(i)] = k.load(k.buffer(boxes.buffer), k.add(at, i), boxes.type);
    auto [a, b, c, d] = given;
    Box box;
    if (nn::attrsAs<SelectBoxesAttrs>(kernel.op).center_point_box) {
      Value half = k.constantF(0.5, type), height = times(d, half), width = times(c, half);
      box = {minus(b, height), minus(a, width), plus(b, height), plus(a, width), {}};
    } else { // any two opposite corners
      auto low = [&](Value p, Value q) -> Value { return k.select(greater(p, q), q, p); };
      auto high = [&](Value p, Value q) -> Value { return k.select(greater(q, p), q, p); };
      box = {low(a, c), low(b, d), high(a, c), high(b, d), {}};
    }
    box[4] = times(minus(box[2], box[0]), minus(box[3], box[1]));
    return box;
  }

  /// True if no selected box overlaps `box`. Stops at the first vector with an overlap.
  Value isFree(const Box &box, Value chosen) {
    Value threshold =
        kernel.operands[3] ? k.load(k.buffer(kernel.in(3).buffer), k.constant(0), kernel.in(3).type) : k.zero(type);
    Value yes = k.b.create<arith::ConstantOp>(k.loc, k.b.getBoolAttr(true)),
          zero = k.zero(KernelBuilder::vectorOf(type, lanes));
    std::array<Value, fields> own;
    for (size_t i = 0; i < fields; ++i)
      own[i] = k.splat(box[i], lanes);
    Value wanted = k.splat(threshold, lanes);
    auto loop = k.b.create<mlir::scf::WhileOp>(
        k.loc, mlir::TypeRange{k.i64(), yes.getType()}, mlir::ValueRange{k.constant(0), yes},
        [&](mlir::OpBuilder &, mlir::Location, mlir::ValueRange state) {
          mlir::OpBuilder::InsertionGuard guard(k.b);
          k.b.setInsertionPointToEnd(state[0].getParentBlock());
          Value goesOn = both(k.less(state[0], chosen), state[1]);
          k.b.create<mlir::scf::ConditionOp>(k.loc, goesOn, state);
        },
        [&](mlir::OpBuilder &, mlir::Location, mlir::ValueRange state) {
          mlir::OpBuilder::InsertionGuard guard(k.b);
          k.b.setInsertionPointToEnd(state[0].getParentBlock());
          auto other = [&](int64_t field) { return k.load(selectedField(field), state[0], ElementType::f32, lanes); };
          auto low = [&](Value p, Value q) { return k.firstUnlessLess(p, q); };
          auto high = [&](Value p, Value q) { return k.firstUnlessGreater(p, q); };
          Value height = minus(low(own[2], other(2)), high(own[0], other(0)));
          Value width = minus(low(own[3], other(3)), high(own[1], other(1)));
          Value shared = times(height, width), whole = minus(plus(own[4], other(4)), shared);
          Value ratio = k.b.create<arith::DivFOp>(k.loc, shared, whole);
          Value overlaps = both(both(greater(height, zero), greater(width, zero)), greater(ratio, wanted));
          Value none = k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::eq, bitsOf(k, overlaps), k.constant(0));
          k.b.create<mlir::scf::YieldOp>(k.loc, mlir::ValueRange{k.add(state[0], lanes), none});
        });
    return loop.getResult(1);
  }

  /// Appends a selected box. The rest of its vector is filled with boxes that overlap nothing.
  void keep(const Box &box, Value chosen) {
    Value begins = k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::eq, k.rem(chosen, lanes), k.constant(0));
    k.ifThen(begins, [&] {
      for (int64_t field = 0; field < fields; ++field) {
        double nothing = field < 2 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
        k.store(k.constantF(nothing, KernelBuilder::vectorOf(type, lanes)), selectedField(field), chosen,
                ElementType::f32);
      }
    });
    for (int64_t field = 0; field < fields; ++field)
      k.store(box[static_cast<size_t>(field)], selectedField(field), chosen, ElementType::f32);
  }
};

} // namespace

GeneratedKernel selectBoxes(const SelectionKernel &kernel, const Schedule &schedule) {
  return SelectBoxes(kernel).generate(schedule);
}

} // namespace lathe
