// The choice of layouts in @main as a minimum cut.
//
// Every choice of an operator is a node, on the source's side if it is blocked. A convolution has two nodes, because it
// may read one layout and write the other. If several operators use a value in the other layout, it is converted once:
// one node for each value and direction represents the conversion.
#pragma once

#include "passes/kernels/LayoutCosts.h"
#include "passes/kernels/MinCut.h"

#include <limits>

namespace lathe {

/// An operator whose layouts are to be chosen, or which is always row-major (rule.rowOnly).
struct LayoutOperator {
  mlir::Operation *op = nullptr;
  LayoutRule rule;
  int input = MinCut::sink, output = MinCut::sink; // nodes; the sink itself: row-major

  bool chooses() const { return rule.rowOnly.empty(); }
};

/// A value that can be blocked.
struct LayoutValue {
  mlir::Value value;
  int producer = MinCut::sink;                              // node of the operator that makes it
  std::vector<std::pair<mlir::OpOperand *, int>> uses = {}; // with the nodes of their operators
  mlir::Operation *epilogue =
      nullptr; // the only, element-wise user of the value, which would be fused with the producer
};

/// The costs of all choices in one unit, by index in LayoutProblem::operators and values.
struct LayoutPrices {
  std::vector<CostByLayout> operators;
  std::vector<std::array<double, 2>> conversions; // to row-major, to blocked
  std::vector<double> partings;                   // of separating a value from its epilogue, beside the conversion

  /// Cost of a choice that is not possible or not allowed.
  static constexpr double impossible = std::numeric_limits<double>::infinity();
};

/// Layouts by node: true where blocked.
using Layouts = std::vector<bool>;

class LayoutProblem {
public:
  std::vector<LayoutOperator> operators; // in the order of @main
  std::vector<LayoutValue> values;

  /// Adds an operator and its nodes; `rule` is complete.
  void add(mlir::Operation *op, LayoutRule rule);
  /// Adds a value after all operators.
  void add(mlir::Value value);
  /// Demands a layout of a node other than the sink.
  void fix(int node, bool blocked) { fixed.push_back({node, blocked}); }

  /// Null if the operator was not added.
  const LayoutOperator *find(mlir::Operation *op) const;

  /// Returns the cheapest layouts. `kept`: layouts that are preferred among equally cheap ones. Their own cost is
  /// exact, while the costs of other layouts may be overestimated (see .cpp).
  Layouts solve(const LayoutPrices &prices, const Layouts *kept = nullptr) const;

  /// True if `value` is converted in this direction.
  bool converts(const Layouts &layouts, const LayoutValue &value, bool toBlocked) const;

private:
  llvm::DenseMap<mlir::Operation *, size_t> known; // index of operators
  std::vector<std::pair<int, bool>> fixed;
  int nodes = MinCut::sink + 1;

  int producerNode(mlir::Value value) const;
  int consumerNode(mlir::OpOperand &use) const;
};

} // namespace lathe
