#include "codegen/builder/KernelHarness.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {

using mlir::Value;

namespace {

Dims distinct(const Dims &extents) {
  Dims result;
  for (const Dim &dim : extents)
    if (!dim.isConstant() && std::find(result.begin(), result.end(), dim) == result.end())
      result.push_back(dim);
  return result;
}

} // namespace

KernelHarness::KernelHarness(const KernelProblem &problem, const KernelTensors &tensors, const Dims &extents)
    : k(problem, "kernel", tensors.writable(), distinct(extents).size()), tensors(tensors), runtime(distinct(extents)) {
}

Value KernelHarness::extent(const Dim &dim) {
  if (dim.isConstant())
    return k.constant(dim.constant());
  for (size_t i = 0; i < runtime.size(); ++i)
    if (runtime[i] == dim)
      return k.dim(i);
  throw std::logic_error(fmt::format("extent {} is not one of the kernel's", dim.str()));
}

Value KernelHarness::advance(Value offset, Value index, const Dim &stride) {
  if (stride == Dim(0))
    return offset;
  return k.add(offset, stride == Dim(1) ? index : k.mul(index, extent(stride)));
}

Value KernelHarness::divide(Value x, Value y) {
  if (auto known = mlir::getConstantIntValue(y))
    return k.div(x, *known);
  return k.b.create<mlir::arith::DivUIOp>(k.loc, x, y);
}

Value KernelHarness::remainder(Value x, Value y) {
  if (auto known = mlir::getConstantIntValue(y))
    return k.rem(x, *known);
  return k.b.create<mlir::arith::RemUIOp>(k.loc, x, y);
}

KernelHarness::Values KernelHarness::unravel(Value number, const Dims &extents) {
  Values result(extents.size());
  for (size_t i = extents.size(); i-- > 0;) {
    if (i == 0) {
      result[0] = number;
      break;
    }
    Value size = extent(extents[i]);
    result[i] = remainder(number, size);
    number = divide(number, size);
  }
  return result;
}

void KernelHarness::forUnits(const Space &space, const Units &units,
                             const std::function<void(Values, Value, Value)> &body) {
  forUnits(space, units, k.begin(), k.end(), body);
}

void KernelHarness::forUnits(const Space &space, const Units &units, Value first, Value last,
                             const std::function<void(Values, Value, Value)> &body) {
  k.loop(first, last, 1, [&](Value unit) {
    Dims shape(space.extents.begin(), space.extents.begin() + units.axis);
    shape.push_back(units.chunks);
    Values indices = unravel(unit, shape);
    Value run = units.count == Dim(1) ? k.constant(0) : indices.back();
    indices.pop_back();
    Value whole = extent(space.extents[units.axis]);
    Value lo = k.mul(run, units.chunk);
    int64_t known = space.extents[units.axis].constantOr(-1);
    Value hi = known >= 0 && known % units.chunk == 0 ? k.add(lo, units.chunk) : k.min(k.add(lo, units.chunk), whole);
    body(indices, lo, hi);
  });
}

void KernelHarness::forUnrolled(Value lo, Value hi, int64_t unroll, const std::function<void(Value)> &body,
                                bool sideBySide) {
  Value length = k.sub(hi, lo);
  Value main = k.add(lo, k.mul(k.div(length, unroll), unroll));
  if (unroll > 1)
    k.loop(lo, main, unroll, [&](Value i) {
      auto copy = [&](int64_t u) { body(k.add(i, u)); };
      if (sideBySide)
        return k.sideBySide(unroll, copy);
      for (int64_t u = 0; u < unroll; ++u)
        copy(u);
    });
  k.loop(unroll > 1 ? main : lo, hi, 1, body);
}

void KernelHarness::forVectors(Value lo, Value hi, int64_t lanes, int64_t unroll,
                               const std::function<void(Value, Value)> &body, bool sideBySide) {
  if (lanes == 1)
    return forUnrolled(lo, hi, unroll, [&](Value i) { body(i, {}); }, sideBySide);
  Value length = k.sub(hi, lo);
  Value whole = k.div(length, lanes);
  forUnrolled(k.constant(0), whole, unroll, [&](Value i) { body(k.add(lo, k.mul(i, lanes)), {}); }, sideBySide);
  Value rest = k.rem(length, lanes);
  if (auto known = mlir::getConstantIntValue(rest); known && *known == 0)
    return;
  Value start = k.add(lo, k.mul(whole, lanes));
  k.ifThen(k.less(k.constant(0), rest), [&] { body(start, k.prefixMask(rest, lanes)); });
}

