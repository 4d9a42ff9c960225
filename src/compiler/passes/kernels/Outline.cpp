#include "passes/kernels/Outline.h"

#include "passes/Rewrite.h"

#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/SetVector.h"

namespace lathe {
namespace {

/// True for a constant whose elements are all equal: it becomes part of the kernel's code.
bool isUniform(mlir::Value constant) {
  return rankedType(constant).getNumElements() == 1 ||
         nn::constantData(constant.getDefiningOp<nn::ConstantOp>().getValue()).splat;
}

/// If extents of results follow from elements of arguments that are not constants, adds attributes to the arguments
/// that name these elements.
void nameContents(OutlinedKernel &kernel, const nn::SymbolicShapes &shapes) {
  std::vector<TensorInfo> results = nn::SymbolicShapes(kernel.function).results();
  if (llvm::none_of(results, [](const TensorInfo &info) { return llvm::any_of(info.dims, isUnknown); }))
    return;
  for (auto [i, argument] : llvm::enumerate(kernel.arguments))
    if (std::optional<std::vector<Dim>> contents = shapes.of(argument).contents;
        contents && llvm::none_of(*contents, isUnknown) && !argument.getDefiningOp<nn::ConstantOp>())
      kernel.function.setArgAttr(static_cast<unsigned>(i), nn::contentsAttribute,
                                 nn::dimsAttr(kernel.function.getContext(), *contents));
}

} // namespace

OutlinedKernel outline(mlir::ModuleOp module, const Group &group, const nn::SymbolicShapes &shapes,
                       const std::string &name) {
  llvm::DenseSet<mlir::Operation *> inside(group.ops.begin(), group.ops.end());
  llvm::SetVector<mlir::Value> arguments;
  llvm::SetVector<mlir::Operation *> constants;
  for (mlir::Operation *op : group.ops)
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      mlir::Operation *maker = operand.getDefiningOp();
      if (maker && inside.contains(maker))
        continue;
      // Weights stay arguments even when they are uniform: they are packed like any others. Folding leaves a cast of a
      // constant only where weights are small integers.
      bool inlined = llvm::isa_and_nonnull<nn::ConstantOp>(maker) && isUniform(operand) &&
                     loweringOf(op) == "elementwise" && !isOp(op, "cast");
      if (inlined)
        constants.insert(maker);
      else
        arguments.insert(operand);
    }
  OutlinedKernel kernel;
  kernel.arguments.assign(arguments.begin(), arguments.end());
  for (mlir::Operation *op : group.ops)
    for (mlir::Value result : op->getResults())
      if (group.ops.size() == 1 ||
          llvm::any_of(result.getUsers(), [&](mlir::Operation *user) { return !inside.contains(user); }))
        kernel.results.push_back(result);

  llvm::SmallVector<mlir::Location> locations;
  for (mlir::Operation *op : group.ops)
    locations.push_back(op->getLoc());
  mlir::Location loc = mlir::FusedLoc::get(module.getContext(), locations);
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(module.getBody());
  kernel.function = b.create<mlir::func::FuncOp>(
      loc, name,
      b.getFunctionType(mlir::ValueRange(kernel.arguments).getTypes(), mlir::ValueRange(kernel.results).getTypes()));
  mlir::func::FuncOp function = kernel.function;
  function.setPrivate();
  function->setAttr("nn.family", b.getStringAttr(llvm::StringRef(group.family.data(), group.family.size())));
  mlir::Block *body = function.addEntryBlock();
  mlir::IRMapping mapping;
  for (auto [i, argument] : llvm::enumerate(kernel.arguments)) {
    mapping.map(argument, body->getArgument(i));
    if (argument.getDefiningOp<nn::ConstantOp>())
      function.setArgAttr(i, "nn.constant", b.getUnitAttr());
    if (!rankedType(argument).hasStaticShape())
      function.setArgAttr(i, "nn.dims", nn::dimsAttr(module.getContext(), shapes.of(argument).dims));
  }
  b.setInsertionPointToStart(body);
  for (mlir::Operation *constant : constants)
    if (!arguments.contains(constant->getResult(0))) // used as weights as well
      b.clone(*constant, mapping);
  for (mlir::Operation *op : group.ops)
    b.clone(*op, mapping);
  llvm::SmallVector<mlir::Value> returned;
  for (mlir::Value result : kernel.results)
    returned.push_back(mapping.lookup(result));
  b.create<mlir::func::ReturnOp>(loc, returned);
  nameContents(kernel, shapes);
  return kernel;
}

void refreshType(mlir::func::FuncOp function) {
  mlir::Block &body = function.getBody().front();
  function.setType(
      mlir::FunctionType::get(function.getContext(), body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
}

} // namespace lathe
