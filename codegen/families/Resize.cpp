// Family "resize", algorithm resize/1: nearest, linear and cubic sampling at static extents.
//
// Along every resized axis a position of the result is a weighted sum of a few positions of x (its taps). Both are
// computed here and become tables beside the code. Blocked: lanes are channels. Row-major: lanes are neighbouring
// positions of the last axis, gathered where that axis is resized.
#include "codegen/Families.h"
#include "codegen/builder/KernelHarness.h"
#include "codegen/space/LoopFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

/// The taps of one axis: position `i` of the result is the sum over t of weights[t][i] * x[indices[t][i]].
struct Taps {
  std::vector<std::vector<int32_t>> indices;
  std::vector<std::vector<float>> weights;
  size_t count() const { return indices.size(); }
};

/// Formulas of ONNX Resize. `length` is the exact extent of the result, a fraction where scales are given.
class TapMaker {
public:
  TapMaker(const ResizeAttrs &attrs, int64_t in, int64_t out, double scale, double length)
      : attrs(attrs), in(in), out(out), scale(scale), length(length) {}

  Taps make() const {
    constexpr int64_t mostPositions = 1 << 20; // of which the code has tables
    if (out > mostPositions)
      throw Declined{fmt::format("a table of {} positions", out)};
    Taps taps;
    for (int64_t i = 0; i < out; ++i) {
      double position = source(static_cast<double>(i));
      std::vector<std::pair<int64_t, double>> here = attrs.mode == "nearest" ? nearest(position) : weighted(position);
      taps.indices.resize(here.size());
      taps.weights.resize(here.size());
      for (size_t t = 0; t < here.size(); ++t) {
        taps.indices[t].push_back(static_cast<int32_t>(here[t].first));
        taps.weights[t].push_back(static_cast<float>(here[t].second));
      }
    }
    return taps;
  }

private:
  const ResizeAttrs &attrs;
  int64_t in, out;
  double scale, length;

  double source(double x) const {
    const std::string &mode = attrs.coordinate_mode;
    if (mode == "asymmetric")
      return x / scale;
    if (mode == "align_corners")
      return length == 1 ? 0 : x * static_cast<double>(in - 1) / (length - 1);
    if (mode == "tf_half_pixel_for_nn")
      return (x + 0.5) / scale;
    double center = (x + 0.5) / scale - 0.5;
    if (mode == "pytorch_half_pixel")
      return length == 1 ? -0.5 : center;
    if (mode == "half_pixel_symmetric")
      return static_cast<double>(in) / 2 * (1 - static_cast<double>(out) / length) + center;
    return center; // half_pixel
  }

  int64_t clamped(double index) const {
    return static_cast<int64_t>(std::clamp(index, 0.0, static_cast<double>(in - 1)));
  }

  std::vector<std::pair<int64_t, double>> nearest(double position) const {
    double below = std::floor(position), part = position - below;
    bool above = attrs.nearest_mode == "ceil"                 ? part > 0
                 : attrs.nearest_mode == "round_prefer_ceil"  ? part >= 0.5
                 : attrs.nearest_mode == "round_prefer_floor" ? part > 0.5
                                                              : false;
    return {{clamped(below + above), 1.0}};
  }

  double kernel(double distance) const {
    double x = std::fabs(distance), a = attrs.cubic_coeff_a;
    if (attrs.mode == "linear")
      return std::max(0.0, 1 - x);
    if (x <= 1)
      return (a + 2) * x * x * x - (a + 3) * x * x + 1;
    return x < 2 ? a * (x * x * x - 5 * x * x + 8 * x - 4) : 0;
  }

  std::vector<std::pair<int64_t, double>> weighted(double position) const {
    double below = std::floor(position), part = position - below;
    double narrow = attrs.antialias ? std::min(scale, 1.0) : 1.0; // shrinking with antialias widens the kernel
    auto first = static_cast<int64_t>(std::floor((attrs.mode == "cubic" ? -2 : -1) / narrow)) + 1;
    std::vector<std::pair<int64_t, double>> result;
    double sum = 0;
    for (int64_t i = first; i <= 1 - first; ++i) {
      double index = below + static_cast<double>(i), weight = kernel((static_cast<double>(i) - part) * narrow);
      if (attrs.exclude_outside && (index < 0 || index > static_cast<double>(in - 1)))
        weight = 0;
      sum += weight;
      result.emplace_back(clamped(index), weight);
    }
    if ((attrs.antialias || attrs.exclude_outside) && sum != 0)
      for (auto &tap : result)
        tap.second /= sum;
    return result;
  }
};

