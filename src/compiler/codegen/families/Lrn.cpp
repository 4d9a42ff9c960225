// Family "lrn", algorithm lrn/1: local response normalisation across channels, with an element-wise epilogue.
//
// Row-major: lanes are pixels, and the squares of a window of channels are summed again for each channel. Blocked:
// lanes are channels, and neighbours come from shifting a block and the blocks before and after it.
#include "codegen/Families.h"
#include "codegen/builder/KernelHarness.h"
#include "codegen/space/LoopFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

struct LrnPlan {
  KernelTensors tensors;
  mlir::Operation *anchor;
  LrnAttrs attrs;
  const KernelTensor *x;
  ElementType type;
  Space space; // batch, channels or blocks of them, pixels (and lanes)
  std::vector<Access> accesses;
  int64_t lanes, before, behind; // neighbours on either side

  explicit LrnPlan(const KernelProblem &problem)
      : tensors(problem), anchor(soleAnchor(problem.function)), attrs(nn::attrsAs<LrnAttrs>(anchor)) {
    if (std::string_view(nn::recordOf(anchor)->name) != "lrn")
      throw Declined{fmt::format("'{}' is not an lrn", nn::recordOf(anchor)->name)};
    requirePointwise(problem.function, anchor);
    x = tensors.input(anchor->getOperand(0));
    if (!x)
      throw Declined{"the input is not an argument of the kernel"};
    type = x->type;
    before = (attrs.size - 1) / 2;
    behind = attrs.size / 2;
    space = Space(x->dims, blockOf(tensors));
    if (x->block != space.block)
      throw Declined{"a row-major input beside blocked tensors"};
    if (space.block && behind > space.block)
      throw Declined{"a window of more channels than a block has"};
    for (auto *list : {&tensors.inputs, &tensors.outputs})
      for (const KernelTensor &tensor : *list)
        accesses.push_back(space.access(tensor));
    mergePixels();
    lanes = space.block ? space.block : problem.target.lanes(std::max(32u, bitWidth(type)));
  }

private:
  /// Merges the axes after the channels into one; all tensors must allow it.
  void mergePixels() {
    size_t pixels = x->rank() - 2;
    auto erase = [&](size_t axis) {
      space.extents.erase(space.extents.begin() + static_cast<ptrdiff_t>(axis));
      for (Access &access : accesses)
        access.strides.erase(access.strides.begin() + static_cast<ptrdiff_t>(axis));
      --pixels;
    };
    for (size_t axis = 1 + pixels; axis >= 2; --axis)
      if (space.extents[axis] == Dim(1))
        erase(axis);
    while (pixels > 1) {
      for (Access &access : accesses)
        if (!(access.strides[2] == access.strides[3] * space.extents[3]))
          throw Declined{"an operand that varies along some of the pixel axes"};
      space.extents[3] = space.extents[2] * space.extents[3];
      erase(2);
    }
    if (pixels == 0) {
      space.extents.insert(space.extents.begin() + 2, 1);
      for (Access &access : accesses)
        access.strides.insert(access.strides.begin() + 2, 0);
    }
  }
};

class LrnKernel {
public:
  LrnKernel(const KernelProblem &problem, const LrnPlan &plan, const Schedule &schedule)
      : plan(plan), schedule(schedule), units(cutUnits(plan.space, schedule.number("grain"), plan.lanes, 3)),
        h(problem, plan.tensors, extents()), k(h.k) {}

  GeneratedKernel generate() {
    h.forUnits(plan.space, units, [&](Values indices, Value lo, Value hi) { walk(indices, lo, hi); });
    return h.finish(schedule, units.count);
  }

private:
  const LrnPlan &plan;
  const Schedule &schedule;
  Units units;
  KernelHarness h;
  KernelBuilder &k;

  Dims extents() const {
    Dims result = extentsOf(plan.space, plan.accesses);
    result.insert(result.end(), {units.chunks, plan.x->dims[1]});
    return result;
  }

  void walk(const Values &indices, Value lo, Value hi) {
    if (indices.size() == 2)
      return plan.space.block ? blockRow(indices[0], indices[1], lo, hi) : row(indices[0], indices[1], lo, hi);
    k.loop(lo, hi, 1, [&](Value index) {
      Values next = indices;
      next.push_back(index);
      walk(next, k.constant(0), h.extent(plan.space.extents[next.size()]));
    });
  }

  const Access &xAccess() const { return plan.accesses[plan.x->buffer]; }

  std::vector<Value> offsets(Value batch, Value channel) {
    std::vector<Value> result;
    for (const Access &access : plan.accesses)
      result.push_back(h.advance(h.advance(k.constant(0), batch, access.strides[0]), channel, access.strides[1]));
    return result;
  }

