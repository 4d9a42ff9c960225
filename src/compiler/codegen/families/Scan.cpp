// Family "scan", algorithm scan/1: operators that go along one axis in order (positions of extremes, running sums, the
// greatest elements) and range.
//
// x is outer x length x inner around the axis. Lines side by side (inner) are traversed as vectors. If the axis is the
// last one, a search for an extreme keeps one candidate per lane, and all other operators go element by element.
#include "codegen/Families.h"
#include "codegen/builder/KernelHarness.h"
#include "codegen/families/Copy.h"
#include "codegen/families/TopK.h"
#include "codegen/space/LoopFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

namespace arith = mlir::arith;
using mlir::Value;
using Values = KernelBuilder::Values;

/// top_k uses insertion for these lines: few kept elements of a line that is not long, or few steps in total.
constexpr int64_t fewKept = 8, longLine = 16384, fewSteps = 8192;

class Scan {
public:
  Scan(const KernelProblem &problem, int64_t grain)
      : problem(problem), tensors(problem), op(soleAnchor(problem.function)), grain(grain) {
    for (mlir::Operation &other : mlir::func::FuncOp(problem.function).getBody().front().without_terminator())
      if (&other != op && !llvm::isa<nn::ConstantOp>(other))
        throw Declined{fmt::format("'{}' beside a scan", other.getName().getStringRef().str())};
    if (blockOf(tensors))
      throw Declined{"blocked channels"};
    requireComputed(tensors);
    for (auto [result, output] : llvm::zip_equal(op->getResults(), tensors.outputs))
      if (output.value != result)
        throw Declined{"the results are not those of the operator, in order"};
    name = nn::recordOf(op)->name;
    const KernelTensor *found = tensors.input(op->getOperand(0));
    if (!found)
      throw Declined{"an operand is not an argument of the kernel"};
    x = *found;
    int64_t wanted = 0;
    if (name == "arg_max")
      wanted = nn::attrsAs<ArgMaxAttrs>(op).axis;
    else if (name == "arg_min")
      wanted = nn::attrsAs<ArgMinAttrs>(op).axis;
    else if (name == "cum_sum")
      wanted = nn::attrsAs<CumSumAttrs>(op).axis;
    else if (name == "cum_prod")
      wanted = nn::attrsAs<CumProdAttrs>(op).axis;
    else if (name == "top_k")
      wanted = nn::attrsAs<TopKAttrs>(op).axis;
    else if (name == "hardmax")
      wanted = nn::attrsAs<HardmaxAttrs>(op).axis;
    else
      throw Declined{fmt::format("'{}' is not a scan that is compiled", name)};
    size_t axis = normalizeAxis(wanted, static_cast<int64_t>(x.rank()), "axis");
    outer = product({x.dims.data(), axis});
    length = x.dims[axis];
    inner = product({x.dims.data() + axis + 1, x.rank() - axis - 1});
    lanes = problem.target.lanes(bitWidth(x.type));
    if (searches()) // positions are i64
      lanes = std::min<int64_t>(lanes, problem.target.lanes(32));
    if (name == "top_k")
      kept = tensors.outputs[0].dims[axis];
  }

  void describe(GrainFacts &facts) const {
    bool oneLine = inner == Dim(1);
    facts.shape.extents = oneLine ? Dims{outer} : Dims{outer, inner};
    facts.shape.limit = facts.shape.extents.size();
    facts.shape.granule = lanes;
    facts.shape.divisor = weightOfLine();
    facts.elementCycles = oneLine ? 1.2 : 4 / double(lanes); // the sums of a single line wait for each other
  }

