// Family "reduction", algorithm reduce/2: reduce_* over any axes, with an element-wise epilogue.
//
// Axes are merged as far as kept and reduced axes allow. If the innermost axis is kept (always so for blocked
// channels), lanes are results. Otherwise lanes are terms, summed up in four vectors and then pairwise, in an order
// that does not depend on the number of threads. A result is never split over work items.
#include "codegen/Families.h"
#include "codegen/builder/KernelHarness.h"
#include "codegen/space/LoopFacts.h"
#include "ops/reduce/ReduceFields.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

/// The operation of reduce_<kind>.
enum class Kind { sum, mean, max, min, prod, l1, l2, sumSquare, logSum, logSumExp };

constexpr std::pair<std::string_view, Kind> reductions[] = {
    {"reduce_sum", Kind::sum},        {"reduce_mean", Kind::mean},
    {"reduce_max", Kind::max},        {"reduce_min", Kind::min},
    {"reduce_prod", Kind::prod},      {"reduce_l1", Kind::l1},
    {"reduce_l2", Kind::l2},          {"reduce_sum_square", Kind::sumSquare},
    {"reduce_log_sum", Kind::logSum}, {"reduce_log_sum_exp", Kind::logSumExp}};

struct ReductionPlan {
  KernelTensors tensors;
  mlir::Operation *anchor;
  Kind kind = Kind::sum;
  const KernelTensor *x;
  ElementType type;
  Space space;
  std::vector<Access> accesses; // by buffer
  std::vector<int> reduced;     // by axis of the space: 1 where reduced
  Dim count = 1;                // terms of a result
  bool lanesAreResults;
  bool single; // the last axis is exactly one vector of results
  int64_t lanes;
  std::vector<size_t> kept; // axes of the loops over results, outermost first
  Space keptSpace;          // their extents

  explicit ReductionPlan(const KernelProblem &problem) : tensors(problem), anchor(soleAnchor(problem.function)) {
    requirePointwise(problem.function, anchor);
    auto found = std::find_if(std::begin(reductions), std::end(reductions),
                              [&](auto &entry) { return entry.first == nn::recordOf(anchor)->name; });
    if (found == std::end(reductions))
      throw Declined{fmt::format("'{}' is not a reduction", nn::recordOf(anchor)->name)};
    kind = found->second;
    auto operands = nn::operandsByRecord(anchor);
    if (operands.size() > 1 && operands[1])
      throw Declined{"the axes are not constant"};
    x = tensors.input(operands[0]);
    if (!x)
      throw Declined{"the reduction's input is not an argument of the kernel"};
    type = x->type;
    if (!isFloat(type) && kind != Kind::sum && kind != Kind::max && kind != Kind::min && kind != Kind::prod)
      throw Declined{fmt::format("'{}' of integers", nn::recordOf(anchor)->name)};
    chooseAxes();
    chooseLanes(problem.target);
  }

private:
  void chooseAxes() {
    ReduceFields parameters;
    nn::attrsOf(anchor)->visit(parameters);
    size_t rank = x->rank();
    std::vector<bool> isReduced(rank, parameters.axes.empty() && !parameters.noop);
    for (int64_t axis : parameters.axes)
      isReduced[normalizeAxis(axis, static_cast<int64_t>(rank), "axis")] = true;
    int64_t block = blockOf(tensors);
    if (block && (rank < 2 || isReduced[1]))
      throw Declined{"reduces over blocked channels"};
    space = Space(x->dims, block);
    std::vector<size_t> resultAxes; // axes of x for the result's axes
    for (size_t i = 0; i < rank; ++i) {
      if (isReduced[i])
        count = count * x->dims[i];
      if (!isReduced[i] || parameters.keepdims)
        resultAxes.push_back(i);
      reduced.push_back(isReduced[i]);
    }
    reduced.resize(space.extents.size()); // a block's channels, or a scalar's one axis
    auto resultAccess = [&](const KernelTensor &tensor) {
      if (tensor.rank() > resultAxes.size())
        throw Declined{"an operand has more axes than the result"};
      return space.access(tensor, {resultAxes.end() - static_cast<ptrdiff_t>(tensor.rank()), resultAxes.end()});
    };
    for (const KernelTensor &tensor : tensors.inputs)
      accesses.push_back(&tensor == x ? space.access(tensor) : resultAccess(tensor));
    for (const KernelTensor &tensor : tensors.outputs) {
      if (tensor.rank() != resultAxes.size())
        throw Declined{"a result has another shape than the reduction"};
      accesses.push_back(resultAccess(tensor));
    }
    for (const Access &access : accesses)
      if (access.tensor != x)
        for (size_t axis = 0; axis < reduced.size(); ++axis)
          if (reduced[axis] && !(access.strides[axis] == Dim(0)))
            throw Declined{"an operand of the epilogue varies along a reduced axis"};
    std::vector<Access *> all;
    for (Access &access : accesses)
      all.push_back(&access);
    space.collapse(all, &reduced);
  }

