// Family "elementwise", algorithm map/2: a DAG of element-wise operations with one or more results of one shape.
//
// Axes along which all tensors have compatible strides are merged first, so most kernels are one or two loops. In a
// blocked space, the lanes are the channels of a block, and the innermost loop runs over the pixels. An operand that does
// not vary with the pixels is loaded once.
#include "codegen/Families.h"
#include "codegen/builder/KernelHarness.h"
#include "codegen/space/LoopFacts.h"

#include <map>

namespace lathe {
namespace {

using mlir::Value;

struct MapPlan {
  KernelTensors tensors;
  Space space;
  std::vector<Access> accesses; // by buffer
  int64_t lanes = 1;
  bool single = false; // the last axis is exactly one vector

  explicit MapPlan(const KernelProblem &problem) : tensors(problem) {
    requirePointwise(problem.function, nullptr);
    if (tensors.outputs.empty())
      throw Declined{"no results"};
    // A result may be broadcast later; the kernel's shape is the shape of all results together.
    Dims dims;
    for (const KernelTensor &output : tensors.outputs)
      dims = dims.empty() ? output.dims : broadcast(dims, output.dims);
    space = Space(dims, blockOf(tensors));
    for (const KernelTensor &tensor : tensors.inputs)
      accesses.push_back(space.access(tensor));
    for (const KernelTensor &tensor : tensors.outputs) {
      if (!(tensor.dims == dims))
        throw Declined{"results of different shapes"};
      accesses.push_back(space.access(tensor));
    }
    std::vector<Access *> all;
    for (Access &access : accesses)
      all.push_back(&access);
    space.collapse(all);
    lanes = problem.target.lanes(widest(problem.function));
    if (space.block)
      lanes = space.block;
    single = space.extents.back() == Dim(lanes) && space.extents.size() > 1;
  }

  /// Bits of the widest element in computations.
  static unsigned widest(mlir::func::FuncOp function) {
    unsigned bits = 8;
    auto see = [&](mlir::Value value) { bits = std::max(bits, bitWidth(nn::infoOf(value).type)); };
    for (mlir::BlockArgument argument : function.getArguments())
      see(argument);
    for (mlir::Operation &op : function.getBody().front())
      for (mlir::Value result : op.getResults()) {
        see(result);
        // 16-bit floats are computed in float32.
        if (lathe::isFloat(nn::infoOf(result).type))
          bits = std::max(bits, 32u);
      }
    return bits;
  }
};

class MapKernel {
public:
  MapKernel(const KernelProblem &problem, const MapPlan &plan, const Schedule &schedule)
      : plan(plan), schedule(schedule), units(cutUnits(plan.space, schedule.number("grain"), plan.lanes, limit())),
        h(problem, plan.tensors, extents()) {}

  GeneratedKernel generate() {
    depth = plan.space.extents.size() - (plan.single ? 1 : 0);
    h.forUnits(plan.space, units, [&](KernelHarness::Values indices, Value lo, Value hi) {
      Frame frame;
      frame.loaded.resize(plan.accesses.size());
      for (const Access &access : plan.accesses)
        frame.offsets.push_back(h.extent(access.base));
      settle(frame, 0);
      for (size_t axis = 0; axis < indices.size(); ++axis)
        enter(frame, axis, indices[axis]);
      run(frame, units.axis, lo, hi);
    });
    return h.finish(schedule, units.count);
  }

private:
  /// The state of the loops: offsets of all tensors, and loaded values that do not vary in the remaining loops.
  struct Frame {
    std::vector<Value> offsets, loaded;
    Value channelMask;
  };

  const MapPlan &plan;
  const Schedule &schedule;
  Units units;
  KernelHarness h;
  size_t depth = 0; // number of loops, without the last axis if it is a single vector

  size_t limit() const { return plan.single ? plan.space.extents.size() - 1 : plan.space.extents.size(); }

  Dims extents() const {
    Dims result = extentsOf(plan.space, plan.accesses);
    result.push_back(units.chunks);
    return result;
  }

  bool variesFrom(const Access &access, size_t axis) const {
    for (size_t i = axis; i < limit(); ++i)
      if (!(access.strides[i] == Dim(0)))
        return true;
    return false;
  }

  /// Loads the inputs that do not vary from `axis` on.
  void settle(Frame &frame, size_t axis) {
    for (size_t i = 0; i < plan.tensors.inputs.size(); ++i)
      if (!frame.loaded[i] && !variesFrom(plan.accesses[i], axis))
        frame.loaded[i] = h.load(plan.accesses[i], frame.offsets[i], plan.single ? plan.lanes : 1,
                                 plan.accesses[i].partial ? frame.channelMask : Value());
  }

