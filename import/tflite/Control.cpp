// IF, WHILE and CALL: subgraphs of the file, which read nothing but their inputs.
#include "import/Bodies.h"
#include "import/tflite/Tflite.h"

#include <limits>

namespace lathe::tflite {
namespace {

const SourceNode &sourceOf(const StructureNode &node) { return *static_cast<const SourceNode *>(node.record.source); }

/// The option table of the node, which must be of `kind`.
template <class Options> const Options &optionsOf(const StructureNode &node, BuiltinOptions kind) {
  const file::Operator &op = *sourceOf(node).op;
  require(op.options_type() == kind && op.options(), "has options of {}, expected {}",
          file::EnumNameBuiltinOptions(op.options_type()), file::EnumNameBuiltinOptions(kind));
  return *static_cast<const Options *>(op.options());
}

const GraphRecord &subgraph(const StructureNode &node, int64_t index) {
  const std::vector<GraphRecord> &graphs = *sourceOf(node).graphs;
  require(index >= 0 && index < static_cast<int64_t>(graphs.size()), "runs subgraph {}, expected one below {}", index,
          graphs.size());
  return graphs[static_cast<size_t>(index)];
}

void requireOutputs(const GraphRecord &graph, size_t count) {
  require(graph.outputs.size() == count, "its subgraph has {} outputs, expected {}", graph.outputs.size(), count);
}

mlir::Value conditionOf(StructureNode &node, mlir::Value value) {
  const TensorInfo &info = node.graph.info(value);
  require(info.type == ElementType::boolean, "its condition is {}, expected bool", name(info.type));
  Node builder(node.graph, node.record, node.loc, {}, node.name);
  return builder.reshape(value, {});
}

/// The nodes of a subgraph in the place of the node.
void importInline(StructureNode &node, const GraphRecord &graph, const std::vector<Entry> &inputs) {
  requireOutputs(graph, node.outputs.size());
  node.outputs = Body(node, graph).run(node, inputs, node.name + "/");
}

void importCall(StructureNode &node) {
  importInline(node, subgraph(node, optionsOf<file::CallOptions>(node, BuiltinOptions::Call).graph()), node.inputs);
}

void importIf(StructureNode &node) {
  limitUnfolding(node);
  const auto &options = optionsOf<file::IfOptions>(node, BuiltinOptions::If);
  const GraphRecord &then = subgraph(node, options.then_graph()), &otherwise = subgraph(node, options.else_graph());
  mlir::Value condition = node.tensor(0);
  std::vector<Entry> inputs(node.inputs.begin() + 1, node.inputs.end());
  if (std::optional<int64_t> known = node.scalar(node.in(0)))
    return importInline(node, *known ? then : otherwise, inputs);
  emitIf(node, conditionOf(node, condition), then, otherwise, inputs);
}

/// The condition is computed once before the loop and at the end of every iteration.
void importWhile(StructureNode &node) {
  limitUnfolding(node);
  const auto &options = optionsOf<file::WhileOptions>(node, BuiltinOptions::While);
  const GraphRecord &test = subgraph(node, options.condition_graph()), &body = subgraph(node, options.body_graph());
  requireOutputs(test, 1);
  requireOutputs(body, node.inputs.size());
  require(node.outputs.size() == node.inputs.size(), "has {} inputs and {} outputs, expected as many",
          node.inputs.size(), node.outputs.size());
  Body condition(node, test), iteration(node, body);
  std::vector<Entry> first = condition.run(node, node.inputs, node.name + "/condition/");
  std::optional<Values> carried = valuesOf(node, node.inputs);
  if (!allImported(first) || !carried)
    return;
  Node builder(node.graph, node.record, node.loc, {}, node.name);
  LoopParts parts;
  parts.tripCount = builder.constantInts({}, {std::numeric_limits<int64_t>::max()});
  parts.condition = conditionOf(node, first[0].value);
  parts.carried = *carried;
  parts.iterate = [&](BodyImport &scope) -> std::optional<Values> {
    std::vector<Entry> inputs;
    for (size_t i = 0; i < parts.carried.size(); ++i)
      inputs.push_back({scope.argument(2 + i), {}, false});
    std::vector<Entry> results = iteration.run(node, inputs, node.name + "/body/");
    std::optional<Values> next = valuesOf(node, results);
    if (!next)
      return std::nullopt;
    std::vector<Entry> again = condition.run(node, results, node.name + "/condition/");
    if (!allImported(again))
      return std::nullopt;
    next->insert(next->begin(), conditionOf(node, again[0].value));
    return next;
  };
  if (std::optional<Values> results = emitLoop(node, parts))
    for (size_t i = 0; i < results->size(); ++i)
      node.outputs[i].value = (*results)[i];
}

} // namespace

StructureHandler structureHandler(const NodeRecord &node, const std::vector<Entry> &) {
  if (!node.source)
    return nullptr;
  switch (static_cast<const SourceNode *>(node.source)->code) {
  case BuiltinOperator::IF:
    return importIf;
  case BuiltinOperator::WHILE:
    return importWhile;
  case BuiltinOperator::CALL:
    return importCall;
  default:
    return nullptr;
  }
}

} // namespace lathe::tflite
