// Family "indexed", algorithm index/1: elements read from or written to positions in another tensor.
//
// An index outside its axis is taken as the nearest one inside: code never leaves a tensor (the references report it).
#include "codegen/Families.h"
#include "codegen/families/Copy.h"
#include "codegen/space/LoopFacts.h"
#include "ir/SymbolicShapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

namespace lathe {
namespace {

namespace arith = mlir::arith;
using mlir::Value;
using Values = KernelBuilder::Values;

/// What every operator of the family has: the tensors by position, and the indices as i64.
class Indexed {
public:
  Indexed(const KernelProblem &problem, int64_t grain)
      : tensors(problem.function), op(soleAnchor(problem.function)), target(problem.target), grain(grain),
        threads(problem.threads) {
    for (mlir::Operation &other : mlir::func::FuncOp(problem.function).getBody().front().without_terminator())
      if (&other != op && !llvm::isa<nn::ConstantOp>(other))
        throw Declined{fmt::format("'{}' beside an indexed operator", other.getName().getStringRef().str())};
    if (blockOf(tensors))
      throw Declined{"blocked channels"};
    for (Value operand : op->getOperands()) {
      const KernelTensor *tensor = tensors.input(operand);
      if (!tensor)
        throw Declined{"an operand is not an argument of the kernel"};
      operands.push_back(*tensor);
    }
    if (tensors.outputs.size() != 1 || tensors.outputs[0].value != op->getResult(0))
      throw Declined{"the result is not that of the operator"};
    y = tensors.outputs[0];
    name = nn::recordOf(op)->name;
    if (name == "scatter_elements")
      reduction = nn::attrsAs<ScatterElementsAttrs>(op).reduction;
    else if (name == "scatter_nd")
      reduction = nn::attrsAs<ScatterNdAttrs>(op).reduction;
    else if (name != "gather_elements" && name != "gather_nd")
      throw Declined{fmt::format("'{}' is not an indexed operator that is compiled", name)};
    if (reduction == "none") { // nothing is computed: elements are bits
      y.type = rawType(y.type);
      operands[0].type = y.type;
      if (operands.size() > 2)
        operands[2].type = y.type;
    }
    for (const KernelTensor &tensor : operands)
      requireComputed(tensor.type);
    lanes = target.lanes(bitWidth(y.type));
  }

  GeneratedKernel generate(const KernelProblem &problem, const Schedule &schedule) {
    if (name == "gather_elements")
      return gatherElements(problem, schedule);
    if (name == "gather_nd")
      return gatherNd(problem, schedule);
    return name == "scatter_nd" ? scatterNd(problem, schedule) : scatterElements(problem, schedule);
  }

private:
  KernelTensors tensors;
  mlir::Operation *op;
  const Target &target;
  int64_t grain;
  int threads;
  std::vector<KernelTensor> operands;
  KernelTensor y;
  std::string_view name;
  std::string reduction = "none";
  int64_t lanes;

  const KernelTensor &x() const { return operands[0]; }
  const KernelTensor &indices() const { return operands[1]; }
  const KernelTensor &updates() const { return operands[2]; }

  static Dim productFrom(const Dims &dims, size_t first) { return product({dims.data() + first, dims.size() - first}); }

  Value bound(KernelHarness &h, Value index, const Dim &extent) const {
    KernelBuilder &k = h.k;
    if (bitWidth(indices().type) < 64) {
      mlir::Type wide = k.i64();
      if (auto vector = llvm::dyn_cast<mlir::VectorType>(index.getType()))
        wide = vector.clone(wide);
      index = k.b.create<arith::ExtSIOp>(k.loc, wide, index);
    }
    auto like = [&](Value scalar) -> Value {
      auto vector = llvm::dyn_cast<mlir::VectorType>(index.getType());
      return vector ? k.splat(scalar, vector.getNumElements()) : scalar;
    };
    Value size = like(h.extent(extent)), zero = like(k.constant(0)), one = like(k.constant(1));
    Value below = k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::slt, index, zero);
    index = k.b.create<arith::SelectOp>(k.loc, below, k.b.create<arith::AddIOp>(k.loc, index, size), index);
    Value last = k.b.create<arith::SubIOp>(k.loc, size, one);
    return k.b.create<arith::MaxSIOp>(k.loc, zero, k.b.create<arith::MinSIOp>(k.loc, index, last));
  }