  void enter(Frame &frame, size_t axis, Value index) {
    for (size_t i = 0; i < plan.accesses.size(); ++i)
      frame.offsets[i] = h.advance(frame.offsets[i], index, plan.accesses[i].strides[axis]);
    if (plan.space.block && axis == plan.space.blockAxis && anyPartial())
      frame.channelMask = h.channelMask(plan.space, index);
    if (plan.single || axis + 1 < depth) // otherwise this is the vector's axis, and point() loads
      settle(frame, axis + 1);
  }

  bool anyPartial() const {
    return llvm::any_of(plan.accesses, [](const Access &access) { return access.partial; });
  }

  void run(const Frame &frame, size_t axis, Value lo, Value hi) {
    int64_t unroll = schedule.number("interleave");
    bool last = axis + 1 == depth;
    if (!last) {
      h.k.loop(lo, hi, 1, [&](Value index) {
        Frame inner = frame;
        enter(inner, axis, index);
        run(inner, axis + 1, h.k.constant(0), h.extent(plan.space.extents[axis + 1]));
      });
      return;
    }
    if (plan.single)
      return h.forUnrolled(
          lo, hi, unroll,
          [&](Value index) {
            Frame inner = frame;
            enter(inner, axis, index);
            point(inner, {});
          },
          true);
    h.forVectors(
        lo, hi, plan.lanes, unroll,
        [&](Value index, Value mask) {
          Frame inner = frame;
          enter(inner, axis, index);
          point(inner, mask);
        },
        true);
  }

  void point(const Frame &frame, Value mask) {
    Pointwise body(h.k, [&](Value value) -> Value {
      const KernelTensor *input = plan.tensors.input(value);
      if (!input)
        return {};
      size_t i = input->buffer;
      if (frame.loaded[i])
        return frame.loaded[i];
      const Access &access = plan.accesses[i];
      return h.load(access, frame.offsets[i], plan.lanes, access.partial ? h.both(mask, frame.channelMask) : mask);
    });
    std::vector<Value> results;
    for (const KernelTensor &output : plan.tensors.outputs)
      results.push_back(body.evaluate(output.value));
    for (size_t i = 0; i < results.size(); ++i) {
      const KernelTensor &output = plan.tensors.outputs[i];
      const Access &access = plan.accesses[output.buffer];
      h.store(access, results[i], frame.offsets[output.buffer], plan.lanes,
              access.partial ? h.both(mask, frame.channelMask) : mask);
    }
  }
};

/// Instructions of one vector, by operator; polynomials as counted in assembly (docs/notes/rows.md).
MapFacts::Body bodyOf(mlir::func::FuncOp function) {
  static const std::map<std::string_view, MapFacts::Body> known = {
      {"exp", {11, 3, 10}},      {"sigmoid", {13, 3, 10}},   {"tanh", {17, 4, 12}},     {"erf", {21, 4, 14}},
      {"gelu", {20, 4, 14}},     {"log", {15, 4, 12}},       {"pow", {30, 5, 20}},      {"div", {5, 2, 0}},
      {"sqrt", {9, 1, 0}},       {"silu", {14, 3, 10}},      {"softplus", {28, 5, 20}}, {"mish", {45, 5, 20}},
      {"hard_swish", {5, 2, 3}}, {"hard_sigmoid", {4, 2, 3}}};
  MapFacts::Body body{0, 1, 0};
  for (mlir::Operation &op : function.getBody().front())
    if (const OpRecord *record = nn::recordOf(&op)) {
      auto found = known.find(record->name);
      MapFacts::Body one = found == known.end() ? MapFacts::Body{1.5, 1, 1} : found->second;
      body.instructions += one.instructions;
      body.live = std::max(body.live, one.live + 1);
      body.constants += one.constants;
    }
  return body;
}

std::unique_ptr<KernelFacts> readMap(const KernelProblem &problem) {
  MapPlan plan(problem);
  tryPointwise(problem, plan.tensors);
  auto facts = std::make_unique<MapFacts>();
  facts->operators = countOps(problem.function);
  facts->shape = {plan.space.extents, plan.space.extents.size() - (plan.single ? 1 : 0), plan.lanes, 1};
  facts->body = bodyOf(problem.function);
  return facts;
}

GeneratedKernel generateMap(const KernelProblem &problem, const KernelFacts &, const Schedule &schedule) {
  MapPlan plan(problem);
  return MapKernel(problem, plan, schedule).generate();
}

} // namespace

const KernelFamily mapFamily{"elementwise", readMap, generateMap};

} // namespace lathe
