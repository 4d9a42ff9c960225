// Family "resize", algorithm resize/1: nearest, linear and cubic sampling.
//
// Along every resized axis a position of the result is a weighted sum of a few positions of x (its taps). Taps of
// static extents are tables beside the code; others are computed into scratch before the first position. Blocked: lanes
// are channels. Row-major: lanes are neighbouring positions of the last axis, which are gathered if that axis is
// resized.
#include "codegen/Families.h"
#include "codegen/builder/Table.h"
#include "codegen/families/ResizeTaps.h"
#include "codegen/space/LoopFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

struct ResizePlan {
  KernelTensors tensors;
  mlir::Operation *anchor;
  ResizeAttrs attrs;
  const KernelTensor *x, *y, *scales = nullptr;
  ElementType type;
  bool weighted; // not nearest
  Space space;   // of the result
  Access from, to;
  std::vector<std::optional<Taps>> taps;     // by axis of the space
  std::vector<std::optional<OpenTaps>> open; // taps that the kernel computes
  size_t last;                               // axis of the lanes
  int64_t lanes;
  Dim scratch = 0; // bytes
  Dim line = 0;    // place in scratch for a row of x if `blends`

  explicit ResizePlan(const KernelProblem &problem) : tensors(problem), anchor(soleAnchor(problem.function)) {
    if (std::string_view(nn::recordOf(anchor)->name) != "resize")
      throw Declined{fmt::format("'{}' is not a resize", nn::recordOf(anchor)->name)};
    attrs = nn::attrsAs<ResizeAttrs>(anchor);
    auto operands = nn::operandsByRecord(anchor);
    if (operands[1])
      throw Declined{"parameters that are not constant"};
    x = tensors.input(operands[0]);
    scales = operands[2] ? tensors.input(operands[2]) : nullptr;
    if (operands[2] && (!scales || (!operands[3] && attrs.sizes.empty())))
      throw Declined{"scales that are not constant"};
    if (!x || tensors.outputs.size() != 1 || tensors.outputs[0].value != anchor->getResult(0))
      throw Declined{"a resize with an epilogue"};
    y = &tensors.outputs[0];
    type = x->type;
    weighted = attrs.mode != "nearest";
    if (attrs.coordinate_mode == "tf_crop_and_resize")
      throw Declined{"resize of a crop"};
    if (weighted && !isFloat(type))
      throw Declined{"weighted sums of integers"};
    if (x->block != y->block)
      throw Declined{"row-major and blocked tensors in one resize"};
    if (x->rank() == 0)
      throw Declined{"resize of a scalar"};
    space = Space(y->dims, y->block);
    from = {x, memoryStrides(*x), 0, false};
    to = {y, memoryStrides(*y), 0, false};
    if (y->block) {
      from.strides.push_back(1);
      to.strides.push_back(1);
    }
    last = space.extents.size() - 1;
    taps.resize(space.extents.size());
    open.resize(space.extents.size());
    for (size_t i = 0; i < x->rank(); ++i)
      setTaps(i, problem.target.lanes(64));
    lanes = y->block ? y->block : problem.target.lanes(std::max(32u, bitWidth(type)));
    if (blends()) {
      line = scratch;
      scratch = line + ceilDiv(x->dims[last] * int64_t(bitWidth(sumType()) / 8), 64) * 64;
    }
  }

