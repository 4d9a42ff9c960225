#include "compile/PlanLiveness.h"

#include "passes/Rewrite.h"

#include "llvm/ADT/StringSet.h"

namespace lathe {
namespace {

/// Adds the symbols of all extents and known elements of `value`.
void addSymbols(mlir::Value value, const nn::SymbolicShapes &shapes, llvm::StringSet<> &symbols) {
  TensorInfo info = shapes.of(value);
  std::vector<std::string> names;
  for (const Dim &dim : info.dims)
    dim.collectSymbols(names);
  for (const Dim &element : info.contents.value_or(Dims()))
    element.collectSymbols(names);
  for (const std::string &name : names)
    symbols.insert(name);
}

bool hasUnknown(const TensorInfo &info) { return llvm::any_of(info.dims, isUnknown); }

/// Symbols that are bound where `op` runs.
std::vector<std::string> bindings(mlir::Operation *op, const nn::SymbolicShapes &shapes) {
  if (auto extents = llvm::dyn_cast<nn::BindExtentsOp>(op))
    return boundBy(extents, shapes);
  std::vector<std::string> symbols;
  for (mlir::Value result : op->getResults())
    llvm::append_range(symbols, ownExtents(result, shapes));
  return symbols;
}

} // namespace

bool isView(mlir::Operation *op) {
  if (llvm::isa<nn::ConvertLayoutOp>(op))
    return true;
  const OpRecord *record = nn::recordOf(op);
  return record && std::string_view(record->lowering) == "view" && !llvm::isa<nn::BindExtentsOp>(op);
}

llvm::DenseSet<mlir::Operation *> liveOperations(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes) {
  llvm::DenseSet<mlir::Operation *> live;
  llvm::DenseSet<mlir::Value> needed;
  llvm::StringSet<> symbols;
  auto need = [&](mlir::Value value) {
    if (needed.insert(value).second)
      addSymbols(value, shapes, symbols);
  };
  mlir::Block &body = main.getBody().front();
  llvm::for_each(body.getTerminator()->getOperands(), need);
  for (mlir::Operation &op : llvm::reverse(body.without_terminator())) {
    bool used = llvm::any_of(op.getResults(), [&](mlir::Value result) { return needed.contains(result); });
    bool binds = llvm::any_of(bindings(&op, shapes), [&](const std::string &name) { return symbols.contains(name); });
    if (!used && !binds)
      continue;
    live.insert(&op);
    if (computesNothing(&op, shapes)) { // the operation is not needed, but the rules over its operands' extents hold
      llvm::for_each(op.getOperands(), [&](mlir::Value operand) { addSymbols(operand, shapes, symbols); });
      continue;
    }
    if (isView(&op) && !hasUnknown(shapes.of(op.getResult(0))))
      need(op.getOperand(0));
    else
      llvm::for_each(op.getOperands(), need);
  }
  return live;
}

std::vector<std::string> ownExtents(mlir::Value value, const nn::SymbolicShapes &shapes) {
  std::vector<std::string> symbols;
  auto result = llvm::dyn_cast<mlir::OpResult>(value);
  mlir::Operation *op = value.getDefiningOp();
  if (!op || !op->hasAttr(nn::extentsAttribute))
    return symbols;
  for (auto [axis, dim] : llvm::enumerate(shapes.of(value).dims))
    if (llvm::StringRef name = nn::nameOfExtent(op, result.getResultNumber(), axis);
        !name.empty() && dim == Dim::symbol(name.str()))
      symbols.push_back(name.str());
  return symbols;
}

std::vector<std::string> boundBy(nn::BindExtentsOp op, const nn::SymbolicShapes &shapes) {
  llvm::SmallVector<llvm::StringRef> names;
  op.getSymbols().split(names, ' ');
  std::optional<std::vector<Dim>> elements = shapes.of(op.getX()).contents;
  std::vector<std::string> symbols;
  bool known = elements.has_value();
  for (auto [i, name] : llvm::enumerate(names)) {
    known = known && !isUnknown((*elements)[i]);
    symbols.push_back(name.str());
  }
  return known ? std::vector<std::string>() : symbols;
}

} // namespace lathe