Value KernelHarness::both(Value mask, Value other) {
  if (!mask || !other)
    return mask ? mask : other;
  return k.b.create<mlir::arith::AndIOp>(k.loc, mask, other);
}

Value KernelHarness::channelMask(const Space &space, Value blockIndex) {
  return k.prefixMask(k.sub(k.constant(space.channels), k.mul(blockIndex, space.block)), space.block);
}

Value KernelHarness::load(const Access &access, Value offset, int64_t lanes, Value mask) {
  Value base = k.buffer(access.tensor->buffer);
  ElementType type = access.tensor->type;
  const Dim &stride = access.strides.back();
  if (lanes == 1 || stride == Dim(0))
    return k.load(base, offset, type);
  if (stride == Dim(1))
    return mask ? k.maskedLoad(base, offset, type, lanes, mask) : k.load(base, offset, type, lanes);
  return gather(*access.tensor, offset, laneSteps(stride, lanes), mask);
}

Value KernelHarness::gather(const KernelTensor &tensor, Value offset, Value steps, Value mask) {
  int64_t lanes = llvm::cast<mlir::VectorType>(steps.getType()).getNumElements();
  mlir::Type memory = k.memoryType(tensor.type), whole = KernelBuilder::vectorOf(memory, lanes);
  return k.widened(k.b.create<mlir::LLVM::masked_gather>(
                       k.loc, whole, pointers(k.buffer(tensor.buffer), offset, steps, memory),
                       mask ? mask : allLanes(lanes), mlir::ValueRange{k.zero(whole)}, bitWidth(tensor.type) / 8),
                   tensor.type);
}

void KernelHarness::store(const Access &access, Value value, Value offset, int64_t lanes, Value mask) {
  Value base = k.buffer(access.tensor->buffer);
  ElementType type = access.tensor->type;
  if (lanes == 1)
    return k.store(value, base, offset, type);
  value = k.splat(value, lanes);
  const Dim &stride = access.strides.back();
  if (stride == Dim(1))
    return mask ? k.maskedStore(value, base, offset, type, mask) : k.store(value, base, offset, type);
  mlir::Type memory = k.memoryType(type);
  k.b.create<mlir::LLVM::masked_scatter>(k.loc, k.narrowed(value, type),
                                         pointers(base, offset, laneSteps(stride, lanes), memory),
                                         mask ? mask : allLanes(lanes), bitWidth(type) / 8);
}

Value KernelHarness::allLanes(int64_t lanes) {
  return k.b.create<mlir::arith::ConstantOp>(
      k.loc, mlir::DenseElementsAttr::get(KernelBuilder::vectorOf(k.b.getI1Type(), lanes), true));
}

Value KernelHarness::laneSteps(const Dim &stride, int64_t lanes) {
  llvm::SmallVector<int64_t> numbers(lanes);
  for (int64_t lane = 0; lane < lanes; ++lane)
    numbers[lane] = lane;
  Value steps = k.b.create<mlir::arith::ConstantOp>(k.loc, k.b.getI64VectorAttr(numbers));
  return k.b.create<mlir::arith::MulIOp>(k.loc, steps, k.splat(extent(stride), lanes));
}

Value KernelHarness::pointers(Value base, Value offset, Value steps, mlir::Type memory) {
  int64_t lanes = llvm::cast<mlir::VectorType>(steps.getType()).getNumElements();
  return k.b.create<mlir::LLVM::GEPOp>(k.loc, mlir::LLVM::getFixedVectorType(k.pointer(), lanes), memory,
                                       k.gep(base, offset, memory), mlir::ValueRange{steps});
}