  void chooseLanes(const Target &target) {
    lanesAreResults = !reduced.back();
    lanes = space.block ? space.block : target.lanes(std::max(32u, bitWidth(type)));
    single = lanesAreResults && space.extents.back() == Dim(lanes);
    for (size_t axis = 0; axis < reduced.size(); ++axis)
      if (!reduced[axis] && !(single && axis + 1 == reduced.size()))
        kept.push_back(axis);
    if (kept.empty()) { // one axis with extent 1
      space.extents.insert(space.extents.begin(), 1);
      for (Access &access : accesses)
        access.strides.insert(access.strides.begin(), 0);
      reduced.insert(reduced.begin(), 0);
      ++space.blockAxis;
      kept.push_back(0);
    }
    for (size_t axis : kept)
      keptSpace.extents.push_back(space.extents[axis]);
  }
};

class ReductionKernel {
public:
  ReductionKernel(const KernelProblem &problem, const ReductionPlan &plan, const Schedule &schedule)
      : plan(plan), schedule(schedule), units(cut(plan, schedule)), h(problem, plan.tensors, extents()), k(h.k) {}

  GeneratedKernel generate() {
    h.forUnits(plan.keptSpace, units, [&](Values indices, Value lo, Value hi) {
      Frame frame;
      frame.offsets.assign(plan.accesses.size(), k.constant(0));
      for (size_t i = 0; i < indices.size(); ++i)
        enter(frame, plan.kept[i], indices[i]);
      run(frame, indices.size(), lo, hi);
    });
    return h.finish(schedule, units.count);
  }

private:
  struct Frame {
    std::vector<Value> offsets;
    Value channelMask;
  };

  const ReductionPlan &plan;
  const Schedule &schedule;
  Units units;
  KernelHarness h;
  KernelBuilder &k;

  bool vectorLoop() const { return plan.lanesAreResults && !plan.single; }

  static Units cut(const ReductionPlan &plan, const Schedule &schedule) {
    int64_t terms = std::max<int64_t>(1, plan.count.constantOr(64)) * (plan.single ? plan.lanes : 1);
    int64_t grain = std::max<int64_t>(1, schedule.number("grain") / terms);
    bool vectors = plan.lanesAreResults && !plan.single;
    if (vectors)
      grain = std::max(grain, schedule.number("interleave") * plan.lanes);
    return cutUnits(plan.keptSpace, grain, vectors ? plan.lanes : 1, plan.keptSpace.extents.size());
  }

  Dims extents() const {
    Dims result = extentsOf(plan.space, plan.accesses);
    result.push_back(units.chunks);
    result.push_back(plan.count);
    return result;
  }

  void enter(Frame &frame, size_t axis, Value index) {
    for (size_t i = 0; i < plan.accesses.size(); ++i)
      frame.offsets[i] = h.advance(frame.offsets[i], index, plan.accesses[i].strides[axis]);
    if (plan.space.block && axis == plan.space.blockAxis && plan.space.channels % plan.space.block)
      frame.channelMask = h.channelMask(plan.space, index);
  }

  void run(const Frame &frame, size_t depth, Value lo, Value hi) {
    size_t axis = plan.kept[depth];
    if (depth + 1 == plan.kept.size() && vectorLoop()) {
      int64_t columns = schedule.number("interleave") * plan.lanes;
      Value main = k.add(lo, k.mul(k.div(k.sub(hi, lo), columns), columns));
      auto many = [&](Value first, int64_t count, Value mask) {
        std::vector<Frame> frames;
        for (int64_t i = 0; i < count; ++i) {
          frames.push_back(frame);
          enter(frames.back(), axis, k.add(first, i * plan.lanes));
        }
        results(frames, mask);
      };
      k.loop(lo, main, columns, [&](Value first) { many(first, columns / plan.lanes, {}); });
      h.forVectors(main, hi, plan.lanes, 1, [&](Value first, Value mask) { many(first, 1, mask); });
      return;
    }
    k.loop(lo, hi, 1, [&](Value index) {
      Frame inner = frame;
      enter(inner, axis, index);
      if (depth + 1 == plan.kept.size())
        results({inner}, {});
      else
        run(inner, depth + 1, k.constant(0), h.extent(plan.keptSpace.extents[depth + 1]));
    });
  }

