// grid_sample of family "indexed".
//
// Positions are computed in float64 for a vector of points at a time, because a rounded position could select another
// element. Row-major: lanes are points, and elements are gathered channel by channel. Blocked: lanes are channels; the
// taps of some points (offsets in x and weights) are kept in scratch.
#include "codegen/builder/Arithmetic.h"
#include "codegen/families/Indexed.h"

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

constexpr int64_t pointsOfTable = 64;

class GridSample : public IndexedKernel {
public:
  explicit GridSample(const KernelProblem &problem)
      : IndexedKernel(problem), attrs(nn::attrsAs<GridSampleAttrs>(op)), spatial(x().rank() - 2),
        lanes(problem.target.lanes(64)) {
    requireComputed(tensors);
    if (grid().block || x().block != y.block)
      throw Declined{"row-major and blocked tensors in one grid_sample"};
    points = product({y.dims.data() + 2, spatial});
    tapsOfAxis = attrs.mode == "nearest" ? 1 : attrs.mode == "linear" ? 2 : 4;
    for (size_t i = 0; i < spatial; ++i)
      taps *= tapsOfAxis;
    if (x().block) {
      blocks = ceilDiv(x().dims[1], x().block).constant();
      together = blocksTogether(blocks);
    }
  }

  void describe(GrainFacts &facts) const override {
    facts.shape.extents = {y.dims[0], points};
    facts.shape.limit = 2;
    facts.shape.granule = lanes;
    facts.shape.divisor = std::max<int64_t>(1, y.dims[1].constantOr(16));
    double channels = double(facts.shape.divisor), positions = double(spatial) * 6 + double(taps) * 3;
    facts.elementCycles = positions / channels + double(taps) * (x().block ? 1.4 / double(x().block) : 2.2);
  }

  GeneratedKernel generate(const Schedule &schedule) override {
    Space space;
    space.extents = {y.dims[0], points};
    int64_t channels = std::max<int64_t>(1, y.dims[1].constantOr(16));
    Units units = cutUnits(space, std::max<int64_t>(lanes, schedule.number("grain") / channels), lanes, 2);
    KernelHarness harness(problem, tensors, extents(units));
    h = &harness;
    KernelBuilder &k = h->k;
    auto image = [&](Value n, Value lo, Value hi) { x().block ? blockedRun(n, lo, hi) : rowMajorRun(n, lo, hi); };
    h->forUnits(space, units, [&](Values at, Value lo, Value hi) {
      if (at.size() == 1)
        return image(at[0], lo, hi);
      k.loop(lo, hi, 1, [&](Value n) { image(n, k.constant(0), h->extent(points)); });
    });
    int64_t entry = 8 + weightBytes();
    return h->finish(schedule, units.count, x().block ? taps * pointsOfTable * entry : 0);
  }

private:
  GridSampleAttrs attrs;
  size_t spatial;
  int64_t lanes, tapsOfAxis = 1, taps = 1, blocks = 0, together = 1;
  Dim points;
  KernelHarness *h = nullptr;

  const KernelTensor &grid() const { return operands[1]; }

  Dims extents(const Units &units) const {
    Dims result = {points, points * Dim(static_cast<int64_t>(spatial)), units.chunks};
    for (const KernelTensor *tensor : {&operands[0], &y}) {
      Dims strides = memoryStrides(*tensor);
      result.insert(result.end(), tensor->dims.begin(), tensor->dims.end());
      result.insert(result.end(), strides.begin(), strides.end());
    }
    return result;
  }

  /// The type of weights in scratch.
  ElementType weightType() const { return x().type == ElementType::f64 ? ElementType::f64 : ElementType::f32; }
  int64_t weightBytes() const { return bitWidth(weightType()) / 8; }

  // ---- Positions of a vector of points, all in float64 ----

  /// An element of x that contributes: its offset and its weight as float64; a weight of zero: it does not contribute.
  struct Tap {
    Value offset, weight;
  };

  Value real(Arithmetic &f, const Dim &extent) const {
    if (extent.isConstant())
      return f.number(static_cast<double>(extent.constant()));
    KernelBuilder &k = h->k;
    return k.splat(k.b.create<arith::SIToFPOp>(k.loc, k.b.getF64Type(), h->extent(extent)), lanes);
  }
  Value floor(Arithmetic &f, Value x) const { return f.make<mlir::math::FloorOp>(x); }
  Value limited(Arithmetic &f, Value at, Value low, Value high) const {
    using P = arith::CmpFPredicate;
    at = f.select(f.compare(P::OLT, at, low), low, at);
    return f.select(f.compare(P::OGT, at, high), high, at);
  }

