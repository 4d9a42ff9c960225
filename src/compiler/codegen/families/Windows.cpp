// max_pool_indices and col2im of family "indexed": positions of windows over an image.
//
// Row-major, element by element of the result: all contributions to an element are computed from its position, so no
// two work items write the same element.
#include "codegen/builder/Arithmetic.h"
#include "codegen/families/Indexed.h"
#include "ops/WindowPads.h"

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

/// An axis of windows: position `out` and place `tap` of the window stand for out * stride - pad + tap * dilation.
struct WindowAxis {
  int64_t taps = 1, stride = 1, dilation = 1;
  Dim pad = 0;
};

class Windows : public IndexedKernel {
public:
  explicit Windows(const KernelProblem &problem) : IndexedKernel(problem) {
    requireRowMajor();
    requireComputed(tensors);
  }

  void describe(GrainFacts &facts) const override {
    facts.shape.extents = {planes(), pixels()};
    facts.shape.limit = 2;
    double taps = 1;
    for (const WindowAxis &axis : axes)
      taps *= double(axis.taps);
    facts.elementCycles = 20 + taps * tapCycles();
  }

  GeneratedKernel generate(const Schedule &schedule) override {
    Space space;
    space.extents = {planes(), pixels()};
    Units units = cutUnits(space, schedule.number("grain"), 1, 2);
    Dims extents = neededExtents();
    extents.insert(extents.end(), {planes(), pixels(), units.chunks});
    addTensor(extents, x());
    addTensor(extents, y);
    KernelHarness harness(problem, tensors, extents);
    h = &harness;
    KernelBuilder &k = h->k;
    auto run = [&](Value plane, Value lo, Value hi) {
      Value to = h->advance(k.constant(0), plane, pixels());
      k.loop(lo, hi, 1, [&](Value pixel) { element(plane, h->unravel(pixel, spatial(y)), k.add(to, pixel)); });
    };
    h->forUnits(space, units, [&](Values at, Value lo, Value hi) {
      if (at.size() == 1)
        return run(at[0], lo, hi);
      k.loop(lo, hi, 1, [&](Value plane) { run(plane, k.constant(0), h->extent(pixels())); });
    });
    return h->finish(schedule, units.count);
  }

protected:
  std::vector<WindowAxis> axes;
  KernelHarness *h = nullptr;

  static Dims spatial(const KernelTensor &tensor) { return Dims(tensor.dims.begin() + 2, tensor.dims.end()); }
  Dim planes() const { return y.dims[0] * y.dims[1]; }
  Dim pixels() const { return productFrom(y.dims, 2); }
  virtual Dims neededExtents() const = 0;
  virtual double tapCycles() const = 0;
  /// Computes the element of plane `plane` at the indices `at`, which is number `to` of y.
  virtual void element(Value plane, const Values &at, Value to) = 0;

  /// Emits body(taps, state) for every place of the window in row-major order; `taps` has an index for each axis.
  Values forTaps(const Values &initial, const std::function<Values(const Values &, mlir::ValueRange)> &body) {
    KernelBuilder &k = h->k;
    std::function<Values(Values, mlir::ValueRange)> walk = [&](Values taps, mlir::ValueRange state) {
      if (taps.size() == axes.size())
        return body(taps, state);
      return k.loop(k.constant(0), k.constant(axes[taps.size()].taps), 1, state,
                    [&](Value tap, mlir::ValueRange inner) {
                      Values next = taps;
                      next.push_back(tap);
                      return walk(next, inner);
                    });
    };
    return walk({}, initial);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return h->k.b.create<arith::CmpIOp>(h->k.loc, predicate, a, b);
  }
  Value both(Value a, Value b) { return a ? h->k.b.create<arith::AndIOp>(h->k.loc, a, b).getResult() : b; }
};

class MaxPoolIndices : public Windows {
public:
  explicit MaxPoolIndices(const KernelProblem &problem)
      : Windows(problem), columnMajor(nn::attrsAs<MaxPoolIndicesAttrs>(op).column_major) {
    auto attrs = nn::attrsAs<MaxPoolIndicesAttrs>(op);
    for (size_t spatial = x().rank() - 2, i = 0; i < spatial; ++i) {
      WindowAxis axis{attrs.kernel[i], attrs.strides[i], attrs.dilations[i], attrs.pads[i]};
      int64_t window = (axis.taps - 1) * axis.dilation + 1;
      axis.pad = axis.pad - windowShift(attrs.pads, i, spatial, window, axis.stride, x().dims[2 + i]);
      axes.push_back(axis);
    }
  }

private:
  bool columnMajor;

  double tapCycles() const override { return 6; }
  Dims neededExtents() const override {
    Dims needed = {productFrom(x().dims, 2)};
    for (const WindowAxis &axis : axes)
      needed.push_back(axis.pad);
    return needed;
  }

