// Sequences and optionals: exporters use them to pass lists of tensors around whose lengths they know. The importer
// keeps the list, and no sequence is left in the graph.
#include "import/onnx/Onnx.h"

namespace lathe::onnx {
namespace {

Entry tensorEntry(mlir::Value value) { return {value, {}, false}; }
Entry sequenceEntry(Values values) { return {{}, std::move(values), false}; }

Node builderOf(StructureNode &node) { return Node(node.graph, node.record, node.loc, {}, node.name); }

/// Operand `index` as a position in a sequence of `count` elements; `end` where the operand is absent.
size_t position(StructureNode &node, size_t index, size_t count, size_t most, size_t end) {
  if (index >= node.inputs.size() || node.in(index).absent)
    return end;
  std::optional<int64_t> at = node.scalar(node.in(index));
  if (!at)
    node.unsupported("a position in a sequence is computed at run time");
  auto length = static_cast<int64_t>(count);
  require(*at >= -length && *at <= static_cast<int64_t>(most), "position {} in a sequence of {} tensors", *at, count);
  return static_cast<size_t>(*at < 0 ? *at + length : *at);
}

void importSequenceEmpty(StructureNode &node) { node.outputs.at(0) = sequenceEntry({}); }

void importSequenceConstruct(StructureNode &node) {
  Values values;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    values.push_back(node.tensor(i));
  node.outputs.at(0) = sequenceEntry(std::move(values));
}

void importSequenceInsert(StructureNode &node) {
  Values values = node.sequence(0);
  size_t at = position(node, 2, values.size(), values.size(), values.size());
  values.insert(values.begin() + static_cast<int64_t>(at), node.tensor(1));
  node.outputs.at(0) = sequenceEntry(std::move(values));
}

void importSequenceErase(StructureNode &node) {
  Values values = node.sequence(0);
  require(!values.empty(), "the sequence is empty, expected a tensor to take out");
  size_t at = position(node, 1, values.size(), values.size() - 1, values.size() - 1);
  values.erase(values.begin() + static_cast<int64_t>(at));
  node.outputs.at(0) = sequenceEntry(std::move(values));
}

void importSequenceAt(StructureNode &node) {
  const Values &values = node.sequence(0);
  require(!values.empty(), "the sequence is empty, expected a tensor to take out");
  node.outputs.at(0) = tensorEntry(values.at(position(node, 1, values.size(), values.size() - 1, 0)));
}

void importSequenceLength(StructureNode &node) {
  auto length = static_cast<int64_t>(node.sequence(0).size());
  node.outputs.at(0) = tensorEntry(builderOf(node).constantInts({}, {length}));
}

void importConcatFromSequence(StructureNode &node) {
  Values values = node.sequence(0);
  require(!values.empty(), "the sequence is empty, expected tensors to concatenate");
  require(node.attr("axis") != nullptr, "attribute 'axis' is missing");
  int64_t axis = node.intAttr("axis", 0);
  Node builder = builderOf(node);
  if (node.intAttr("new_axis", 0))
    for (mlir::Value &value : values) {
      Dims dims = builder.info(value).dims;
      int64_t rank = static_cast<int64_t>(dims.size()) + 1;
      require(axis >= -rank && axis < rank, "axis is {}, expected one of {}", axis, rank);
      dims.insert(dims.begin() + (axis < 0 ? axis + rank : axis), Dim(1));
      value = builder.reshape(value, dims);
    }
  node.outputs.at(0) = tensorEntry(values.size() == 1 ? values[0] : builder.emit("concat", values, {{"axis", axis}}));
}

void importSplitToSequence(StructureNode &node) {
  mlir::Value x = node.tensor(0);
  Node builder = builderOf(node);
  Dims dims = builder.info(x).dims;
  auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = node.intAttr("axis", 0);
  require(axis >= -rank && axis < rank, "axis is {}, expected one of {}", axis, rank);
  axis += axis < 0 ? rank : 0;
  if (!dims[static_cast<size_t>(axis)].isConstant())
    node.unsupported(
        fmt::format("the extent of axis {} is {}; give it with --shape", axis, dims[static_cast<size_t>(axis)].str()));
  int64_t extent = dims[static_cast<size_t>(axis)].constant();
  bool ones = node.inputs.size() < 2 || node.in(1).absent;
  std::vector<int64_t> sizes;
  if (ones) {
    sizes.assign(static_cast<size_t>(extent), 1);
  } else {
    const Tensor *split = node.graph.known.contents(node.tensor(1));
    if (!split)
      node.unsupported("the sizes of its parts are computed at run time");
    if (split->dims().empty()) {
      int64_t size = split->asInteger(0);
      require(size > 0, "parts have size {}, expected 1 or more", size);
      for (int64_t at = 0; at < extent; at += size)
        sizes.push_back(std::min(size, extent - at));
    } else {
      for (int64_t i = 0; i < split->elements(); ++i)
        sizes.push_back(split->asInteger(i));
    }
  }
  if (sizes.size() > 4096 || sizes.empty())
    node.unsupported(fmt::format("{} parts, expected 1 to 4096", sizes.size()));
  Values parts{x};
  if (sizes.size() > 1) {
    mlir::Operation *split = builder.emitOp("split", {x}, {{"axis", axis}, {"sizes", sizes}});
    parts.assign(split->result_begin(), split->result_end());
  }
  if (ones && !node.intAttr("keepdims", 1))
    for (mlir::Value &part : parts) {
      Dims left = builder.info(part).dims;
      left.erase(left.begin() + axis);
      part = builder.reshape(part, left);
    }
  node.outputs.at(0) = sequenceEntry(std::move(parts));
}

void importPassedOn(StructureNode &node) { node.outputs.at(0) = node.in(0); }

void importOptional(StructureNode &node) {
  node.outputs.at(0) = node.inputs.empty() ? Entry{{}, {}, true} : node.in(0);
}

void importOptionalHasElement(StructureNode &node) {
  bool has = !node.inputs.empty() && !node.in(0).absent;
  node.outputs.at(0) = tensorEntry(builderOf(node).constantScalar(ElementType::boolean, has));
}

void importOptionalGetElement(StructureNode &node) {
  require(!node.in(0).absent, "the optional is empty, expected an element");
  node.outputs.at(0) = node.in(0);
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
      {"Optional", importOptional},
      {"OptionalHasElement", importOptionalHasElement},
      {"OptionalGetElement", importOptionalGetElement},
  };
  if (auto found = table.find(node.op); found != table.end())
    return !node.outputs.empty() ? found->second : nullptr;
  bool passesOn = node.op == "Identity" && inputs.size() == 1 && inputs[0].sequence && !node.outputs.empty();
  return passesOn ? importPassedOn : nullptr;
}

} // namespace lathe::onnx
