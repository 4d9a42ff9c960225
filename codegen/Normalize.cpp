// Family "normalize", algorithm normalize/1: layer_norm, rms_norm, instance_norm, group_norm and lp_normalize, with an
// element-wise epilogue.
//
//   grain  elements a unit of the parallel range has, about
//   hold   vectors of a row that stay in registers between the passes; a longer row is read again
//
// Statistics belong to a run of elements that is read three times while it lies in the nearest cache: mean, deviations
// from the mean, result. Sums are kept in several vectors, put together in a fixed order.
//
// Lanes are elements of a row where rows are contiguous. In a blocked tensor they are channels (of one or several
// groups), and for lp_normalize along an outer axis they are the neighbours behind that axis.
#include "codegen/Families.h"
#include "codegen/NormalizePlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

class NormalizeKernel {
public:
  NormalizeKernel(const KernelProblem &problem, const NormalizePlan &plan, const Schedule &schedule)
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
    std::vector<Value> offsets; // by buffer
    Value channelMask;
    Value mask; // lanes of the last vector across
  };

  const NormalizePlan &plan;
  const Schedule &schedule;
  Units units;
  KernelHarness h;
  KernelBuilder &k;

  static Units cut(const NormalizePlan &plan, const Schedule &schedule) {
    int64_t elements = plan.length.constantOr(256) * (plan.row || plan.kind == NormKind::lp ? 1 : plan.lanes);
    int64_t grain = std::max<int64_t>(1, schedule.number("grain", 16384) / std::max<int64_t>(1, elements));
    return cutUnits(plan.keptSpace, grain, lanesAreKept(plan) ? plan.lanes : 1, plan.keptSpace.extents.size());
  }
  static bool lanesAreKept(const NormalizePlan &plan) { return plan.axes[plan.kept.back()] == NormalizePlan::across; }

  Dims extents() const {
    Dims result = extentsOf(plan.space, plan.accesses);
    result.insert(result.end(), {units.chunks, plan.length, plan.step, plan.count});
    return result;
  }

  void enter(Frame &frame, size_t axis, Value index) {
    for (size_t i = 0; i < plan.accesses.size(); ++i)
      frame.offsets[i] = h.advance(frame.offsets[i], index, plan.accesses[i].strides[axis]);
    if (plan.space.block && axis == plan.space.blockAxis && plan.space.channels % plan.space.block)
      frame.channelMask = h.channelMask(plan.space, index);
  }

  void run(const Frame &frame, size_t depth, Value lo, Value hi) {
    bool last = depth + 1 == plan.kept.size();
    size_t axis = plan.kept[depth];
    auto at = [&](Value index, Value mask) {
      Frame inner = frame;
      inner.mask = mask;
      enter(inner, axis, index);
      if (last)
        normalize(inner);
      else
        run(inner, depth + 1, k.constant(0), h.extent(plan.keptSpace.extents[depth + 1]));
    };
    if (last && lanesAreKept(plan))
      h.forVectors(lo, hi, plan.lanes, 1, at);
    else
      k.loop(lo, hi, 1, [&](Value index) { at(index, {}); });
  }

  // ---- Statistics ----

  using Take = std::function<Value(ScalarBuilder &, Value sum, Value x)>;

  mlir::Type element() { return k.computeType(plan.type); }
  mlir::Type vector() { return KernelBuilder::vectorOf(element(), plan.lanes); }
  ScalarBuilder scalar(Value like) { return h.scalar(plan.type, like); }
  Value loadX(Value offset, Value mask) {
    Value base = k.buffer(plan.x->buffer);
    return mask ? k.maskedLoad(base, offset, plan.type, plan.lanes, mask) : k.load(base, offset, plan.type, plan.lanes);
  }

  /// A row held in registers; masks are null for whole vectors.
  struct Held {
    Values vectors, masks;
  };

  bool holds() const {
    int64_t length = plan.row && plan.inner.size() == 1 ? plan.length.constantOr(-1) : -1;
    return length > 0 && (length + plan.lanes - 1) / plan.lanes <= schedule.number("hold", 0);
  }
  Held hold(Value base) {
    Held held;
    int64_t length = plan.length.constant();
    for (int64_t at = 0; at < length; at += plan.lanes) {
      held.masks.push_back(at + plan.lanes > length ? k.prefixMask(k.constant(length - at), plan.lanes) : Value());
      held.vectors.push_back(loadX(k.add(base, at), held.masks.back()));
    }
    return held;
  }

  /// `take` applied to every element, in lanes and partial sums that are put together at the end. A scalar splatted
  /// where lanes are elements of a row, otherwise one value a lane (equal within a lane group).
  Value sum(const Frame &frame, const Held &held, const Take &take) {
    Value base = frame.offsets[plan.x->buffer];
    auto masked = [&](Value state, Value x, Value mask) {
      ScalarBuilder b = scalar(x);
      Value next = take(b, state, x);
      return mask ? b.select(mask, next, state) : next;
    };
    Values state(4, k.zero(vector()));
    if (!held.vectors.empty()) {
      for (auto [i, x] : llvm::enumerate(held.vectors))
        state[i % 4] = masked(state[i % 4], x, held.masks[i]);
      state.truncate(std::min<size_t>(4, held.vectors.size()));
    } else {
      int64_t each = plan.row ? plan.lanes : 1; // indices a vector takes
      Value length = h.extent(plan.length);
      auto offset = [&](Value index) { return h.advance(base, index, plan.step); };
      Value main = k.mul(k.div(length, 4 * each), 4 * each), whole = k.mul(k.div(length, each), each);
      state = k.loop(k.constant(0), main, 4 * each, state, [&](Value index, mlir::ValueRange carried) {
        Values next;
        for (int64_t i = 0; i < 4; ++i)
          next.push_back(masked(carried[i], loadX(offset(k.add(index, i * each)), frame.mask), {}));
        return next;
      });
      auto first = [&](Value index, mlir::ValueRange carried, Value mask) {
        Values next(carried);
        next[0] = masked(next[0], loadX(offset(index), mask ? mask : frame.mask), mask);
        return next;
      };
      state = k.loop(main, whole, each, state,
                     [&](Value index, mlir::ValueRange carried) { return first(index, carried, {}); });
      if (plan.row) // at most one masked run
        state = k.loop(whole, length, each, state, [&](Value index, mlir::ValueRange carried) {
          return first(index, carried, k.prefixMask(k.sub(length, index), plan.lanes));
        });
    }
    auto add = [](ScalarBuilder &b, Value x, Value y) { return b.add(x, y); };
    ScalarBuilder b = scalar(state[0]);
    while (state.size() > 1) {
      Values halves;
      for (size_t i = 0; i + 1 < state.size(); i += 2)
        halves.push_back(b.add(state[i], state[i + 1]));
      if (state.size() % 2)
        halves.push_back(state.back());
      state = halves;
    }
    if (plan.row)
      return h.across(plan.type, state[0], add);
    Value total = state[0];
    for (int64_t distance = 1; distance < plan.laneGroup; distance *= 2) {
      llvm::SmallVector<int64_t> other;
      for (int64_t lane = 0; lane < plan.lanes; ++lane)
        other.push_back(lane ^ distance);
      total = b.add(total, k.b.create<mlir::vector::ShuffleOp>(k.loc, total, total, other));
    }
    return total;
  }

  /// sum / count
  Value average(Value sum) {
    ScalarBuilder b = scalar(sum);
    if (plan.count.isConstant())
      return b.mul(sum, b.constant(1 / static_cast<double>(plan.count.constant())));
    Value count = k.b.create<mlir::arith::SIToFPOp>(k.loc, element(), h.extent(plan.count));
    return b.div(sum, llvm::isa<mlir::VectorType>(sum.getType()) ? k.splat(count, plan.lanes) : count);
  }

  struct Statistics {
    Value mean, factor; // vectors; mean may be null
  };

  Statistics statistics(const Frame &frame, const Held &held) {
    Statistics s;
    Take add = [](ScalarBuilder &b, Value sum, Value x) { return b.add(sum, x); };
    Take square = [](ScalarBuilder &b, Value sum, Value x) { return b.fma(x, x, sum); };
    Take absolute = [](ScalarBuilder &b, Value sum, Value x) { return b.add(sum, b.abs(x)); };
    if (plan.kind == NormKind::lp) {
      Value norm = sum(frame, held, plan.p == 1 ? absolute : square);
      ScalarBuilder b = scalar(norm);
      norm = plan.p == 1 ? norm : b.sqrt(norm);
      if (plan.epsilon > 0)
        norm = b.atLeast(norm, plan.epsilon);
      Value zero = b.constant(0);
      s.factor = b.select(b.equal(norm, zero), zero, b.div(b.constant(1), norm));
    } else {
      Value squares;
      if (plan.kind == NormKind::rms) {
        squares = sum(frame, held, square);
      } else {
        s.mean = k.splat(average(sum(frame, held, add)), plan.lanes);
        squares = sum(frame, held, [&](ScalarBuilder &b, Value sum, Value x) {
          Value deviation = b.sub(x, s.mean);
          return b.fma(deviation, deviation, sum);
        });
      }
      ScalarBuilder b = scalar(squares);
      s.factor = b.div(b.constant(1), b.sqrt(b.add(average(squares), b.constant(plan.epsilon))));
    }
    s.factor = k.splat(s.factor, plan.lanes);
    return s;
  }

  // ---- Results ----

  void normalize(const Frame &frame) {
    Held held = holds() ? hold(frame.offsets[plan.x->buffer]) : Held();
    Statistics s = statistics(frame, held);
    if (held.vectors.empty())
      return walk(frame, s, 0);
    for (auto [i, x] : llvm::enumerate(held.vectors)) {
      Frame at = frame;
      enter(at, plan.inner[0], k.constant(static_cast<int64_t>(i) * plan.lanes));
      finish(at, s, x, held.masks[i]);
    }
  }

  void walk(const Frame &frame, const Statistics &s, size_t depth) {
    if (depth == plan.inner.size())
      return finish(frame, s, {}, {});
    size_t axis = plan.inner[depth];
    bool vectors = plan.row && depth + 1 == plan.inner.size();
    auto at = [&](Value index, Value mask) {
      Frame next = frame;
      enter(next, axis, index);
      if (vectors)
        finish(next, s, {}, mask);
      else
        walk(next, s, depth + 1);
    };
    Value hi = h.extent(plan.space.extents[axis]);
    if (vectors)
      return h.forVectors(k.constant(0), hi, plan.lanes, 2, at);
    h.forUnrolled(k.constant(0), hi, plan.row ? 1 : 2, [&](Value index) { at(index, {}); });
  }

  /// Stores one vector of results. `x`: its elements where they are at hand.
  void finish(const Frame &frame, const Statistics &s, Value x, Value mask) {
    mask = h.both(mask, frame.mask);
    auto maskOf = [&](const Access &access) { return access.partial ? h.both(mask, frame.channelMask) : mask; };
    Value result;
    Pointwise body(k, [&](Value value) -> Value {
      if (value == plan.anchor->getResult(0))
        return result;
      const KernelTensor *input = plan.tensors.input(value);
      if (!input)
        return {};
      if (input == plan.x && x)
        return x;
      const Access &access = plan.accesses[input->buffer];
      return h.load(access, frame.offsets[input->buffer], plan.lanes, maskOf(access));
    });
    auto parameter = [&](Value value) { return k.splat(body.evaluate(value), plan.lanes); };
    // A row of one element is loaded as a scalar.
    result = k.splat(body.evaluate(plan.x->value), plan.lanes);
    ScalarBuilder b = scalar(result);
    if (s.mean)
      result = b.sub(result, s.mean);
    result = b.mul(result, s.factor);
    if (plan.scale && plan.bias)
      result = b.fma(result, parameter(plan.scale), parameter(plan.bias));
    else if (plan.scale)
      result = b.mul(result, parameter(plan.scale));
    std::vector<Value> values;
    for (const KernelTensor &output : plan.tensors.outputs)
      values.push_back(body.evaluate(output.value));
    for (auto [output, value] : llvm::zip(plan.tensors.outputs, values)) {
      const Access &access = plan.accesses[output.buffer];
      h.store(access, value, frame.offsets[output.buffer], plan.lanes, maskOf(access));
    }
  }
};

Outcome<Schedule> priorNormalize(const KernelProblem &problem) {
  NormalizePlan plan(problem);
  // A held row leaves registers for scale, bias and the epilogue.
  return Schedule{"normalize",
                  1,
                  {{"grain", problem.threads > 1 ? 4096 : 32768}, {"hold", problem.target.vectorRegisters / 2}},
                  {}};
}

Outcome<GeneratedKernel> generateNormalize(const KernelProblem &problem, const Schedule &schedule) {
  if (schedule.algorithm != "normalize" || schedule.version != 1)
    return NotApplicable{fmt::format("algorithm {}/{}, expected normalize/1", schedule.algorithm, schedule.version)};
  require(schedule.number("grain", 1) > 0 && schedule.number("hold", 0) >= 0 && schedule.number("hold", 0) <= 64,
          "schedule '{}': grain must be positive, hold between 0 and 64", schedule.str());
  NormalizePlan plan(problem);
  return NormalizeKernel(problem, plan, schedule).generate();
}

} // namespace

const KernelFamily normalizeFamily{"normalize", priorNormalize, generateNormalize};

} // namespace lathe