  bool isResized(size_t axis) const { return taps[axis] || open[axis]; }
  /// True if a row is first blended along the outer axes into contiguous memory, because gathers are expensive.
  bool blends() const {
    bool outer = false;
    for (size_t axis = 0; axis < last; ++axis)
      outer |= isResized(axis);
    return weighted && open[last] && outer;
  }
  ElementType sumType() const { return type == ElementType::f64 ? type : ElementType::f32; }
  /// True if the code loops over the taps of some axis.
  bool widens() const {
    return llvm::any_of(open, [](auto &axis) { return axis && axis->count() == 0; });
  }

private:
  void setTaps(size_t axis, int64_t wideLanes) {
    const Dim &in = x->dims[axis], &out = y->dims[axis];
    // Scales of 0 come from the operand.
    double scale = attrs.scales.empty() ? 0 : attrs.scales[axis];
    bool bySizes = attrs.scales.empty() && !scales;
    if (in == out && (scale == 1 || bySizes) && attrs.coordinate_mode != "tf_half_pixel_for_nn")
      return; // every position has itself as its only tap
    if (!in.isConstant() || !out.isConstant() || (scale == 0 && !bySizes))
      return setOpenTaps(axis, scale, wideLanes);
    int64_t n = in.constant(), m = out.constant();
    double length = attrs.scales.empty() ? static_cast<double>(m) : scale * static_cast<double>(n);
    taps[axis] =
        makeTaps(attrs, n, m, attrs.scales.empty() ? static_cast<double>(m) / static_cast<double>(n) : scale, length);
    auto itself = [&] { // one tap, at the position itself
      for (int64_t i = 0; i < m; ++i)
        if (taps[axis]->indices[0][i] != i)
          return false;
      return n == m && taps[axis]->count() == 1;
    };
    if (itself()) {
      taps[axis].reset();
      return;
    }
    if (taps[axis]->count() > 8) { // too many for unrolled code
      taps[axis].reset();
      return setOpenTaps(axis, scale, wideLanes);
    }
    if (y->block && axis == 1)
      throw Declined{"resize of blocked channels"};
  }

  void setOpenTaps(size_t axis, double scale, int64_t wideLanes) {
    if (y->block && axis == 1)
      throw Declined{"resize of blocked channels"};
    open[axis].emplace(attrs, x->dims[axis], y->dims[axis], scale, scales, static_cast<int64_t>(axis), scratch,
                       wideLanes);
    scratch = ceilDiv(open[axis]->end(), 64) * 64;
  }
};

class ResizeKernel {
public:
  ResizeKernel(const KernelProblem &problem, const ResizePlan &plan, const Schedule &schedule)
      : plan(plan), schedule(schedule),
        units(plan.last ? cutUnits(plan.space, schedule.number("grain"), 1, plan.last) : Units{}),
        h(problem, plan.tensors, extents()), k(h.k) {}

  GeneratedKernel generate() {
    for (size_t axis = 0; axis < plan.taps.size(); ++axis)
      if (plan.taps[axis])
        for (size_t t = 0; t < plan.taps[axis]->count(); ++t) {
          tables[axis].indices.push_back(table(plan.taps[axis]->indices[t]));
          tables[axis].weights.push_back(table(plan.taps[axis]->weights[t]));
        }
      else if (plan.open[axis])
        makeTable(axis);
    if (plan.last == 0)
      k.loop(k.begin(), k.end(), 1, [&](Value) { row({{k.constant(0), {}}}, k.constant(0)); });
    else
      h.forUnits(plan.space, units, [&](Values indices, Value lo, Value hi) {
        std::vector<Term> terms{{k.constant(0), {}}};
        Value to = k.constant(0);
        for (size_t axis = 0; axis < indices.size(); ++axis)
          enter(axis, indices[axis], terms, to);
        walk(indices.size(), lo, hi, terms, to);
      });
    return h.finish(schedule, units.count, plan.scratch);
  }

private:
  /// A product of taps of the outer axes: offset in x and weight (null: 1).
  struct Term {
    Value offset, weight;
  };
  struct Tables {
    std::vector<Value> indices, weights;
    Value count; // of taps, where the code loops over them
  };

  const ResizePlan &plan;
  const Schedule &schedule;
  Units units;
  KernelHarness h;
  KernelBuilder &k;
  std::map<size_t, Tables> tables;
  std::map<size_t, Value> places; // current positions along axes whose taps the code loops over
  bool blending = false;          // the current sum runs over the outer axes only

