// Family "normalize", algorithm normalize/2: layer_norm, rms_norm, instance_norm, group_norm and lp_normalize, with an
// element-wise epilogue.
//
// A run of elements shares statistics and is read three times while it is in the innermost cache: for the mean, for the
// deviations from the mean, for the result. Sums are kept in several vectors (four for a single row), which are
// combined in a fixed order.
// || Lanes are elements of a row if rows are contiguous. In a blocked tensor lanes are channels (of one or several
// groups). For lp_normalize along an outer axis lanes are neighbours along the axes after it.
#include "codegen/Families.h"
#include "codegen/builder/RowSweep.h"
#include "codegen/families/NormalizePlan.h"
#include "codegen/space/LoopFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

class NormalizeKernel {
public:
  NormalizeKernel(const KernelProblem &problem, const NormalizePlan &plan, const Schedule &schedule)
      : plan(plan), schedule(schedule), rows(schedule.number("interleave")), units(cut(plan, schedule, rows)),
        h(problem, plan.tensors, extents()), k(h.k), sweep(k, plan.type, plan.lanes, rows > 1 ? 1 : 4) {}

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
  int64_t rows;
  Units units;
  KernelHarness h;
  KernelBuilder &k;
  RowSweep sweep;

  static Units cut(const NormalizePlan &plan, const Schedule &schedule, int64_t rows) {
    int64_t elements = plan.length.constantOr(256) * (plan.row || plan.kind == NormKind::lp ? 1 : plan.lanes);
    int64_t grain = std::max<int64_t>(1, schedule.number("grain") / std::max<int64_t>(1, elements));
    int64_t granule = lanesAreKept(plan) ? plan.lanes : grain >= rows ? rows : 1;
    return cutUnits(plan.keptSpace, grain, granule, plan.keptSpace.extents.size());
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
      return inner;
    };
    if (last && lanesAreKept(plan))
      return h.forVectors(lo, hi, plan.lanes, 1, [&](Value index, Value mask) { normalize({at(index, mask)}); });
    if (!last)
      return k.loop(lo, hi, 1, [&](Value index) {
        run(at(index, {}), depth + 1, k.constant(0), h.extent(plan.keptSpace.extents[depth + 1]));
      });
    Value main = k.add(lo, k.mul(k.div(k.sub(hi, lo), rows), rows));
    k.loop(lo, main, rows, [&](Value index) {
      std::vector<Frame> frames;
      for (int64_t row = 0; row < rows; ++row)
        frames.push_back(at(k.add(index, row), {}));
      normalize(frames);
    });
    if (rows > 1)
      k.loop(main, hi, 1, [&](Value index) { normalize({at(index, {})}); });
  }

  // ---- Statistics ----

  using Take = std::function<Value(ScalarBuilder &, size_t row, Value sum, Value x)>;

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

  bool holds(size_t rowCount) const {
    int64_t length = plan.row && plan.inner.size() == 1 ? plan.length.constantOr(-1) : -1;
    return length > 0 &&
           (length + plan.lanes - 1) / plan.lanes * static_cast<int64_t>(rowCount) <= schedule.number("hold");
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

  static Value add(ScalarBuilder &b, Value x, Value y) { return b.add(x, y); }

  /// Sums `take` of every element of some rows, and combines lanes and partial sums.
  RowSweep::Results sumRows(const std::vector<Frame> &frames, const std::vector<Held> &held, const Take &take) {
    return sweep.over(
        h.extent(plan.length), static_cast<int64_t>(frames.size()), 0,
        [&](int64_t row, Value state, Value index, Value mask) {
          Value x;
          if (!held.empty())
            x = held[row].vectors[*mlir::getConstantIntValue(index) / plan.lanes];
          else
            x = loadX(k.add(frames[row].offsets[plan.x->buffer], index), mask);
          ScalarBuilder b = scalar(x);
          Value next = take(b, row, state, x);
          return mask ? b.select(mask, next, state) : next;
        },
        add, !held.empty());
  }

  /// The same with one value per lane, equal within a lane group.
  RowSweep::Results sumLanes(const Frame &frame, const Take &take) {
    Value base = frame.offsets[plan.x->buffer], length = h.extent(plan.length);
    auto next = [&](Value state, Value index) {
      Value x = loadX(h.advance(base, index, plan.step), frame.mask);
      ScalarBuilder b = scalar(x);
      return take(b, 0, state, x);
    };
    Values zeros(4, k.zero(vector()));
    Value main = k.mul(k.div(length, 4), 4);
    auto sumOf = [&](Value lo, Value hi) {
      return k.loop(lo, hi, 4, zeros, [&](Value index, mlir::ValueRange carried) {
        Values all;
        for (int64_t i = 0; i < 4; ++i)
          all.push_back(next(carried[i], k.add(index, i)));
        return all;
      });
    };
    // Rounding errors grow with the number of terms, so long sums are sums of partial sums.
    constexpr int64_t terms = 4096;
    Values state;
    if (plan.length.constantOr(terms + 1) <= terms)
      state = sumOf(k.constant(0), main);
    else
      state = k.loop(k.constant(0), main, terms, zeros, [&](Value lo, mlir::ValueRange carried) {
        Values part = sumOf(lo, k.min(k.add(lo, terms), main)), all;
        for (int64_t i = 0; i < 4; ++i)
          all.push_back(scalar(part[i]).add(carried[i], part[i]));
        return all;
      });
    state = k.loop(main, length, 1, state, [&](Value index, mlir::ValueRange carried) {
      Values all(carried);
      all[0] = next(all[0], index);
      return all;
    });
    ScalarBuilder b = scalar(state[0]);
    Value total = b.add(b.add(state[0], state[1]), b.add(state[2], state[3]));
    for (int64_t distance = 1; distance < plan.laneGroup; distance *= 2) {
      llvm::SmallVector<int64_t> other;
      for (int64_t lane = 0; lane < plan.lanes; ++lane)
        other.push_back(lane ^ distance);
      total = b.add(total, k.b.create<mlir::vector::ShuffleOp>(k.loc, total, total, other));
    }
    return {total, {0}};
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

  /// Statistics of every row, or of the lanes of the single frame.
  std::vector<Statistics> statistics(const std::vector<Frame> &frames, const std::vector<Held> &held) {
    std::vector<Statistics> all(frames.size());
    auto sum = [&](const Take &take) { return plan.row ? sumRows(frames, held, take) : sumLanes(frames[0], take); };
    auto spread = [&](const RowSweep::Results &results, Value Statistics::*member) {
      for (size_t row = 0; row < all.size(); ++row)
        all[row].*member = plan.row ? sweep.splat(results, static_cast<int64_t>(row)) : results.all;
    };
    Take first = [](ScalarBuilder &b, size_t, Value sum, Value x) { return b.add(sum, x); };
    Take square = [](ScalarBuilder &b, size_t, Value sum, Value x) { return b.fma(x, x, sum); };
    Take absolute = [](ScalarBuilder &b, size_t, Value sum, Value x) { return b.add(sum, b.abs(x)); };
    Take deviation = [&](ScalarBuilder &b, size_t row, Value sum, Value x) {
      Value difference = b.sub(x, all[row].mean);
      return b.fma(difference, difference, sum);
    };
    RowSweep::Results factor;
    if (plan.kind == NormKind::lp) {
      factor = sum(plan.p == 1 ? absolute : square);
      ScalarBuilder b = scalar(factor.all);
      Value norm = plan.p == 1 ? factor.all : b.sqrt(factor.all);
      if (plan.epsilon > 0)
        norm = b.atLeast(norm, plan.epsilon);
      Value zero = b.constant(0);
      factor.all = b.select(b.equal(norm, zero), zero, b.div(b.constant(1), norm));
    } else {
      if (plan.kind != NormKind::rms) {
        RowSweep::Results mean = sum(first);
        mean.all = average(mean.all);
        spread(mean, &Statistics::mean);
      }
      factor = sum(plan.kind == NormKind::rms ? square : deviation);
      ScalarBuilder b = scalar(factor.all);
      factor.all = b.reciprocalSqrt(b.add(average(factor.all), b.constant(plan.epsilon)));
    }
    spread(factor, &Statistics::factor);
    return all;
  }

  // ---- Results ----

  void normalize(const std::vector<Frame> &frames) {
    std::vector<Held> held;
    if (holds(frames.size()))
      for (const Frame &frame : frames)
        held.push_back(hold(frame.offsets[plan.x->buffer]));
    std::vector<Statistics> all = statistics(frames, held);
    if (held.empty())
      return walk(frames, all, 0);
    for (size_t i = 0; i < held[0].vectors.size(); ++i)
      k.sideBySide(static_cast<int64_t>(frames.size()), [&](int64_t row) {
        Frame at = frames[row];
        enter(at, plan.inner[0], k.constant(static_cast<int64_t>(i) * plan.lanes));
        finish(at, all[row], held[row].vectors[i], held[row].masks[i]);
      });
  }

  /// Computes rows side by side, so that scale and bias are loaded once for all of them.
  void walk(const std::vector<Frame> &frames, const std::vector<Statistics> &all, size_t depth) {
    auto rowsAt = [&](const std::vector<Frame> &at, Value mask) {
      k.sideBySide(static_cast<int64_t>(at.size()), [&](int64_t row) { finish(at[row], all[row], {}, mask); });
    };
    if (depth == plan.inner.size())
      return rowsAt(frames, {});
    size_t axis = plan.inner[depth];
    bool vectors = plan.row && depth + 1 == plan.inner.size();
    auto at = [&](Value index, Value mask) {
      std::vector<Frame> next = frames;
      for (Frame &frame : next)
        enter(frame, axis, index);
      if (vectors)
        rowsAt(next, mask);
      else
        walk(next, all, depth + 1);
    };
    Value hi = h.extent(plan.space.extents[axis]);
    if (vectors)
      return h.forVectors(k.constant(0), hi, plan.lanes, frames.size() > 1 ? 1 : 2, at);
    h.forUnrolled(k.constant(0), hi, plan.row ? 1 : 2, [&](Value index) { at(index, {}); });
  }

  /// Stores one vector of results. `x`: its elements, if they are loaded already.
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
    // A row of one element was loaded as a scalar.
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

std::unique_ptr<KernelFacts> readNormalize(const KernelProblem &problem) {
  NormalizePlan plan(problem);
  tryPointwise(problem, plan.tensors, plan.anchor, {}, {plan.scale, plan.bias});
  auto facts = std::make_unique<NormalizeFacts>();
  facts->contiguous = plan.row;
  facts->lanes = plan.lanes;
  facts->length = plan.length;
  facts->count = plan.keptSpace.extents.back();
  facts->bits = bitWidth(plan.type);
  bool across = plan.axes[plan.kept.back()] == NormalizePlan::across;
  facts->shape = {plan.keptSpace.extents, plan.keptSpace.extents.size(), across ? plan.lanes : 1,
                  plan.length.constantOr(256) * (plan.row || plan.kind == NormKind::lp ? 1 : plan.lanes)};
  return facts;
}

GeneratedKernel generateNormalize(const KernelProblem &problem, const KernelFacts &, const Schedule &schedule) {
  NormalizePlan plan(problem);
  return NormalizeKernel(problem, plan, schedule).generate();
}

} // namespace

const KernelFamily normalizeFamily{"normalize", readNormalize, generateNormalize};

} // namespace lathe
