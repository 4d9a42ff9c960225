// Family "pool", algorithm pool/2: max_pool and average_pool of rank 1 to 3, with an element-wise epilogue.
//
// Blocked tensors: lanes are the channels of a block. Row-major tensors: lanes are neighbouring output pixels of a row.
// A row is divided into pixels whose windows lie inside the row, which need no checks, and pixels at its borders. Outer
// window axes are clipped to the input before they are traversed, so padding is never read; rows whose windows need no
// clipping have separate, unrolled code.
//
// A blocked row first reduces every column that its run of pixels needs over the outer window axes, then the columns of
// each window. Neighbouring windows share columns, so 3x3 windows take 5 operations per pixel instead of 9.
#include "codegen/Families.h"
#include "codegen/builder/KernelHarness.h"
#include "codegen/space/LoopFacts.h"
#include "ops/WindowPads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <map>

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

/// One spatial axis of the window.
struct PoolAxis {
  int64_t kernel, stride, dilation, padBegin, padEnd; // pads: their maximum, if they depend on the extent
  Dim in, out;
  Dim begin = padBegin; // padding before the first window

  /// True if every window lies inside x.
  bool inside() const {
    return padBegin == 0 && in.isConstant() && out.isConstant() &&
           (out.constant() - 1) * stride + (kernel - 1) * dilation < in.constant();
  }
  /// True if a window may lie entirely in the padding, because of extents that are zero at run time, wide padding, or
  /// steps larger than the input.
  bool mayMiss() const {
    return !in.isConstant() || in.constant() < dilation || padBegin > (kernel - 1) * dilation ||
           padEnd > (kernel - 1) * dilation;
  }
  /// Output positions [interiorLo, interiorHi) have windows inside the input.
  Dim interiorLo() const { return minimum(out, ceilDiv(begin, stride)); }
  Dim interiorHi() const {
    return maximum(interiorLo(), minimum(out, floorDiv(in - 1 - (kernel - 1) * dilation + begin, stride) + 1));
  }
};

struct PoolPlan {
  KernelTensors tensors;
  mlir::Operation *anchor;
  bool average, includePad = false;
  std::vector<PoolAxis> axes;
  std::vector<int64_t> pads;
  const KernelTensor *x;
  Space space;                  // of the result
  std::vector<Access> accesses; // by buffer; x is traversed by windows with the strides of its memory
  size_t row;                   // axis of the space for the last spatial axis
  ElementType type;
  int64_t lanes;

  explicit PoolPlan(const KernelProblem &problem) : tensors(problem), anchor(soleAnchor(problem.function)) {
    requirePointwise(problem.function, anchor);
    std::string op = nn::recordOf(anchor)->name;
    average = op == "average_pool";
    if (average)
      set(nn::attrsAs<AveragePoolAttrs>(anchor));
    else if (op == "max_pool")
      set(nn::attrsAs<MaxPoolAttrs>(anchor));
    else
      throw Declined{fmt::format("'{}' is not a pool", op)};
    x = tensors.input(anchor->getOperand(0));
    if (!x)
      throw Declined{"the pool's input is not an argument of the kernel"};
    type = x->type;
    if (average && !isFloat(type))
      throw Declined{"average of integers"};
    if (average)
      includePad = nn::attrsAs<AveragePoolAttrs>(anchor).count_include_pad;
    const Dims &out = tensors.outputs.at(0).dims;
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i].in = x->dims[2 + i];
      axes[i].out = out.at(2 + i);
      int64_t window = (axes[i].kernel - 1) * axes[i].dilation + 1;
      axes[i].begin = axes[i].begin - windowShift(pads, i, axes.size(), window, axes[i].stride, axes[i].in);
    }
    space = Space(out, blockOf(tensors));
    row = x->rank() - 1;
    lanes = space.block ? space.block : problem.target.lanes(std::max(32u, bitWidth(type)));
    for (const KernelTensor &tensor : tensors.inputs)
      accesses.push_back(&tensor == x ? windowAccess() : space.access(tensor));
    for (const KernelTensor &tensor : tensors.outputs) {
      if (!(tensor.dims == out))
        throw Declined{"results of different shapes"};
      accesses.push_back(space.access(tensor));
    }
  }

