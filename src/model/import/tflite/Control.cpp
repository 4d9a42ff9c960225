// IF, WHILE and CALL: their subgraphs read only their inputs.
#include "import/tflite/Tflite.h"

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

void importCall(StructureNode &node) {
  importInline(node, subgraph(node, optionsOf<file::CallOptions>(node, BuiltinOptions::Call).graph()), node.inputs);
}

void importIf(StructureNode &node) {
  const auto &options = optionsOf<file::IfOptions>(node, BuiltinOptions::If);
  const GraphRecord &then = subgraph(node, options.then_graph()), &otherwise = subgraph(node, options.else_graph());
  node.tensor(0);
  importBranches(node, node.in(0), then, otherwise, {node.inputs.begin() + 1, node.inputs.end()});
}

void importWhile(StructureNode &node) {
  const auto &options = optionsOf<file::WhileOptions>(node, BuiltinOptions::While);
  require(node.outputs.size() == node.inputs.size(), "has {} inputs and {} outputs, expected as many",
          node.inputs.size(), node.outputs.size());
  if (std::optional<Values> results = importWhileLoop(node, subgraph(node, options.condition_graph()),
                                                      subgraph(node, options.body_graph()), node.inputs))
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
