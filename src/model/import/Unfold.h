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
  int line; // index of the node in the model's graph
  std::vector<Entry> inputs, outputs;

  /// A builder of nn operators that belong to this node.
  Node builder() { return Node(graph, record, loc, {}, name); }
  const Entry &in(size_t index) const;
  mlir::Value tensor(size_t index) const;
  /// The tensors of operand `index`, which must be a sequence known at compile time.
  const Values &sequence(size_t index) const;
  /// The attribute `name` of the node; null if it has none.
  const AttributeRecord *attr(const std::string &name) const;
  int64_t intAttr(const std::string &name, int64_t fallback) const;
  /// The integers in an attribute; `count` zeros if the attribute is absent.
  std::vector<int64_t> intsAttr(const std::string &name, size_t count) const;
  /// The subgraph in the attribute `name`. Throws Error if the attribute is missing.
  const GraphRecord &subgraph(const std::string &name) const;
  /// Returns the single element of the tensor `entry` if it is known at compile time.
  std::optional<int64_t> scalar(const Entry &entry) const;
  [[noreturn]] void unsupported(std::string reason) const { throw Unsupported{std::move(reason)}; }
};

/// Throws Unsupported if bodies and functions have unfolded to too many nodes or levels.
void limitUnfolding(StructureNode &node);

/// Body of a source loop that is unrolled. Its initializers become constants once; every `run` imports its nodes
/// again.
class Body {
public:
  Body(StructureNode &node, const GraphRecord &graph);
  /// Imports the nodes of one iteration and returns its outputs. `prefix` precedes the names of these nodes.
  std::vector<Entry> run(StructureNode &node, const std::vector<Entry> &inputs, const std::string &prefix);

private:
  const GraphRecord &graph;
  Scope constants; // names visible to all iterations: the initializers of the body
};

/// Imports a subgraph without inputs in place of the node; returns its outputs.
std::vector<Entry> importBranch(StructureNode &node, const GraphRecord &graph);
/// True if every entry was imported; otherwise an issue has been reported.
bool allImported(const std::vector<Entry> &entries);
/// Imports the nodes of a function in place of its call.
void importFunctionCall(StructureNode &node, const FunctionRecord &function);

} // namespace lathe::source