private:
  template <class PoolAttrs> void set(const PoolAttrs &a) {
    size_t rank = a.kernel.size();
    pads = a.pads;
    for (size_t i = 0; i < rank; ++i)
      axes.push_back({a.kernel[i], a.strides[i], a.dilations[i], a.pads[i], a.pads[rank + i], 0, 0, a.pads[i]});
  }

  Access windowAccess() const {
    Access result{x, memoryStrides(*x), 0, false};
    if (space.block) {
      if (x->block)
        result.strides.push_back(1);
      else {
        result.strides.push_back(result.strides[1]);
        result.strides[1] = result.strides[1] * space.block;
        result.partial = space.channels % space.block != 0;
      }
    } else {
      result.strides.back() = result.strides.back() * axes.back().stride; // between lanes
    }
    return result;
  }
};

class PoolKernel {
public:
  PoolKernel(const KernelProblem &problem, const PoolPlan &plan, const Schedule &schedule)
      : plan(plan), schedule(schedule),
        units(cutUnits(plan.space, std::max<int64_t>(1, schedule.number("grain")), 1, plan.row)),
        h(problem, plan.tensors, extents()), k(h.k) {}

  GeneratedKernel generate() {
    h.forUnits(plan.space, units, [&](Values indices, Value lo, Value hi) { outer(indices, lo, hi); });
    GeneratedKernel result = h.finish(schedule, units.count);
    if (units.axis > 0 || units.chunk == 1)
      result.images = plan.space.extents[0];
    return result;
  }

private:
  /// One row of the result: offsets of its first pixel (in x: of the channel), and the window on the outer axes.
  struct Row {
    std::vector<Value> offsets;
    Values start, lo, hi;
    Value count; // elements of the window on the outer axes
    Value channelMask;
  };
  struct Range {
    Value lo, hi, count;
  };

  const PoolPlan &plan;
  const Schedule &schedule;
  Units units;
  KernelHarness h;
  KernelBuilder &k;

  Dims extents() const {
    Dims result = extentsOf(plan.space, plan.accesses);
    for (const Dim &stride : memoryStrides(*plan.x))
      result.push_back(stride);
    for (const PoolAxis &axis : plan.axes) {
      result.push_back(axis.in);
      result.push_back(axis.out);
      result.push_back(axis.begin);
    }
    result.push_back(plan.axes.back().interiorLo());
    result.push_back(plan.axes.back().interiorHi());
    result.push_back(units.chunks);
    return result;
  }

  void outer(const Values &indices, Value lo, Value hi) {
    k.loop(lo, hi, 1, [&](Value index) {
      Values next = indices;
      next.push_back(index);
      if (next.size() == plan.row)
        return row(next);
      outer(next, k.constant(0), h.extent(plan.space.extents[next.size()]));
    });
  }

  /// Range of window positions inside x for a window that starts at `start`.
  Range clip(const PoolAxis &axis, Value start) {
    auto positions = [&](Value end) { // number of positions below `end`
      Value room = k.max(k.constant(0), k.sub(end, start));
      return k.min(k.constant(axis.kernel), k.div(k.add(room, axis.dilation - 1), axis.dilation));
    };
    Value in = h.extent(axis.in);
    Value before = k.max(k.constant(0), k.sub(k.constant(0), start));
    Range range{k.div(k.add(before, axis.dilation - 1), axis.dilation), positions(in), {}};
    // A window that lies entirely in the padding has no positions; their number must not be negative.
    range.lo = k.min(range.lo, range.hi);
    range.count = plan.includePad ? positions(k.add(in, axis.padEnd)) : k.sub(range.hi, range.lo);
    return range;
  }

  void row(const Values &indices) {
    Row r;
    for (const Access &access : plan.accesses) {
      Value offset = k.constant(0);
      for (size_t axis = 0; axis < (access.tensor == plan.x ? 2 : plan.row); ++axis)
        offset = h.advance(offset, indices[axis], access.strides[axis]);
      r.offsets.push_back(offset);
      if (access.partial && !r.channelMask)
        r.channelMask = h.channelMask(plan.space, indices[1]);
    }
    bool whole = true;
    Value clipped; // i1: some window axis reaches over the input's border
    Row full = r;
    full.count = r.count = k.constant(1);
    for (size_t i = 0; i + 1 < plan.axes.size(); ++i) {
      const PoolAxis &axis = plan.axes[i];
      Value start = k.sub(k.mul(indices[2 + i], axis.stride), h.extent(axis.begin));
      setOuter(full, start, {k.constant(0), k.constant(axis.kernel), k.constant(axis.kernel)});
      if (axis.inside()) {
        setOuter(r, start, {k.constant(0), k.constant(axis.kernel), k.constant(axis.kernel)});
        continue;
      }
      whole = false;
      setOuter(r, start, clip(axis, start));
      Value below = k.less(start, k.constant(0));
      Value above = k.less(h.extent(axis.in), k.add(start, (axis.kernel - 1) * axis.dilation + 1));
      Value either = k.b.create<mlir::arith::OrIOp>(k.loc, below, above);
      clipped = clipped ? k.b.create<mlir::arith::OrIOp>(k.loc, clipped, either).getResult() : either;
    }
    if (whole || !plan.space.block)
      return rowOf(whole ? full : r);
    k.ifThen(clipped, [&] { rowOf(r); }, [&] { rowOf(full); });
  }