  /// Computes x * (bias + alpha / size * squares)^-beta, then the epilogue.
  void finish(const std::vector<Value> &base, Value pixel, Value x, Value squares, Value mask, Value channelMask) {
    ScalarBuilder b = h.scalar(plan.type, x);
    Value scale = b.fma(squares, b.constant(plan.attrs.alpha / static_cast<double>(plan.attrs.size)),
                        b.constant(plan.attrs.bias));
    Value result;
    if (plan.attrs.beta == 0.75) {
      Value root = b.sqrt(scale); // scale^0.75 without a logarithm
      result = b.div(x, b.mul(root, b.sqrt(root)));
    } else if (plan.attrs.beta == 0.5) {
      result = b.div(x, b.sqrt(scale));
    } else if (plan.attrs.beta == 1) {
      result = b.div(x, scale);
    } else {
      result = b.mul(x, b.exp(b.mul(b.log(scale), b.constant(-plan.attrs.beta))));
    }
    auto maskOf = [&](const Access &access) { return access.partial ? h.both(mask, channelMask) : mask; };
    auto offsetOf = [&](const Access &access) {
      return h.advance(base[access.tensor->buffer], pixel, access.strides[2]);
    };
    Pointwise body(k, [&](Value value) -> Value {
      if (value == plan.anchor->getResult(0))
        return result;
      const KernelTensor *input = plan.tensors.input(value);
      if (!input)
        return {};
      if (input == plan.x)
        return x;
      const Access &access = plan.accesses[input->buffer];
      return h.load(access, offsetOf(access), plan.lanes, maskOf(access));
    });
    std::vector<Value> values;
    for (const KernelTensor &output : plan.tensors.outputs)
      values.push_back(body.evaluate(output.value));
    for (auto [output, value] : llvm::zip(plan.tensors.outputs, values)) {
      const Access &access = plan.accesses[output.buffer];
      h.store(access, value, offsetOf(access), plan.lanes, maskOf(access));
    }
  }

  void row(Value batch, Value channel, Value lo, Value hi) {
    std::vector<Value> base = offsets(batch, channel);
    Value first = k.max(k.constant(0), k.sub(channel, k.constant(plan.before)));
    Value last = k.min(h.extent(plan.x->dims[1]), k.add(channel, plan.behind + 1));
    Value image = h.advance(k.constant(0), batch, xAccess().strides[0]);
    auto load = [&](Value offset, Value mask) {
      return k.splat(h.load(xAccess(), offset, plan.lanes, mask), plan.lanes);
    };
    h.forVectors(lo, hi, plan.lanes, 1, [&](Value pixel, Value mask) {
      mlir::Type vector = KernelBuilder::vectorOf(k.computeType(plan.type), plan.lanes);
      Value squares = k.loop(first, last, 1, {k.zero(vector)}, [&](Value other, mlir::ValueRange state) {
        Value x = load(h.advance(h.advance(image, other, xAccess().strides[1]), pixel, xAccess().strides[2]), mask);
        return Values{k.fma(x, x, state[0])};
      })[0];
      finish(base, pixel, load(h.advance(base[plan.x->buffer], pixel, xAccess().strides[2]), mask), squares, mask, {});
    });
  }

  void blockRow(Value batch, Value blockIndex, Value lo, Value hi) {
    std::vector<Value> base = offsets(batch, blockIndex);
    int64_t block = plan.space.block, blocks = (plan.space.channels + block - 1) / block;
    Value image = h.advance(k.constant(0), batch, xAccess().strides[0]);
    Value previous = h.advance(image, k.max(k.constant(0), k.sub(blockIndex, k.constant(1))), xAccess().strides[1]);
    Value following = h.advance(image, k.min(k.constant(blocks - 1), k.add(blockIndex, 1)), xAccess().strides[1]);
    // Masks lanes after the last channel, whose values are unspecified.
    Value previousMask = k.prefixMask(k.mul(blockIndex, block), block);
    Value ownMask = plan.space.channels % block ? h.channelMask(plan.space, blockIndex) : Value();
    Value followingMask = h.channelMask(plan.space, k.add(blockIndex, 1));
    h.forUnrolled(lo, hi, 1, [&](Value pixel) {
      auto load = [&](Value at) { return h.load(xAccess(), h.advance(at, pixel, xAccess().strides[2]), block); };
      auto square = [&](Value x, Value mask) {
        ScalarBuilder b = h.scalar(plan.type, x);
        Value product = b.mul(x, x);
        return mask ? b.select(mask, product, b.constant(0)) : product;
      };
      Value x = load(base[plan.x->buffer]);
      Value own = square(x, ownMask), sum = own, left, right;
      ScalarBuilder b = h.scalar(plan.type, x);
      auto shifted = [&](Value low, Value high, int64_t shift) {
        llvm::SmallVector<int64_t> lanes;
        for (int64_t lane = 0; lane < block; ++lane)
          lanes.push_back(lane + shift);
        return k.b.create<mlir::vector::ShuffleOp>(k.loc, low, high, lanes);
      };
      if (plan.before)
        left = square(load(previous), previousMask);
      for (int64_t i = 1; i <= plan.before; ++i)
        sum = b.add(sum, shifted(left, own, block - i));
      if (plan.behind)
        right = square(load(following), followingMask);
      for (int64_t i = 1; i <= plan.behind; ++i)
        sum = b.add(sum, shifted(own, right, i));
      finish(base, pixel, x, sum, {}, ownMask);
    });
  }
};

std::unique_ptr<KernelFacts> readLrn(const KernelProblem &problem) {
  LrnPlan plan(problem);
  tryPointwise(problem, plan.tensors, plan.anchor);
  auto facts = std::make_unique<GrainFacts>("lrn", 4096, 32768);
  facts->shape = {plan.space.extents, 3, plan.lanes, 1};
  facts->elementCycles = 0.7;
  return facts;
}

GeneratedKernel generateLrn(const KernelProblem &problem, const KernelFacts &, const Schedule &schedule) {
  LrnPlan plan(problem);
  return LrnKernel(problem, plan, schedule).generate();
}

} // namespace

const KernelFamily lrnFamily{"lrn", readLrn, generateLrn};

} // namespace lathe
