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
  /// Nodes for the layouts that the operator reads and writes. The sink itself: the layout is row-major.
  int input = MinCut::sink, output = MinCut::sink;

  bool chooses() const { return rule.rowOnly.empty(); }
};

/// A value that can be blocked.
struct LayoutValue {
  mlir::Value value;
  int producer = MinCut::sink; // node of the operator that computes the value
  /// Every use of the value, with the node of the operator that uses it.
  std::vector<std::pair<mlir::OpOperand *, int>> uses = {};
  /// The only user of the value if it is element-wise, so that it would be fused with the producer; else null.
  mlir::Operation *epilogue = nullptr;
};

/// Costs of all choices in one unit, by index of LayoutProblem::operators or LayoutProblem::values.
struct LayoutPrices {
  std::vector<CostByLayout> operators;
  std::vector<std::array<double, 2>> conversions; // costs of each value's conversion to row-major, and to blocked
  std::vector<double> partings; // cost of separating each value from its epilogue, in addition to the conversion

  /// Cost of a choice that cannot be made or is not allowed.
  static constexpr double impossible = std::numeric_limits<double>::infinity();
};

/// By node: true if its layout is blocked.
using Layouts = std::vector<bool>;

class LayoutProblem {
public:
  std::vector<LayoutOperator> operators; // operators in the order of @main
  std::vector<LayoutValue> values;

  /// Adds an operator and its nodes. `rule` must have its final values.
  void add(mlir::Operation *op, LayoutRule rule);
  /// Adds a value. Call it after all operators were added.
  void add(mlir::Value value);
  /// Fixes the layout of a node other than the sink.
  void fix(int node, bool blocked) { fixed.push_back({node, blocked}); }

  /// Returns the entry of `op`; null if it was not added.
  const LayoutOperator *find(mlir::Operation *op) const;

  /// Returns the cheapest layouts. `kept` are layouts that win against equally cheap ones. Their own cost is exact,
  /// while the costs of other layouts may be overestimated (see the .cpp file).
  Layouts solve(const LayoutPrices &prices, const Layouts *kept = nullptr) const;

  /// True if the layouts require a conversion of `value` in this direction.
  bool converts(const Layouts &layouts, const LayoutValue &value, bool toBlocked) const;

private:
  llvm::DenseMap<mlir::Operation *, size_t> known; // index in `operators`
  std::vector<std::pair<int, bool>> fixed;
  int nodes = MinCut::sink + 1;

  int producerNode(mlir::Value value) const;
  int consumerNode(mlir::OpOperand &use) const;
};

} // namespace lathe