struct Plan {
  KernelTensors tensors;
  mlir::Operation *anchor;
  const KernelTensor *x, *y;
  ElementType type;
  bool weighted; // not nearest
  Space space;   // of the result
  Access from, to;
  std::vector<std::optional<Taps>> taps; // by axis of the space
  size_t last;                           // axis lanes run along
  int64_t lanes;

  explicit Plan(const KernelProblem &problem) : tensors(problem.function), anchor(soleAnchor(problem.function)) {
    if (std::string_view(nn::recordOf(anchor)->name) != "resize")
      throw Declined{fmt::format("'{}' is not a resize", nn::recordOf(anchor)->name)};
    auto attrs = nn::attrsAs<ResizeAttrs>(anchor);
    auto operands = nn::operandsByRecord(anchor);
    for (size_t i = 1; i < operands.size(); ++i)
      if (operands[i])
        throw Declined{"parameters that are not constant"};
    x = tensors.input(operands[0]);
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
    for (size_t i = 0; i < x->rank(); ++i)
      setTaps(attrs, i);
    lanes = y->block ? y->block : problem.target.lanes(std::max(32u, bitWidth(type)));
  }

private:
  void setTaps(const ResizeAttrs &attrs, size_t axis) {
    const Dim &in = x->dims[axis], &out = y->dims[axis];
    double scale = attrs.scales.empty() ? 0 : attrs.scales[axis];
    if (in == out && (scale == 1 || attrs.scales.empty()) && attrs.coordinate_mode != "tf_half_pixel_for_nn")
      return; // every position is itself
    if (!in.isConstant() || !out.isConstant())
      throw Declined{"resize of an extent that is not static"};
    int64_t n = in.constant(), m = out.constant();
    double length = attrs.scales.empty() ? static_cast<double>(m) : scale * static_cast<double>(n);
    taps[axis] =
        TapMaker(attrs, n, m, attrs.scales.empty() ? static_cast<double>(m) / static_cast<double>(n) : scale, length)
            .make();
    auto itself = [&] { // a single tap, at the position itself
      for (int64_t i = 0; i < m; ++i)
        if (taps[axis]->indices[0][i] != i)
          return false;
      return n == m && taps[axis]->count() == 1;
    };
    if (itself()) {
      taps[axis].reset();
      return;
    }
    if (y->block && axis == 1)
      throw Declined{"resize of blocked channels"};
    if (taps[axis]->count() > 8)
      throw Declined{"more than eight taps along an axis"};
  }
};

class ResizeKernel {
public:
  ResizeKernel(const KernelProblem &problem, const Plan &plan, const Schedule &schedule)
      : plan(plan), schedule(schedule),
        units(plan.last ? cutUnits(plan.space, schedule.number("grain"), 1, plan.last) : Units{}),
        h(problem, plan.tensors, extents()), k(h.k) {}

  GeneratedKernel generate() {
    for (size_t axis = 0; axis < plan.taps.size(); ++axis)
      if (plan.taps[axis])
        for (size_t t = 0; t < plan.taps[axis]->count(); ++t) {
          tables[axis].indices.push_back(table(fmt::format("indices{}_{}", axis, t), plan.taps[axis]->indices[t]));
          tables[axis].weights.push_back(table(fmt::format("weights{}_{}", axis, t), plan.taps[axis]->weights[t]));
        }
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
    return h.finish(schedule, units.count);
  }

private:
  /// A product of taps of the outer axes: offset in x, and weight (null: 1).
  struct Term {
    Value offset, weight;
  };
  struct Tables {
    std::vector<Value> indices, weights;
  };

