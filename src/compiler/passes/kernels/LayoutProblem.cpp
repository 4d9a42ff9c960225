#include "passes/kernels/LayoutProblem.h"

#include "passes/Rewrite.h"

namespace lathe {
namespace {

/// Costs as integers for the cut, in sixteenths of a unit. An impossible choice costs far more than any network, but
/// less than breaking a layout that was asked for.
int64_t units(double cost) {
  constexpr double most = double(int64_t(1) << 40);
  return static_cast<int64_t>(std::min(16 * cost, most));
}

/// Adds the costs of the four combinations of two choices as capacities: an edge for each side of each choice, and one
/// edge between the choices, which a cut crosses for blocked operands with row-major results. A cut can express this
/// only if the two mixed combinations together cost at least as much as the two equal ones. Otherwise the dearer mixed
/// combination is raised, but never the kept one.
void addCosts(MinCut &cut, const LayoutOperator &one, const CostByLayout &costs, const Layouts *kept) {
  if (one.input == one.output) {
    cut.addEdge(MinCut::source, one.input, units(costs[0][0]));
    cut.addEdge(one.input, MinCut::sink, units(costs[1][1]));
    return;
  }
  int64_t rows = units(costs[0][0]), rowToBlocked = units(costs[0][1]), blockedToRow = units(costs[1][0]),
          blocks = units(costs[1][1]);
  if (int64_t missing = rows + blocks - rowToBlocked - blockedToRow; missing > 0) {
    bool first = rowToBlocked > blockedToRow;
    if (kept && (*kept)[one.input] != (*kept)[one.output])
      first = (*kept)[one.input];
    (first ? rowToBlocked : blockedToRow) += missing;
  }
  // Row-major operands cost 0 plus `rows` or `rowToBlocked`. Blocked operands cost `input` more if results are blocked.
  int64_t input = blocks - rowToBlocked;
  cut.addEdge(one.input, MinCut::sink, std::max<int64_t>(0, input));
  cut.addEdge(MinCut::source, one.input, std::max<int64_t>(0, -input));
  cut.addEdge(MinCut::source, one.output, std::max<int64_t>(0, rows - rowToBlocked));
  cut.addEdge(one.output, MinCut::sink, std::max<int64_t>(0, rowToBlocked - rows));
  cut.addEdge(one.input, one.output, blockedToRow + rowToBlocked - blocks - rows);
}

/// Adds an edge that costs `capacity` if the layout of `node` is not `blocked`.
void prefer(MinCut &cut, int node, bool blocked, int64_t capacity) {
  cut.addEdge(blocked ? MinCut::source : node, blocked ? node : MinCut::sink, capacity);
}

} // namespace

void LayoutProblem::add(mlir::Operation *op, LayoutRule rule) {
  LayoutOperator one{op, std::move(rule)};
  if (one.chooses()) {
    one.input = nodes++;
    one.output = one.rule.uniform ? one.input : nodes++;
  }
  known[op] = operators.size();
  operators.push_back(std::move(one));
}

void LayoutProblem::add(mlir::Value value) {
  LayoutValue one{value, producerNode(value)};
  for (mlir::OpOperand &use : value.getUses())
    one.uses.push_back({&use, consumerNode(use)});
  if (value.getDefiningOp() && value.hasOneUse() && loweringOf(*value.getUsers().begin()) == "elementwise")
    one.epilogue = *value.getUsers().begin();
  values.push_back(std::move(one));
}

const LayoutOperator *LayoutProblem::find(mlir::Operation *op) const {
  auto found = known.find(op);
  return found == known.end() ? nullptr : &operators[found->second];
}

int LayoutProblem::producerNode(mlir::Value value) const {
  const LayoutOperator *one = value.getDefiningOp() ? find(value.getDefiningOp()) : nullptr;
  if (!one || one->rule.results.empty() ||
      one->rule.results[llvm::cast<mlir::OpResult>(value).getResultNumber()] == Port::row)
    return MinCut::sink;
  return one->output;
}

int LayoutProblem::consumerNode(mlir::OpOperand &use) const {
  const LayoutOperator *one = find(use.getOwner());
  if (!one || !one->chooses() || one->rule.operands[use.getOperandNumber()] != Port::input)
    return MinCut::sink;
  return one->input;
}

Layouts LayoutProblem::solve(const LayoutPrices &prices, const Layouts *kept) const {
  MinCut cut;
  for (int node = MinCut::sink + 1; node < nodes; ++node) {
    cut.addNode();
    if (kept)
      prefer(cut, node, (*kept)[node], 1);
  }
  for (size_t i = 0; i < operators.size(); ++i)
    if (operators[i].chooses())
      addCosts(cut, operators[i], prices.operators[i], kept);
  for (auto [node, blocked] : fixed)
    prefer(cut, node, blocked, MinCut::infinite);
  for (size_t i = 0; i < values.size(); ++i) {
    const LayoutValue &value = values[i];
    int toBlocked = cut.addNode(), toRow = cut.addNode();
    cut.addEdge(toBlocked, value.producer, units(prices.conversions[i][true]));
    cut.addEdge(value.producer, toRow, units(prices.conversions[i][false]));
    for (auto [use, consumer] : value.uses) {
      cut.addEdge(consumer, toBlocked, MinCut::infinite);
      cut.addEdge(toRow, consumer, MinCut::infinite);
    }
    // A conversion between a kernel and the only operator that would be fused with it also costs the fusion.
    if (value.epilogue)
      for (auto [use, consumer] : value.uses) {
        cut.addEdge(value.producer, consumer, units(prices.partings[i]));
        cut.addEdge(consumer, value.producer, units(prices.partings[i]));
      }
  }
  Layouts layouts = cut.solve();
  layouts.resize(size_t(nodes));
  return layouts;
}

bool LayoutProblem::converts(const Layouts &layouts, const LayoutValue &value, bool toBlocked) const {
  return layouts[value.producer] != toBlocked &&
         llvm::any_of(value.uses, [&](auto &use) { return layouts[use.second] == toBlocked; });
}

} // namespace lathe
