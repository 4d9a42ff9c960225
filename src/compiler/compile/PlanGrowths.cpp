#include "compile/PlanGrowths.h"

#include "ir/Bridge.h"
#include "passes/Rewrite.h"
#include "passes/kernels/GrowInPlace.h"

namespace lathe {

std::optional<GrowingValue> growingValue(mlir::Value value, const mlir::SymbolTable &symbols,
                                         const nn::SymbolicShapes &shapes) {
  auto call = value.getDefiningOp<mlir::func::CallOp>();
  auto kernel = call ? symbols.lookup<mlir::func::FuncOp>(call.getCallee()) : mlir::func::FuncOp();
  if (!kernel || call.getNumResults() != 1 || !kernel.getResultAttr(0, nn::storedAttribute))
    return std::nullopt;
  mlir::Operation *concat = growingConcat(call, kernel);
  require(concat, "{}: '{}' on the result of a kernel that concatenates nothing with an argument of @main",
          nn::describe(call.getLoc()), nn::storedAttribute);
  auto first = llvm::cast<mlir::BlockArgument>(concat->getOperand(0));
  auto past = llvm::cast<mlir::BlockArgument>(call.getOperand(first.getArgNumber()));
  Dims dims = shapes.of(value).dims;
  int64_t axis = nn::attrsAs<ConcatAttrs>(concat).axis;
  axis += axis < 0 ? static_cast<int64_t>(dims.size()) : 0;
  GrowingValue result{past, static_cast<size_t>(axis), nn::storedDims(kernel, kernel.getNumArguments(), dims), "", ""};
  result.capacity = result.stored[result.axis].str();
  result.kept = keptSymbol(shapes.of(past).dims[result.axis].str());
  return result;
}

namespace {

/// True if this user of an argument of @main needs only its extents.
bool readsExtents(mlir::OpOperand &use, const mlir::SymbolTable &symbols) {
  auto isShape = [](mlir::Operation *user) { return isOp(user, "shape"); };
  auto call = llvm::dyn_cast<mlir::func::CallOp>(use.getOwner());
  auto kernel = call ? symbols.lookup<mlir::func::FuncOp>(call.getCallee()) : mlir::func::FuncOp();
  return isShape(use.getOwner()) ||
         (kernel && llvm::all_of(kernel.getArgument(use.getOperandNumber()).getUsers(), isShape));
}

/// The argument of @main that a kernel overwrites with its result: `value` is the argument with some elements replaced,
/// and only this kernel reads elements of the argument.
std::optional<unsigned> overwrittenArgument(mlir::Value value, const mlir::SymbolTable &symbols) {
  auto call = value.getDefiningOp<mlir::func::CallOp>();
  auto kernel = call ? symbols.lookup<mlir::func::FuncOp>(call.getCallee()) : mlir::func::FuncOp();
  if (!kernel || call.getNumResults() != 1)
    return std::nullopt;
  mlir::Operation *op = kernel.getBody().front().getTerminator()->getOperand(0).getDefiningOp();
  if (!isOp(op, "scatter_elements") && !isOp(op, "scatter_nd"))
    return std::nullopt;
  auto x = llvm::dyn_cast<mlir::BlockArgument>(op->getOperand(0));
  auto argument = x ? llvm::dyn_cast<mlir::BlockArgument>(call.getOperand(x.getArgNumber())) : mlir::BlockArgument();
  if (!argument || !x.hasOneUse())
    return std::nullopt;
  bool alone = llvm::all_of(argument.getUses(), [&](mlir::OpOperand &use) {
    bool own = use.getOwner() == call && use.getOperandNumber() == x.getArgNumber();
    return own || readsExtents(use, symbols);
  });
  return alone ? std::optional(argument.getArgNumber()) : std::nullopt;
}

} // namespace

void addGrowths(plan::PlanT &plan, mlir::OperandRange results, const mlir::SymbolTable &symbols,
                const nn::SymbolicShapes &shapes) {
  for (auto [i, value] : llvm::enumerate(results)) {
    if (std::optional<unsigned> argument = overwrittenArgument(value, symbols);
        argument && plan.values[plan.outputs[i]]->storage == plan::Storage::Output) {
      auto growth = std::make_unique<plan::GrowthT>();
      growth->input = *argument;
      growth->output = static_cast<uint32_t>(i);
      plan.growths.push_back(std::move(growth));
    }
    if (std::optional<GrowingValue> growing = growingValue(value, symbols, shapes)) {
      auto growth = std::make_unique<plan::GrowthT>();
      growth->input = growing->past.getArgNumber();
      growth->output = static_cast<uint32_t>(i);
      growth->axis = static_cast<uint32_t>(growing->axis);
      growth->capacity = growing->capacity;
      growth->kept = growing->kept;
      plan.growths.push_back(std::move(growth));
    }
  }
}

} // namespace lathe