  const Plan &plan;
  const Schedule &schedule;
  Units units;
  KernelHarness h;
  KernelBuilder &k;
  std::map<size_t, Tables> tables;

  Dims extents() const {
    Dims result = extentsOf(plan.space, {plan.from, plan.to});
    result.push_back(units.chunks);
    return result;
  }

  template <class T> Value table(const std::string &name, const std::vector<T> &values) {
    auto module = k.b.getInsertionBlock()->getParentOp()->getParentOfType<mlir::ModuleOp>();
    mlir::Type element = std::is_same_v<T, float> ? mlir::Type(k.b.getF32Type()) : k.b.getI32Type();
    auto data = mlir::DenseElementsAttr::get(
        mlir::RankedTensorType::get({static_cast<int64_t>(values.size())}, element), llvm::ArrayRef<T>(values));
    auto type = mlir::LLVM::LLVMArrayType::get(element, values.size());
    mlir::OpBuilder::InsertionGuard guard(k.b);
    mlir::OpBuilder top(module.getBodyRegion());
    auto global = top.create<mlir::LLVM::GlobalOp>(k.loc, type, /*isConstant=*/true, mlir::LLVM::Linkage::Private, name,
                                                   data, /*alignment=*/64);
    return k.b.create<mlir::LLVM::AddressOfOp>(k.loc, global);
  }

  Value wide(Value index) {
    mlir::Type type = k.i64();
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(index.getType()))
      type = vector.clone(type);
    return k.b.create<mlir::arith::ExtSIOp>(k.loc, type, index);
  }

  /// A weight of the tables in the type of sums.
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
    if (!plan.taps[axis]) {
      for (Term &term : terms)
        term.offset = h.advance(term.offset, index, plan.from.strides[axis]);
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
    h.forVectors(k.constant(0), h.extent(plan.space.extents[plan.last]), plan.lanes, 1, [&](Value index, Value mask) {
      Value sum;
      auto add = [&](Value element, Value factor) {
        if (!plan.weighted) {
          sum = element;
          return;
        }
        factor = factor ? k.splat(factor, plan.lanes) : k.constantF(1, element.getType());
        sum = sum ? k.fma(element, factor, sum) : k.b.create<mlir::arith::MulFOp>(k.loc, element, factor).getResult();
      };
      if (!plan.taps[plan.last]) {
        for (const Term &term : terms) {
          Value at = k.add(term.offset, index);
          Value base = k.buffer(plan.x->buffer);
          add(mask ? k.maskedLoad(base, at, plan.type, plan.lanes, mask) : k.load(base, at, plan.type, plan.lanes),
              term.weight);
        }
      } else {
        const Tables &own = tables.at(plan.last);
        for (size_t t = 0; t < own.indices.size(); ++t) {
          Value steps = wide(mask ? k.maskedLoad(own.indices[t], index, ElementType::i32, plan.lanes, mask)
                                  : k.load(own.indices[t], index, ElementType::i32, plan.lanes));
          Value factors;
          if (plan.weighted)
            factors = mask ? maskedWeight(own.weights[t], index, mask) : weight(own.weights[t], index, plan.lanes);
          for (const Term &term : terms)
            add(h.gather(*plan.x, term.offset, steps, mask),
                factors ? product(term.weight ? k.splat(term.weight, plan.lanes) : Value(), factors) : Value());
        }
      }
      Value base = k.buffer(plan.y->buffer), at = k.add(to, index);
      if (mask)
        k.maskedStore(sum, base, at, plan.type, mask);
      else
        k.store(sum, base, at, plan.type);
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
  Plan plan(problem);
  requireComputed(plan.tensors);
  auto facts = std::make_unique<GrainFacts>("resize", 4096, 32768);
  facts->shape = {plan.space.extents, plan.last, 1, 1};
  facts->elementCycles = plan.space.block ? 0.08 : 1.5;
  return facts;
}

GeneratedKernel generateResize(const KernelProblem &problem, const KernelFacts &, const Schedule &schedule) {
  Plan plan(problem);
  return ResizeKernel(problem, plan, schedule).generate();
}

} // namespace

const KernelFamily resizeFamily{"resize", readResize, generateResize};

} // namespace lathe
