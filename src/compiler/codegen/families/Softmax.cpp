// Family "softmax", algorithm softmax/2: softmax and log_softmax over one axis, the greatest element subtracted first.
//
// If the axis is innermost, the lanes of a vector are its elements. Otherwise lanes are neighbours after the axis; in a
// blocked tensor these are the channels of a block, so softmax over blocked channels is not supported. Three passes:
// greatest element, sum, result. A single row has two partial sums.
#include "codegen/Families.h"
#include "codegen/builder/KernelHarness.h"
#include "codegen/builder/RowSweep.h"
#include "codegen/space/LoopFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

struct SoftmaxPlan {
  KernelTensors tensors;
  mlir::Operation *anchor;
  bool logarithm;
  const KernelTensor *x, *y;
  ElementType type;
  Dim outer = 1, length, inner = 1; // elements before, along and after the axis, in memory order
  bool row;                         // inner is 1
  int64_t lanes;
  Space space; // of the work items: outer, and inner unless row

  explicit SoftmaxPlan(const KernelProblem &problem) : tensors(problem), anchor(soleAnchor(problem.function)) {
    std::string_view name = nn::recordOf(anchor)->name;
    logarithm = name == "log_softmax";
    if (!logarithm && name != "softmax")
      throw Declined{fmt::format("'{}' is not a softmax", name)};
    x = tensors.input(anchor->getOperand(0));
    if (!x || tensors.outputs.size() != 1 || tensors.outputs[0].value != anchor->getResult(0))
      throw Declined{"a softmax with an epilogue"};
    y = &tensors.outputs[0];
    type = x->type;
    if (x->block != y->block || x->last != y->last)
      throw Declined{"row-major and blocked tensors in one softmax"};
    auto rank = static_cast<int64_t>(x->rank());
    int64_t axis = normalizeAxis(
        logarithm ? nn::attrsAs<LogSoftmaxAttrs>(anchor).axis : nn::attrsAs<SoftmaxAttrs>(anchor).axis, rank, "axis");
    if (x->block && axis == 1)
      throw Declined{"softmax over blocked channels"};
    for (int64_t i = 0; i < rank; ++i) {
      Dim extent = x->block && i == 1 ? x->last ? Dim(1) : ceilDiv(x->dims[1], x->block) : x->dims[i];
      if (i < axis)
        outer = outer * extent;
      else if (i > axis)
        inner = inner * extent;
    }
    length = x->dims[axis];
    inner = inner * (x->last ? x->last : x->block ? x->block : 1);
    row = inner == Dim(1);
    lanes = problem.target.lanes(std::max(32u, bitWidth(type)));
    space.extents = {outer};
    if (!row)
      space.extents.push_back(inner);
  }
};

class SoftmaxKernel {
public:
  SoftmaxKernel(const KernelProblem &problem, const SoftmaxPlan &plan, const Schedule &schedule)
      : plan(plan), schedule(schedule), rows(schedule.number("interleave")), units(cut(plan, schedule, rows)),
        h(problem, plan.tensors, {plan.outer, plan.length, plan.inner, plan.length * plan.inner, units.chunks}), k(h.k),
        sweep(k, plan.type, plan.lanes,
              rows > 1              ? 1
              : problem.relaxedMath ? 4
                                    : 2) {}

  GeneratedKernel generate() {
    h.forUnits(plan.space, units, [&](Values indices, Value lo, Value hi) {
      if (plan.row) {
        Value main = k.add(lo, k.mul(k.div(k.sub(hi, lo), rows), rows));
        k.loop(lo, main, rows, [&](Value row) { rowsFrom(row, rows); });
        if (rows > 1)
          k.loop(main, hi, 1, [&](Value row) { rowsFrom(row, 1); });
        return;
      }
      auto columnsOf = [&](Value outer, Value first, Value last) {
        Value base = h.advance(k.constant(0), outer, plan.length * plan.inner);
        h.forVectors(first, last, plan.lanes, 1, [&](Value column, Value mask) { columns(k.add(base, column), mask); });
      };
      if (indices.size() == 1)
        return columnsOf(indices[0], lo, hi);
      k.loop(lo, hi, 1, [&](Value outer) { columnsOf(outer, k.constant(0), h.extent(plan.inner)); });
    });
    return h.finish(schedule, units.count);
  }

private:
  const SoftmaxPlan &plan;
  const Schedule &schedule;
  int64_t rows;
  Units units;
  KernelHarness h;
  KernelBuilder &k;
  RowSweep sweep;

  static Units cut(const SoftmaxPlan &plan, const Schedule &schedule, int64_t rows) {
    int64_t grain = schedule.number("grain") / std::max<int64_t>(1, plan.length.constantOr(64));
    int64_t granule = !plan.row ? plan.lanes : grain >= rows ? rows : 1;
    return cutUnits(plan.space, std::max<int64_t>(1, grain), granule, plan.space.extents.size());
  }

  /// True if y keeps the exponentials between the passes, because its type does not round them.
  bool keeps() const { return !plan.logarithm && (plan.type == ElementType::f32 || plan.type == ElementType::f64); }