  // ---- One result (a scalar) or vectors of them ----

  using Combine = std::function<Value(ScalarBuilder &, Value sum, Value element)>;
  using Merge = std::function<Value(ScalarBuilder &, Value, Value)>;

  void results(const std::vector<Frame> &frames, Value mask) {
    Values values = reduceAll(frames, mask);
    for (auto [frame, value] : llvm::zip(frames, values))
      finish(frame, value, mask);
  }

  static Value sum(ScalarBuilder &b, Value x, Value y) { return b.add(x, y); }
  static Value max(ScalarBuilder &b, Value x, Value y) { return b.max(x, y); }

  Values reduceAll(const std::vector<Frame> &frames, Value mask) {
    auto min = [](ScalarBuilder &b, Value x, Value y) { return b.min(x, y); };
    auto product = [](ScalarBuilder &b, Value x, Value y) { return b.mul(x, y); };
    auto absolute = [](ScalarBuilder &b, Value x, Value y) { return b.add(x, b.abs(y)); };
    auto square = [](ScalarBuilder &b, Value x, Value y) { return b.fma(y, y, x); };
    double infinity = std::numeric_limits<double>::infinity();
    switch (plan.kind) {
    case Kind::sum:
      return reduce(frames, mask, 0, sum, sum);
    case Kind::mean:
      return divided(reduce(frames, mask, 0, sum, sum));
    case Kind::max:
      return reduce(frames, mask, -infinity, extreme(true), max);
    case Kind::min:
      return reduce(frames, mask, infinity, extreme(false), min);
    case Kind::prod:
      return reduce(frames, mask, 1, product, product);
    case Kind::l1:
      return reduce(frames, mask, 0, absolute, sum);
    case Kind::l2:
      return each(reduce(frames, mask, 0, square, sum), [](ScalarBuilder &b, Value x) { return b.sqrt(x); });
    case Kind::sumSquare:
      return reduce(frames, mask, 0, square, sum);
    case Kind::logSum:
      return each(reduce(frames, mask, 0, sum, sum), [](ScalarBuilder &b, Value x) { return b.log(x); });
    case Kind::logSumExp:
      return logSumExp(frames, mask);
    }
    return {};
  }

  Values each(Values values, const std::function<Value(ScalarBuilder &, Value)> &function) {
    for (Value &value : values) {
      ScalarBuilder b = h.scalar(plan.type, value);
      value = function(b, value);
    }
    return values;
  }

  /// Sums divided by the number of terms.
  Values divided(Values sums) {
    return each(std::move(sums), [&](ScalarBuilder &b, Value value) {
      mlir::Type element = k.computeType(plan.type);
      Value count = plan.count.isConstant()
                        ? k.constantF(plan.count.constant(), element)
                        : k.b.create<mlir::arith::SIToFPOp>(k.loc, element, h.extent(plan.count)).getResult();
      return b.div(value, llvm::isa<mlir::VectorType>(value.getType()) ? k.splat(count, plan.lanes) : count);
    });
  }

  /// log(sum(exp(x - top))) + top, where `top` is the greatest element.
  Values logSumExp(const std::vector<Frame> &frames, Value mask) {
    double infinity = std::numeric_limits<double>::infinity();
    Values top = each(reduce(frames, mask, -infinity, max, max), [&](ScalarBuilder &b, Value value) {
      // If it is infinite, nothing is subtracted.
      return b.select(b.equal(b.abs(value), b.constant(infinity)), b.constant(0), value);
    });
    Values result;
    for (auto [frame, top1] : llvm::zip(frames, top)) {
      Value shift = top1;
      auto exponential = [&](ScalarBuilder &b, Value x, Value y) {
        Value sameShape = llvm::isa<mlir::VectorType>(y.getType()) ? k.splat(shift, plan.lanes) : shift;
        return b.add(x, b.exp(b.sub(y, sameShape)));
      };
      result.push_back(reduce({frame}, mask, 0, exponential, sum)[0]);
    }
    for (auto [value, shift] : llvm::zip(result, top)) {
      ScalarBuilder b = h.scalar(plan.type, value);
      value = b.add(b.log(value), shift);
    }
    return result;
  }

  /// The greatest or least element so far; NaN stays NaN. Which of two zeros remains does not matter, so this is
  /// shorter than ScalarBuilder::max.
  Combine extreme(bool greatest) {
    return [this, greatest](ScalarBuilder &b, Value best, Value element) {
      if (!isFloat(plan.type))
        return greatest ? b.max(best, element) : b.min(best, element);
      Value isNan = k.b.create<mlir::arith::CmpFOp>(k.loc, mlir::arith::CmpFPredicate::UNO, element, element);
      return b.select(isNan, element,
                      greatest ? k.firstUnlessGreater(best, element) : k.firstUnlessLess(best, element));
    };
  }

