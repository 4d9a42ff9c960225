// Family "indexed", algorithm index/1: elements read from or written to positions in another tensor. Here: the family,
// and the operators that read elements.
#include "codegen/families/Indexed.h"

#include "codegen/Families.h"
#include "codegen/families/Copy.h"
#include "ir/SymbolicShapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

namespace lathe {

namespace arith = mlir::arith;
using mlir::Value;
using Values = KernelBuilder::Values;

IndexedKernel::IndexedKernel(const KernelProblem &problem)
    : problem(problem), tensors(problem), op(soleAnchor(problem.function)) {
  for (mlir::Operation &other : mlir::func::FuncOp(problem.function).getBody().front().without_terminator())
    if (&other != op && !llvm::isa<nn::ConstantOp>(other))
      throw Declined{fmt::format("'{}' beside an indexed operator", other.getName().getStringRef().str())};
  for (Value operand : op->getOperands()) {
    const KernelTensor *tensor = tensors.input(operand);
    if (!tensor)
      throw Declined{"an operand is not an argument of the kernel"};
    operands.push_back(*tensor);
  }
  if (tensors.outputs.size() != 1 || tensors.outputs[0].value != op->getResult(0))
    throw Declined{"the result is not that of the operator"};
  y = tensors.outputs[0];
}

void IndexedKernel::requireRowMajor() const {
  if (blockOf(tensors))
    throw Declined{"blocked channels"};
}

void IndexedKernel::moveBits(std::initializer_list<KernelTensor *> moved) const {
  for (KernelTensor *tensor : moved)
    tensor->type = rawType(tensor->type);
}

Value IndexedKernel::fromFront(KernelHarness &h, const KernelTensor &indices, Value index, const Dim &extent) {
  KernelBuilder &k = h.k;
  auto vector = llvm::dyn_cast<mlir::VectorType>(index.getType());
  if (bitWidth(indices.type) < 64)
    index = k.b.create<arith::ExtSIOp>(k.loc, vector ? mlir::Type(vector.clone(k.i64())) : k.i64(), index);
  auto like = [&](Value scalar) { return vector ? k.splat(scalar, vector.getNumElements()) : scalar; };
  Value below = k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::slt, index, like(k.constant(0)));
  Value fromEnd = k.b.create<arith::AddIOp>(k.loc, index, like(h.extent(extent)));
  return k.b.create<arith::SelectOp>(k.loc, below, fromEnd, index);
}

Value IndexedKernel::offsetOf(KernelHarness &h, const KernelTensor &tensor, const KernelTensor &indices, Value number,
                              size_t batch, int64_t count) {
  KernelBuilder &k = h.k;
  Dims strides = memoryStrides(tensor);
  Value offset = k.constant(0);
  for (int64_t i = 0; i < count; ++i) {
    Value index = k.load(k.buffer(indices.buffer), k.add(k.mul(number, count), i), indices.type);
    offset = h.advance(offset, fromFront(h, indices, index, tensor.dims[batch + i]), strides[batch + i]);
  }
  return offset;
}

int64_t IndexedKernel::lanesFor(const Dim &length) const {
  int64_t lanes = problem.target.lanes(bitWidth(y.type)), known = length.constantOr(lanes);
  return known < lanes ? static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(1, known))))
                       : lanes;
}

Dim productFrom(const Dims &dims, size_t first) { return product({dims.data() + first, dims.size() - first}); }

void addTensor(Dims &extents, const KernelTensor &tensor) {
  Dims strides = memoryStrides(tensor);
  extents.insert(extents.end(), tensor.dims.begin(), tensor.dims.end());
  extents.insert(extents.end(), strides.begin(), strides.end());
  extents.push_back(product(tensor.dims));
}

int64_t blocksTogether(int64_t blocks) { return blocks % 4 == 0 ? 4 : blocks % 3 == 0 ? 3 : blocks % 2 == 0 ? 2 : 1; }

namespace {

class Gather : public IndexedKernel {
public:
  explicit Gather(const KernelProblem &problem) : IndexedKernel(problem), name(nn::recordOf(op)->name) {
    requireRowMajor();
    moveBits({&operands[0], &y});
    requireComputed(indices().type);
  }

  void describe(GrainFacts &facts) const override {
    Dims dims = y.dims;
    Dim length = dims.empty() ? Dim(1) : dims.back();
    if (!dims.empty())
      dims.pop_back();
    facts.shape = {{product(dims)}, 1, 1, std::max<int64_t>(1, length.constantOr(64))};
    facts.elementCycles = name == "reverse_sequence" ? 0.2 : 1.4; // an address each
  }

  GeneratedKernel generate(const Schedule &schedule) override {
    int64_t grain = schedule.number("grain");
    if (name == "gather_elements")
      return gatherElements(schedule, grain);
    return name == "gather_nd" ? gatherNd(schedule, grain) : reverseSequence(schedule, grain);
  }

private:
  std::string_view name;

  const KernelTensor &indices() const { return operands[1]; }

  GeneratedKernel gatherNd(const Schedule &schedule, int64_t grain) {
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
      if (length == Dim(1) && batch == 0)
        return gatherSingles(h, lo, hi, count);
      k.loop(lo, hi, 1, [&](Value number) {
        Value from = offsetOf(h, x(), indices(), number, batch, count);
        if (batch)
          from = h.advance(from, h.divide(number, h.extent(perBatch)), batchStep);
        copyRun(h, x(), from, y, h.advance(k.constant(0), number, length), h.extent(length), lanesFor(length));
      });
    };
    unlessEmpty(h, [&] { h.forUnits(space, units, body); });
    return h.finish(schedule, units.count);
  }