  GeneratedKernel generate(const Schedule &schedule) {
    Dims extents = {outer, length, inner, length * inner};
    if (name == "top_k")
      addExtentsOfTopK(extents);
    bool oneLine = inner == Dim(1);
    // Work items: one line each, or runs of lines side by side.
    Space space;
    space.extents = oneLine ? Dims{outer} : Dims{outer, inner};
    Units units = cutUnits(space, std::max<int64_t>(1, grain / weightOfLine()), lanes, space.extents.size());
    extents.push_back(units.chunks);
    KernelHarness h(problem, tensors, extents);
    KernelBuilder &k = h.k;
    auto lines = [&](Value row, Value lo, Value hi) { // lines [lo, hi) of outer row `row`
      Value from = h.advance(k.constant(0), row, length * inner);
      if (name == "top_k")
        return k.loop(lo, hi, 1, [&](Value line) { topK(h, row, from, line); });
      h.forVectors(lo, hi, lanes, 1, [&](Value line, Value mask) {
        Value start = k.add(from, line);
        if (searches())
          argument(h, start, h.advance(line, row, inner), mask);
        else
          running(h, start, lanes, mask);
      });
    };
    h.forUnits(space, units, [&](Values at, Value lo, Value hi) {
      if (at.size() == 1)
        return lines(at[0], lo, hi);
      k.loop(lo, hi, 1, [&](Value row) {
        if (!oneLine)
          return lines(row, k.constant(0), h.extent(inner));
        Value from = h.advance(k.constant(0), row, length);
        if (name == "top_k")
          topK(h, row, from, k.constant(0));
        else if (searches())
          argumentOfLine(h, from, row);
        else
          running(h, from, 1, {});
      });
    });
    return h.finish(schedule, units.count, name == "top_k" && maySort() ? topKScratch(x.type, length) : Dim(0));
  }

private:
  const KernelProblem &problem;
  KernelTensors tensors;
  mlir::Operation *op;
  int64_t grain;
  std::string_view name;
  KernelTensor x;
  Dim outer = 1, length = 1, inner = 1;
  Dim kept = 0; // results of top_k in a line
  int64_t lanes = 1;

  /// Elements of `grain` that a line counts as. An element of top_k counts as several.
  int64_t weightOfLine() const {
    return name == "top_k" ? 8 * std::max<int64_t>(1, length.constantOr(1024))
                           : std::max<int64_t>(1, length.constantOr(64));
  }

  static Value both(KernelBuilder &k, Value a, Value b) { return k.b.create<arith::AndIOp>(k.loc, a, b); }
  static Value either(KernelBuilder &k, Value a, Value b) { return k.b.create<arith::OrIOp>(k.loc, a, b); }
  static Value negated(KernelBuilder &k, Value a) {
    Value ones = k.b.create<arith::ConstantOp>(k.loc, k.b.getOneAttr(a.getType()));
    return k.b.create<arith::XOrIOp>(k.loc, a, ones);
  }

  /// True if p goes before q: greater (or less) for numbers; NaN as the operator defines it.
  Value before(KernelHarness &h, Value p, Value q, bool greater, bool nanFirst) const {
    KernelBuilder &k = h.k;
    ScalarBuilder s = h.scalar(x.type, p);
    Value result = greater ? s.less(q, p) : s.less(p, q);
    if (!isFloat(x.type))
      return result;
    Value pNan = negated(k, s.equal(p, p)), qNan = negated(k, s.equal(q, q));
    return either(k, result, nanFirst ? both(k, pNan, negated(k, qNan)) : both(k, qNan, negated(k, pNan)));
  }

  Value read(KernelHarness &h, Value at, int64_t width, Value mask) const {
    KernelBuilder &k = h.k;
    return mask ? k.maskedLoad(k.buffer(x.buffer), at, x.type, width, mask)
                : k.load(k.buffer(x.buffer), at, x.type, width);
  }

  // ---- Positions of extremes ----

  /// True for operators that search the position of an extreme. hardmax writes 1 there and 0 elsewhere.
  bool searches() const { return name == "arg_max" || name == "arg_min" || name == "hardmax"; }

  bool last() const {
    if (name == "hardmax")
      return false;
    return name == "arg_max" ? nn::attrsAs<ArgMaxAttrs>(op).select_last_index
                             : nn::attrsAs<ArgMinAttrs>(op).select_last_index;
  }

  /// True if `value` at a later position replaces `best`.
  Value replaces(KernelHarness &h, Value value, Value best) const {
    if (name == "hardmax") // a NaN is not greater, and nothing is greater than a NaN
      return h.scalar(x.type, value).less(best, value);
    Value result = before(h, value, best, name == "arg_max", true);
    return last() ? either(h.k, result, h.scalar(x.type, value).equal(value, best)) : result;
  }