  Value identity(double number, mlir::Type type) {
    if (isFloat(plan.type))
      return k.constantF(number, type);
    unsigned bits = bitWidth(plan.type);
    bool isUnsigned = isUnsignedInteger(plan.type);
    llvm::APInt value(bits, static_cast<uint64_t>(std::isinf(number) ? 0 : number));
    if (std::isinf(number) && number < 0)
      value = isUnsigned ? llvm::APInt::getMinValue(bits) : llvm::APInt::getSignedMinValue(bits);
    else if (std::isinf(number))
      value = isUnsigned ? llvm::APInt::getMaxValue(bits) : llvm::APInt::getSignedMaxValue(bits);
    mlir::TypedAttr attr = k.b.getIntegerAttr(mlir::getElementTypeOrSelf(type), value);
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
      attr = mlir::DenseElementsAttr::get(vector, value);
    return k.b.create<mlir::arith::ConstantOp>(k.loc, attr);
  }

  /// `combine` adds an element to a partial result, `merge` combines two partial results.
  Values reduce(const std::vector<Frame> &frames, Value mask, double start, const Combine &combine,
                const Merge &merge) {
    const Access &x = plan.accesses[plan.x->buffer];
    std::vector<size_t> axes;
    for (size_t axis = 0; axis < plan.reduced.size(); ++axis)
      if (plan.reduced[axis])
        axes.push_back(axis);
    mlir::Type element = k.computeType(plan.type), vector = KernelBuilder::vectorOf(element, plan.lanes);
    Value initial = identity(start, vector);
    // Four partial results per frame, so that additions do not wait for each other.
    const size_t partials = frames.size() >= 4 || axes.empty() ? 1 : 4;
    Values state(frames.size() * partials, initial);
    Values offsets;
    for (const Frame &frame : frames)
      offsets.push_back(frame.offsets[plan.x->buffer]);
    state = plan.lanesAreResults ? reduceColumns(frames, mask, x, axes, 0, offsets, state, partials, combine)
                                 : reduceRow(x, axes, 0, offsets[0], state, combine, initial);
    Values results;
    for (size_t f = 0; f < frames.size(); ++f) {
      ScalarBuilder b = h.scalar(plan.type, state[f * partials]);
      Values parts(state.begin() + f * partials, state.begin() + (f + 1) * partials);
      while (parts.size() > 1) {
        for (size_t i = 0; i < parts.size() / 2; ++i)
          parts[i] = merge(b, parts[i], parts[i + parts.size() / 2]);
        parts.resize(parts.size() / 2);
      }
      results.push_back(plan.lanesAreResults ? parts[0] : h.across(plan.type, parts[0], merge));
    }
    return results;
  }

  /// Lanes are results: walks the reduced axes from `depth` on.
  Values reduceColumns(const std::vector<Frame> &frames, Value mask, const Access &x, const std::vector<size_t> &axes,
                       size_t depth, const Values &offsets, const Values &state, size_t partials,
                       const Combine &combine) {
    auto take = [&](Values current, const Values &at, size_t partial) {
      for (size_t f = 0; f < frames.size(); ++f) {
        Value loaded = h.load(x, at[f], plan.lanes, x.partial ? h.both(mask, frames[f].channelMask) : mask);
        Value element = k.splat(loaded, plan.lanes);
        ScalarBuilder b = h.scalar(plan.type, element);
        Value &sum = current[f * partials + partial];
        sum = combine(b, sum, element);
      }
      return current;
    };
    if (axes.empty())
      return take(state, offsets, 0);
    auto shifted = [&](Value index) {
      Values at;
      for (Value offset : offsets)
        at.push_back(h.advance(offset, index, x.strides[axes[depth]]));
      return at;
    };
    Value hi = h.extent(plan.space.extents[axes[depth]]);
    if (depth + 1 < axes.size())
      return k.loop(k.constant(0), hi, 1, state, [&](Value index, mlir::ValueRange carried) {
        return reduceColumns(frames, mask, x, axes, depth + 1, shifted(index), Values(carried), partials, combine);
      });
    int64_t step = static_cast<int64_t>(partials);
    Value main = k.mul(k.div(hi, step), step);
    Values current = k.loop(k.constant(0), main, step, state, [&](Value index, mlir::ValueRange carried) {
      Values next(carried);
      for (int64_t i = 0; i < step; ++i)
        next = take(next, shifted(k.add(index, i)), static_cast<size_t>(i));
      return next;
    });
    return k.loop(main, hi, 1, current,
                  [&](Value index, mlir::ValueRange carried) { return take(Values(carried), shifted(index), 0); });
  }

