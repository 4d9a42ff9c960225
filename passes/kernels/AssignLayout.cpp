// Layout of every value: row-major or blocked channels.
//
// The choice that costs least, conversions and operators in the layout they like less taken together, is a minimum
// cut: every operator's choice is a node (a conv has two, it may read one layout and write the other), on the source's
// side where it is blocked. Capacities are the cycles that the code generator predicts (LayoutCosts.h). A value used in
// the other layout by several operators is converted once: one node a value and direction stands for its conversion.
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/Rewrite.h"
#include "passes/kernels/Layout.h"
#include "passes/kernels/LayoutCosts.h"
#include "passes/kernels/MinCut.h"

#include <cmath>

namespace lathe {
namespace {

/// Cycles as the whole numbers of the cut: sixteenths of a cycle, and far more than any network costs for what is
/// impossible, yet less than a layout that was asked for.
int64_t units(double cycles) {
  constexpr double most = double(int64_t(1) << 40);
  return static_cast<int64_t>(std::min(16 * cycles, most));
}

class Assignment {
public:
  Assignment(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report)
      : options(options), report(report), main(mainFunction(module)), shapes(main), costs(main, shapes, options) {}

  void run() {
    for (mlir::Operation &op : main.getBody().front())
      if (nn::recordOf(&op))
        addOperator(&op);
    for (mlir::BlockArgument argument : main.getArguments())
      addValue(argument);
    for (mlir::Operation &op : main.getBody().front())
      if (!llvm::isa<nn::ConstantOp>(op))
        for (mlir::Value result : op.getResults())
          addValue(result);
    blocked = cut.solve();
    for (mlir::Operation &op : main.getBody().front())
      if (auto found = choices.find(&op); found != choices.end() && found->second.rule.rowOnly.empty())
        if (std::vector<std::string> nodes = nn::nodeNames(op.getLoc()); !nodes.empty())
          report.layouts.push_back({nodes.back(), blocked[found->second.input], blocked[found->second.output]});
    for (mlir::Value value : values)
      apply(value);
    reportRowMajor();
  }

private:
  struct Choice {
    LayoutRule rule;
    int input = MinCut::sink, output = MinCut::sink; // nodes; the sink itself: row-major
  };
  const PipelineOptions &options;
  PipelineReport &report;
  mlir::func::FuncOp main;
  nn::SymbolicShapes shapes;
  LayoutCosts costs;
  MinCut cut;
  llvm::DenseMap<mlir::Operation *, Choice> choices;
  std::vector<mlir::Value> values; // that can be blocked, in order
  std::vector<bool> blocked;

  nn::BlockedAttr blockedLayout(mlir::Value value) const {
    return nn::BlockedAttr::get(value.getContext(), 1, options.channelBlocks.of(value));
  }

  void addOperator(mlir::Operation *op) {
    Choice choice{layoutRule(op, options.channelBlocks)};
    LayoutRule &rule = choice.rule;
    CyclesByLayout cycles{};
    if (rule.rowOnly.empty())
      cycles = costs.cyclesOf(op, rule);
    if (rule.rowOnly.empty()) {
      choice.input = cut.addNode();
      choice.output = rule.uniform ? choice.input : cut.addNode();
      addCycles(choice, cycles);
    }
    if (options.given)
      follow(options.given(nn::nodeNames(op->getLoc())), op, choice);
    choices[op] = std::move(choice);
  }

  /// The costs of the four combinations of two choices as capacities: one for each side of each choice, and one edge
  /// between them for what blocked operands and row-major results cost beyond that. A cut can express that
  /// only where the mixed combinations together cost no less than the equal ones; else the dearer one of the mixed is
  /// raised until they do, which leaves the others as they are.
  void addCycles(const Choice &choice, const CyclesByLayout &cycles) {
    if (choice.input == choice.output) {
      cut.addEdge(MinCut::source, choice.input, units(cycles[0][0]));
      cut.addEdge(choice.input, MinCut::sink, units(cycles[1][1]));
      return;
    }
    int64_t rows = units(cycles[0][0]), rowToBlocked = units(cycles[0][1]), blockedToRow = units(cycles[1][0]),
            blocks = units(cycles[1][1]);
    if (int64_t missing = rows + blocks - rowToBlocked - blockedToRow; missing > 0)
      (rowToBlocked > blockedToRow ? rowToBlocked : blockedToRow) += missing;
    // Row-major operands: 0 and rows or rowToBlocked; blocked ones: `input` more with blocked results.
    int64_t input = blocks - rowToBlocked;
    cut.addEdge(choice.input, MinCut::sink, std::max<int64_t>(0, input));
    cut.addEdge(MinCut::source, choice.input, std::max<int64_t>(0, -input));
    cut.addEdge(MinCut::source, choice.output, std::max<int64_t>(0, rows - rowToBlocked));
    cut.addEdge(choice.output, MinCut::sink, std::max<int64_t>(0, rowToBlocked - rows));
    cut.addEdge(choice.input, choice.output, blockedToRow + rowToBlocked - blocks - rows);
  }