  void setOuter(Row &r, Value start, const Range &range) {
    r.start.push_back(start);
    r.lo.push_back(range.lo);
    r.hi.push_back(range.hi);
    r.count = k.mul(r.count, range.count);
  }

  void rowOf(const Row &r) {
    const PoolAxis &last = plan.axes.back();
    Value lo = h.extent(last.interiorLo()), hi = h.extent(last.interiorHi());
    auto border = [&](Value pixel) {
      Range range = clip(last, k.sub(k.mul(pixel, last.stride), h.extent(last.begin)));
      pixels(r, {pixel}, plan.space.block ? plan.lanes : 1, {}, &range);
    };
    k.loop(k.constant(0), lo, 1, border);
    int64_t unroll = schedule.number("interleave");
    if (plan.space.block) {
      Value main = k.add(lo, k.mul(k.div(k.sub(hi, lo), unroll), unroll));
      if (unroll > 1)
        k.loop(lo, main, unroll, [&](Value pixel) {
          Values run;
          for (int64_t u = 0; u < unroll; ++u)
            run.push_back(k.add(pixel, u));
          pixels(r, run, plan.lanes, {}, nullptr);
        });
      k.loop(unroll > 1 ? main : lo, hi, 1, [&](Value pixel) { pixels(r, {pixel}, plan.lanes, {}, nullptr); });
    } else {
      h.forVectors(lo, hi, plan.lanes, 1,
                   [&](Value pixel, Value mask) { pixels(r, {pixel}, plan.lanes, mask, nullptr); });
    }
    k.loop(hi, h.extent(last.out), 1, border);
  }

  /// Computes and stores the given pixels of a row. `range`: window positions on the last axis; null: all.
  void pixels(const Row &r, const Values &run, int64_t lanes, Value mask, const Range *range) {
    mlir::Type element = k.computeType(plan.type);
    mlir::Type type = lanes == 1 ? element : mlir::Type(KernelBuilder::vectorOf(element, lanes));
    Values sums = plan.space.block && !range ? byColumns(r, run, type) : window(r, run, type, lanes, mask, range);
    Value scale;
    if (plan.average) {
      Value count = k.mul(r.count, range ? range->count : k.constant(plan.axes.back().kernel));
      if (llvm::any_of(plan.axes, [](const PoolAxis &axis) { return axis.mayMiss(); }))
        count = k.max(count, k.constant(1)); // the mean of nothing is 0
      if (auto known = mlir::getConstantIntValue(count))
        scale = k.constantF(1.0 / *known, element);
      else
        scale = k.b.create<mlir::arith::DivFOp>(k.loc, k.constantF(1, element),
                                                k.b.create<mlir::arith::SIToFPOp>(k.loc, element, count));
      scale = lanes == 1 ? scale : k.splat(scale, lanes);
    }
    for (size_t i = 0; i < run.size(); ++i) {
      Value result = plan.average ? k.b.create<mlir::arith::MulFOp>(k.loc, sums[i], scale).getResult() : sums[i];
      finishPixel(r, run[i], result, lanes, mask);
    }
  }

  Value initial(mlir::Type type) {
    if (plan.average)
      return k.zero(type);
    if (isFloat(plan.type))
      return k.constantF(-std::numeric_limits<double>::infinity(), type);
    unsigned bits = bitWidth(plan.type);
    llvm::APInt least = isUnsignedInteger(plan.type) || plan.type == ElementType::boolean
                            ? llvm::APInt::getMinValue(bits)
                            : llvm::APInt::getSignedMinValue(bits);
    mlir::Type element = mlir::getElementTypeOrSelf(type);
    mlir::TypedAttr attr = k.b.getIntegerAttr(element, least);
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
      attr = mlir::DenseElementsAttr::get(vector, least);
    return k.b.create<mlir::arith::ConstantOp>(k.loc, attr);
  }

  using Leaf = std::function<Values(Value offset, mlir::ValueRange state)>;

