// The choice of layouts in @main as a minimum cut.
//
// Each choice of an operator is a node of the cut graph; it is on the source's side if the operator's values are
// blocked. A convolution has two nodes, because it may read one layout and write the other. If several operators use a
// value in the other layout, it is converted once: one node for each value and direction represents the conversion.
#pragma once

#include "passes/kernels/LayoutCosts.h"
#include "passes/kernels/MinCut.h"

#include <limits>

namespace lathe {

/// An operator whose layouts are to be chosen, or which is always row-major (rule.rowOnly).
struct LayoutOperator {
  mlir::Operation *op = nullptr;
  LayoutRule rule;
  /// Nodes of the cut graph for the layouts that the operator reads and writes. MinCut::sink: the layout is row-major.
  int input = MinCut::sink, output = MinCut::sink;

  bool chooses() const { return rule.rowOnly.empty(); }
};

/// A value of @main that can be blocked.
struct LayoutValue {
  mlir::Value value;
  int producer = MinCut::sink; // node of the cut graph for the operator that computes the value
  /// Every use of the value, with the node of the cut graph for the operator that uses it.
  std::vector<std::pair<mlir::OpOperand *, int>> uses = {};
  /// The only user of the value if it is element-wise, so that it would be fused with the producer; else null.
  mlir::Operation *epilogue = nullptr;
};

/// Costs of all layout choices in one unit, by index of LayoutProblem::operators or LayoutProblem::values.
struct LayoutPrices {
  std::vector<CostByLayout> operators;
  std::vector<std::array<double, 2>> conversions; // costs of each value's conversion to row-major, and to blocked
  std::vector<double> partings; // cost of separating each value from its epilogue, in addition to the conversion

  /// Cost of a layout choice that cannot be made or is not allowed.
  static constexpr double impossible = std::numeric_limits<double>::infinity();
};

/// A choice of layouts, by node of the cut graph: true if its layout is blocked.
using Layouts = std::vector<bool>;

class LayoutProblem {
public:
  std::vector<LayoutOperator> operators; // operators in the order of @main
  std::vector<LayoutValue> values;

  /// Adds an operator and its nodes to the problem. `rule` must have its final values.
  void add(mlir::Operation *op, LayoutRule rule);
  /// Adds a value to the problem. Call it after all operators were added.
  void add(mlir::Value value);
  /// Fixes the layout of a node of the cut graph other than the sink.
  void fix(int node, bool blocked) { fixed.push_back({node, blocked}); }

  /// Returns the problem's entry for `op`; null if the operator was not added.
  const LayoutOperator *find(mlir::Operation *op) const;

  /// Solves the problem: returns the cheapest layouts. `kept` are layouts that win against equally cheap ones. Their
  /// own cost is exact, while the costs of other layouts may be overestimated (see the .cpp file).
  Layouts solve(const LayoutPrices &prices, const Layouts *kept = nullptr) const;

  /// True if `layouts` require a conversion of `value`, to blocks (`toBlocked`) or to row-major.
  bool converts(const Layouts &layouts, const LayoutValue &value, bool toBlocked) const;

private:
  llvm::DenseMap<mlir::Operation *, size_t> known; // index of each operator in `operators`
  std::vector<std::pair<int, bool>> fixed;
  int nodes = MinCut::sink + 1;

  int producerNode(mlir::Value value) const;
  int consumerNode(mlir::OpOperand &use) const;
};

} // namespace lathe
