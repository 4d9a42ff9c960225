// Passes facts from the code around nn.if and nn.loop into their bodies.
#include "ir/Bodies.h"
#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include "mlir/IR/IRMapping.h"

namespace lathe {
namespace {

/// Replaces nn.if by the branch that its constant condition selects.
void inlineBranch(nn::IfOp branch) {
  std::optional<Tensor> condition = constantOf(branch.getCondition());
  if (!condition)
    return;
  nn::BodyRef body = nn::bodiesOf(branch)[condition->asInteger(0) != 0 ? 0 : 1];
  mlir::IRMapping mapping;
  mapping.map(body.main.getArguments(), branch.getCaptured());
  auto around = branch->getParentOfType<mlir::ModuleOp>();
  mlir::OpBuilder b(branch);
  for (mlir::Operation &op : body.main.getBody().front().without_terminator()) {
    mlir::Operation *copy = b.clone(op, mapping);
    // The bodies that `op` runs are copied, too, with names that are free in this module.
    for (auto [inner, attribute] : llvm::zip(nn::bodiesOf(&op), nn::bodyAttributes(&op))) {
      mlir::ModuleOp moved = inner.module.clone();
      moved.setSymName(nn::freeBodyName(around, moved.getSymName()->str()));
      around.push_back(moved);
      copy->setAttr(attribute, mlir::FlatSymbolRefAttr::get(moved.getSymNameAttr()));
    }
  }
  llvm::SmallVector<mlir::Value> results;
  for (mlir::Value value : body.main.getBody().front().getTerminator()->getOperands())
    results.push_back(mapping.lookup(value));
  branch->replaceAllUsesWith(results);
  branch.erase();
}

/// Constants among the captured values become constants of the bodies.
void sinkConstants(mlir::Operation *op, nn::BodyRef body) {
  nn::Captured captured = nn::capturedBy(op);
  for (auto [i, value] : llvm::enumerate(captured.values)) {
    mlir::BlockArgument argument = body.main.getArgument(captured.firstArgument + static_cast<unsigned>(i));
    auto constant = value.getDefiningOp<nn::ConstantOp>();
    if (!constant || argument.use_empty())
      continue;
    mlir::OpBuilder b(&body.main.getBody().front(), body.main.getBody().front().begin());
    argument.replaceAllUsesWith(b.clone(*constant)->getResult(0));
  }
}

/// Returns true if this gives the argument new facts.
bool setArgument(mlir::func::FuncOp main, unsigned index, const TensorInfo &info) {
  mlir::MLIRContext *context = main.getContext();
  mlir::Type type = main.getArgument(index).getType();
  mlir::Attribute dims = main.getArgAttr(index, "nn.dims");
  main.getArgument(index).setType(nn::toMlirType(context, info));
  if (!allConstant(info.dims) && llvm::none_of(info.dims, isUnknown))
    main.setArgAttr(index, "nn.dims", nn::dimsAttr(context, info.dims));
  else
    main.removeArgAttr(index, "nn.dims");
  return main.getArgument(index).getType() != type || main.getArgAttr(index, "nn.dims") != dims;
}

/// Gives arguments the extents of captured values. Returns true if there are new facts.
bool refineArguments(mlir::Operation *op, nn::BodyRef body, const nn::SymbolicShapes &shapes) {
  nn::Captured captured = nn::capturedBy(op);
  bool changed = false;
  for (auto [i, value] : llvm::enumerate(captured.values))
    changed |= setArgument(body.main, captured.firstArgument + static_cast<unsigned>(i), shapes.of(value));
  mlir::Block &block = body.main.getBody().front();
  body.main.setType(
      mlir::FunctionType::get(op->getContext(), block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  return changed;
}

} // namespace

void settleBodies(mlir::ModuleOp module) {
  mlir::func::FuncOp main = mainFunction(module);
  for (auto branch : llvm::make_early_inc_range(main.getOps<nn::IfOp>()))
    inlineBranch(branch);
  nn::SymbolicShapes shapes(main);
  for (mlir::Operation &op : main.getBody().front())
    for (const nn::BodyRef &body : nn::bodiesOf(&op)) {
      sinkConstants(&op, body);
      refineArguments(&op, body, shapes);
    }
  nn::eraseUnusedBodies(module);
}

bool refineBodies(mlir::ModuleOp module) {
  mlir::func::FuncOp main = mainFunction(module);
  nn::SymbolicShapes shapes(main);
  bool changed = false;
  for (mlir::Operation &op : main.getBody().front())
    for (const nn::BodyRef &body : nn::bodiesOf(&op))
      changed |= refineArguments(&op, body, shapes);
  return changed;
}

void dropUnusedCaptures(mlir::ModuleOp module) {
  for (mlir::Operation &op : mainFunction(module).getBody().front()) {
    llvm::SmallVector<nn::BodyRef> bodies = nn::bodiesOf(&op);
    if (bodies.empty())
      continue;
    nn::Captured captured = nn::capturedBy(&op);
    auto count = static_cast<unsigned>(captured.values.size());
    unsigned firstOperand = op.getNumOperands() - count; // they come last
    for (unsigned i = count; i-- > 0;) {
      unsigned index = captured.firstArgument + i;
      if (llvm::any_of(bodies, [&](nn::BodyRef &body) { return !body.main.getArgument(index).use_empty(); }))
        continue;
      for (nn::BodyRef &body : bodies)
        body.main.eraseArgument(index);
      op.eraseOperand(firstOperand + i);
    }
  }
}

} // namespace lathe
