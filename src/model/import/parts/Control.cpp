// Branches and loops whose subgraphs read nothing but their inputs and names of outer scopes.
#include "import/Bodies.h"
#include "import/parts/Emitter.h"

#include <algorithm>
#include <limits>

namespace lathe::source {

static void requireOutputs(const GraphRecord &graph, size_t count) {
  require(graph.outputs.size() == count, "its subgraph has {} outputs, expected {}", graph.outputs.size(), count);
}

mlir::Value conditionOf(StructureNode &node, mlir::Value value) {
  const TensorInfo &info = node.graph.info(value);
  require(info.type == ElementType::boolean, "its condition is {}, expected bool", name(info.type));
  Node builder(node.graph, node.record, node.loc, {}, node.name);
  return builder.reshape(value, {});
}

void importInline(StructureNode &node, const GraphRecord &graph, const std::vector<Entry> &inputs) {
  requireOutputs(graph, node.outputs.size());
  node.outputs = Body(node, graph).run(node, inputs, node.name + "/");
}

void importBranches(StructureNode &node, const Entry &condition, const GraphRecord &then, const GraphRecord &otherwise,
                    const std::vector<Entry> &inputs) {
  limitUnfolding(node);
  if (std::optional<int64_t> known = node.scalar(condition))
    return importInline(node, *known ? then : otherwise, inputs);
  emitIf(node, conditionOf(node, condition.value), then, otherwise, inputs);
}

namespace {

/// True if an iteration passes input `index` on unchanged, so that it has the same value in every iteration.
bool handsOn(const GraphRecord &body, size_t index) {
  std::string name = body.outputs[index].name;
  for (size_t step = 0; step <= body.nodes.size(); ++step) {
    if (name == body.inputs[index].name)
      return true;
    auto producer = std::find_if(body.nodes.begin(), body.nodes.end(), [&](const NodeRecord &node) {
      return !node.outputs.empty() && node.outputs[0] == name && node.inputs.size() == 1 &&
             (node.op == "Identity" || node.op == "identity");
    });
    if (producer == body.nodes.end())
      return false;
    name = producer->inputs[0];
  }
  return false;
}

/// A while loop that is being imported.
class WhileLoop {
public:
  WhileLoop(StructureNode &node, const GraphRecord &test, const GraphRecord &body, const std::vector<Entry> &inputs)
      : node(node), all(inputs), condition(node, test), iteration(node, body) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!handsOn(body, i))
        changing.push_back(i);
  }

  std::optional<Values> run(const ReserveFiller &fill) {
    std::vector<Entry> first = condition.run(node, all, node.name + "/condition/");
    std::vector<Entry> entries;
    for (size_t i : changing)
      entries.push_back(all[i]);
    std::optional<Values> carried = valuesOf(node, entries);
    if (!allImported(first) || !carried || !allImported(all))
      return std::nullopt;
    Node builder(node.graph, node.record, node.loc, {}, node.name);
    LoopParts parts;
    parts.tripCount = builder.constantInts({}, {std::numeric_limits<int64_t>::max()});
    parts.condition = conditionOf(node, first[0].value);
    parts.carried = *carried;
    parts.iterate = [&](BodyImport &scope) { return iterate(scope); };
    if (fill && !fillReserves(parts, fill))
      return std::nullopt;
    std::optional<Values> results = emitLoop(node, parts);
    if (!results)
      return std::nullopt;
    Values outputs;
    for (const Entry &entry : all)
      outputs.push_back(entry.value);
    for (size_t i = 0; i < changing.size(); ++i)
      outputs[changing[i]] = (*results)[i];
    return outputs;
  }

private:
  StructureNode &node;
  const std::vector<Entry> &all;
  Body condition, iteration;
  std::vector<size_t> changing; // positions of the inputs that are carried

  /// The condition is computed once before the loop and at the end of every iteration.
  std::optional<Values> iterate(BodyImport &scope) {
    std::vector<Entry> arguments = all;
    for (size_t i = 0; i < changing.size(); ++i)
      arguments[changing[i]] = {scope.argument(2 + i), {}, false};
    std::vector<Entry> results = iteration.run(node, arguments, node.name + "/body/"), next;
    for (size_t i : changing)
      next.push_back(results[i]);
    std::optional<Values> values = valuesOf(node, next);
    if (!values || !allImported(results))
      return std::nullopt;
    for (size_t i = 0; i < all.size(); ++i)
      if (std::find(changing.begin(), changing.end(), i) == changing.end())
        results[i] = all[i];
    std::vector<Entry> again = condition.run(node, results, node.name + "/condition/");
    if (!allImported(again))
      return std::nullopt;
    values->insert(values->begin(), conditionOf(node, again[0].value));
    return values;
  }

  /// Imports one iteration, which is discarded, to find the carried values whose rank it changes.
  bool fillReserves(LoopParts &parts, const ReserveFiller &fill) {
    auto isNumber = [&](mlir::Value value) {
      const TensorInfo &info = node.graph.info(value);
      return info.isTensor() && info.type == ElementType::i64 && info.rank() == 0;
    };
    if (std::none_of(parts.carried.begin(), parts.carried.end(), isNumber))
      return true;
    std::vector<TensorInfo> arguments = {{ElementType::i64, {}, std::nullopt},
                                         {ElementType::boolean, {}, std::nullopt}};
    for (mlir::Value value : parts.carried)
      arguments.push_back(withoutContents(node.graph.info(value)));
    std::vector<TensorInfo> made;
    {
      BodyImport trial(node, node.name, arguments);
      std::optional<Values> values = parts.iterate(trial);
      if (!values)
        return false;
      for (size_t i = 0; i < parts.carried.size(); ++i)
        made.push_back(withoutContents(node.graph.info((*values)[1 + i])));
    }
    for (size_t i = 0; i < parts.carried.size(); ++i)
      if (isNumber(parts.carried[i]) && made[i].rank() > 0)
        parts.carried[i] = fill(parts.carried[i], made[i], parts.carried);
    return true;
  }
};

} // namespace

std::optional<Values> importWhileLoop(StructureNode &node, const GraphRecord &test, const GraphRecord &body,
                                      const std::vector<Entry> &inputs, const ReserveFiller &fill) {
  limitUnfolding(node);
  requireOutputs(test, 1);
  requireOutputs(body, inputs.size());
  require(body.inputs.size() == inputs.size(), "the body has {} inputs, expected {}", body.inputs.size(),
          inputs.size());
  return WhileLoop(node, test, body, inputs).run(fill);
}

} // namespace lathe::source
