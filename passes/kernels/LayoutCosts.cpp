#include "passes/kernels/LayoutCosts.h"

#include "passes/Rewrite.h"
#include "passes/kernels/Layout.h"
#include "passes/kernels/Outline.h"
#include "passes/kernels/ShareStorage.h"

#include <limits>

namespace lathe {
namespace {

constexpr double impossible = std::numeric_limits<double>::infinity();

/// A part that a concatenation alone reads: the kernel of the concatenation takes it from the whole.
bool joinsConcat(mlir::Operation *op) {
  return isOp(op, "slice") && op->getResult(0).hasOneUse() && isOp(*op->getResult(0).getUsers().begin(), "concat");
}

} // namespace

LayoutCosts::LayoutCosts(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes, const PipelineOptions &options)
    : main(main), shapes(shapes), options(options) {}

nn::BlockedAttr LayoutCosts::blockedLayout(mlir::Value value) const {
  return nn::BlockedAttr::get(value.getContext(), 1, options.channelBlocks.of(value));
}

Outcome<double> LayoutCosts::predicted(mlir::Operation *op, const LayoutRule &rule, bool blockedInput,
                                       bool blockedOutput) const {
  mlir::func::FuncOp function =
      outline(main->getParentOfType<mlir::ModuleOp>(), {{op}, loweringOf(op)}, shapes, "candidate").function;
  auto cycles = [&]() -> Outcome<double> {
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
    // `share-storage` leaves nothing of it to do.
    if (options.level >= 2 && placesInWhole(copy, nn::SymbolicShapes(function)))
      return 0.0;
    return options.predictCycles(function);
  }();
  function.erase();
  return cycles;
}

CyclesByLayout LayoutCosts::cyclesOf(mlir::Operation *op, LayoutRule &rule) const {
  CyclesByLayout cycles{};
  if (loweringOf(op) == "elementwise" || joinsConcat(op))
    return cycles;
  std::string reason;
  for (bool input : {false, true})
    for (bool output : {false, true}) {
      Outcome<double> found = NotApplicable{"it reads and writes one layout"};
      if (!rule.uniform || input == output)
        found = predicted(op, rule, input, output);
      if (!found && input == output)
        reason = found.reason();
      cycles[input][output] = found ? *found : impossible;
    }
  if (cycles[0][1] == impossible && cycles[1][0] == impossible && cycles[1][1] == impossible)
    rule.rowOnly = reason;
  return cycles;
}

double LayoutCosts::conversion(mlir::Value value, bool toBlocked) const {
  mlir::RankedTensorType type = rankedType(value);
  nn::BlockedAttr layout = blockedLayout(value);
  if (sameBytes(type, layout))
    return 1;
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
  Outcome<double> cycles = options.predictCycles(function);
  function.erase();
  return cycles ? *cycles : impossible;
}

double LayoutCosts::alone(mlir::Operation *op) const {
  mlir::func::FuncOp function =
      outline(main->getParentOfType<mlir::ModuleOp>(), {{op}, loweringOf(op)}, shapes, "candidate").function;
  Outcome<double> cycles = options.predictCycles(function);
  function.erase();
  return cycles ? *cycles : 0;
}

} // namespace lathe
