// Sequences and optionals. Exporters use them for lists of tensors whose lengths they know: the importer keeps the
// list, and no sequence is left in the graph. Sequences that only the run knows become nn operators on sequences.
#include "import/Bodies.h"
#include "import/RunTimeValues.h"
#include "import/onnx/Onnx.h"

namespace lathe::onnx {
namespace {

Entry tensorEntry(mlir::Value value) { return {value, {}, false}; }
Entry sequenceEntry(Values values) { return {{}, std::move(values), false}; }

bool given(const StructureNode &node, size_t index) { return index < node.inputs.size() && !node.in(index).absent; }

/// The position in operand `index`, if it is known; `end` if the operand is absent.
std::optional<int64_t> position(StructureNode &node, size_t index, int64_t end) {
  return given(node, index) ? node.scalar(node.in(index)) : end;
}

/// Checks `at` in a sequence of `count` tensors, and counts it from the beginning.
int64_t checkedPosition(int64_t at, size_t count, size_t places) {
  auto length = static_cast<int64_t>(count);
  require(at >= -length && at < static_cast<int64_t>(places), "position {} in a sequence of {} tensors", at, count);
  return at < 0 ? at + length : at;
}

/// Operand `index` as a sequence of the graph. `type` is the element type of an empty sequence that states none.
mlir::Value sequenceValue(StructureNode &node, size_t index, ElementType type = ElementType::invalid) {
  const Entry &entry = node.in(index);
  RunTimeValues values{node.graph, node.loc, node.name};
  ValueKind kind = kindOf(node.graph, entry);
  require(kind == ValueKind::sequence, "input {} is {}, expected a sequence", index, name(kind));
  return values.of(entry, type);
}

mlir::Value optionalInput(StructureNode &node, size_t index) {
  return given(node, index) ? node.tensor(index) : mlir::Value();
}

void importSequenceEmpty(StructureNode &node) {
  ElementType type = ElementType::f32;
  if (node.attr("dtype")) {
    Node reader = node.builder();
    type = reader.typeAttr("dtype", type);
  }
  node.outputs.at(0) = sequenceEntry({});
  node.outputs[0].type = type;
}

void importSequenceConstruct(StructureNode &node) {
  Values values;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    values.push_back(node.tensor(i));
  node.outputs.at(0) = sequenceEntry(std::move(values));
}

void importSequenceInsert(StructureNode &node) {
  mlir::Value item = node.tensor(1);
  if (const auto &known = node.in(0).sequence) {
    Values values = *known;
    ElementType type = values.empty() ? node.in(0).type : node.graph.info(values.front()).type;
    ElementType own = node.graph.info(item).type;
    require(type == ElementType::invalid || type == own, "the tensor is {}, expected {} as the sequence holds",
            name(own), name(type));
    if (auto at = position(node, 2, static_cast<int64_t>(values.size()))) {
      values.insert(values.begin() + checkedPosition(*at, values.size(), values.size() + 1), item);
      node.outputs.at(0) = sequenceEntry(std::move(values));
      return;
    }
  }
  mlir::Value sequence = sequenceValue(node, 0, node.graph.info(item).type);
  node.outputs.at(0) = tensorEntry(node.builder().emit("sequence_insert", {sequence, item, optionalInput(node, 2)}));
}

void importSequenceErase(StructureNode &node) {
  if (const auto &known = node.in(0).sequence) {
    Values values = *known;
    require(!values.empty(), "the sequence is empty, expected a tensor to take out");
    if (auto at = position(node, 1, static_cast<int64_t>(values.size()) - 1)) {
      values.erase(values.begin() + checkedPosition(*at, values.size(), values.size()));
      node.outputs.at(0) = sequenceEntry(std::move(values));
      return;
    }
  }
  node.outputs.at(0) =
      tensorEntry(node.builder().emit("sequence_erase", {sequenceValue(node, 0), optionalInput(node, 1)}));
}

/// Throws Unsupported unless all tensors of a sequence have one known rank.
void requireRank(StructureNode &node, mlir::Value sequence) {
  if (!node.graph.info(sequence).items)
    node.unsupported("the rank of the sequence's tensors is not known");
}

void importSequenceAt(StructureNode &node) {
  if (const auto &known = node.in(0).sequence) {
    require(!known->empty(), "the sequence is empty, expected a tensor to take out");
    if (auto at = position(node, 1, 0)) {
      node.outputs.at(0) =
          tensorEntry((*known)[static_cast<size_t>(checkedPosition(*at, known->size(), known->size()))]);
      return;
    }
  }
  mlir::Value sequence = sequenceValue(node, 0);
  requireRank(node, sequence);
  node.outputs.at(0) = tensorEntry(node.builder().emit("sequence_at", {sequence, node.tensor(1)}));
}

void importSequenceLength(StructureNode &node) {
  Node builder = node.builder();
  if (const auto &known = node.in(0).sequence)
    node.outputs.at(0) = tensorEntry(builder.constantInts({}, {static_cast<int64_t>(known->size())}));
  else
    node.outputs.at(0) = tensorEntry(builder.emit("sequence_length", {sequenceValue(node, 0)}));
}

void importConcatFromSequence(StructureNode &node) {
  require(node.attr("axis") != nullptr, "attribute 'axis' is missing");
  int64_t axis = node.intAttr("axis", 0);
  bool newAxis = node.intAttr("new_axis", 0) != 0;
  Node builder = node.builder();
  if (!node.in(0).sequence) {
    mlir::Value sequence = sequenceValue(node, 0);
    requireRank(node, sequence);
    node.outputs.at(0) =
        tensorEntry(builder.emit("concat_from_sequence", {sequence}, {{"axis", axis}, {"new_axis", newAxis}}));
    return;
  }
  Values values = node.sequence(0);
  require(!values.empty(), "the sequence is empty, expected tensors to concatenate");
  if (newAxis)
    for (mlir::Value &value : values) {
      Dims dims = builder.info(value).dims;
      int64_t rank = static_cast<int64_t>(dims.size()) + 1;
      require(axis >= -rank && axis < rank, "axis is {}, expected one of {}", axis, rank);
      dims.insert(dims.begin() + (axis < 0 ? axis + rank : axis), Dim(1));
      value = builder.reshape(value, dims);
    }
  node.outputs.at(0) = tensorEntry(values.size() == 1 ? values[0] : builder.emit("concat", values, {{"axis", axis}}));
}

/// Extents of the parts of SplitToSequence along an axis of `extent`; nothing if only the run knows them, or if there
/// are too many parts.
std::optional<std::vector<int64_t>> partSizes(StructureNode &node, const Dim &extent) {
  constexpr size_t mostParts = 4096;
  if (!extent.isConstant())
    return std::nullopt;
  std::vector<int64_t> sizes;
  if (!given(node, 1)) {
    if (extent.constant() <= static_cast<int64_t>(mostParts))
      sizes.assign(static_cast<size_t>(extent.constant()), 1);
  } else {
    const Tensor *split = node.graph.known.contents(node.tensor(1));
    if (!split)
      return std::nullopt;
    if (split->dims().empty()) {
      int64_t size = split->asInteger(0);
      require(size > 0, "parts have size {}, expected 1 or more", size);
      for (int64_t at = 0; at < extent.constant() && sizes.size() <= mostParts; at += size)
        sizes.push_back(std::min(size, extent.constant() - at));
    } else {
      for (int64_t i = 0; i < split->elements(); ++i)
        sizes.push_back(split->asInteger(i));
    }
  }
  if (sizes.size() > mostParts || sizes.empty())
    return std::nullopt;
  return sizes;
}

void importSplitToSequence(StructureNode &node) {
  mlir::Value x = node.tensor(0);
  Node builder = node.builder();
  Dims dims = builder.info(x).dims;
  auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = node.intAttr("axis", 0);
  bool keeps = node.intAttr("keepdims", 1) != 0;
  require(axis >= -rank && axis < rank, "axis is {}, expected one of {}", axis, rank);
  axis += axis < 0 ? rank : 0;
  std::optional<std::vector<int64_t>> sizes = partSizes(node, dims[static_cast<size_t>(axis)]);
  if (!sizes) {
    node.outputs.at(0) = tensorEntry(
        builder.emit("split_to_sequence", {x, optionalInput(node, 1)}, {{"axis", axis}, {"keepdims", keeps}}));
    return;
  }
  Values parts{x};
  if (sizes->size() > 1) {
    mlir::Operation *split = builder.emitOp("split", {x}, {{"axis", axis}, {"sizes", *sizes}});
    parts.assign(split->result_begin(), split->result_end());
  }
  if (!given(node, 1) && !keeps)
    for (mlir::Value &part : parts) {
      Dims left = builder.info(part).dims;
      left.erase(left.begin() + axis);
      part = builder.reshape(part, left);
    }
  node.outputs.at(0) = sequenceEntry(std::move(parts));
}

void importPassedOn(StructureNode &node) { node.outputs.at(0) = node.in(0); }

/// An optional with content becomes the content itself; an empty optional is known to be empty.
void importOptional(StructureNode &node) {
  if (given(node, 0)) {
    node.outputs.at(0) = node.in(0);
    return;
  }
  Entry empty{{}, {}, true};
  if (const AttributeRecord *attr = node.attr("type")) {
    const auto *type = std::get_if<ValueRecord>(&attr->value);
    require(type && type->other.empty(), "attribute 'type' is not the type of a tensor or a sequence");
    empty.type = type->type;
    empty.absentSequence = type->kind == ValueKind::sequence || type->kind == ValueKind::optionalSequence;
  }
  node.outputs.at(0) = empty;
}

void importOptionalHasElement(StructureNode &node) {
  Node builder = node.builder();
  bool has = given(node, 0);
  if (has && isOptional(kindOf(node.graph, node.in(0))))
    node.outputs.at(0) = tensorEntry(builder.emit("optional_has_element", {node.in(0).value}));
  else
    node.outputs.at(0) = tensorEntry(builder.constantScalar(ElementType::boolean, has));
}

void importOptionalGetElement(StructureNode &node) {
  require(!node.in(0).absent, "the optional is empty, expected an element");
  ValueKind kind = kindOf(node.graph, node.in(0));
  RunTimeValues values{node.graph, node.loc, node.name};
  if (!isOptional(kind))
    node.outputs.at(0) = node.in(0);
  else
    node.outputs.at(0) = tensorEntry(values.as(
        node.in(0), kind == ValueKind::optional ? ValueKind::tensor : ValueKind::sequence, ElementType::invalid));
}

/// SequenceMap over sequences of known tensors: imports the body once for each tensor.
void unrollMap(StructureNode &node) {
  size_t count = node.sequence(0).size();
  Body body(node, node.subgraph("body"));
  std::vector<Values> made(node.outputs.size());
  for (size_t i = 0; i < count; ++i) {
    std::vector<Entry> inputs;
    for (const Entry &input : node.inputs) {
      require(!input.sequence || input.sequence->size() == count, "sequences have {} and {} tensors", count,
              input.sequence ? input.sequence->size() : 0);
      inputs.push_back(input.sequence ? Entry{(*input.sequence)[i], {}, false} : input);
    }
    std::vector<Entry> results = body.run(node, inputs, fmt::format("{}#{}/", node.name, i));
    if (!allImported(results))
      return;
    require(results.size() == made.size(), "the body has {} outputs, expected {}", results.size(), made.size());
    for (size_t k = 0; k < made.size(); ++k) {
      require(results[k].value != nullptr, "an output of the body is not a tensor");
      made[k].push_back(results[k].value);
    }
  }
  for (size_t k = 0; k < made.size(); ++k)
    node.outputs[k] = {{}, std::move(made[k]), false};
}

/// SequenceMap over sequences of unknown length: nn.loop, which carries the resulting sequences.
void mapAtRunTime(StructureNode &node) {
  Node builder = node.builder();
  const GraphRecord &graph = node.subgraph("body");
  Values operands;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    operands.push_back(kindOf(node.graph, node.in(i)) == ValueKind::sequence ? sequenceValue(node, i) : node.tensor(i));
  auto isSequence = [&](mlir::Value value) { return node.graph.info(value).kind == ValueKind::sequence; };
  LoopParts parts;
  parts.tripCount = builder.emit("sequence_length", {operands.at(0)});
  parts.condition = builder.constantScalar(ElementType::boolean, 1);
  require(graph.outputs.size() == node.outputs.size(), "the body has {} outputs, expected {}", graph.outputs.size(),
          node.outputs.size());
  for (const ValueRecord &output : graph.outputs) {
    if (output.type == ElementType::invalid)
      node.unsupported(fmt::format("output '{}' of the body states no element type", output.name));
    parts.carried.push_back(builder.emit("sequence_construct", {}, {{"type", output.type}}));
  }
  parts.iterate = [&](BodyImport &body) -> std::optional<Values> {
    std::vector<Entry> inputs;
    for (mlir::Value operand : operands) {
      if (isSequence(operand)) {
        requireRank(node, operand);
        operand = builder.emit("sequence_at", {operand, body.argument(0)});
      }
      inputs.push_back(tensorEntry(operand));
    }
    std::optional<Values> results = valuesOf(node, body.run(graph, inputs));
    if (!results)
      return std::nullopt;
    Values made{body.argument(1)};
    for (size_t i = 0; i < results->size(); ++i)
      made.push_back(builder.emit("sequence_insert", {body.argument(2 + i), (*results)[i]}));
    return made;
  };
  if (std::optional<Values> results = emitLoop(node, parts))
    for (size_t i = 0; i < results->size(); ++i)
      node.outputs[i].value = (*results)[i];
}

/// Runs the body on every tensor of the first sequence. Other sequences advance with it; other tensors stay the same.
void importSequenceMap(StructureNode &node) {
  require(!node.inputs.empty(), "has no inputs, expected a sequence");
  bool known = true;
  for (const Entry &input : node.inputs)
    known &= input.sequence || kindOf(node.graph, input) == ValueKind::tensor;
  require(kindOf(node.graph, node.in(0)) == ValueKind::sequence, "input 0 is {}, expected a sequence",
          name(kindOf(node.graph, node.in(0))));
  if (known)
    unrollMap(node);
  else
    mapAtRunTime(node);
}

} // namespace

StructureHandler sequenceHandler(const NodeRecord &node, const std::vector<Entry> &inputs) {
  static const std::unordered_map<std::string, StructureHandler> table = {
      {"SequenceEmpty", importSequenceEmpty},
      {"SequenceConstruct", importSequenceConstruct},
      {"SequenceInsert", importSequenceInsert},
      {"SequenceErase", importSequenceErase},
      {"SequenceAt", importSequenceAt},
      {"SequenceLength", importSequenceLength},
      {"SplitToSequence", importSplitToSequence},
      {"ConcatFromSequence", importConcatFromSequence},
      {"SequenceMap", importSequenceMap},
      {"Optional", importOptional},
      {"OptionalHasElement", importOptionalHasElement},
      {"OptionalGetElement", importOptionalGetElement},
  };
  if (auto found = table.find(node.op); found != table.end())
    return !node.outputs.empty() ? found->second : nullptr;
  bool passesOn =
      node.op == "Identity" && inputs.size() == 1 && (inputs[0].sequence || inputs[0].absent) && !node.outputs.empty();
  return passesOn ? importPassedOn : nullptr;
}

} // namespace lathe::onnx