  mlir::Type element() { return k.computeType(plan.type); }
  mlir::Type vector() { return KernelBuilder::vectorOf(element(), plan.lanes); }
  ScalarBuilder scalar(Value like) { return h.scalar(plan.type, like); }
  Value read(const KernelTensor &tensor, Value offset, Value mask) {
    return mask ? k.maskedLoad(k.buffer(tensor.buffer), offset, plan.type, plan.lanes, mask)
                : k.load(k.buffer(tensor.buffer), offset, plan.type, plan.lanes);
  }
  void write(Value value, Value offset, Value mask) {
    if (mask)
      k.maskedStore(value, k.buffer(plan.y->buffer), offset, plan.type, mask);
    else
      k.store(value, k.buffer(plan.y->buffer), offset, plan.type);
  }

  /// The result for element x, given the greatest element. `scale`: 1 / sum, or log(sum) for log_softmax.
  Value result(Value x, Value greatest, Value scale) {
    ScalarBuilder b = scalar(x);
    Value difference = b.sub(x, greatest);
    return plan.logarithm ? b.sub(difference, scale) : b.mul(b.expNegative(difference), scale);
  }
  Value scaleOf(Value sum) {
    ScalarBuilder b = scalar(sum);
    return plan.logarithm ? b.log(sum) : b.reciprocal(sum);
  }

  // ---- Lanes along the axis ----

  void rowsFrom(Value first, int64_t count) {
    Values bases;
    for (int64_t row = 0; row < count; ++row)
      bases.push_back(h.advance(k.constant(0), k.add(first, row), plan.length));
    auto larger = [](ScalarBuilder &b, Value x, Value y) { return b.select(b.less(x, y), y, x); };
    auto sum = [](ScalarBuilder &b, Value x, Value y) { return b.add(x, y); };
    auto greatest = sweep.over(
        h.extent(plan.length), count, -std::numeric_limits<double>::infinity(),
        [&](int64_t row, Value state, Value index, Value mask) {
          Value x = read(*plan.x, k.add(bases[row], index), mask);
          ScalarBuilder b = scalar(x);
          Value next = larger(b, state, x);
          return mask ? b.select(mask, next, state) : next;
        },
        larger);
    Values shifts, scales;
    for (int64_t row = 0; row < count; ++row)
      shifts.push_back(sweep.splat(greatest, row));
    auto total = sweep.over(
        h.extent(plan.length), count, 0,
        [&](int64_t row, Value state, Value index, Value mask) {
          Value at = k.add(bases[row], index), x = read(*plan.x, at, mask);
          ScalarBuilder b = scalar(x);
          Value e = b.expNegative(b.sub(x, shifts[row]));
          if (keeps())
            write(e, at, mask);
          Value next = b.add(state, e);
          return mask ? b.select(mask, next, state) : next;
        },
        sum);
    total.all = scaleOf(total.all);
    for (int64_t row = 0; row < count; ++row)
      scales.push_back(sweep.splat(total, row));
    for (int64_t row = 0; row < count; ++row)
      h.forVectors(k.constant(0), h.extent(plan.length), plan.lanes, 4, [&](Value index, Value mask) {
        Value at = k.add(bases[row], index), x = read(keeps() ? *plan.y : *plan.x, at, mask);
        ScalarBuilder b = scalar(x);
        write(keeps() ? b.mul(x, scales[row]) : result(x, shifts[row], scales[row]), at, mask);
      });
  }

  // ---- Lanes are neighbours after the axis ----

  void columns(Value base, Value mask) {
    Value length = h.extent(plan.length);
    auto offset = [&](Value index) { return h.advance(base, index, plan.inner); };
    Value greatest = k.loop(k.constant(0), length, 1, {k.constantF(-std::numeric_limits<double>::infinity(), vector())},
                            [&](Value index, mlir::ValueRange state) {
                              Value x = read(*plan.x, offset(index), mask);
                              ScalarBuilder b = scalar(x);
                              return Values{b.select(b.less(state[0], x), x, state[0])};
                            })[0];
    Value total = k.loop(k.constant(0), length, 1, {k.zero(vector())}, [&](Value index, mlir::ValueRange state) {
      Value x = read(*plan.x, offset(index), mask);
      ScalarBuilder b = scalar(x);
      Value e = b.expNegative(b.sub(x, greatest));
      if (keeps())
        write(e, offset(index), mask);
      return Values{b.add(state[0], e)};
    })[0];
    Value scale = scaleOf(total);
    k.loop(k.constant(0), length, 1, [&](Value index) {
      Value x = read(keeps() ? *plan.y : *plan.x, offset(index), mask);
      ScalarBuilder b = scalar(x);
      write(keeps() ? b.mul(x, scale) : result(x, greatest, scale), offset(index), mask);
    });
  }
};

std::unique_ptr<KernelFacts> readSoftmax(const KernelProblem &problem) {
  SoftmaxPlan plan(problem);
  requireComputed(plan.tensors);
  auto facts = std::make_unique<SoftmaxFacts>();
  facts->contiguous = plan.row;
  facts->lanes = plan.lanes;
  facts->length = plan.length;
  facts->count = plan.outer;
  facts->shape = {plan.space.extents, plan.space.extents.size(), plan.row ? 1 : plan.lanes, plan.length.constantOr(64)};
  return facts;
}

GeneratedKernel generateSoftmax(const KernelProblem &problem, const KernelFacts &, const Schedule &schedule) {
  SoftmaxPlan plan(problem);
  return SoftmaxKernel(problem, plan, schedule).generate();
}

} // namespace

const KernelFamily softmaxFamily{"softmax", readSoftmax, generateSoftmax};

} // namespace lathe
