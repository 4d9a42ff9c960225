// Operators with subgraphs, calls of functions, and operators on sequences: what is decided while importing never exists
// in the graph. A body is imported once an iteration, a function becomes its nodes.
#pragma once

#include "import/Graph.h"

#include <optional>

namespace lathe::source {

/// A node with subgraphs, a call of a function, or an operator on sequences while it is imported: what it reads, and
/// what it makes, by position.
struct StructureNode {
  Graph &graph;
  const NodeRecord &record;
  mlir::Location loc;
  std::string name;
  int line; // of the model's graph
  std::vector<Entry> inputs, outputs;

  const Entry &in(size_t index) const;
  mlir::Value tensor(size_t index) const;
  const Values &sequence(size_t index) const;
  /// Null where the node has none of that name.
  const AttributeRecord *attr(const std::string &name) const;
  int64_t intAttr(const std::string &name, int64_t fallback) const;
  /// `count` zeros where the attribute is absent.
  std::vector<int64_t> intsAttr(const std::string &name, size_t count) const;
  /// A graph attribute; Error where it is missing.
  const GraphRecord &subgraph(const std::string &name) const;
  /// The one element of a tensor that is known without running.
  std::optional<int64_t> scalar(const Entry &entry) const;
  [[noreturn]] void unsupported(std::string reason) const { throw Unsupported{std::move(reason)}; }
};

/// Throws Unsupported where bodies and functions have unfolded to too many nodes or levels.
void limitUnfolding(StructureNode &node);

/// A loop's body. Its initializers become constants once, its nodes are imported by every `run`.
class Body {
public:
  Body(StructureNode &node, const GraphRecord &graph);
  /// `prefix` stands before the names of the iteration's nodes.
  std::vector<Entry> run(StructureNode &node, const std::vector<Entry> &inputs, const std::string &prefix);

private:
  const GraphRecord &graph;
  Scope constants; // around the iterations
};

/// The outputs of a subgraph without inputs, in place of the node.
std::vector<Entry> importBranch(StructureNode &node, const GraphRecord &graph);
/// True when every entry was imported; otherwise an issue has been reported inside.
bool allImported(const std::vector<Entry> &entries);
/// The function's nodes in place of the node that calls it.
void importFunctionCall(StructureNode &node, const FunctionRecord &function);

} // namespace lathe::source
