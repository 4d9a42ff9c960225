// What the references compute for the nodes of a graph, and which of it a value of a package stands for.
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

/// A value of a package beside the node whose result it is.
struct NodeComparison {
  std::string node;                            // "": no node has such a value
  std::optional<lab::Difference> difference{}; // nothing: not compared
  std::string reason{};                        // why it is not compared
};

/// The reference's values of one run, by node.
///
/// A node of the model file may be several operators of the graph, which importers make of it: channels first, a
/// convolution, its activation, channels last. What other nodes read of it are its results. The package may hold a result in
/// another form: passes move transposes between channels first and channels last, and reshapes, through the network. A value
/// is compared with each form of the results that has its extents, and the nearest one counts.
///
/// Where the terms of a sum cancel, the sum may be as small as the rounding errors of its terms. So where a sum or mean is out of
/// bounds, its error is divided by the sum or mean of the absolute values of its terms (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 4.2).
class NodeValues {
public:
  /// Keeps an input of the model.
  void addInput(mlir::Value value, const Value &given);
  /// Keeps the results of an operator that ran.
  void add(mlir::Operation *op, std::span<const Value> results);

  bool isNode(const std::string &name) const { return nodes.contains(name); }
  /// The node that a plan named a value after: names inside a plan are unique by numbers ("relu1:2"). "": none.
  std::string nodeOf(const std::string &value) const;

  /// Compares a value that stands for a result of `node`, or for a step on the way to it (`last`: no later value of the
  /// package belongs to the node). A step may have no counterpart in the graph.
  NodeComparison compare(const Tensor &computed, const std::string &node, bool last,
                         const lab::Tolerance &tolerance) const;

private:
  enum class Role {
    result,  // another node reads it, perhaps after it was moved
    operand, // of the node
    moved,   // operand
    step
  };
  struct Made {
    Tensor value;
    Role role;
    mlir::Operation *sum = nullptr; // that adds floats to `value`, or takes their mean; null: it is something else
    Tensor terms = {};              // of the sum
  };
  std::map<std::string, std::vector<Made>> nodes; // in order of execution
  llvm::DenseMap<mlir::Value, Tensor> values;     // of the whole graph
  bool shuffles = false;                          // the graph shuffles channels, which passes move into weights

  static Role roleOf(mlir::Value value, const std::string &node);
  static lab::Difference besideTerms(lab::Difference difference, const Made &made);
};

} // namespace lathe::verify
