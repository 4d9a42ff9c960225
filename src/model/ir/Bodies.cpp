#include "ir/Bodies.h"

#include "support/Error.h"

#include "llvm/ADT/StringSet.h"

namespace lathe::nn {
namespace {

llvm::SmallVector<llvm::StringRef> bodyNames(mlir::Operation *op) {
  if (auto branch = llvm::dyn_cast<IfOp>(op))
    return {branch.getThenBody(), branch.getElseBody()};
  if (auto loop = llvm::dyn_cast<LoopOp>(op))
    return {loop.getBody()};
  return {};
}

mlir::func::FuncOp mainOf(mlir::ModuleOp module) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  return main && !main.isExternal() ? main : mlir::func::FuncOp();
}

/// A sequence or optional without information about its tensors; other element types unchanged.
mlir::Type roughElement(mlir::Type type) {
  auto elementOf = [](mlir::Type items) {
    auto tensor = llvm::dyn_cast<mlir::TensorType>(items);
    return tensor ? tensor.getElementType() : items;
  };
  if (auto sequence = llvm::dyn_cast<SequenceType>(type))
    return SequenceType::get(type.getContext(), elementOf(sequence.getItems()));
  if (auto optional = llvm::dyn_cast<OptionalType>(type))
    return OptionalType::get(type.getContext(), elementOf(roughElement(optional.getHeld())));
  return type;
}

/// The type without the parts that a pass may still refine: extents and layout.
mlir::Type rough(mlir::Type type) {
  auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!ranked)
    return type;
  llvm::SmallVector<int64_t> open(ranked.getRank(), mlir::ShapedType::kDynamic);
  return mlir::RankedTensorType::get(open, roughElement(ranked.getElementType()));
}

bool agree(mlir::TypeRange a, mlir::TypeRange b) {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip(a, b), [](auto pair) { return rough(std::get<0>(pair)) == rough(std::get<1>(pair)); });
}

mlir::RankedTensorType scalarType(mlir::MLIRContext *context, ElementType type) {
  return mlir::RankedTensorType::get({}, toMlir(context, type));
}

/// Types of the arguments and of the results of the body of `loop`.
std::pair<llvm::SmallVector<mlir::Type>, llvm::SmallVector<mlir::Type>> loopSignature(LoopOp loop) {
  llvm::SmallVector<mlir::Type> arguments = {scalarType(loop.getContext(), ElementType::i64),
                                             scalarType(loop.getContext(), ElementType::boolean)};
  llvm::append_range(arguments, loop.getValues().getTypes());
  llvm::SmallVector<mlir::Type> results = {scalarType(loop.getContext(), ElementType::boolean)};
  auto carried = static_cast<size_t>(loop.getCarried());
  for (auto [i, type] : llvm::enumerate(loop.getResultTypes())) {
    auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(type);
    results.push_back(i < carried || !ranked || ranked.getRank() == 0
                          ? type
                          : mlir::RankedTensorType::get(ranked.getShape().drop_front(), ranked.getElementType()));
  }
  return {arguments, results};
}

mlir::LogicalResult verifyBody(mlir::Operation *op, llvm::StringRef name, mlir::TypeRange arguments,
                               mlir::TypeRange results) {
  auto module = op->getParentOfType<mlir::ModuleOp>();
  auto body = module ? module.lookupSymbol<mlir::ModuleOp>(name) : mlir::ModuleOp();
  auto main = body ? mainOf(body) : mlir::func::FuncOp();
  if (!main)
    return op->emitOpError() << "has no body @" << name << " with a function @main";
  if (!agree(main.getArgumentTypes(), arguments))
    return op->emitOpError() << "@" << name << " takes (" << mlir::TypeRange(main.getArgumentTypes()) << "), expected ("
                             << arguments << ")";
  if (!agree(main.getResultTypes(), results))
    return op->emitOpError() << "@" << name << " returns (" << mlir::TypeRange(main.getResultTypes()) << "), expected ("
                             << results << ")";
  return mlir::success();
}

} // namespace

mlir::LogicalResult IfOp::verifySymbolUses(mlir::SymbolTableCollection &) {
  for (llvm::StringRef name : bodyNames(*this))
    if (mlir::failed(verifyBody(*this, name, getCaptured().getTypes(), getResultTypes())))
      return mlir::failure();
  return mlir::success();
}

mlir::LogicalResult LoopOp::verifySymbolUses(mlir::SymbolTableCollection &) {
  uint64_t carried = getCarried();
  if (carried > getValues().size() || carried > getNumResults())
    return emitOpError() << "carries " << carried << " values, but has " << getValues().size() << " and "
                         << getNumResults() << " results";
  auto [arguments, results] = loopSignature(*this);
  return verifyBody(*this, getBody(), arguments, results);
}

llvm::SmallVector<BodyRef> bodiesOf(mlir::Operation *op) {
  llvm::SmallVector<BodyRef> bodies;
  for (llvm::StringRef name : bodyNames(op)) {
    auto module = op->getParentOfType<mlir::ModuleOp>().lookupSymbol<mlir::ModuleOp>(name);
    mlir::func::FuncOp main = module ? mainOf(module) : mlir::func::FuncOp();
    require(static_cast<bool>(main), "{}: there is no body @{} with a function @main", describe(op->getLoc()),
            name.str());
    bodies.push_back({module, main});
  }
  return bodies;
}

llvm::SmallVector<llvm::StringRef> bodyAttributes(mlir::Operation *op) {
  if (auto branch = llvm::dyn_cast<IfOp>(op))
    return {branch.getThenBodyAttrName(), branch.getElseBodyAttrName()};
  if (auto loop = llvm::dyn_cast<LoopOp>(op))
    return {loop.getBodyAttrName()};
  return {};
}

std::string freeBodyName(mlir::ModuleOp module, const std::string &wanted) {
  std::string base;
  for (char c : wanted)
    base += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base.front())))
    base = "body_" + base;
  std::string name = base;
  for (int i = 1; module.lookupSymbol(name); ++i)
    name = fmt::format("{}_{}", base, i);
  return name;
}

mlir::OperandRange carriedBy(LoopOp loop) {
  return loop.getValues().take_front(static_cast<size_t>(loop.getCarried()));
}

Captured capturedBy(mlir::Operation *op) {
  if (auto loop = llvm::dyn_cast<LoopOp>(op)) {
    auto carried = static_cast<unsigned>(loop.getCarried());
    return {loop.getValues().drop_front(carried), loopHeader + carried};
  }
  return {llvm::cast<IfOp>(op).getCaptured(), 0};
}

void eraseUnusedBodies(mlir::ModuleOp module) {
  llvm::StringSet<> used;
  if (mlir::func::FuncOp main = mainOf(module))
    for (mlir::Operation &op : main.getBody().front())
      for (llvm::StringRef name : bodyNames(&op))
        used.insert(name);
  for (auto body : llvm::make_early_inc_range(module.getOps<mlir::ModuleOp>()))
    if (!body.getSymName() || !used.contains(*body.getSymName()))
      body.erase();
}

} // namespace lathe::nn
