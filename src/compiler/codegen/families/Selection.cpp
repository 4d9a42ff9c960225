// Family "selection", algorithm select/1: elements found by their values. Their number is an extent that the plan
// binds: one kernel counts the elements, another one writes them.
#include "codegen/families/Selection.h"

#include "codegen/space/LoopFacts.h"
#include "ir/SymbolicShapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

namespace lathe {

namespace arith = mlir::arith;
using mlir::Value;
using Values = KernelBuilder::Values;

SelectionKernel::SelectionKernel(const KernelProblem &problem, int64_t grain)
    : problem(problem), tensors(problem), op(soleAnchor(problem.function)), grain(grain) {
  for (mlir::Operation &other : mlir::func::FuncOp(problem.function).getBody().front().without_terminator())
    if (&other != op && !llvm::isa<nn::ConstantOp>(other))
      throw Declined{fmt::format("'{}' beside a selection", other.getName().getStringRef().str())};
  if (blockOf(tensors))
    throw Declined{"blocked channels"};
  requireComputed(tensors);
  for (Value operand : nn::operandsByRecord(op)) {
    const KernelTensor *tensor = operand ? tensors.input(operand) : nullptr;
    if (operand && !tensor)
      throw Declined{"an operand is not an argument of the kernel"};
    operands.push_back(tensor ? std::optional(*tensor) : std::nullopt);
  }
  if (tensors.outputs.size() != op->getNumResults())
    throw Declined{"the results are not those of the operator"};
  for (auto [result, output] : llvm::zip_equal(op->getResults(), tensors.outputs))
    if (output.value != result)
      throw Declined{"the results are not those of the operator, in order"};
  name = nn::recordOf(op)->name;
}

Value bitsOf(KernelBuilder &k, Value mask) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(mask.getType());
  if (!vector)
    return k.b.create<arith::ExtUIOp>(k.loc, k.i64(), mask);
  int64_t lanes = vector.getNumElements();
  Value bits = k.b.create<mlir::LLVM::BitcastOp>(k.loc, k.b.getIntegerType(static_cast<unsigned>(lanes)), mask);
  return lanes == 64 ? bits : k.b.create<arith::ExtUIOp>(k.loc, k.i64(), bits).getResult();
}

Value countBits(KernelBuilder &k, Value bits) { return k.b.create<mlir::LLVM::CtPopOp>(k.loc, k.i64(), bits); }

void forBits(KernelBuilder &k, Value bits, const std::function<void(Value, Value)> &body) {
  k.loop(k.constant(0), countBits(k, bits), 1, {bits}, [&](Value i, mlir::ValueRange state) {
    body(i, k.b.create<mlir::LLVM::CountTrailingZerosOp>(k.loc, k.i64(), state[0], /*is_zero_poison=*/true));
    return Values{
        k.b.create<arith::AndIOp>(k.loc, state[0], k.b.create<arith::SubIOp>(k.loc, state[0], k.constant(1)))};
  });
}

Value sumBefore(KernelBuilder &k, const KernelTensor &counts, Value count) {
  return k.loop(k.constant(0), count, 1, {k.constant(0)}, [&](Value i, mlir::ValueRange state) {
    return Values{k.add(state[0], k.load(k.buffer(counts.buffer), i, ElementType::i64))};
  })[0];
}

namespace {

/// Mask of the `lanes` elements from `at` on that are not zero; false in lanes outside `mask`.
Value notZero(KernelHarness &h, const KernelTensor &x, Value at, int64_t lanes, Value mask) {
  KernelBuilder &k = h.k;
  Value base = k.buffer(x.buffer);
  Value value = mask ? k.maskedLoad(base, at, x.type, lanes, mask) : k.load(base, at, x.type, lanes);
  if (x.type == ElementType::boolean)
    return value;
  Value zero = k.zero(value.getType());
  if (isFloat(x.type))
    return k.b.create<arith::CmpFOp>(k.loc, arith::CmpFPredicate::UNE, value, zero);
  return k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::ne, value, zero);
}

int64_t chunkOf(const SelectionKernel &kernel) {
  return kernel.name == "count_non_zero" ? nn::attrsAs<CountNonZeroAttrs>(kernel.op).chunk
                                         : nn::attrsAs<NonZeroPositionsAttrs>(kernel.op).chunk;
}

