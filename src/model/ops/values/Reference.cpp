#include "ops/ReferenceSupport.h"

namespace lathe {
namespace {

/// Sets result 0; copies into the caller's memory, if there is any.
void give(ReferenceCall &call, Tensor tensor) {
  Value &out = call.outputs[0];
  if (out.isTensor() && out.tensor().defined() && out.tensor().dims() == tensor.dims() &&
      out.tensor().type() == tensor.type())
    assign(out.tensor(), tensor);
  else
    out = std::move(tensor);
}

const Tensor &tensorOf(const Value &value) {
  require(value.isTensor() && value.tensor().defined(), "an operand is {}, expected a tensor", name(kindOf(value)));
  return value.tensor();
}

/// Copies a tensor, because the value outlives the call and the tensor belongs to the plan or the caller.
Value kept(const Value &tensor) { return tensorOf(tensor).clone(); }

/// Operand `index` as a position among `places` of a sequence of `count` tensors; `otherwise` if the operand is absent.
int64_t position(const ReferenceCall &call, size_t index, size_t count, size_t places, size_t otherwise) {
  if (!call.has(index))
    return static_cast<int64_t>(otherwise);
  const Tensor &given = tensorOf(*call.inputs[index]);
  require(given.elements() == 1 && isInteger(given.type()), "the position is {} of {} elements, expected an integer",
          name(given.type()), given.elements());
  int64_t at = given.asInteger(0);
  auto length = static_cast<int64_t>(count);
  require(at >= -length && at < static_cast<int64_t>(places), "position {} in a sequence of {} tensors", at, count);
  return at < 0 ? at + length : at;
}

const Sequence &sequenceOf(const ReferenceCall &call) {
  require(call.inputs[0]->isSequence(), "x is {}, expected a sequence", name(kindOf(*call.inputs[0])));
  return call.inputs[0]->sequence();
}

std::vector<int64_t> partSizes(const ReferenceCall &call, int64_t extent) {
  if (!call.has(1))
    return std::vector<int64_t>(static_cast<size_t>(extent), 1);
  const Tensor &split = tensorOf(*call.inputs[1]);
  require(isInteger(split.type()) && split.rank() <= 1, "split is {} of rank {}, expected integers of rank 0 or 1",
          name(split.type()), split.rank());
  std::vector<int64_t> sizes;
  int64_t sum = 0;
  if (split.rank() == 0) {
    int64_t size = split.asInteger(0);
    require(size > 0, "parts have size {}, expected 1 or more", size);
    for (int64_t at = 0; at < extent; at += size)
      sizes.push_back(std::min(size, extent - at));
    return sizes;
  }
  for (int64_t i = 0; i < split.elements(); ++i) {
    sizes.push_back(split.asInteger(i));
    require(sizes.back() >= 0 && sizes.back() <= extent - sum, "parts have sizes {}, the axis has {}",
            fmt::join(sizes, ", "), extent);
    sum += sizes.back();
  }
  require(sum == extent, "parts have sizes {}, the axis has {}", fmt::join(sizes, ", "), extent);
  return sizes;
}

} // namespace

void runSequenceConstruct(const SequenceConstructAttrs &a, ReferenceCall &call) {
  Sequence result{call.inputs.empty() ? a.type : tensorOf(*call.inputs[0]).type(), {}};
  for (const Value *item : call.inputs)
    result.items.push_back(kept(*item));
  call.outputs[0] = std::move(result);
}

void runSequenceInsert(const SequenceInsertAttrs &, ReferenceCall &call) {
  Sequence result = sequenceOf(call);
  size_t count = result.items.size();
  result.items.insert(result.items.begin() + position(call, 2, count, count + 1, count), kept(*call.inputs[1]));
  call.outputs[0] = std::move(result);
}

void runSequenceErase(const SequenceEraseAttrs &, ReferenceCall &call) {
  Sequence result = sequenceOf(call);
  size_t count = result.items.size();
  require(count > 0, "the sequence is empty, expected a tensor to take out");
  result.items.erase(result.items.begin() + position(call, 1, count, count, count - 1));
  call.outputs[0] = std::move(result);
}

void runSequenceAt(const SequenceAtAttrs &, ReferenceCall &call) {
  const std::vector<Value> &items = sequenceOf(call).items;
  require(!items.empty(), "the sequence is empty, expected a tensor to take out");
  give(call, items[static_cast<size_t>(position(call, 1, items.size(), items.size(), 0))].tensor());
}

void runSequenceLength(const SequenceLengthAttrs &, ReferenceCall &call) {
  give(call, Tensor::of<int64_t>({}, {static_cast<int64_t>(sequenceOf(call).items.size())}));
}

void runSplitToSequence(const SplitToSequenceAttrs &a, ReferenceCall &call) {
  const Tensor &x = tensorOf(*call.inputs[0]);
  int64_t axis = normalizeAxis(a.axis, static_cast<int64_t>(x.rank()), "split_to_sequence_c1");
  std::vector<int64_t> sizes = partSizes(call, x.dim(static_cast<size_t>(axis)));
  Sequence result{x.type(), {}};
  if (sizes.size() == 1) {
    result.items.push_back(kept(*call.inputs[0]));
  } else if (!sizes.empty()) {
    SplitAttrs split;
    split.axis = axis;
    split.sizes = sizes;
    result.items = evaluateReference("split", split, call.inputs.first(1));
  }
  if (!call.has(1) && !a.keepdims)
    for (Value &item : result.items) {
      std::vector<int64_t> dims = item.tensor().dims();
      dims.erase(dims.begin() + axis);
      item = item.tensor().reshaped(std::move(dims));
    }
  call.outputs[0] = std::move(result);
}

void runConcatFromSequence(const ConcatFromSequenceAttrs &a, ReferenceCall &call) {
  std::vector<Value> parts = sequenceOf(call).items;
  require(!parts.empty(), "the sequence is empty, expected tensors to concatenate");
  auto rank = static_cast<int64_t>(parts[0].tensor().rank());
  int64_t axis = normalizeAxis(a.axis, rank + a.new_axis, "concat_from_sequence_c2");
  std::vector<const Value *> pointers;
  for (Value &part : parts) {
    std::vector<int64_t> dims = part.tensor().dims();
    if (a.new_axis) {
      dims.insert(dims.begin() + axis, 1);
      part = part.tensor().reshaped(std::move(dims));
    }
    pointers.push_back(&part);
  }
  if (parts.size() == 1)
    return give(call, parts[0].tensor());
  ConcatAttrs concat;
  concat.axis = axis;
  give(call, evaluateReference("concat", concat, pointers)[0].tensor());
}

void runOptional(const OptionalAttrs &, ReferenceCall &call) {
  Optional result;
  if (call.has(0))
    result.value = std::make_shared<Value>(call.inputs[0]->isTensor() ? kept(*call.inputs[0]) : *call.inputs[0]);
  call.outputs[0] = std::move(result);
}

void runOptionalHasElement(const OptionalHasElementAttrs &, ReferenceCall &call) {
  Tensor has(ElementType::boolean, {});
  *has.as<uint8_t>() = !call.inputs[0]->isOptional() || call.inputs[0]->optional().value;
  give(call, std::move(has));
}

void runOptionalGetElement(const OptionalGetElementAttrs &, ReferenceCall &call) {
  const Value *value = call.inputs[0];
  if (value->isOptional()) {
    require(value->optional().value != nullptr, "the optional is empty, expected an element");
    value = value->optional().value.get();
  }
  if (value->isTensor())
    give(call, value->tensor());
  else
    call.outputs[0] = *value;
}

void runPassValue(const PassValueAttrs &, ReferenceCall &call) {
  if (call.inputs[0]->isTensor())
    give(call, call.in(0));
  else
    call.outputs[0] = *call.inputs[0];
}

} // namespace lathe
