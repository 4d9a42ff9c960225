#include "passes/kernels/LayoutCosts.h"

#include "passes/Rewrite.h"
#include "passes/kernels/Layout.h"
#include "passes/kernels/Outline.h"
#include "passes/kernels/ShareStorage.h"

#include <limits>

namespace lathe {
namespace {

constexpr double impossible = std::numeric_limits<double>::infinity();

/// A slice with a concatenation as its only reader: the kernel of the concatenation reads the part from the whole.
bool joinsConcat(mlir::Operation *op) {
  return isOp(op, "slice") && op->getResult(0).hasOneUse() && isOp(*op->getResult(0).getUsers().begin(), "concat");
}

} // namespace

LayoutCosts::LayoutCosts(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes, const PipelineOptions &options,
                         KernelCost kernelCost)
    : main(main), shapes(shapes), options(options), kernelCost(std::move(kernelCost)) {}

nn::BlockedAttr LayoutCosts::blockedLayout(mlir::Value value) const {
  return nn::BlockedAttr::get(value.getContext(), 1, options.channelBlocks.of(value));
}

Outcome<double> LayoutCosts::costOf(mlir::Operation *op, const LayoutRule &rule, bool blockedInput,
                                    bool blockedOutput) const {
  if (loweringOf(op) == "elementwise" || joinsConcat(op))
    return 0.0;
  if (rule.uniform && blockedInput != blockedOutput)
    return NotApplicable{"it reads and writes one layout"};
  mlir::func::FuncOp function =
      outline(main->getParentOfType<mlir::ModuleOp>(), {{op}, loweringOf(op)}, shapes, "candidate").function;
  auto cost = [&]() -> Outcome<double> {
    mlir::Operation *copy = nullptr;
    for (mlir::Operation &inside : function.getBody().front())
      if (inside.getName() == op->getName())
        copy = &inside;
    for (auto [port, operand] : llvm::zip(rule.operands, copy->getOperands()))
      if (port != Port::row && blockedInput)
        setLayout(operand, blockedLayout(operand));
    for (auto [port, result] : llvm::zip(rule.results, copy->getResults()))
      if (port != Port::row && blockedOutput)
        setLayout(result, blockedLayout(result));
    refreshType(function);
    // `share-storage` removes this copy.
    if (options.level >= 2 && placesInWhole(copy, nn::SymbolicShapes(function)))
      return 0.0;
    return kernelCost(function);
  }();
  function.erase();
  return cost;
}

CostByLayout LayoutCosts::costsOf(mlir::Operation *op, LayoutRule &rule) const {
  CostByLayout costs{};
  std::string reason;
  for (bool input : {false, true})
    for (bool output : {false, true}) {
      Outcome<double> found = costOf(op, rule, input, output);
      if (!found && input == output)
        reason = found.reason();
      costs[input][output] = found ? *found : impossible;
    }
  if (costs[0][1] == impossible && costs[1][0] == impossible && costs[1][1] == impossible)
    rule.rowOnly = reason;
  return costs;
}

bool LayoutCosts::convertsForFree(mlir::Value value) const {
  return sameBytes(rankedType(value), blockedLayout(value));
}

Outcome<double> LayoutCosts::conversion(mlir::Value value, bool toBlocked) const {
  mlir::RankedTensorType type = rankedType(value);
  nn::BlockedAttr layout = blockedLayout(value);
  auto with = [&](bool blocked) {
    return mlir::RankedTensorType::get(type.getShape(), type.getElementType(), blocked ? layout : nn::BlockedAttr());
  };
  auto module = main->getParentOfType<mlir::ModuleOp>();
  mlir::Location loc = mlir::func::FuncOp(main).getLoc();
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(module.getBody());
  auto function = b.create<mlir::func::FuncOp>(loc, "candidate", b.getFunctionType(with(!toBlocked), with(toBlocked)));
  function.setPrivate();
  function->setAttr("nn.family", b.getStringAttr("movement"));
  if (!type.hasStaticShape())
    function.setArgAttr(0, "nn.dims", nn::dimsAttr(module.getContext(), shapes.of(value).dims));
  b.setInsertionPointToStart(function.addEntryBlock());
  mlir::Value converted = convertTo(b, loc, function.getArgument(0), toBlocked ? layout : nn::BlockedAttr());
  b.create<mlir::func::ReturnOp>(loc, converted);
  Outcome<double> cost = kernelCost(function);
  function.erase();
  return cost;
}

Outcome<double> LayoutCosts::alone(mlir::Operation *op) const {
  mlir::func::FuncOp function =
      outline(main->getParentOfType<mlir::ModuleOp>(), {{op}, loweringOf(op)}, shapes, "candidate").function;
  Outcome<double> cost = kernelCost(function);
  function.erase();
  return cost;
}

} // namespace lathe
