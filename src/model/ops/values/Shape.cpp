#include "ops/Shape.h"

#include <algorithm>

namespace lathe {
namespace {

bool isSequence(const TensorInfo &info) { return info.kind == ValueKind::sequence; }

TensorInfo value(ValueKind kind, ElementType type, std::optional<Dims> items, bool noItems = false) {
  TensorInfo info{type, {}, std::nullopt};
  info.kind = kind;
  info.items = std::move(items);
  info.noItems = noItems;
  return info;
}

void requireSequence(const TensorInfo &info, const char *constraint) {
  require(isSequence(info), "{}: x is {}, expected a sequence", constraint, name(info.kind));
}

void requirePosition(const InferInputs &in, size_t index, const char *constraint) {
  const TensorInfo *position = operand(in, index);
  require(!position || (position->isTensor() && isInteger(position->type) && position->rank() <= 1),
          "{}: the position is no integer scalar", constraint);
}

const Dims &itemsOf(const TensorInfo &info, const char *constraint) {
  require(info.items.has_value(), "{}: the rank of the tensors of x is not known", constraint);
  return *info.items;
}

} // namespace

Dims itemDims(const Dims &dims) {
  Dims result = dims;
  for (Dim &dim : result)
    if (!dim.isConstant())
      dim = unknownDim();
  return result;
}

TensorInfo commonItems(const TensorInfo &a, const TensorInfo &b) {
  if (a.noItems || b.noItems)
    return a.noItems ? b : a;
  TensorInfo common = a;
  if (!a.items || !b.items || a.items->size() != b.items->size()) {
    common.items.reset();
    return common;
  }
  for (size_t axis = 0; axis < a.items->size(); ++axis)
    if (!((*a.items)[axis] == (*b.items)[axis]))
      (*common.items)[axis] = unknownDim();
  return common;
}

InferResult inferSequenceConstruct(const SequenceConstructAttrs &a, const InferInputs &in) {
  require(!in.empty() || a.type != ElementType::invalid, "sequence_construct_c1: an empty sequence states no type");
  TensorInfo result = value(ValueKind::sequence, in.empty() ? a.type : in[0]->type, std::nullopt, true);
  for (const TensorInfo *item : in) {
    require(item->isTensor(), "sequence_construct_c1: an item is {}, expected a tensor", name(item->kind));
    require(item->type == result.type && (a.type == ElementType::invalid || a.type == item->type),
            "sequence_construct_c1: an item is {}, expected {}", name(item->type),
            name(a.type == ElementType::invalid ? result.type : a.type));
    result = commonItems(result, value(ValueKind::sequence, item->type, itemDims(item->dims)));
  }
  return {result};
}

InferResult inferSequenceInsert(const SequenceInsertAttrs &, const InferInputs &in) {
  requireSequence(*in[0], "sequence_insert_c1");
  require(in[1]->isTensor() && in[1]->type == in[0]->type,
          "sequence_insert_c1: the item is {} of {}, expected a tensor of {}", name(in[1]->kind), name(in[1]->type),
          name(in[0]->type));
  requirePosition(in, 2, "sequence_insert_c2");
  return {commonItems(*in[0], value(ValueKind::sequence, in[1]->type, itemDims(in[1]->dims)))};
}

InferResult inferSequenceErase(const SequenceEraseAttrs &, const InferInputs &in) {
  requireSequence(*in[0], "sequence_erase_c1");
  requirePosition(in, 1, "sequence_erase_c2");
  return {*in[0]};
}

InferResult inferSequenceAt(const SequenceAtAttrs &, const InferInputs &in) {
  requireSequence(*in[0], "sequence_at_c1");
  requirePosition(in, 1, "sequence_at_c2");
  return {{in[0]->type, itemsOf(*in[0], "sequence_at_c3"), std::nullopt}};
}

InferResult inferSequenceLength(const SequenceLengthAttrs &, const InferInputs &in) {
  requireSequence(*in[0], "sequence_length_c1");
  return {{ElementType::i64, {}, std::nullopt}};
}

InferResult inferSplitToSequence(const SplitToSequenceAttrs &a, const InferInputs &in) {
  require(in[0]->isTensor() && in[0]->rank() > 0,
          "split_to_sequence_c1: x is {} of rank {}, expected a tensor of rank 1", name(in[0]->kind), in[0]->rank());
  int64_t axis = normalizeAxis(a.axis, static_cast<int64_t>(in[0]->rank()), "split_to_sequence_c1");
  const TensorInfo *split = operand(in, 1);
  require(!split || (split->isTensor() && isInteger(split->type) && split->rank() <= 1),
          "split_to_sequence_c2: split is no integer tensor of rank 0 or 1");
  Dims items = itemDims(in[0]->dims);
  if (split)
    items[static_cast<size_t>(axis)] = unknownDim();
  else if (a.keepdims)
    items[static_cast<size_t>(axis)] = 1;
  else
    items.erase(items.begin() + axis);
  return {value(ValueKind::sequence, in[0]->type, std::move(items))};
}

InferResult inferConcatFromSequence(const ConcatFromSequenceAttrs &a, const InferInputs &in) {
  require(isSequence(*in[0]), "concat_from_sequence_c1: x is {}, expected a sequence", name(in[0]->kind));
  Dims dims = itemsOf(*in[0], "concat_from_sequence_c1");
  int64_t axis = normalizeAxis(a.axis, static_cast<int64_t>(dims.size()) + a.new_axis, "concat_from_sequence_c2");
  if (a.new_axis)
    dims.insert(dims.begin() + axis, unknownDim());
  else
    dims[static_cast<size_t>(axis)] = unknownDim();
  return {{in[0]->type, std::move(dims), std::nullopt}};
}

InferResult inferOptional(const OptionalAttrs &a, const InferInputs &in) {
  const TensorInfo *x = operand(in, 0);
  if (!x) {
    require(a.type != ElementType::invalid, "optional_c1: an empty optional states no type");
    return {value(a.sequence ? ValueKind::optionalSequence : ValueKind::optional, a.type, std::nullopt, true)};
  }
  require(!isOptional(x->kind), "optional_c1: x is {}, expected a tensor or a sequence", name(x->kind));
  if (isSequence(*x))
    return {value(ValueKind::optionalSequence, x->type, x->items, x->noItems)};
  return {value(ValueKind::optional, x->type, itemDims(x->dims))};
}

InferResult inferOptionalHasElement(const OptionalHasElementAttrs &, const InferInputs &) {
  return {{ElementType::boolean, {}, std::nullopt}};
}

InferResult inferOptionalGetElement(const OptionalGetElementAttrs &, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  if (x.kind == ValueKind::optionalSequence)
    return {value(ValueKind::sequence, x.type, x.items, x.noItems)};
  if (x.kind == ValueKind::optional)
    return {{x.type, itemsOf(x, "optional_get_element_c1"), std::nullopt}};
  return {x};
}

InferResult inferPassValue(const PassValueAttrs &, const InferInputs &in) { return {*in[0]}; }

} // namespace lathe