Value KernelHarness::across(ElementType type, Value vector,
                            const std::function<Value(ScalarBuilder &, Value, Value)> &merge) {
  int64_t lanes = llvm::cast<mlir::VectorType>(vector.getType()).getNumElements();
  for (lanes /= 2; lanes > 1; lanes /= 2) {
    llvm::SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < lanes; ++i) {
      low.push_back(i);
      high.push_back(lanes + i);
    }
    Value x = k.b.create<mlir::vector::ShuffleOp>(k.loc, vector, vector, low);
    Value y = k.b.create<mlir::vector::ShuffleOp>(k.loc, vector, vector, high);
    ScalarBuilder b = scalar(type, x);
    vector = merge(b, x, y);
  }
  Value first = k.b.create<mlir::vector::ExtractOp>(k.loc, vector, int64_t(0));
  Value second = k.b.create<mlir::vector::ExtractOp>(k.loc, vector, int64_t(1));
  ScalarBuilder b = scalar(type, first);
  return merge(b, first, second);
}

GeneratedKernel KernelHarness::finish(const Schedule &schedule, Dim units, Dim scratchBytes) {
  GeneratedKernel result;
  result.module = k.finish();
  result.units = std::move(units);
  result.scratchBytes = std::move(scratchBytes);
  result.dims = runtime;
  result.packings.resize(tensors.inputs.size());
  result.schedule = schedule;
  return result;
}

Dims extentsOf(const Space &space, const std::vector<Access> &accesses) {
  Dims result = space.extents;
  for (const Access &access : accesses) {
    result.insert(result.end(), access.strides.begin(), access.strides.end());
    result.push_back(access.base);
  }
  return result;
}

int64_t countOps(mlir::func::FuncOp function) {
  int64_t count = 0;
  for (mlir::Operation &op : function.getBody().front())
    count += nn::recordOf(&op) != nullptr;
  return count;
}

mlir::Operation *soleAnchor(mlir::func::FuncOp function) {
  mlir::Operation *anchor = nullptr;
  for (mlir::Operation &op : function.getBody().front()) {
    const OpRecord *record = nn::recordOf(&op);
    if (!record && !llvm::isa<nn::ConvertLayoutOp>(op))
      continue;
    if (record && std::string_view(record->lowering) == "elementwise")
      continue;
    if (anchor)
      throw Declined{fmt::format("'{}' and '{}' in one kernel", anchor->getName().getStringRef().str(),
                                 op.getName().getStringRef().str())};
    anchor = &op;
  }
  if (!anchor)
    throw Declined{"the kernel has no operation of its family"};
  return anchor;
}

void requirePointwise(mlir::func::FuncOp function, mlir::Operation *anchor) {
  for (mlir::Operation &op : function.getBody().front().without_terminator()) {
    if (&op == anchor || llvm::isa<nn::ConstantOp>(op))
      continue;
    const OpRecord *record = nn::recordOf(&op);
    if (!record || !findScalarLowering(record->name))
      throw Declined{fmt::format("'{}' has no scalar expression", op.getName().getStringRef().str())};
  }
}

void requireComputed(ElementType type) {
  if (!KernelBuilder::computes(type))
    throw Declined{fmt::format("no kernels for elements of type {}", name(type))};
}

void requireComputed(const KernelTensors &tensors) {
  for (const std::vector<KernelTensor> *list : {&tensors.inputs, &tensors.outputs})
    for (const KernelTensor &tensor : *list)
      requireComputed(tensor.type);
}

void tryPointwise(const KernelProblem &problem, const KernelTensors &tensors, mlir::Operation *anchor,
                  const Unread &unread, const std::vector<Value> &more) {
  requireComputed(tensors);
  KernelBuilder k(problem, "trial", {}, 0);
  Pointwise body(k, [&](Value value) -> Value {
    const KernelTensor *input = tensors.input(value);
    if (input && input == unread.tensor)
      throw Declined{unread.reason};
    if (!input && (!anchor || value.getDefiningOp() != anchor))
      return {};
    return k.zero(k.computeType(nn::infoOf(value).type));
  });
  for (Value value : more)
    if (value)
      body.evaluate(value);
  for (const KernelTensor &output : tensors.outputs)
    body.evaluate(output.value);
}

} // namespace lathe