  static Value vectorOf(KernelBuilder &k, Value scalar, int64_t width) {
    return width == 1 ? scalar : k.splat(scalar, width);
  }

  /// Searches lines side by side.
  void argument(KernelHarness &h, Value start, Value to, Value mask) const {
    KernelBuilder &k = h.k;
    Value first = read(h, start, lanes, mask);
    Values end = k.loop(k.constant(1), h.extent(length), 1, {first, vectorOf(k, k.constant(0), lanes)},
                        [&](Value i, mlir::ValueRange state) {
                          Value value = read(h, h.advance(start, i, inner), lanes, mask);
                          Value taken = replaces(h, value, state[0]);
                          return Values{k.b.create<arith::SelectOp>(k.loc, taken, value, state[0]),
                                        k.b.create<arith::SelectOp>(k.loc, taken, vectorOf(k, i, lanes), state[1])};
                        });
    if (name == "hardmax")
      return k.loop(k.constant(0), h.extent(length), 1, [&](Value i) {
        Value there = k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::eq, end[1], vectorOf(k, i, lanes));
        Value zero = k.zero(first.getType()), one = k.constantF(1, first.getType());
        put(h, k.select(there, one, zero), h.advance(start, i, inner), mask);
      });
    put(h, end[1], to, mask);
  }

  void put(KernelHarness &h, Value value, Value at, Value mask) const {
    KernelBuilder &k = h.k;
    const KernelTensor &y = tensors.outputs[0];
    if (mask)
      k.maskedStore(value, k.buffer(y.buffer), at, y.type, mask);
    else
      k.store(value, k.buffer(y.buffer), at, y.type);
  }

  /// Writes the result for the position of the extreme of one contiguous line.
  void putOfLine(KernelHarness &h, Value place, Value start, Value to) const {
    KernelBuilder &k = h.k;
    if (name != "hardmax")
      return put(h, place, to, {});
    mlir::Type type = k.computeType(x.type);
    fillRun(h, k.zero(type), tensors.outputs[0], start, h.extent(length), lanes);
    put(h, k.constantF(1, type), k.add(start, place), {});
  }

  /// Searches one contiguous line: a candidate for every lane, then the best candidate.
  void argumentOfLine(KernelHarness &h, Value start, Value to) const {
    KernelBuilder &k = h.k;
    Value first = k.load(k.buffer(x.buffer), start, x.type), zero = k.constant(0);
    if (lanes == 1) {
      Values end = k.loop(k.constant(1), h.extent(length), 1, {first, zero}, [&](Value i, mlir::ValueRange state) {
        Value value = k.load(k.buffer(x.buffer), k.add(start, i), x.type), taken = replaces(h, value, state[0]);
        return Values{k.b.create<arith::SelectOp>(k.loc, taken, value, state[0]),
                      k.b.create<arith::SelectOp>(k.loc, taken, i, state[1])};
      });
      return putOfLine(h, end[1], start, to);
    }
    llvm::SmallVector<int64_t> numbers(lanes);
    for (int64_t lane = 0; lane < lanes; ++lane)
      numbers[lane] = lane;
    Value lane = k.b.create<arith::ConstantOp>(k.loc, k.b.getI64VectorAttr(numbers));
    auto step = [&](Value i, Value mask, mlir::ValueRange state) {
      Value value = read(h, k.add(start, i), lanes, mask), taken = replaces(h, value, state[0]);
      if (mask)
        taken = both(k, taken, mask);
      Value position = k.b.create<arith::AddIOp>(k.loc, lane, k.splat(i, lanes));
      return Values{k.b.create<arith::SelectOp>(k.loc, taken, value, state[0]),
                    k.b.create<arith::SelectOp>(k.loc, taken, position, state[1])};
    };
    Value count = h.extent(length), whole = k.mul(k.div(count, lanes), lanes);
    Values state = k.loop(zero, whole, lanes, {k.splat(first, lanes), k.splat(zero, lanes)},
                          [&](Value i, mlir::ValueRange carried) { return step(i, {}, carried); });
    // The rest has a mask, which may be empty.
    state = step(whole, k.prefixMask(k.sub(count, whole), lanes), state);
    Value best = k.b.create<mlir::vector::ExtractOp>(k.loc, state[0], int64_t(0)),
          place = k.b.create<mlir::vector::ExtractOp>(k.loc, state[1], int64_t(0));
    for (int64_t i = 1; i < lanes; ++i) {
      Value value = k.b.create<mlir::vector::ExtractOp>(k.loc, state[0], i),
            position = k.b.create<mlir::vector::ExtractOp>(k.loc, state[1], i);
      ScalarBuilder s = h.scalar(x.type, value);
      Value better = name == "hardmax" ? replaces(h, value, best) : before(h, value, best, name == "arg_max", true),
            same = s.equal(value, best);
      Value nearer = k.less(position, place);
      Value tie = both(k, same, last() ? k.less(place, position) : nearer);
      if (isFloat(x.type) && name != "hardmax") // of several NaN the first
        tie = either(k, tie,
                     both(k, both(k, negated(k, s.equal(value, value)), negated(k, s.equal(best, best))), nearer));
      Value taken = either(k, better, tie);
      best = k.b.create<arith::SelectOp>(k.loc, taken, value, best);
      place = k.b.create<arith::SelectOp>(k.loc, taken, position, place);
    }
    putOfLine(h, place, start, to);
  }

  // ---- Running sums and products ----

  void running(KernelHarness &h, Value start, int64_t width, Value mask) const {
    KernelBuilder &k = h.k;
    bool sum = name == "cum_sum";
    bool exclusive = sum ? nn::attrsAs<CumSumAttrs>(op).exclusive : nn::attrsAs<CumProdAttrs>(op).exclusive;
    bool reverse = sum ? nn::attrsAs<CumSumAttrs>(op).reverse : nn::attrsAs<CumProdAttrs>(op).reverse;
    const KernelTensor &y = tensors.outputs[0];
    mlir::Type type = k.computeType(x.type);
    if (width > 1)
      type = KernelBuilder::vectorOf(type, width);
    Value zero = k.zero(type);
    Value initial = sum ? zero : h.scalar(x.type, zero).constantLike(zero, 1);
    Value end = k.sub(h.extent(length), k.constant(1));
    k.loop(k.constant(0), h.extent(length), 1, {initial}, [&](Value i, mlir::ValueRange state) {
      Value at = h.advance(start, reverse ? k.sub(end, i) : i, inner), value = read(h, at, width, mask);
      ScalarBuilder s = h.scalar(x.type, value);
      Value next = sum ? s.add(state[0], value) : s.mul(state[0], value), put = exclusive ? state[0] : next;
      if (mask)
        k.maskedStore(put, k.buffer(y.buffer), at, y.type, mask);
      else
        k.store(put, k.buffer(y.buffer), at, y.type);
      return Values{next};
    });
  }

  // ---- The greatest elements ----

  void addExtentsOfTopK(Dims &extents) const {
    extents.insert(extents.end(), {kept, inner * kept});
    for (const Dim &extent : topKExtents(length, kept))
      extents.push_back(extent);
  }

  /// False if insertion takes few steps for every line.
  bool maySort() const {
    bool few = kept.constantOr(fewKept + 1) <= fewKept && length.constantOr(longLine + 1) <= longLine;
    return !few && (kept * length).constantOr(fewSteps + 1) > fewSteps;
  }

  /// Uses insertion if that takes few steps, otherwise sorting.
  void topK(KernelHarness &h, Value row, Value from, Value line) const {
    KernelBuilder &k = h.k;
    if (kept == Dim(0))
      return;
    auto insert = [&] { insertTopK(h, row, from, line); };
    auto sort = [&] { sortTopK(h, row, from, line); };
    if (!maySort() || (kept * length).isConstant())
      return maySort() ? sort() : insert();
    Value most = h.extent(kept), steps = k.mul(most, h.extent(length));
    Value few = both(k, k.less(most, k.constant(fewKept + 1)), k.less(h.extent(length), k.constant(longLine + 1)));
    Value little = either(k, few, k.less(steps, k.constant(fewSteps + 1)));
    k.ifThen(k.less(k.constant(0), most), [&] { k.ifThen(little, insert, sort); });
  }

  void sortTopK(KernelHarness &h, Value row, Value from, Value line) const {
    KernelBuilder &k = h.k;
    const KernelTensor &values = tensors.outputs[0], &indices = tensors.outputs[1];
    Value to = k.add(h.advance(k.constant(0), row, inner * kept), line);
    auto element = [&](Value i) { return k.load(k.buffer(x.buffer), h.advance(k.add(from, line), i, inner), x.type); };
    auto put = [&](Value number, Value position) {
      Value place = h.advance(to, number, inner);
      k.store(element(position), k.buffer(values.buffer), place, values.type);
      k.store(position, k.buffer(indices.buffer), place, indices.type);
    };
    TopKLine own{x.type, nn::attrsAs<TopKAttrs>(op).largest, length, h.extent(kept), element, put, {}, lanes, kept};
    if (inner == Dim(1))
      own.elements = [&](Value i, Value mask) { return read(h, k.add(k.add(from, line), i), lanes, mask); };
    topKBySorting(h, own);
  }

  /// Insertion into the sorted results, which hold min(i, k) elements before element i.
  void insertTopK(KernelHarness &h, Value row, Value from, Value line) const {
    KernelBuilder &k = h.k;
    auto attrs = nn::attrsAs<TopKAttrs>(op);
    const KernelTensor &values = tensors.outputs[0], &indices = tensors.outputs[1];
    Value to = k.add(h.advance(k.constant(0), row, inner * this->kept), line), kept = h.extent(this->kept);
    auto goesBefore = [&](Value p, Value q) { return before(h, p, q, attrs.largest, attrs.largest); };
    auto place = [&](Value i) { return h.advance(to, i, inner); };
    auto valueAt = [&](Value i) { return k.load(k.buffer(values.buffer), place(i), values.type); };
    k.loop(k.constant(0), h.extent(length), 1, [&](Value i) {
      Value value = k.load(k.buffer(x.buffer), h.advance(k.add(from, line), i, inner), x.type);
      Value count = k.min(i, kept), full = k.less(k.sub(kept, k.constant(1)), i);
      auto insert = [&] {
        Value top = k.min(count, k.sub(kept, k.constant(1))); // the place that is new or whose element is dropped
        // Downwards: elements that go after the value move by one, then the value is stored.
        k.loop(k.constant(0), top, 1, [&](Value n) {
          Value j = k.sub(top, n), above = k.sub(j, k.constant(1));
          Value other = valueAt(above), moves = goesBefore(value, other);
          k.ifThen(moves, [&] {
            k.store(other, k.buffer(values.buffer), place(j), values.type);
            k.store(k.load(k.buffer(indices.buffer), place(above), indices.type), k.buffer(indices.buffer), place(j),
                    indices.type);
            k.store(value, k.buffer(values.buffer), place(above), values.type);
            k.store(i, k.buffer(indices.buffer), place(above), indices.type);
          });
        });
      };
      k.ifThen(
          full,
          [&] {
            Value least = k.sub(kept, k.constant(1));
            k.ifThen(goesBefore(value, valueAt(least)), [&] {
              k.store(value, k.buffer(values.buffer), place(least), values.type);
              k.store(i, k.buffer(indices.buffer), place(least), indices.type);
              insert();
            });
          },
          [&] {
            k.store(value, k.buffer(values.buffer), place(count), values.type);
            k.store(i, k.buffer(indices.buffer), place(count), indices.type);
            insert();
          });
    });
  }
};

std::unique_ptr<KernelFacts> readScan(const KernelProblem &problem) {
  Scan scan(problem, 1);
  auto facts = std::make_unique<GrainFacts>("scan", 8192, 65536);
  scan.describe(*facts);
  return facts;
}

GeneratedKernel generateScan(const KernelProblem &problem, const KernelFacts &, const Schedule &schedule) {
  return Scan(problem, schedule.number("grain")).generate(schedule);
}

} // namespace

const KernelFamily scanFamily{"scan", readScan, generateScan};

} // namespace lathe