  /// Lanes are terms of one result, along the last axis.
  Values reduceRow(const Access &x, const std::vector<size_t> &axes, size_t depth, Value offset, const Values &state,
                   const Combine &combine, Value initial) {
    Value hi = h.extent(plan.space.extents[axes[depth]]);
    if (depth + 1 < axes.size())
      return k.loop(k.constant(0), hi, 1, state, [&](Value index, mlir::ValueRange carried) {
        return reduceRow(x, axes, depth + 1, h.advance(offset, index, x.strides[axes[depth]]), Values(carried), combine,
                         initial);
      });
    int64_t lanes = plan.lanes, step = static_cast<int64_t>(state.size()) * lanes;
    auto take = [&](Values current, Value index, size_t partial, Value mask) {
      Value element = k.splat(h.load(x, k.add(offset, index), lanes, mask), lanes); // an axis of extent 1 has no stride
      ScalarBuilder b = h.scalar(plan.type, element);
      Value next = combine(b, current[partial], element);
      current[partial] = mask ? b.select(mask, next, current[partial]) : next;
      return current;
    };
    Value main = k.mul(k.div(hi, step), step), whole = k.mul(k.div(hi, lanes), lanes);
    Values current = k.loop(k.constant(0), main, step, state, [&](Value index, mlir::ValueRange carried) {
      Values next(carried);
      for (size_t i = 0; i < state.size(); ++i)
        next = take(next, k.add(index, static_cast<int64_t>(i) * lanes), i, {});
      return next;
    });
    current = k.loop(main, whole, lanes, current,
                     [&](Value index, mlir::ValueRange carried) { return take(Values(carried), index, 0, {}); });
    // At most one masked run.
    return k.loop(whole, hi, lanes, current, [&](Value index, mlir::ValueRange carried) {
      return take(Values(carried), index, 0, k.prefixMask(k.sub(hi, index), lanes));
    });
  }

  void finish(const Frame &frame, Value result, Value mask) {
    int64_t lanes = plan.lanesAreResults ? plan.lanes : 1;
    auto maskOf = [&](const Access &access) { return access.partial ? h.both(mask, frame.channelMask) : mask; };
    Pointwise body(k, [&](Value value) -> Value {
      if (value == plan.anchor->getResult(0))
        return result;
      const KernelTensor *input = plan.tensors.input(value);
      if (!input)
        return {};
      const Access &access = plan.accesses[input->buffer];
      return h.load(access, frame.offsets[input->buffer], lanes, maskOf(access));
    });
    std::vector<Value> values;
    for (const KernelTensor &output : plan.tensors.outputs)
      values.push_back(body.evaluate(output.value));
    for (auto [output, value] : llvm::zip(plan.tensors.outputs, values)) {
      const Access &access = plan.accesses[output.buffer];
      h.store(access, value, frame.offsets[output.buffer], lanes, maskOf(access));
    }
  }
};

std::unique_ptr<KernelFacts> readReduction(const KernelProblem &problem) {
  ReductionPlan plan(problem);
  tryPointwise(problem, plan.tensors, plan.anchor, {plan.x, "the reduction's input is used after the reduction"});
  auto facts = std::make_unique<ReduceFacts>();
  if (plan.lanesAreResults && !plan.single)
    facts->vectors = plan.keptSpace.extents.back().constantOr(0) / plan.lanes;
  facts->lanesAreResults = plan.lanesAreResults;
  facts->vectorLoop = plan.lanesAreResults && !plan.single;
  facts->lanes = plan.lanes;
  bool extreme = plan.kind == Kind::max || plan.kind == Kind::min;
  facts->operations = plan.kind == Kind::logSumExp ? 14 : extreme ? 1.5 : 1;
  facts->terms = plan.count;
  facts->shape = {plan.keptSpace.extents, plan.keptSpace.extents.size(), facts->vectorLoop ? plan.lanes : 1,
                  plan.count.constantOr(64) * (plan.single ? plan.lanes : 1)};
  return facts;
}

GeneratedKernel generateReduction(const KernelProblem &problem, const KernelFacts &, const Schedule &schedule) {
  ReductionPlan plan(problem);
  return ReductionKernel(problem, plan, schedule).generate();
}

} // namespace

const KernelFamily reductionFamily{"reduction", readReduction, generateReduction};

} // namespace lathe