/// Visits the elements of chunk `unit` that are not zero: emits state = body(state, first element, bits) per vector.
Value overChunk(KernelHarness &h, const KernelTensor &x, Value unit, int64_t chunk, int64_t lanes, Value state,
                const std::function<Value(Value, Value, Value)> &body) {
  KernelBuilder &k = h.k;
  Value all = h.extent(product(x.dims)), lo = k.min(k.mul(unit, chunk), all), hi = k.min(k.add(lo, chunk), all);
  Value length = k.sub(hi, lo), whole = k.mul(k.div(length, lanes), lanes);
  auto step = [&](Value at, Value mask, Value before) {
    return body(before, at, bitsOf(k, notZero(h, x, at, lanes, mask)));
  };
  state = k.loop(k.constant(0), whole, lanes, {state},
                 [&](Value i, mlir::ValueRange carried) { return Values{step(k.add(lo, i), {}, carried[0])}; })[0];
  if (lanes == 1)
    return state;
  return step(k.add(lo, whole), k.prefixMask(k.sub(length, whole), lanes), state); // a mask that may be empty
}

} // namespace

GeneratedKernel countNonZero(const SelectionKernel &kernel, const Schedule &schedule) {
  const KernelTensor &x = kernel.in(0), &counts = kernel.out(0);
  KernelHarness h(kernel.problem, kernel.tensors, {product(x.dims)});
  KernelBuilder &k = h.k;
  int64_t chunk = chunkOf(kernel), lanes = kernel.lanes(x.type);
  k.loop(k.begin(), k.end(), 1, [&](Value unit) {
    Value sum = overChunk(h, x, unit, chunk, lanes, k.constant(0),
                          [&](Value before, Value, Value bits) { return k.add(before, countBits(k, bits)); });
    k.store(sum, k.buffer(counts.buffer), unit, ElementType::i64);
  });
  return h.finish(schedule, counts.dims[0]);
}

GeneratedKernel nonZeroPositions(const SelectionKernel &kernel, const Schedule &schedule) {
  const KernelTensor &x = kernel.in(0), &counts = kernel.in(1), &y = kernel.out(0);
  Dims strides = memoryStrides(x), extents = x.dims;
  extents.insert(extents.end(), strides.begin(), strides.end());
  extents.push_back(product(x.dims));
  extents.push_back(y.dims[1]);
  KernelHarness h(kernel.problem, kernel.tensors, extents);
  KernelBuilder &k = h.k;
  int64_t chunk = chunkOf(kernel);
  Value count = h.extent(y.dims[1]), base = k.buffer(y.buffer);
  k.loop(k.begin(), k.end(), 1, {sumBefore(k, counts, k.begin())}, [&](Value unit, mlir::ValueRange state) {
    auto write = [&](Value place, Value at) {
      for (size_t axis = 0; axis < x.rank(); ++axis) {
        Value index = axis + 1 < x.rank() ? h.divide(at, h.extent(strides[axis])) : at;
        k.store(axis ? h.remainder(index, h.extent(x.dims[axis])) : index, base,
                k.add(k.mul(count, static_cast<int64_t>(axis)), place), ElementType::i64);
      }
      if (x.rank() == 0) // a scalar is a vector of one element here
        k.store(at, base, place, ElementType::i64);
    };
    Value end = overChunk(h, x, unit, chunk, kernel.lanes(x.type), state[0], [&](Value place, Value first, Value bits) {
      forBits(k, bits, [&](Value i, Value bit) { write(k.add(place, i), k.add(first, bit)); });
      return k.add(place, countBits(k, bits));
    });
    return Values{end};
  });
  return h.finish(schedule, counts.dims[0]);
}