  /// `at` mirrored into [low, high]. The length of this range is 0 for an axis of one element with aligned corners.
  Value reflected(Arithmetic &f, Value at, Value low, Value high) const {
    using P = arith::CmpFPredicate;
    Value range = f.sub(high, low), below = f.compare(P::OLT, at, low), above = f.compare(P::OGT, at, high);
    Value beyond = f.select(below, f.sub(low, at), f.sub(at, high)), turns = floor(f, f.div(beyond, range));
    Value rest = f.sub(beyond, f.mul(turns, range));
    Value half = f.mul(turns, 0.5), even = f.compare(P::OEQ, half, floor(f, half));
    Value same = f.make<arith::CmpIOp>(arith::CmpIPredicate::eq, below, even);
    Value mirrored = f.select(same, f.add(low, rest), f.sub(high, rest));
    Value result = f.select(f.logicalOr(below, above), mirrored, at);
    return f.select(f.compare(P::OGT, range, f.number(0)), result, low);
  }

  /// Weights of the neighbours of a position that lies t after the second neighbour (cubic) or the first one (linear).
  llvm::SmallVector<Value> weights(Arithmetic &f, Value t) const {
    if (attrs.mode == "nearest")
      return {f.number(1)};
    if (attrs.mode == "linear")
      return {f.sub(f.number(1), t), t};
    constexpr double a = -0.75;
    auto near = [&](Value d) { return f.add(f.mul(f.mul(f.add(f.mul(d, a + 2), -(a + 3)), d), d), 1); };
    auto far = [&](Value d) { return f.add(f.mul(f.add(f.mul(f.add(f.mul(d, a), -5 * a), d), 8 * a), d), -4 * a); };
    Value one = f.number(1), two = f.number(2);
    return {far(f.add(t, 1)), near(t), near(f.sub(one, t)), far(f.sub(two, t))};
  }

  /// The taps along one axis at the coordinates `normalized`, -1 to 1 across the extent.
  llvm::SmallVector<Tap> tapsAlong(Arithmetic &f, size_t axis, Value normalized) const {
    using P = arith::CmpFPredicate;
    const Dim &extent = x().dims[2 + axis];
    Value size = real(f, extent), last = f.add(size, -1), zero = f.number(0);
    Value low = f.number(attrs.align_corners ? 0 : -0.5);
    Value high = attrs.align_corners ? last : f.add(last, 0.5);
    Value shifted = f.add(normalized, 1);
    Value at = attrs.align_corners ? f.mul(f.mul(shifted, 0.5), last) : f.mul(f.add(f.mul(shifted, size), -1), 0.5);
    at = f.select(f.compare(P::UNO, at, at), f.number(-1e9), at);
    at = limited(f, at, f.number(-1e9), f.number(1e9)); // limits huge coordinates, which are outside anyway
    if (attrs.mode == "nearest")
      at = f.make<mlir::math::RoundEvenOp>(at);
    if (attrs.padding_mode == "border") {
      Value outside = f.logicalOr(f.compare(P::OLT, at, low), f.compare(P::OGT, at, high));
      at = f.select(outside, limited(f, at, zero, last), at);
    } else if (attrs.padding_mode == "reflection") {
      at = reflected(f, at, low, high);
    }
    Value first = floor(f, at);
    llvm::SmallVector<Value> factors = weights(f, f.sub(at, first));
    Value stride = real(f, memoryStrides(x())[2 + axis]);
    llvm::SmallVector<Tap> result;
    for (size_t i = 0; i < factors.size(); ++i) {
      double step = static_cast<double>(i) - (attrs.mode == "cubic" ? 1 : 0);
      Value index = step == 0 ? first : f.add(first, step), weight = factors[i];
      if (attrs.padding_mode == "zeros") {
        Value inside = f.logicalAnd(f.compare(P::OGE, index, zero), f.compare(P::OLE, index, last));
        weight = f.select(inside, weight, zero);
      } else if (attrs.padding_mode == "reflection") {
        index = floor(f, reflected(f, index, low, high));
      }
      result.push_back({f.mul(limited(f, index, zero, last), stride), weight});
    }
    return result;
  }

  /// The taps of the points [point, point + lanes) of image n.
  llvm::SmallVector<Tap> tapsOf(Arithmetic &f, Value n, Value point, Value mask) const {
    KernelBuilder &k = h->k;
    auto depth = static_cast<int64_t>(spatial);
    llvm::SmallVector<int64_t> numbers;
    for (int64_t lane = 0; lane < lanes; ++lane)
      numbers.push_back(lane * depth);
    Value steps = k.b.create<arith::ConstantOp>(k.loc, k.b.getI64VectorAttr(numbers));
    Value start = h->advance(k.mul(point, depth), n, points * depth);
    llvm::SmallVector<Tap> all;
    for (size_t axis = 0; axis < spatial; ++axis) {
      Value coordinate = h->gather(grid(), k.add(start, depth - 1 - static_cast<int64_t>(axis)), steps, mask);
      if (!llvm::cast<mlir::VectorType>(coordinate.getType()).getElementType().isF64())
        coordinate = f.make<arith::ExtFOp>(f.type, coordinate);
      llvm::SmallVector<Tap> along = tapsAlong(f, axis, coordinate), next;
      for (const Tap &before : all)
        for (const Tap &tap : along)
          next.push_back({f.add(before.offset, tap.offset), f.mul(before.weight, tap.weight)});
      all = axis == 0 ? along : next;
    }
    return all;
  }