  /// The offset in `tensor` that vector number `number` of indices names, beginning at axis `batch` of the tensor.
  Value offsetOf(KernelHarness &h, const KernelTensor &tensor, Value number, size_t batch, int64_t count) const {
    KernelBuilder &k = h.k;
    Dims strides = memoryStrides(tensor);
    Value offset = k.constant(0);
    for (int64_t i = 0; i < count; ++i) {
      Value index = k.load(k.buffer(indices().buffer), k.add(k.mul(number, count), i), indices().type);
      offset = h.advance(offset, bound(h, index, tensor.dims[batch + i]), strides[batch + i]);
    }
    return offset;
  }

  int64_t runLanes(const Dim &length) const {
    int64_t known = length.constantOr(lanes);
    return known < lanes ? static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(1, known))))
                         : lanes;
  }

  GeneratedKernel gatherNd(const KernelProblem &problem, const Schedule &schedule) {
    auto batch = static_cast<size_t>(nn::attrsAs<GatherNdAttrs>(op).batch_dims);
    int64_t count = indices().dims.back().constant();
    const Dims &dims = indices().dims;
    Dim perBatch = product({dims.data() + batch, dims.size() - 1 - batch});
    Dim length = productFrom(x().dims, batch + count), batchStep = productFrom(x().dims, batch);
    Space space;
    space.extents = {product({dims.data(), dims.size() - 1})};
    Units units = cutUnits(space, std::max<int64_t>(1, grain / std::max<int64_t>(1, length.constantOr(64))), 1, 1);
    Dims extents = {space.extents[0], units.chunks, perBatch, length, batchStep};
    addTensor(extents, x());
    KernelHarness h(problem, tensors, extents);
    KernelBuilder &k = h.k;
    auto body = [&](Values, Value lo, Value hi) {
      k.loop(lo, hi, 1, [&](Value number) {
        Value from = offsetOf(h, x(), number, batch, count);
        if (batch)
          from = h.advance(from, h.divide(number, h.extent(perBatch)), batchStep);
        copyRun(h, x(), from, y, h.advance(k.constant(0), number, length), h.extent(length), runLanes(length));
      });
    };
    unlessEmpty(h, [&] { h.forUnits(space, units, body); });
    return h.finish(schedule, units.count);
  }

  /// Extents and strides of a tensor, for the harness.
  static void addTensor(Dims &extents, const KernelTensor &tensor) {
    Dims strides = memoryStrides(tensor);
    extents.insert(extents.end(), tensor.dims.begin(), tensor.dims.end());
    extents.insert(extents.end(), strides.begin(), strides.end());
    extents.push_back(product(tensor.dims));
  }

  /// An index into nothing has no nearest element: with an empty x there is nothing to do.
  void unlessEmpty(KernelHarness &h, const std::function<void()> &body) const {
    h.k.ifThen(h.k.less(h.k.constant(0), h.extent(product(x().dims))), body);
  }

  /// The elements that one row of indices along the last axis names; `at`: its index on the other axes.
  void gatherRow(KernelHarness &h, size_t axis, const Values &at) {
    KernelBuilder &k = h.k;
    Dims fromStrides = memoryStrides(x()), indexStrides = memoryStrides(indices());
    size_t last = x().rank() - 1;
    const Dim &length = indices().dims[last];
    int64_t width = std::min<int64_t>(target.lanes(64), runLanes(length));
    Value from = k.constant(0), number = k.constant(0);
    for (size_t i = 0; i < last; ++i) {
      if (i != axis)
        from = h.advance(from, at[i], fromStrides[i]);
      number = h.advance(number, at[i], indexStrides[i]);
    }
    h.forVectors(k.constant(0), h.extent(length), width, 1, [&](Value i, Value mask) {
      Value place = k.add(number, i), base = k.buffer(indices().buffer);
      Value index =
          mask ? k.maskedLoad(base, place, indices().type, width, mask) : k.load(base, place, indices().type, width);
      index = bound(h, index, x().dims[axis]);
      Value start = axis == last ? from : h.advance(from, i, fromStrides[last]);
      if (width == 1) {
        Value value = k.load(k.buffer(x().buffer), h.advance(start, index, fromStrides[axis]), x().type);
        return k.store(value, k.buffer(y.buffer), place, y.type);
      }
      Value steps = k.b.create<arith::MulIOp>(k.loc, index, k.splat(h.extent(fromStrides[axis]), width));
      if (axis != last) {
        llvm::SmallVector<int64_t> lane(width);
        std::iota(lane.begin(), lane.end(), 0);
        Value own = k.b.create<arith::ConstantOp>(k.loc, k.b.getI64VectorAttr(lane));
        steps = k.b.create<arith::AddIOp>(k.loc, steps, own); // the last axis of x is contiguous
      }
      Value value = h.gather(x(), start, steps, mask);
      if (mask)
        k.maskedStore(value, k.buffer(y.buffer), place, y.type, mask);
      else
        k.store(value, k.buffer(y.buffer), place, y.type);
    });
  }

  GeneratedKernel gatherElements(const KernelProblem &problem, const Schedule &schedule) {
    auto rank = static_cast<int64_t>(x().rank());
    auto axis = static_cast<size_t>(normalizeAxis(nn::attrsAs<GatherElementsAttrs>(op).axis, rank, "axis"));
    size_t last = static_cast<size_t>(rank) - 1;
    Space rows; // all axes but the last, which is walked in vectors
    rows.extents.assign(indices().dims.begin(), indices().dims.end() - 1);
    if (rows.extents.empty())
      rows.extents.push_back(1);
    const Dim &length = indices().dims[last];
    Units units = cutUnits(rows, std::max<int64_t>(1, grain / std::max<int64_t>(1, length.constantOr(64))), 1,
                           rows.extents.size());
    Dims extents = rows.extents;
    extents.push_back(units.chunks);
    addTensor(extents, x());
    addTensor(extents, indices());
    KernelHarness h(problem, tensors, extents);
    KernelBuilder &k = h.k;
    auto body = [&](Values at, Value lo, Value hi) {
      std::function<void(Values, Value, Value)> walk = [&](Values before, Value first, Value end) {
        k.loop(first, end, 1, [&](Value i) {
          Values next = before;
          next.push_back(i);
          if (next.size() == rows.extents.size())
            gatherRow(h, axis, next);
          else
            walk(next, k.constant(0), h.extent(rows.extents[next.size()]));
        });
      };
      walk(at, lo, hi);
    };
    unlessEmpty(h, [&] { h.forUnits(rows, units, body); });
    return h.finish(schedule, units.count);
  }

  Value combined(KernelHarness &h, Value before, Value update) const {
    ScalarBuilder s = h.scalar(y.type, before);
    if (reduction == "add")
      return s.add(before, update);
    if (reduction == "mul")
      return s.mul(before, update);
    return reduction == "max" ? s.max(before, update) : s.min(before, update);
  }

  /// y = x in whole; the updates that begin in a unit's share of y are that unit's.
  GeneratedKernel scatterNd(const KernelProblem &problem, const Schedule &schedule) {
    int64_t count = indices().dims.back().constant();
    Dim length = productFrom(x().dims, count), rows = product({x().dims.data(), static_cast<size_t>(count)});
    Dim vectors = product({indices().dims.data(), indices().dims.size() - 1});
    Dim parts = threads > 1 ? minimum(rows, 4 * threads) : Dim(1),
        share = threads > 1 ? ceilDiv(rows, 4 * threads) : rows;
    Dims extents = {length, rows, vectors, parts, share, share * length};
    addTensor(extents, x());
    KernelHarness h(problem, tensors, extents);
    KernelBuilder &k = h.k;
    auto body = [&](Value unit) {
      Value first = k.min(k.mul(unit, h.extent(share)), h.extent(rows)),
            end = k.min(k.add(first, h.extent(share)), h.extent(rows));
      Value low = h.advance(k.constant(0), first, length), high = h.advance(k.constant(0), end, length);
      copyRun(h, x(), low, y, low, k.sub(high, low), lanes);
      k.loop(k.constant(0), h.extent(vectors), 1, [&](Value number) {
        Value to = offsetOf(h, x(), number, 0, count), from = h.advance(k.constant(0), number, length);
        Value mine =
            k.b.create<arith::AndIOp>(k.loc, k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::sle, low, to),
                                      k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::slt, to, high));
        k.ifThen(mine, [&] {
          int64_t width = runLanes(length);
          if (reduction == "none")
            return copyRun(h, updates(), from, y, to, h.extent(length), width);
          h.forVectors(k.constant(0), h.extent(length), width, 1, [&](Value i, Value mask) {
            auto read = [&](const KernelTensor &tensor, Value at) {
              return mask ? k.maskedLoad(k.buffer(tensor.buffer), at, tensor.type, width, mask)
                          : k.load(k.buffer(tensor.buffer), at, tensor.type, width);
            };
            Value put = k.add(to, i), value = combined(h, read(y, put), read(updates(), k.add(from, i)));
            if (mask)
              k.maskedStore(value, k.buffer(y.buffer), put, y.type, mask);
            else
              k.store(value, k.buffer(y.buffer), put, y.type);
          });
        });
      });
    };
    unlessEmpty(h, [&] { k.loop(k.begin(), k.end(), 1, body); });
    return h.finish(schedule, parts);
  }

  /// Updates meet only along the axis: the first axis is parallel unless it is that.
  GeneratedKernel scatterElements(const KernelProblem &problem, const Schedule &schedule) {
    size_t rank = x().rank();
    auto axis = static_cast<size_t>(
        normalizeAxis(nn::attrsAs<ScatterElementsAttrs>(op).axis, static_cast<int64_t>(rank), "axis"));
    bool split = axis != 0;
    Dim parts = split ? x().dims[0] : Dim(1), length = split ? productFrom(x().dims, 1) : productFrom(x().dims, 0);
    Dims extents = {parts, length};
    addTensor(extents, x());
    addTensor(extents, indices());
    KernelHarness h(problem, tensors, extents);
    KernelBuilder &k = h.k;
    Dims toStrides = memoryStrides(x()), indexStrides = memoryStrides(indices());
    std::function<void(size_t, Value, Value)> walk = [&](size_t i, Value to, Value number) {
      if (i == rank) {
        Value index = bound(h, k.load(k.buffer(indices().buffer), number, indices().type), x().dims[axis]);
        to = h.advance(to, index, toStrides[axis]);
        Value value = k.load(k.buffer(updates().buffer), number, updates().type);
        if (reduction != "none")
          value = combined(h, k.load(k.buffer(y.buffer), to, y.type), value);
        return k.store(value, k.buffer(y.buffer), to, y.type);
      }
      k.loop(k.constant(0), h.extent(indices().dims[i]), 1, [&](Value at) {
        walk(i + 1, i == axis ? to : h.advance(to, at, toStrides[i]), h.advance(number, at, indexStrides[i]));
      });
    };
    auto body = [&](Value unit) {
      Value start = split ? h.advance(k.constant(0), unit, length) : k.constant(0);
      copyRun(h, x(), start, y, start, h.extent(length), lanes);
      if (!split)
        return walk(0, k.constant(0), k.constant(0));
      k.ifThen(k.less(unit, h.extent(indices().dims[0])),
               [&] { walk(1, start, h.advance(k.constant(0), unit, indexStrides[0])); });
    };
    unlessEmpty(h, [&] { k.loop(k.begin(), k.end(), 1, body); });
    return h.finish(schedule, parts);
  }
};

std::unique_ptr<KernelFacts> readIndexed(const KernelProblem &problem) {
  Indexed(problem, 1);
  auto facts = std::make_unique<GrainFacts>("index", 4096, 65536);
  Dims dims = nn::SymbolicShapes(problem.function).results().at(0).dims;
  Dim length = dims.empty() ? Dim(1) : dims.back();
  if (!dims.empty())
    dims.pop_back();
  facts->shape = {{product(dims)}, 1, 1, std::max<int64_t>(1, length.constantOr(64))};
  facts->elementCycles = 1.4; // an address each
  return facts;
}

GeneratedKernel generateIndexed(const KernelProblem &problem, const KernelFacts &, const Schedule &schedule) {
  return Indexed(problem, schedule.number("grain")).generate(problem, schedule);
}

} // namespace

const KernelFamily indexedFamily{"indexed", readIndexed, generateIndexed};

} // namespace lathe