  /// Copies one element for each of the index vectors [lo, hi).
  void gatherSingles(KernelHarness &h, Value lo, Value hi, int64_t count) {
    KernelBuilder &k = h.k;
    int64_t width = problem.target.lanes(64);
    Dims strides = memoryStrides(x());
    llvm::SmallVector<int64_t> numbers;
    for (int64_t lane = 0; lane < width; ++lane)
      numbers.push_back(lane * count);
    Value own = k.b.create<arith::ConstantOp>(k.loc, k.b.getI64VectorAttr(numbers)), zero = k.constant(0);
    h.forVectors(lo, hi, width, 1, [&](Value number, Value mask) {
      Value steps = k.splat(zero, width);
      for (int64_t i = 0; i < count; ++i) {
        Value index = h.gather(indices(), k.add(k.mul(number, count), i), own, mask);
        index = fromFront(h, indices(), index, x().dims[i]);
        Value stride = k.splat(h.extent(strides[i]), width);
        steps = k.b.create<arith::AddIOp>(k.loc, steps, k.b.create<arith::MulIOp>(k.loc, index, stride));
      }
      Value value = h.gather(x(), zero, steps, mask);
      if (mask)
        k.maskedStore(value, k.buffer(y.buffer), number, y.type, mask);
      else
        k.store(value, k.buffer(y.buffer), number, y.type);
    });
  }

  /// Skips `body` if x is empty, because nothing may be read from it.
  void unlessEmpty(KernelHarness &h, const std::function<void()> &body) const {
    h.k.ifThen(h.k.less(h.k.constant(0), h.extent(product(x().dims))), body);
  }

  /// Copies the elements that one row of indices along the last axis selects; `at`: index of the row on the other axes.
  void gatherRow(KernelHarness &h, size_t axis, const Values &at) {
    KernelBuilder &k = h.k;
    Dims fromStrides = memoryStrides(x()), indexStrides = memoryStrides(indices());
    size_t last = x().rank() - 1;
    const Dim &length = indices().dims[last];
    int64_t width = std::min<int64_t>(problem.target.lanes(64), lanesFor(length));
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
      index = fromFront(h, indices(), index, x().dims[axis]);
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

  GeneratedKernel gatherElements(const Schedule &schedule, int64_t grain) {
    auto rank = static_cast<int64_t>(x().rank());
    auto axis = static_cast<size_t>(normalizeAxis(nn::attrsAs<GatherElementsAttrs>(op).axis, rank, "axis"));
    size_t last = static_cast<size_t>(rank) - 1;
    Space rows; // all axes but the last one, which is traversed in vectors
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

  /// Copies slices of x; the first ones of every sequence are reversed.
  GeneratedKernel reverseSequence(const Schedule &schedule, int64_t grain) {
    auto attrs = nn::attrsAs<ReverseSequenceAttrs>(op);
    auto time = static_cast<size_t>(attrs.time_axis);
    Dim length = productFrom(x().dims, 2);
    Space space;
    space.extents = {x().dims[0], x().dims[1]};
    Units units = cutUnits(space, std::max<int64_t>(1, grain / std::max<int64_t>(1, length.constantOr(64))), 1, 2);
    Dims extents = {units.chunks, length};
    addTensor(extents, x());
    KernelHarness h(problem, tensors, extents);
    KernelBuilder &k = h.k;
    Dims strides = memoryStrides(x());
    auto slice = [&](Value first, Value second) {
      Value t = time == 0 ? first : second, entry = time == 0 ? second : first;
      Value end = k.load(k.buffer(indices().buffer), entry, indices().type);
      Value source = k.select(k.less(t, end), k.sub(k.sub(end, k.constant(1)), t), t);
      Value base = h.advance(k.constant(0), entry, strides[1 - time]);
      copyRun(h, x(), h.advance(base, source, strides[time]), y, h.advance(base, t, strides[time]), h.extent(length),
              lanesFor(length));
    };
    h.forUnits(space, units, [&](Values at, Value lo, Value hi) {
      k.loop(lo, hi, 1, [&](Value i) {
        if (at.size() == 1)
          return slice(at[0], i);
        k.loop(k.constant(0), h.extent(space.extents[1]), 1, [&](Value second) { slice(i, second); });
      });
    });
    return h.finish(schedule, units.count);
  }
};

std::unique_ptr<IndexedKernel> makeIndexed(const KernelProblem &problem) {
  std::string_view name = nn::recordOf(soleAnchor(problem.function))->name;
  if (name == "gather_elements" || name == "gather_nd" || name == "reverse_sequence")
    return std::make_unique<Gather>(problem);
  if (name == "scatter_elements" || name == "scatter_nd" || name == "max_unpool")
    return makeScatter(problem);
  if (name == "grid_sample")
    return makeGridSample(problem);
  if (name == "roi_align")
    return makeRoiAlign(problem);
  if (name == "max_pool_indices")
    return makeMaxPoolIndices(problem);
  if (name == "col2im")
    return makeCol2Im(problem);
  throw Declined{fmt::format("'{}' is not an indexed operator that is compiled", name)};
}

std::unique_ptr<KernelFacts> readIndexed(const KernelProblem &problem) {
  auto facts = std::make_unique<GrainFacts>("index", 4096, 65536);
  makeIndexed(problem)->describe(*facts);
  return facts;
}

GeneratedKernel generateIndexed(const KernelProblem &problem, const KernelFacts &, const Schedule &schedule) {
  return makeIndexed(problem)->generate(schedule);
}

} // namespace

const KernelFamily indexedFamily{"indexed", readIndexed, generateIndexed};

} // namespace lathe