  /// Of equal elements the first wins, and the first NaN. A window without elements has position -1.
  void element(Value plane, const Values &at, Value to) override {
    KernelBuilder &k = h->k;
    Dims strides = memoryStrides(x());
    Value base = h->advance(k.constant(0), plane, productFrom(x().dims, 2)), none = k.constant(-1);
    Value first = k.zero(k.computeType(x().type));
    Values best = forTaps({none, none, first}, [&](const Values &taps, mlir::ValueRange state) {
      Value inside, from = k.constant(0), position = k.constant(0), step = k.constant(1);
      for (size_t i = 0; i < axes.size(); ++i) {
        const WindowAxis &axis = axes[i];
        Value index = k.add(k.mul(at[i], axis.stride), k.mul(taps[i], axis.dilation));
        index = k.sub(index, h->extent(axis.pad));
        inside = both(inside, compare(arith::CmpIPredicate::ult, index, h->extent(x().dims[2 + i])));
        from = h->advance(from, index, strides[2 + i]);
        position = k.add(position, k.mul(index, step)); // the first axis fastest
        step = k.mul(step, h->extent(x().dims[2 + i]));
      }
      Value value = k.load(k.buffer(x().buffer), k.add(base, k.select(inside, from, k.constant(0))), x().type);
      ScalarBuilder s = h->scalar(x().type, value);
      Value taken = either(compare(arith::CmpIPredicate::slt, state[0], k.constant(0)), s.less(state[2], value));
      if (isFloat(x().type))
        taken = either(taken, both(opposite(s.equal(value, value)), s.equal(state[2], state[2])));
      taken = both(inside, taken);
      return Values{k.select(taken, from, state[0]), k.select(taken, position, state[1]),
                    k.select(taken, value, state[2])};
    });
    Value found = columnMajor ? best[1] : best[0];
    Value outside = compare(arith::CmpIPredicate::slt, best[0], k.constant(0));
    k.store(k.select(outside, none, k.add(base, found)), k.buffer(y.buffer), to, y.type);
  }
  Value either(Value a, Value b) { return h->k.b.create<arith::OrIOp>(h->k.loc, a, b); }
  Value opposite(Value a) {
    return h->k.b.create<arith::XOrIOp>(h->k.loc, a,
                                        h->k.b.create<arith::ConstantOp>(h->k.loc, h->k.b.getBoolAttr(true)));
  }
};

class Col2Im : public Windows {
public:
  explicit Col2Im(const KernelProblem &problem) : Windows(problem) {
    auto attrs = nn::attrsAs<Col2ImAttrs>(op);
    if (operands.size() != 1)
      throw Declined{"parameters that are not constant"};
    for (size_t i = 0; i < attrs.image.size(); ++i) {
      axes.push_back({attrs.block[i], attrs.strides[i], attrs.dilations[i], attrs.pads[i]});
      int64_t room = attrs.image[i] + attrs.pads[i] + attrs.pads[attrs.image.size() + i];
      counts.push_back((room - attrs.dilations[i] * (attrs.block[i] - 1) - 1) / attrs.strides[i] + 1);
      elements *= attrs.block[i];
      positions *= counts.back();
    }
  }

private:
  std::vector<int64_t> counts; // positions of the block along each axis
  int64_t elements = 1, positions = 1;

  double tapCycles() const override { return 5; }
  Dims neededExtents() const override { return {}; }

  /// The sum of all block positions that lie on the element, in the order of the block.
  void element(Value plane, const Values &at, Value to) override {
    KernelBuilder &k = h->k;
    Value base = k.mul(plane, elements * positions);
    Values sum = forTaps({k.zero(k.computeType(x().type))}, [&](const Values &taps, mlir::ValueRange state) {
      Value inside, place = k.constant(0), number = k.constant(0);
      for (size_t i = 0; i < axes.size(); ++i) {
        const WindowAxis &axis = axes[i];
        Value distance = k.sub(k.add(at[i], h->extent(axis.pad)), k.mul(taps[i], axis.dilation));
        // A negative distance is huge as an unsigned number, beyond all positions.
        Value stride = k.constant(axis.stride), position = distance;
        if (axis.stride > 1) {
          position = k.b.create<arith::DivUIOp>(k.loc, distance, stride);
          inside = both(inside, compare(arith::CmpIPredicate::eq, k.mul(position, axis.stride), distance));
        }
        inside = both(inside, compare(arith::CmpIPredicate::ult, position, k.constant(counts[i])));
        number = k.add(k.mul(number, counts[i]), position);
        place = k.add(k.mul(place, axis.taps), taps[i]);
      }
      Value from = k.add(base, k.add(k.mul(place, positions), number));
      Value value = k.load(k.buffer(x().buffer), k.select(inside, from, k.constant(0)), x().type);
      ScalarBuilder s = h->scalar(x().type, value);
      return Values{k.select(inside, s.add(state[0], value), state[0])};
    });
    k.store(sum[0], k.buffer(y.buffer), to, y.type);
  }
};

} // namespace

std::unique_ptr<IndexedKernel> makeMaxPoolIndices(const KernelProblem &problem) {
  return std::make_unique<MaxPoolIndices>(problem);
}
std::unique_ptr<IndexedKernel> makeCol2Im(const KernelProblem &problem) { return std::make_unique<Col2Im>(problem); }

} // namespace lathe
