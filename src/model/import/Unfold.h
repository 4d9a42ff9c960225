// Replaces operators with subgraphs, calls of functions and operators on sequences by plain nodes. A body is imported
// once per iteration; a call is replaced by the nodes of its function.
#pragma once

#include "import/Node.h"

#include <optional>

namespace lathe::source {

/// A node with subgraphs, a call of a function, or an operator on sequences, with its inputs and
/// outputs by position.
struct StructureNode {
  Graph &graph;
  const NodeRecord &record;
  mlir::Location loc;
  std::string name;
  int line; // index of the node of the model's graph
  std::vector<Entry> inputs, outputs;

  /// Emits operators that belong to this node.
  Node builder() { return Node(graph, record, loc, {}, name); }
  const Entry &in(size_t index) const;
  mlir::Value tensor(size_t index) const;
  /// The tensors of an operand that is a known sequence.
  const Values &sequence(size_t index) const;
  /// Returns null if the node has no attribute of that name.
  const AttributeRecord *attr(const std::string &name) const;
  int64_t intAttr(const std::string &name, int64_t fallback) const;
  /// Returns `count` zeros if the attribute is absent.
  std::vector<int64_t> intsAttr(const std::string &name, size_t count) const;
  /// Returns a graph attribute. Throws Error if it is missing.
  const GraphRecord &subgraph(const std::string &name) const;
  /// Returns the single element of a tensor that is known at compile time.
  std::optional<int64_t> scalar(const Entry &entry) const;
  [[noreturn]] void unsupported(std::string reason) const { throw Unsupported{std::move(reason)}; }
};

/// Throws Unsupported if bodies and functions have unfolded to too many nodes or levels.
void limitUnfolding(StructureNode &node);

/// Body of a loop. Its initializers become constants once; every `run` imports its nodes.
class Body {
public:
  Body(StructureNode &node, const GraphRecord &graph);
  /// `prefix` precedes the names of the nodes of the iteration.
  std::vector<Entry> run(StructureNode &node, const std::vector<Entry> &inputs, const std::string &prefix);

private:
  const GraphRecord &graph;
  Scope constants; // scope around all iterations
};

/// Replaces the node by the outputs of a subgraph without inputs.
std::vector<Entry> importBranch(StructureNode &node, const GraphRecord &graph);
/// True if every entry was imported; otherwise an issue has been reported.
bool allImported(const std::vector<Entry> &entries);
/// Replaces a call by the nodes of the function.
void importFunctionCall(StructureNode &node, const FunctionRecord &function);

} // namespace lathe::source
