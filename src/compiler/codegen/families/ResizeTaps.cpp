#include "codegen/families/ResizeTaps.h"

#include "codegen/builder/Arithmetic.h"

#include <cmath>

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

class TapMaker {
public:
  TapMaker(const ResizeAttrs &attrs, int64_t in, int64_t out, double scale, double length)
      : attrs(attrs), in(in), out(out), scale(scale), length(length) {}

  Taps make() const {
    constexpr int64_t mostPositions = 1 << 20; // more positions get no table
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
      return length > 1 ? center : 0;
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

/// The code of one table. Positions are computed in float64 like the reference's, because a rounded position could
/// select another element.
class TableCode {
public:
  TableCode(KernelHarness &h, const ResizeAttrs &attrs, int64_t lanes, Value in, Value out, Value scale)
      : h(h), k(h.k), attrs(attrs), lanes(lanes), f(k, KernelBuilder::vectorOf(k.b.getF64Type(), lanes)),
        real(k, k.b.getF64Type()), last(real.add(in, -1)), scale(scale) {
    bool bySizes = !scale;
    if (bySizes)
      this->scale = real.div(out, in);
    Value length = bySizes ? out : alone(real.mul(scale, in));
    single = real.equal(length, 1);
    several = real.greater(length, 1);
    if (attrs.coordinate_mode == "align_corners")
      stretch = real.add(length, -1);
    if (attrs.coordinate_mode == "half_pixel_symmetric")
      shift = alone(real.mul(real.mul(in, 0.5), real.sub(real.number(1), real.div(out, length))));
  }

  /// The number of taps if antialias widens the kernel, as it does for scales below 1.
  Value widened(const Dim &most) {
    Value below = real.less(scale, 1);
    narrow = real.select(below, scale, real.number(1));
    Value reach = real.make<mlir::math::CeilOp>(real.div(real.number(support()), narrow));
    reach = real.select(real.compare(arith::CmpFPredicate::OLT, reach, real.number(1e9)), reach, real.number(1e9));
    Value taps = k.mul(real.make<arith::FPToSIOp>(k.i64(), reach), 2);
    return k.max(k.min(taps, h.extent(most)), k.constant(2));
  }

  /// Writes the taps of the positions [i, i + lanes). `count`: number of taps; null: `fixed`.
  void emit(Value i, Value count, int64_t fixed, const std::function<Value(Value)> &indexRow,
            const std::function<Value(Value)> &weightRow) {
    Value position = source(f.add(whole(i), laneNumbers())), below = f.make<mlir::math::FloorOp>(position),
          part = f.sub(position, below);
    if (attrs.mode == "nearest") {
      Value up = isAbove(part);
      storeIndex(up ? f.select(up, f.add(below, 1), below) : below, indexRow(k.constant(0)), i);
      return;
    }
    Value taps = count ? count : k.constant(fixed);
    Value first = k.sub(k.constant(1), k.b.create<arith::DivSIOp>(k.loc, taps, k.constant(2)));
    auto tap = [&](Value t, Value sum) {
      Value step = whole(k.add(t, first)), index = f.add(below, step), weight = weightAt(f.sub(step, part));
      if (attrs.exclude_outside) {
        using P = arith::CmpFPredicate;
        Value inside = f.logicalAnd(f.compare(P::OGE, index, f.number(0)), f.compare(P::OLE, index, spread(last)));
        weight = f.select(inside, weight, f.number(0));
      }
      storeIndex(index, indexRow(t), i);
      k.store(narrowed(weight), weightRow(t), i, ElementType::f32);
      return f.add(sum, weight);
    };
    Value sum = f.number(0);
    if (!count)
      for (int64_t t = 0; t < fixed; ++t)
        sum = tap(k.constant(t), sum);
    else
      sum = k.loop(k.constant(0), taps, 1, {sum},
                   [&](Value t, mlir::ValueRange state) { return Values{tap(t, state[0])}; })[0];
    if (!attrs.antialias && !attrs.exclude_outside)
      return;
    // Rounded twice, which is too small to matter for float32 sums.
    Value share = f.select(f.equal(sum, 0), f.number(0), f.div(f.number(1), sum));
    k.loop(k.constant(0), taps, 1, [&](Value t) {
      Value weight = f.make<arith::ExtFOp>(f.type, k.load(weightRow(t), i, ElementType::f32, lanes));
      k.store(narrowed(f.mul(weight, share)), weightRow(t), i, ElementType::f32);
    });
  }

private:
  KernelHarness &h;
  KernelBuilder &k;
  const ResizeAttrs &attrs;
  int64_t lanes;
  Arithmetic f, real;                    // of vectors, and of scalars
  Value last, scale, narrow;             // narrow: null for 1
  Value single, several, stretch, shift; // one position; more; the extent less 1; half_pixel_symmetric

  double support() const { return attrs.mode == "cubic" ? 2 : 1; }
  /// `product`, protected from fusion with a following addition.
  Value alone(Value product) {
    return k.b
        .create<mlir::LLVM::CallIntrinsicOp>(k.loc, product.getType(), k.b.getStringAttr("llvm.arithmetic.fence"),
                                             mlir::ValueRange{product})
        .getResult(0);
  }
  Value spread(Value scalar) { return k.splat(scalar, lanes); }
  Value whole(Value integer) { return spread(real.make<arith::SIToFPOp>(real.type, integer)); }
  Value laneNumbers() {
    llvm::SmallVector<double> numbers;
    for (int64_t lane = 0; lane < lanes; ++lane)
      numbers.push_back(static_cast<double>(lane));
    return f.make<arith::ConstantOp>(k.b.getF64VectorAttr(numbers));
  }
  Value narrowed(Value x) { return f.make<arith::TruncFOp>(KernelBuilder::vectorOf(k.b.getF32Type(), lanes), x); }

  Value source(Value x) {
    const std::string &mode = attrs.coordinate_mode;
    Value wide = spread(scale), position;
    if (mode == "asymmetric") {
      position = f.div(x, wide);
    } else if (mode == "align_corners") {
      position = f.div(f.mul(x, spread(last)), spread(stretch));
      position = f.select(spread(single), f.number(0), position);
    } else if (mode == "tf_half_pixel_for_nn") {
      position = f.div(f.add(x, 0.5), wide);
    } else if (mode == "half_pixel_symmetric") {
      position = f.add(f.add(spread(shift), f.div(f.add(x, 0.5), wide)), -0.5);
    } else {
      position = f.add(f.div(f.add(x, 0.5), wide), -0.5);
      if (mode == "pytorch_half_pixel")
        position = f.select(spread(several), position, f.number(0));
    }
    return f.select(f.less(f.abs(position), 1e15), position, f.number(0)); // 0 if the position is NaN or infinite
  }

  /// Null: never.
  Value isAbove(Value part) {
    using P = arith::CmpFPredicate;
    if (attrs.nearest_mode == "floor")
      return {};
    if (attrs.nearest_mode == "ceil")
      return f.greater(part, 0);
    return f.compare(attrs.nearest_mode == "round_prefer_ceil" ? P::OGE : P::OGT, part, f.number(0.5));
  }

  Value weightAt(Value distance) {
    Value x = f.abs(narrow ? f.mul(distance, spread(narrow)) : distance);
    if (attrs.mode == "linear")
      return f.select(f.less(x, 1), f.sub(f.number(1), x), f.number(0));
    double a = attrs.cubic_coeff_a;
    Value near = f.polynomial(x, {1, 0, -(a + 3), a + 2}), far = f.polynomial(x, {-4 * a, 8 * a, -5 * a, a});
    return f.select(f.less(x, 1), near, f.select(f.less(x, 2), far, f.number(0)));
  }

  void storeIndex(Value index, Value row, Value i) {
    index = f.select(f.greater(index, 0), index, f.number(0));
    index = f.select(f.compare(arith::CmpFPredicate::OLT, index, spread(last)), index, spread(last));
    Value number = f.make<arith::FPToSIOp>(KernelBuilder::vectorOf(k.b.getI32Type(), lanes), index);
    k.store(number, row, i, ElementType::i32);
  }
};

} // namespace

Taps makeTaps(const ResizeAttrs &attrs, int64_t in, int64_t out, double scale, double length) {
  return TapMaker(attrs, in, out, scale, length).make();
}

OpenTaps::OpenTaps(const ResizeAttrs &attrs, Dim inExtent, Dim outExtent, double scale, const KernelTensor *scales,
                   int64_t axis, Dim first, int64_t lanes)
    : attrs(attrs), in(std::move(inExtent)), out(std::move(outExtent)), scale(scale), scales(scales), axis(axis),
      lanes(lanes), padded(ceilDiv(out, lanes) * lanes), place(std::move(first)) {
  int64_t support = attrs.mode == "cubic" ? 2 : 1;
  if (attrs.mode != "nearest")
    fixed = 2 * support;
  if (attrs.mode != "nearest" && attrs.antialias) {
    // out is in * scale rounded down or to nearest, so 2 out - 1 is at most 2 in * scale; 1 / scale is rounded.
    fixed = 0;
    bool bySizes = scale == 0 && !scales;
    Dim reach = bySizes ? ceilDiv(in * support, maximum(out, 1)) : ceilDiv(in * (2 * support), maximum(out * 2 - 1, 1));
    capacity = maximum(reach * 2 + 2, 2 * support);
  } else {
    capacity = fixed;
  }
  weightsPlace = place + ceilDiv(capacity * padded * 4, 64) * 64;
}

Dims OpenTaps::extents() const { return {in, out, padded, capacity, place, weightsPlace}; }

mlir::Value OpenTaps::row(KernelHarness &h, const Dim &first, mlir::Value tap) const {
  KernelBuilder &k = h.k;
  Value table = k.gep(k.scratch(), h.extent(first), k.b.getI8Type());
  return k.gep(table, k.mul(tap, h.extent(padded)), k.b.getI32Type());
}

mlir::Value OpenTaps::emit(KernelHarness &h) const {
  KernelBuilder &k = h.k;
  auto real = [&](const Dim &extent) {
    return k.b.create<arith::SIToFPOp>(k.loc, k.b.getF64Type(), h.extent(extent)).getResult();
  };
  Value factor;
  if (scale != 0) {
    factor = k.constantF(scale, k.b.getF64Type());
  } else if (scales) {
    factor = k.load(k.buffer(scales->buffer), k.constant(axis), scales->type);
    if (!factor.getType().isF64())
      factor = k.b.create<arith::ExtFOp>(k.loc, k.b.getF64Type(), factor);
  }
  TableCode code(h, attrs, lanes, real(in), real(out), factor);
  Value count = fixed ? Value() : code.widened(capacity);
  k.loop(k.constant(0), h.extent(out), lanes, [&](Value i) {
    code.emit(i, count, fixed, [&](Value tap) { return indices(h, tap); }, [&](Value tap) { return weights(h, tap); });
  });
  return fixed ? k.constant(fixed) : count;
}

} // namespace lathe