  /// Traverses the outer axes of the window from `axis` on, and calls `leaf` with the offset of x at those indices.
  Values outerWindow(const Row &r, size_t axis, Value offset, const Values &state, const Leaf &leaf) {
    if (axis + 1 == plan.axes.size())
      return leaf(offset, state);
    return walk(r.lo[axis], r.hi[axis], state, [&](Value position, mlir::ValueRange carried) {
      Value index = k.add(r.start[axis], k.mul(position, plan.axes[axis].dilation));
      return outerWindow(r, axis + 1, h.advance(offset, index, memoryStrides(*plan.x)[2 + axis]), Values(carried),
                         leaf);
    });
  }

  /// Element of x at window position `position` of output pixel `pixel`; `row`: offset of x's row.
  Value element(const Row &r, Value row, Value pixel, Value position, int64_t lanes, Value mask) {
    const PoolAxis &window = plan.axes.back();
    const Access &x = plan.accesses[plan.x->buffer];
    Value index = k.add(k.sub(k.mul(pixel, window.stride), h.extent(window.begin)), k.mul(position, window.dilation));
    return h.load(x, h.advance(row, index, memoryStrides(*plan.x).back()), lanes,
                  x.partial ? h.both(mask, r.channelMask) : mask);
  }

  /// Combines `state` with one more element.
  Value combine(Value state, Value element) {
    ScalarBuilder b = h.scalar(plan.type, element);
    return plan.average ? b.add(state, element) : larger(b, state, element);
  }

  /// The sum or maximum of at least one element.
  Value combine(const Values &elements) {
    Value result = elements.front();
    if (plan.average || !isFloat(plan.type)) {
      for (Value element : llvm::drop_begin(elements))
        result = combine(result, element);
      return result;
    }
    // firstUnlessGreater loses a NaN that is not in the first operand, so NaN is tested apart, in pairs.
    Value lost, waiting;
    auto look = [&](Value x, Value y) {
      Value unordered = k.b.create<mlir::arith::CmpFOp>(k.loc, mlir::arith::CmpFPredicate::UNO, x, y);
      lost = lost ? k.b.create<mlir::arith::OrIOp>(k.loc, lost, unordered).getResult() : unordered;
    };
    for (Value element : llvm::drop_begin(elements)) {
      result = k.firstUnlessGreater(result, element);
      if (waiting)
        look(waiting, element);
      waiting = waiting ? Value() : element;
    }
    if (waiting)
      look(waiting, waiting);
    return lost ? k.select(lost, k.constantF(std::numeric_limits<double>::quiet_NaN(), result.getType()), result)
                : result;
  }

  /// Reduces the window of each pixel separately.
  Values window(const Row &r, const Values &run, mlir::Type type, int64_t lanes, Value mask, const Range *range) {
    Value lo = range ? range->lo : k.constant(0), hi = range ? range->hi : k.constant(plan.axes.back().kernel);
    return outerWindow(r, 0, r.offsets[plan.x->buffer], Values(run.size(), initial(type)),
                       [&](Value row, mlir::ValueRange sums) {
                         return walk(lo, hi, Values(sums), [&](Value position, mlir::ValueRange carried) {
                           Values next;
                           for (auto [pixel, sum] : llvm::zip(run, carried))
                             next.push_back(combine(sum, element(r, row, pixel, position, lanes, mask)));
                           return next;
                         });
                       });
  }

  /// The same for neighbouring pixels whose windows lie inside the row: reduces columns first.
  Values byColumns(const Row &r, const Values &run, mlir::Type type) {
    const PoolAxis &last = plan.axes.back();
    std::map<int64_t, size_t> columns; // by position relative to the first pixel of the run
    for (size_t pixel = 0; pixel < run.size(); ++pixel)
      for (int64_t position = 0; position < last.kernel; ++position)
        columns.try_emplace(static_cast<int64_t>(pixel) * last.stride + position * last.dilation, 0);
    size_t count = 0;
    for (auto &[position, index] : columns)
      index = count++;
    const Access &x = plan.accesses[plan.x->buffer];
    auto columnsOf = [&](Value row, const std::function<void(size_t, Value)> &take) {
      Value first =
          h.advance(row, k.sub(k.mul(run.front(), last.stride), h.extent(last.begin)), memoryStrides(*plan.x).back());
      for (auto [position, index] : columns) {
        Value offset = h.advance(first, k.constant(position), memoryStrides(*plan.x).back());
        take(index, h.load(x, offset, plan.lanes, x.partial ? r.channelMask : Value()));
      }
    };
    bool unrolled = true;
    for (size_t i = 0; i < r.lo.size(); ++i)
      unrolled &= isShort(r.lo[i], r.hi[i]);
    Values reduced;
    if (unrolled) {
      std::vector<Values> elements(count);
      outerWindow(r, 0, r.offsets[plan.x->buffer], {}, [&](Value row, mlir::ValueRange) {
        columnsOf(row, [&](size_t index, Value element) { elements[index].push_back(element); });
        return Values();
      });
      for (const Values &column : elements)
        reduced.push_back(combine(column));
    } else {
      reduced = outerWindow(
          r, 0, r.offsets[plan.x->buffer], Values(count, initial(type)), [&](Value row, mlir::ValueRange state) {
            Values next(state);
            columnsOf(row, [&](size_t index, Value element) { next[index] = combine(next[index], element); });
            return next;
          });
    }
    Values result;
    for (size_t pixel = 0; pixel < run.size(); ++pixel) {
      Values window;
      for (int64_t position = 0; position < last.kernel; ++position)
        window.push_back(reduced[columns.at(static_cast<int64_t>(pixel) * last.stride + position * last.dilation)]);
      result.push_back(combine(window));
    }
    return result;
  }

