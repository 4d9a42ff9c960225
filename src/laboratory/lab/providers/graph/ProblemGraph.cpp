#include "lab/providers/graph/ProblemGraph.h"

#include "lab/providers/graph/BuildOperator.h"

namespace lathe::lab {

llvm::SmallVector<mlir::Value> buildAsNamed(mlir::OpBuilder &builder, const Problem &problem,
                                            llvm::ArrayRef<mlir::Value> operands) {
  return buildOperator(builder, problem, operands);
}

mlir::OwningOpRef<mlir::ModuleOp> problemGraph(mlir::MLIRContext *context, const Problem &problem,
                                               const ProblemInputs &inputs, BuildResults build) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(context));
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(module->getBody());
  auto located = [&](const std::string &name) { return mlir::NameLoc::get(b.getStringAttr(name)); };
  auto operands = problem.inputs();
  llvm::SmallVector<mlir::Type> types;
  for (const auto &operand : operands)
    if (operand && !operand->constant)
      types.push_back(mlir::RankedTensorType::get(operand->dims, nn::toMlir(context, operand->type)));
  auto function = b.create<mlir::func::FuncOp>(located("main"), "main", b.getFunctionType(types, {}));
  mlir::Block *body = function.addEntryBlock();
  b.setInsertionPointToStart(body);
  llvm::SmallVector<mlir::Value> values;
  unsigned next = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto &operand = operands[i];
    if (!operand) {
      values.emplace_back();
    } else if (operand->constant) {
      const Tensor &data = inputs[i];
      auto attr = nn::makeConstant(context, data.type(), data.dims(),
                                   llvm::ArrayRef<char>(static_cast<const char *>(data.data()), size_t(data.bytes())),
                                   operand->name);
      values.push_back(b.create<nn::ConstantOp>(located(operand->name), attr.getType(), attr));
    } else {
      function.setArgAttr(next, "nn.name", b.getStringAttr(fmt::format("in{}", i)));
      values.push_back(body->getArgument(next++));
    }
  }
  auto results = build(b, problem, values);
  b.create<mlir::func::ReturnOp>(located("return"), results);
  function.setType(b.getFunctionType(types, mlir::ValueRange(results).getTypes()));
  for (unsigned i = 0; i < results.size(); ++i)
    function.setResultAttr(i, "nn.name", b.getStringAttr(fmt::format("out{}", i)));
  return module;
}

} // namespace lathe::lab