  Dims extents() const {
    Dims result = extentsOf(plan.space, {plan.from, plan.to});
    result.push_back(units.chunks);
    for (const std::optional<OpenTaps> &axis : plan.open)
      if (axis)
        llvm::append_range(result, axis->extents());
    result.push_back(plan.line);
    return result;
  }

  void makeTable(size_t axis) {
    const OpenTaps &open = *plan.open[axis];
    Value count = open.emit(h);
    if (open.count() == 0) {
      tables[axis].count = count;
      return;
    }
    for (int64_t t = 0; t < open.count(); ++t) {
      tables[axis].indices.push_back(open.indices(h, k.constant(t)));
      tables[axis].weights.push_back(open.weights(h, k.constant(t)));
    }
  }

  template <class T> Value table(const std::vector<T> &values) {
    mlir::Type element = std::is_same_v<T, float> ? mlir::Type(k.b.getF32Type()) : k.b.getI32Type();
    return constantTable(
        k, mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({static_cast<int64_t>(values.size())}, element),
                                        llvm::ArrayRef<T>(values)));
  }

  Value wide(Value index) {
    mlir::Type type = k.i64();
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(index.getType()))
      type = vector.clone(type);
    return k.b.create<mlir::arith::ExtSIOp>(k.loc, type, index);
  }

  /// Loads a weight from the tables in the type of the sums.
  Value weight(Value base, Value at, int64_t lanes) {
    Value value = k.load(base, at, ElementType::f32, lanes);
    if (plan.type != ElementType::f64)
      return value;
    mlir::Type type = k.b.getF64Type();
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(value.getType()))
      type = vector.clone(type);
    return k.b.create<mlir::arith::ExtFOp>(k.loc, type, value);
  }

  Value product(Value x, Value y) {
    if (!x || !y)
      return x ? x : y;
    return k.b.create<mlir::arith::MulFOp>(k.loc, x, y);
  }

  void enter(size_t axis, Value index, std::vector<Term> &terms, Value &to) {
    to = h.advance(to, index, plan.to.strides[axis]);
    if (!plan.isResized(axis)) {
      for (Term &term : terms)
        term.offset = h.advance(term.offset, index, plan.from.strides[axis]);
      return;
    }
    if (tables.at(axis).count) {
      places[axis] = index;
      return;
    }
    std::vector<Term> next;
    const Tables &own = tables.at(axis);
    for (size_t t = 0; t < own.indices.size(); ++t) {
      Value at = wide(k.load(own.indices[t], index, ElementType::i32));
      Value factor = plan.weighted ? weight(own.weights[t], index, 1) : Value();
      for (const Term &term : terms)
        next.push_back({h.advance(term.offset, at, plan.from.strides[axis]), product(term.weight, factor)});
    }
    terms = std::move(next);
  }

  void walk(size_t axis, Value lo, Value hi, const std::vector<Term> &terms, Value to) {
    k.loop(lo, hi, 1, [&](Value index) {
      std::vector<Term> inner = terms;
      Value innerTo = to;
      enter(axis, index, inner, innerTo);
      if (axis + 1 < plan.last)
        walk(axis + 1, k.constant(0), h.extent(plan.space.extents[axis + 1]), inner, innerTo);
      else
        row(inner, innerTo);
    });
  }

  void row(const std::vector<Term> &terms, Value to) {
    if (plan.blends())
      return blendedRow(terms, to);
    h.forVectors(k.constant(0), h.extent(plan.space.extents[plan.last]), plan.lanes, 1, [&](Value index, Value mask) {
      Value sum = plan.widens() ? widenedSum(terms, index, mask) : sumOfTerms(terms, index, mask);
      Value base = k.buffer(plan.y->buffer), at = k.add(to, index);
      if (mask)
        k.maskedStore(sum, base, at, plan.type, mask);
      else
        k.store(sum, base, at, plan.type);
    });
  }

  /// Blends rows of x into scratch, then sums up along the last axis.
  void blendedRow(const std::vector<Term> &terms, Value to) {
    Value line = k.gep(k.scratch(), h.extent(plan.line), k.b.getI8Type());
    blending = true;
    h.forVectors(k.constant(0), h.extent(plan.x->dims[plan.last]), plan.lanes, 1, [&](Value index, Value mask) {
      Value sum = plan.widens() ? widenedSum(terms, index, mask) : sumOfTerms(terms, index, mask);
      mask ? k.maskedStore(sum, line, index, plan.sumType(), mask) : k.store(sum, line, index, plan.sumType());
    });
    blending = false;
    h.forVectors(k.constant(0), h.extent(plan.space.extents[plan.last]), plan.lanes, 1, [&](Value index, Value mask) {
      Value zero = k.zero(KernelBuilder::vectorOf(k.computeType(plan.type), plan.lanes));
      Value sum = alongLast(zero, index, mask, [&](Value steps, Value factors, Value before) {
        return k.fma(gatherFrom(line, steps, mask), factors, before);
      });
      Value base = k.buffer(plan.y->buffer), at = k.add(to, index);
      mask ? k.maskedStore(sum, base, at, plan.type, mask) : k.store(sum, base, at, plan.type);
    });
  }

  Value gatherFrom(Value line, Value steps, Value mask) {
    mlir::Type element = k.computeType(plan.type), whole = KernelBuilder::vectorOf(element, plan.lanes);
    Value pointers =
        k.b.create<mlir::LLVM::GEPOp>(k.loc, mlir::LLVM::getFixedVectorType(k.pointer(), unsigned(plan.lanes)), element,
                                      line, mlir::ValueRange{steps});
    if (!mask)
      mask = k.b.create<mlir::arith::ConstantOp>(
          k.loc, mlir::DenseElementsAttr::get(KernelBuilder::vectorOf(k.b.getI1Type(), plan.lanes), true));
    return k.b.create<mlir::LLVM::masked_gather>(k.loc, whole, pointers, mask, mlir::ValueRange{k.zero(whole)},
                                                 bitWidth(plan.sumType()) / 8);
  }

  /// Calls tap(positions, weights, sum) for all taps along the last axis, whose table is in scratch.
  Value alongLast(Value sum, Value index, Value mask, const std::function<Value(Value, Value, Value)> &tap) {
    auto at = [&](Value indexRow, Value weightRow, Value before) {
      Value factors = mask ? maskedWeight(weightRow, index, mask) : weight(weightRow, index, plan.lanes);
      return tap(stepsAt(indexRow, index, mask), factors, before);
    };
    const Tables &own = tables.at(plan.last);
    if (own.count)
      return k.loop(k.constant(0), own.count, 1, {sum}, [&](Value t, mlir::ValueRange state) {
        const OpenTaps &open = *plan.open[plan.last];
        return Values{at(open.indices(h, t), open.weights(h, t), state[0])};
      })[0];
    for (size_t t = 0; t < own.indices.size(); ++t)
      sum = at(own.indices[t], own.weights[t], sum);
    return sum;
  }

  /// True if the current sum also runs along the last axis.
  bool isAlongLast() const { return plan.isResized(plan.last) && !blending; }

  Value sumOfTerms(const std::vector<Term> &terms, Value index, Value mask) {
    Value sum;
    auto add = [&](Value element, Value factor) {
      if (!plan.weighted) {
        sum = element;
        return;
      }
      factor = factor ? k.splat(factor, plan.lanes) : k.constantF(1, element.getType());
      sum = sum ? k.fma(element, factor, sum) : k.b.create<mlir::arith::MulFOp>(k.loc, element, factor).getResult();
    };
    if (!isAlongLast()) {
      for (const Term &term : terms)
        add(contiguous(term.offset, index, mask), term.weight);
      return sum;
    }
    const Tables &own = tables.at(plan.last);
    for (size_t t = 0; t < own.indices.size(); ++t) {
      Value steps = stepsAt(own.indices[t], index, mask);
      Value factors;
      if (plan.weighted)
        factors = mask ? maskedWeight(own.weights[t], index, mask) : weight(own.weights[t], index, plan.lanes);
      for (const Term &term : terms)
        add(h.gather(*plan.x, term.offset, steps, mask),
            factors ? product(term.weight ? k.splat(term.weight, plan.lanes) : Value(), factors) : Value());
    }
    return sum;
  }

  Value contiguous(Value offset, Value index, Value mask) {
    Value at = k.add(offset, index), base = k.buffer(plan.x->buffer);
    return mask ? k.maskedLoad(base, at, plan.type, plan.lanes, mask) : k.load(base, at, plan.type, plan.lanes);
  }
  Value stepsAt(Value row, Value index, Value mask) {
    return wide(mask ? k.maskedLoad(row, index, ElementType::i32, plan.lanes, mask)
                     : k.load(row, index, ElementType::i32, plan.lanes));
  }

  /// Loops over the taps of every axis whose number of taps is known only at run time.
  Value widenedSum(const std::vector<Term> &terms, Value index, Value mask) {
    mlir::Type scalar = plan.type == ElementType::f64 ? mlir::Type(k.b.getF64Type()) : k.b.getF32Type();
    Value sum = k.zero(KernelBuilder::vectorOf(scalar, plan.lanes));
    std::vector<std::pair<size_t, Value>> outer(places.begin(), places.end());
    for (const Term &term : terms)
      sum = sumUnder(outer, term, sum, index, mask);
    return sum;
  }

  Value sumUnder(llvm::ArrayRef<std::pair<size_t, Value>> outer, const Term &term, Value sum, Value index, Value mask) {
    if (outer.empty())
      return sumOfLast(term, sum, index, mask);
    auto [axis, place] = outer.front();
    const OpenTaps &open = *plan.open[axis];
    return k.loop(k.constant(0), tables.at(axis).count, 1, {sum}, [&](Value t, mlir::ValueRange state) {
      Value at = wide(k.load(open.indices(h, t), place, ElementType::i32));
      Value factor = weight(open.weights(h, t), place, 1);
      Term next{h.advance(term.offset, at, plan.from.strides[axis]), product(term.weight, factor)};
      return Values{sumUnder(outer.drop_front(), next, state[0], index, mask)};
    })[0];
  }

  Value sumOfLast(const Term &term, Value sum, Value index, Value mask) {
    Value outer = term.weight ? k.splat(term.weight, plan.lanes) : Value();
    auto add = [&](Value element, Value factor, Value to) {
      return factor ? k.fma(element, factor, to) : k.b.create<mlir::arith::AddFOp>(k.loc, element, to).getResult();
    };
    if (!isAlongLast())
      return add(contiguous(term.offset, index, mask), outer, sum);
    return alongLast(sum, index, mask, [&](Value steps, Value factors, Value before) {
      return add(h.gather(*plan.x, term.offset, steps, mask), product(outer, factors), before);
    });
  }

  Value maskedWeight(Value base, Value at, Value mask) {
    Value value = k.maskedLoad(base, at, ElementType::f32, plan.lanes, mask);
    if (plan.type != ElementType::f64)
      return value;
    return k.b.create<mlir::arith::ExtFOp>(k.loc, KernelBuilder::vectorOf(k.b.getF64Type(), plan.lanes), value);
  }
};

std::unique_ptr<KernelFacts> readResize(const KernelProblem &problem) {
  ResizePlan plan(problem);
  requireComputed(plan.tensors);
  auto facts = std::make_unique<GrainFacts>("resize", 4096, 32768);
  facts->shape = {plan.space.extents, plan.last, 1, 1};
  facts->elementCycles = plan.space.block ? 0.08 : 1.5;
  return facts;
}

GeneratedKernel generateResize(const KernelProblem &problem, const KernelFacts &, const Schedule &schedule) {
  ResizePlan plan(problem);
  return ResizeKernel(problem, plan, schedule).generate();
}

} // namespace

const KernelFamily resizeFamily{"resize", readResize, generateResize};

} // namespace lathe