  /// Converts a float64 weight to the type of the sums.
  Value narrow(Value weight) const {
    KernelBuilder &k = h->k;
    if (weightType() == ElementType::f64)
      return weight;
    return k.b.create<arith::TruncFOp>(k.loc, KernelBuilder::vectorOf(k.b.getF32Type(), lanes), weight);
  }
  Value isUsed(Value weight) const {
    KernelBuilder &k = h->k;
    return k.b.create<arith::CmpFOp>(k.loc, arith::CmpFPredicate::UNE, weight, k.zero(weight.getType()));
  }

  // ---- Row-major: lanes are points ----

  void rowMajorRun(Value n, Value lo, Value hi) const {
    KernelBuilder &k = h->k;
    Arithmetic f(k, KernelBuilder::vectorOf(k.b.getF64Type(), lanes));
    Dims from = memoryStrides(x()), to = memoryStrides(y);
    h->forVectors(lo, hi, lanes, 1, [&](Value point, Value mask) {
      struct Ready {
        Value steps, weight, mask;
      };
      llvm::SmallVector<Ready> ready;
      for (const Tap &tap : tapsOf(f, n, point, mask)) {
        Value used = isUsed(tap.weight);
        ready.push_back({f.nearest(tap.offset).integer, narrow(tap.weight), h->both(used, mask)});
      }
      k.loop(k.constant(0), h->extent(y.dims[1]), 1, [&](Value channel) {
        Value base = h->advance(h->advance(k.constant(0), n, from[0]), channel, from[1]), sum;
        for (const Ready &tap : ready) {
          Value value = h->gather(x(), base, tap.steps, tap.mask);
          sum = sum ? k.fma(value, tap.weight, sum) : f.mul(value, tap.weight);
        }
        Value put = k.add(h->advance(h->advance(k.constant(0), n, to[0]), channel, to[1]), point);
        if (mask)
          k.maskedStore(sum, k.buffer(y.buffer), put, y.type, mask);
        else
          k.store(sum, k.buffer(y.buffer), put, y.type);
      });
    });
  }

  // ---- Blocked: lanes are channels ----

  Value offsetTable() const { return h->k.scratch(); }
  Value weightTable() const {
    KernelBuilder &k = h->k;
    return k.gep(k.scratch(), k.constant(taps * pointsOfTable), k.i64());
  }

  void blockedRun(Value n, Value lo, Value hi) const {
    KernelBuilder &k = h->k;
    Arithmetic f(k, KernelBuilder::vectorOf(k.b.getF64Type(), lanes));
    k.loop(lo, hi, pointsOfTable, [&](Value begin) {
      Value end = k.min(k.add(begin, pointsOfTable), hi);
      h->forVectors(begin, end, lanes, 1, [&](Value point, Value mask) {
        Value place = k.sub(point, begin);
        for (auto [number, tap] : llvm::enumerate(tapsOf(f, n, point, mask))) {
          Value at = k.add(place, static_cast<int64_t>(number) * pointsOfTable);
          k.store(f.nearest(tap.offset).integer, offsetTable(), at, ElementType::i64);
          k.store(narrow(tap.weight), weightTable(), at, weightType());
        }
      });
      k.loop(k.constant(0), k.constant(blocks), together, [&](Value block) {
        k.loop(begin, end, 1, [&](Value point) { blockedPoint(n, block, point, k.sub(point, begin)); });
      });
    });
  }

  void blockedPoint(Value n, Value block, Value point, Value place) const {
    KernelBuilder &k = h->k;
    Dims from = memoryStrides(x()), to = memoryStrides(y);
    llvm::SmallVector<Value> bases, sums(static_cast<size_t>(together));
    for (int64_t i = 0; i < together; ++i)
      bases.push_back(h->advance(h->advance(k.constant(0), n, from[0]), k.add(block, i), from[1]));
    for (int64_t number = 0; number < taps; ++number) {
      Value at = k.add(place, number * pointsOfTable);
      Value offset = k.load(offsetTable(), at, ElementType::i64);
      Value weight = k.splat(k.load(weightTable(), at, weightType()), x().block), used = isUsed(weight);
      for (int64_t i = 0; i < together; ++i) {
        Value value = k.load(k.buffer(x().buffer), k.add(bases[i], offset), x().type, x().block);
        value = k.b.create<arith::SelectOp>(k.loc, used, value, k.zero(value.getType()));
        sums[i] = sums[i] ? k.fma(value, weight, sums[i]) : k.b.create<arith::MulFOp>(k.loc, value, weight).getResult();
      }
    }
    for (int64_t i = 0; i < together; ++i) {
      Value put = h->advance(h->advance(h->advance(k.constant(0), n, to[0]), k.add(block, i), to[1]), point,
                             Dim(y.last ? y.last : y.block));
      k.store(sums[i], k.buffer(y.buffer), put, y.type);
    }
  }
};

} // namespace

std::unique_ptr<IndexedKernel> makeGridSample(const KernelProblem &problem) {
  return std::make_unique<GridSample>(problem);
}

} // namespace lathe