GeneratedKernel iota(const SelectionKernel &kernel, const Schedule &schedule) {
  const KernelTensor &y = kernel.out(0);
  int64_t lanes = kernel.lanes(ElementType::i64);
  Space space;
  space.extents = {y.dims[0]};
  Units units = cutUnits(space, kernel.grain, lanes, 1);
  KernelHarness h(kernel.problem, kernel.tensors, {y.dims[0], units.chunks});
  KernelBuilder &k = h.k;
  llvm::SmallVector<int64_t> numbers(static_cast<size_t>(lanes));
  std::iota(numbers.begin(), numbers.end(), 0);
  Value own = lanes > 1 ? k.b.create<arith::ConstantOp>(k.loc, k.b.getI64VectorAttr(numbers)).getResult() : Value();
  h.forUnits(space, units, [&](Values, Value lo, Value hi) {
    h.forVectors(lo, hi, lanes, 4, [&](Value at, Value mask) {
      if (!own)
        return k.store(at, k.buffer(y.buffer), at, y.type);
      Value value = k.b.create<arith::AddIOp>(k.loc, own, k.splat(at, lanes));
      if (mask)
        k.maskedStore(value, k.buffer(y.buffer), at, y.type, mask);
      else
        k.store(value, k.buffer(y.buffer), at, y.type);
    });
  });
  return h.finish(schedule, units.count);
}

/// Writes the boxes of one batch and class after the boxes of all earlier ones.
GeneratedKernel selectedBoxes(const SelectionKernel &kernel, const Schedule &schedule) {
  const KernelTensor &selected = kernel.in(0), &counts = kernel.in(1), &y = kernel.out(0);
  Dim kinds = counts.dims[0] * counts.dims[1];
  KernelHarness h(kernel.problem, kernel.tensors, {counts.dims[1], selected.dims[2]});
  KernelBuilder &k = h.k;
  k.loop(k.begin(), k.end(), 1, {sumBefore(k, counts, k.begin())}, [&](Value unit, mlir::ValueRange state) {
    Value count = k.load(k.buffer(counts.buffer), unit, ElementType::i64);
    Value classes = h.extent(counts.dims[1]), batch = h.divide(unit, classes), kind = h.remainder(unit, classes);
    Value from = h.advance(k.constant(0), unit, selected.dims[2]);
    k.loop(k.constant(0), count, 1, [&](Value i) {
      Value box = k.b.create<arith::ExtSIOp>(k.loc, k.i64(),
                                             k.load(k.buffer(selected.buffer), k.add(from, i), ElementType::i32));
      Value to = k.mul(k.add(state[0], i), 3);
      for (auto [place, value] : llvm::enumerate(Values{batch, kind, box}))
        k.store(value, k.buffer(y.buffer), k.add(to, static_cast<int64_t>(place)), ElementType::i64);
    });
    return Values{k.add(state[0], count)};
  });
  return h.finish(schedule, kinds);
}

namespace {

using Generator = GeneratedKernel (*)(const SelectionKernel &kernel, const Schedule &schedule);
constexpr std::pair<std::string_view, Generator> generators[] = {
    {"count_non_zero", countNonZero}, {"non_zero_positions", nonZeroPositions}, {"iota", iota},
    {"select_boxes", selectBoxes},    {"selected_boxes", selectedBoxes},        {"distinct", distinct}};

Generator generatorOf(const SelectionKernel &kernel) {
  for (auto [name, generator] : generators)
    if (name == kernel.name)
      return generator;
  throw Declined{fmt::format("'{}' is not a selection that is compiled", kernel.name)};
}

std::unique_ptr<KernelFacts> readSelection(const KernelProblem &problem) {
  SelectionKernel kernel(problem, 1);
  auto facts = std::make_unique<GrainFacts>("select", 8192, 65536);
  generatorOf(kernel)(kernel, facts->prior()); // declines kernels that it does not compute
  const KernelTensor &main = kernel.name == "iota" ? kernel.out(0) : kernel.in(0);
  facts->shape.extents = {product(main.dims)};
  facts->shape.limit = 1;
  facts->elementCycles = kernel.name == "distinct" || kernel.name == "select_boxes" ? 20 : 0.5;
  return facts;
}

GeneratedKernel generateSelection(const KernelProblem &problem, const KernelFacts &, const Schedule &schedule) {
  SelectionKernel kernel(problem, schedule.number("grain"));
  return generatorOf(kernel)(kernel, schedule);
}

} // namespace

const KernelFamily selectionFamily{"selection", readSelection, generateSelection};

} // namespace lathe