  /// A layout that was asked for costs nothing, the other one more than anything.
  void follow(const GraphChoice &given, mlir::Operation *op, const Choice &choice) {
    auto fix = [&](std::optional<bool> blocked, int node, const char *what) {
      if (!blocked)
        return;
      if (node == MinCut::sink) {
        require(!*blocked, "{}: the schedule asks for a blocked {}, which is not possible: {}",
                nn::describe(op->getLoc()), what, choice.rule.rowOnly);
        return;
      }
      cut.addEdge(*blocked ? MinCut::source : node, *blocked ? node : MinCut::sink, MinCut::infinite);
    };
    require(!choice.rule.uniform || !given.blockedInput || !given.blockedOutput ||
                *given.blockedInput == *given.blockedOutput,
            "{}: reads and writes the same layout, but the schedule asks for two", nn::describe(op->getLoc()));
    fix(given.blockedInput, choice.input, "input");
    fix(given.blockedOutput, choice.output, "result");
  }

  int producerNode(mlir::Value value) const {
    auto found = choices.find(value.getDefiningOp());
    if (!value.getDefiningOp() || found == choices.end() || found->second.rule.results.empty() ||
        found->second.rule.results[llvm::cast<mlir::OpResult>(value).getResultNumber()] == Port::row)
      return MinCut::sink;
    return found->second.output;
  }

  int consumerNode(mlir::OpOperand &use) const {
    auto found = choices.find(use.getOwner());
    if (found == choices.end() || !found->second.rule.rowOnly.empty() ||
        found->second.rule.operands[use.getOperandNumber()] != Port::input)
      return MinCut::sink;
    return found->second.input;
  }

  void addValue(mlir::Value value) {
    if (!options.channelBlocks.of(value))
      return;
    values.push_back(value);
    int producer = producerNode(value), toBlocked = cut.addNode(), toRow = cut.addNode();
    cut.addEdge(toBlocked, producer, units(costs.conversion(value, true)));
    cut.addEdge(producer, toRow, units(costs.conversion(value, false)));
    // A conversion between a kernel and the only operator that would be fused with it costs the fusion too.
    if (mlir::Operation *maker = value.getDefiningOp();
        maker && value.hasOneUse() && loweringOf(*value.getUsers().begin()) == "elementwise") {
      int consumer = consumerNode(*value.getUses().begin());
      int64_t alone = units(costs.alone(*value.getUsers().begin()));
      cut.addEdge(producer, consumer, alone);
      cut.addEdge(consumer, producer, alone);
    }
    for (mlir::OpOperand &use : value.getUses()) {
      int consumer = consumerNode(use);
      cut.addEdge(consumer, toBlocked, MinCut::infinite);
      cut.addEdge(toRow, consumer, MinCut::infinite);
    }
  }

  void apply(mlir::Value value) {
    bool produced = blocked[producerNode(value)];
    llvm::SmallVector<mlir::OpOperand *> others;
    for (mlir::OpOperand &use : value.getUses())
      if (blocked[consumerNode(use)] != produced)
        others.push_back(&use);
    if (produced)
      setLayout(value, blockedLayout(value));
    if (others.empty())
      return;
    // Late, so that both forms of a large value are alive together for as short as possible.
    mlir::Operation *first = others.front()->getOwner();
    for (mlir::OpOperand *use : others)
      if (use->getOwner()->isBeforeInBlock(first))
        first = use->getOwner();
    mlir::OpBuilder b(first);
    mlir::Location loc = value.getDefiningOp() ? value.getLoc() : first->getLoc();
    mlir::Value converted = convertTo(b, loc, value, produced ? nn::BlockedAttr() : blockedLayout(value));
    for (mlir::OpOperand *use : others)
      use->set(converted);
  }

  void reportRowMajor() {
    for (mlir::Operation &op : main.getBody().front()) {
      auto found = choices.find(&op);
      if (found == choices.end() || !found->second.rule.profits || blocked[found->second.output] ||
          blocked[found->second.input])
        continue;
      const std::string &reason = found->second.rule.rowOnly;
      report.rowMajor.push_back(
          {nn::describe(op.getLoc()), op.getName().stripDialect().str(),
           reason.empty() ? "converting its neighbours' values would cost more than it gains" : reason});
    }
  }
};

} // namespace

void assignLayout(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report) {
  require(static_cast<bool>(options.predictCycles), "internal: layouts are chosen without predictions");
  Assignment(module, options, report).run();
}

} // namespace lathe
