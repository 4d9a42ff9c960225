// The reference's values for the nodes of a graph, and their comparison with values of a package.
#pragma once

#include "lab/judging/Difference.h"
#include "runtime/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lathe::verify {

/// The comparison of a value in a package with the node of the graph that computes it.
struct NodeComparison {
  std::string node;                            // node that computes the value; "": no node has such a value
  std::optional<lab::Difference> difference{}; // nothing: the value is not compared
  std::string reason{};                        // the reason why the value is not compared
};

/// The reference's values of one run, by node.
///
/// An importer may make several operators from a node of the model file: channels first, a convolution, its activation,
/// channels last. The node's results are the values that other nodes read. The package may hold a result in another
/// form: passes move reshapes, and transposes between channels first and channels last, through the network. A value is
/// compared with each form of the results that has its extents, and the nearest form counts.
///
/// If the terms of a sum cancel, the sum may be as small as the rounding errors of its terms. So if a sum or mean is
/// out of bounds, its error is divided by the sum or mean of the absolute values of its terms (Higham, Accuracy and
/// Stability of Numerical Algorithms, 2002, section 4.2).
class NodeValues {
public:
  /// Keeps the value of an input of the model for comparisons.
  void addInput(mlir::Value value, const Value &given);
  /// Keeps the results of an operator that the reference operators have computed.
  void add(mlir::Operation *op, std::span<const Value> results);

  bool isNode(const std::string &name) const { return nodes.contains(name); }
  /// Returns the node whose name the plan gave the value `value`; "" if there is none. Numbers make names inside a plan
  /// unique ("relu1:2").
  std::string nodeOf(const std::string &value) const;

  /// Compares a value that is a result of `node`, or an intermediate step (`last`: no later value of the package
  /// belongs to the node). A step may have no counterpart in the graph.
  NodeComparison compare(const Tensor &computed, const std::string &node, bool last,
                         const lab::Tolerance &tolerance) const;

private:
  enum class Role {
    result,  // another node reads it, directly or through operators that move elements; or no node does
    operand, // it is an operand of the node
    moved,   // it is an operand of the node after operators that only move elements
    step
  };
  struct Made {
    Tensor value;
    Role role;
    // operator that adds floats to `value` or computes their mean; null: `value` is no sum
    mlir::Operation *sum = nullptr;
    Tensor terms = {}; // the terms of the sum
  };
  std::map<std::string, std::vector<Made>> nodes; // values of each node, in order of execution
  llvm::DenseMap<mlir::Value, Tensor> values;     // values of the whole graph
  bool shuffles = false;                          // true: passes move channel shuffles of the graph into weights

  static Role roleOf(mlir::Value value, const std::string &node);
  static lab::Difference besideTerms(lab::Difference difference, const Made &made);
};

} // namespace lathe::verify