  /// The maximum so far; once NaN it stays NaN. Cheaper than ScalarBuilder::max, which also orders zeros.
  Value larger(ScalarBuilder &b, Value best, Value element) {
    if (!isFloat(plan.type))
      return b.select(b.less(best, element), element, best);
    Value isNan = k.b.create<mlir::arith::CmpFOp>(k.loc, mlir::arith::CmpFPredicate::UNO, element, element);
    return b.select(isNan, element, k.firstUnlessGreater(best, element));
  }

  /// True for constant bounds with at least one and only a few positions between them.
  static bool isShort(Value lo, Value hi) {
    auto first = mlir::getConstantIntValue(lo), last = mlir::getConstantIntValue(hi);
    return first && last && *last > *first && *last - *first <= 8;
  }

  /// Emits a loop with `state`, unrolled if it is short.
  Values walk(Value lo, Value hi, const Values &state, const std::function<Values(Value, mlir::ValueRange)> &body) {
    if (!isShort(lo, hi))
      return k.loop(lo, hi, 1, state, body);
    auto first = mlir::getConstantIntValue(lo), last = mlir::getConstantIntValue(hi);
    Values current = state;
    for (int64_t i = *first; i < *last; ++i)
      current = body(k.constant(i), current);
    return current;
  }

  void finishPixel(const Row &r, Value pixel, Value result, int64_t lanes, Value mask) {
    auto maskOf = [&](const Access &access) { return access.partial ? h.both(mask, r.channelMask) : mask; };
    auto offsetOf = [&](const Access &access) {
      return h.advance(r.offsets[access.tensor->buffer], pixel, access.strides[plan.row]);
    };
    Pointwise body(k, [&](Value value) -> Value {
      if (value == plan.anchor->getResult(0))
        return result;
      const KernelTensor *input = plan.tensors.input(value);
      if (!input)
        return {};
      const Access &access = plan.accesses[input->buffer];
      return h.load(access, offsetOf(access), lanes, maskOf(access));
    });
    std::vector<Value> values;
    for (const KernelTensor &output : plan.tensors.outputs)
      values.push_back(body.evaluate(output.value));
    for (auto [output, value] : llvm::zip(plan.tensors.outputs, values)) {
      const Access &access = plan.accesses[output.buffer];
      h.store(access, value, offsetOf(access), lanes, maskOf(access));
    }
  }
};

std::unique_ptr<KernelFacts> readPool(const KernelProblem &problem) {
  PoolPlan plan(problem);
  tryPointwise(problem, plan.tensors, plan.anchor, {plan.x, "the pool's input is used after the pool"});
  auto facts = std::make_unique<PoolFacts>();
  for (const PoolAxis &axis : plan.axes)
    facts->window *= axis.kernel;
  facts->blocked = plan.space.block != 0;
  facts->average = plan.average;
  facts->lastKernel = plan.axes.back().kernel;
  facts->lastStride = plan.axes.back().stride;
  facts->shape = {plan.space.extents, plan.row, 1, 1};
  return facts;
}

GeneratedKernel generatePool(const KernelProblem &problem, const KernelFacts &, const Schedule &schedule) {
  PoolPlan plan(problem);
  return PoolKernel(problem, plan, schedule).generate();
}

} // namespace

const KernelFamily poolFamily{"pool", readPool, generatePool};

} // namespace lathe
