// Layout of every value: row-major or blocked channels.
//
// A minimum cut (LayoutProblem.h) finds the layouts with the lowest total cost of operators and conversions. Costs are
// the cycles that the code generator predicts. If the caller has measured times, they decide between layouts that the
// predictions leave in doubt (MeasuredLayout.h). If a layout was asked for (PipelineOptions::layout), operators that
// gain from blocks write blocks wherever a kernel does, and costs decide the rest.
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/Rewrite.h"
#include "passes/kernels/Layout.h"
#include "passes/kernels/MeasuredLayout.h"

namespace lathe {
namespace {

class Assignment {
public:
  Assignment(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report)
      : options(options), report(report), main(mainFunction(module)), shapes(main),
        costs(main, shapes, options, options.predictCycles) {}

  void run() {
    LayoutPrices prices;
    for (mlir::Operation &op : main.getBody().front())
      if (nn::recordOf(&op))
        addOperator(&op, prices);
    for (mlir::BlockArgument argument : main.getArguments())
      addValue(argument, prices);
    for (mlir::Operation &op : main.getBody().front())
      if (!llvm::isa<nn::ConstantOp>(op))
        for (mlir::Value result : op.getResults())
          addValue(result, prices);
    if (asked())
      prefer(prices);
    blocked = problem.solve(prices);
    if (options.measuredSeconds && !asked())
      measure(prices);
    for (const LayoutOperator &one : problem.operators)
      if (one.chooses() && !one.op->hasAttr(mergedPart))
        if (std::vector<std::string> nodes = nn::nodeNames(one.op->getLoc()); !nodes.empty())
          report.layouts.push_back({nodes.back(), blocked[one.input], blocked[one.output]});
    for (const LayoutValue &value : problem.values)
      apply(value);
    reportRowMajor();
  }

private:
  const PipelineOptions &options;
  PipelineReport &report;
  mlir::func::FuncOp main;
  nn::SymbolicShapes shapes;
  LayoutCosts costs;
  LayoutProblem problem;
  Layouts blocked;

  nn::BlockedAttr blockedLayout(mlir::Value value) const {
    return nn::BlockedAttr::get(value.getContext(), 1, options.channelBlocks.of(value));
  }

  bool asked() const { return options.layout != LayoutChoice::automatic; }

  /// Makes a row-major result of an operator that gains from blocks cost more than all conversions around it.
  void prefer(LayoutPrices &prices) const {
    constexpr double missed = 1e6, share = 1e-4, leastConversion = 1 / 16.0;
    for (size_t i = 0; i < problem.operators.size(); ++i)
      for (bool input : {false, true})
        for (bool output : {false, true}) {
          double &cost = prices.operators[i][input][output];
          cost = cost * share + (problem.operators[i].rule.profits && !output ? missed : 0);
        }
    for (auto &both : prices.conversions)
      for (double &cost : both)
        cost = std::max(cost * share, leastConversion);
    for (double &cost : prices.partings)
      cost *= share;
  }

  void addOperator(mlir::Operation *op, LayoutPrices &prices) {
    LayoutRule rule = layoutRule(op, options.channelBlocks);
    if (options.layout == LayoutChoice::planes && rule.rowOnly.empty())
      rule.rowOnly = "--layout nchw keeps planes";
    prices.operators.push_back(rule.rowOnly.empty() ? costs.costsOf(op, rule) : CostByLayout{});
    problem.add(op, std::move(rule));
    if (options.given &&
        !op->hasAttr(mergedPart)) // a part has the node of its convolution, and the layout of the whole
      follow(options.given(nn::nodeNames(op->getLoc())), problem.operators.back());
  }

  void addValue(mlir::Value value, LayoutPrices &prices) {
    if (!options.channelBlocks.of(value))
      return;
    problem.add(value);
    auto conversion = [&](bool toBlocked) {
      if (costs.convertsForFree(value))
        return 1.0; // a plan without conversions is easier to read
      Outcome<double> cost = costs.conversion(value, toBlocked);
      return cost ? *cost : LayoutPrices::impossible;
    };
    prices.conversions.push_back({conversion(false), conversion(true)});
    mlir::Operation *epilogue = problem.values.back().epilogue;
    Outcome<double> alone = epilogue ? costs.alone(epilogue) : 0.0;
    prices.partings.push_back(alone ? *alone : 0);
  }

  /// A layout that was asked for costs nothing, and the other layout costs more than anything else.
  void follow(const GraphChoice &given, const LayoutOperator &one) {
    auto fix = [&](std::optional<bool> layout, int node, const char *what) {
      if (!layout)
        return;
      if (node == MinCut::sink) {
        require(!*layout, "{}: the schedule asks for a blocked {}, which is not possible: {}",
                nn::describe(one.op->getLoc()), what, one.rule.rowOnly);
        return;
      }
      problem.fix(node, *layout);
    };
    require(!one.rule.uniform || !given.blockedInput || !given.blockedOutput ||
                *given.blockedInput == *given.blockedOutput,
            "{}: reads and writes the same layout, but the schedule asks for two", nn::describe(one.op->getLoc()));
    fix(given.blockedInput, one.input, "input");
    fix(given.blockedOutput, one.output, "result");
  }

  void measure(const LayoutPrices &predicted) {
    Layouts standard = blocked;
    LayoutCosts measured(main, shapes, options, options.measuredSeconds);
    blocked = layoutsByMeasurement(problem, predicted, standard, measured);
    for (const LayoutOperator &one : problem.operators)
      report.measuredChoices +=
          blocked[one.input] != standard[one.input] || blocked[one.output] != standard[one.output];
  }

  void apply(const LayoutValue &one) {
    mlir::Value value = one.value;
    bool produced = blocked[one.producer];
    llvm::SmallVector<mlir::OpOperand *> others;
    for (auto [use, consumer] : one.uses)
      if (blocked[consumer] != produced)
        others.push_back(use);
    if (produced)
      setLayout(value, blockedLayout(value));
    if (others.empty())
      return;
    // Right before the reader, so that both forms of a large value are alive together for as short as possible.
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
    for (const LayoutOperator &one : problem.operators) {
      if (blocked[one.output] || blocked[one.input])
        continue;
      std::string reason = one.rule.rowOnly;
      if (reason.empty())
        reason = one.rule.profits ? "converting its neighbours' values would cost more than it gains"
                                  : "its neighbours are row-major, and it gains nothing from blocks";
      report.unconverted.push_back(
          {nn::describe(one.op->getLoc()), one.op->getName().stripDialect().str(), std::move(reason)});
      if (one.rule.profits && options.layout != LayoutChoice::planes)
        report.rowMajor.push_back(report.unconverted.back());
    }
  }
};

} // namespace

void assignLayout(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report) {
  require(static_cast<bool>(options.predictCycles), "internal: layouts are chosen without predictions");
  Assignment(module, options, report).run();
}

} // namespace lathe
