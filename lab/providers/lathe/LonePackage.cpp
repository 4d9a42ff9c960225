#include "lab/providers/lathe/LonePackage.h"

#include "compile/Compile.h"
#include "ir/Context.h"
#include "lab/providers/lathe/BuildOperator.h"

namespace lathe::lab {

/// @main around the operator; operands that are constant become constants.
static mlir::OwningOpRef<mlir::ModuleOp> graphOf(mlir::MLIRContext *context, const Problem &problem,
                                                 const ProblemInputs &inputs) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(context));
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(module->getBody());
  auto located = [&](const std::string &name) { return mlir::NameLoc::get(b.getStringAttr(name)); };
  auto operands = problem.byRecord();
  llvm::SmallVector<mlir::Type> types;
  for (const ProblemOperand *operand : operands)
    if (operand && !operand->constant)
      types.push_back(mlir::RankedTensorType::get(operand->dims, nn::toMlir(context, operand->type)));
  auto function = b.create<mlir::func::FuncOp>(located("main"), "main", b.getFunctionType(types, {}));
  mlir::Block *body = function.addEntryBlock();
  b.setInsertionPointToStart(body);
  llvm::SmallVector<mlir::Value> values;
  unsigned next = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const ProblemOperand *operand = operands[i];
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
  auto results = buildOperator(b, problem, values);
  b.create<mlir::func::ReturnOp>(located("return"), results);
  function.setType(b.getFunctionType(types, mlir::ValueRange(results).getTypes()));
  for (unsigned i = 0; i < results.size(); ++i)
    function.setResultAttr(i, "nn.name", b.getStringAttr(fmt::format("out{}", i)));
  return module;
}

Outcome<std::unique_ptr<LonePackage>> LonePackage::make(const Problem &problem, const std::string &target, int threads,
                                                        const ProblemInputs &inputs) {
  auto context = makeContext();
  auto module = graphOf(context.get(), problem, inputs);
  auto made = std::make_unique<LonePackage>();
  made->bytes = std::make_shared<std::vector<char>>();
  CompileOptions options;
  options.target = target;
  options.threads = threads;
  CompileReport report = compileToBytes(*module, options, *made->bytes);
  if (!report.references.empty())
    return NotApplicable{
        fmt::format("{} is left to its reference: {}", report.references[0].op, report.references[0].reason)};
  made->context = std::make_unique<runtime::Context>(runtime::Model::fromBytes(*made->bytes, problem.op, made->bytes),
                                                     runtime::ContextOptions{.threads = threads});
  size_t next = 0;
  auto operands = problem.byRecord();
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i] && !operands[i]->constant)
      made->context->setInput(next++, inputs[i]);
  made->context->run();
  for (size_t i = 0; i < made->context->instructionCount(); ++i) {
    auto info = made->context->instruction(i);
    if (std::string_view(info.kind) == "kernel")
      made->description += fmt::format("{}{}", made->description.empty() ? "" : "; ", info.schedule);
  }
  if (made->description.empty())
    made->description = "no kernel: the bytes stay as they are";
  made->description += ", in a package of its own, row-major";
  return made;
}

std::vector<Tensor> LonePackage::outputs() const {
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < context->model().outputs().size(); ++i)
    outputs.push_back(context->output(i).tensor());
  return outputs;
}

} // namespace lathe::lab
