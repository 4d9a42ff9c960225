#include "lab/providers/kernel/ProblemKernel.h"

#include "ir/Context.h"
#include "lab/providers/graph/BuildOperator.h"
#include "passes/kernels/Layout.h"
#include "passes/kernels/LayoutRules.h"

namespace lathe::lab {

namespace {

/// The layouts of activations at the operator's inputs and outputs.
struct Choice {
  int64_t in = 0, out = 0; // block, 0: row-major
  std::string name(size_t rank) const {
    auto one = [&](int64_t block) {
      std::string spatial = rank >= 3 && rank <= 5 ? std::string("dhw").substr(5 - rank) : std::string();
      return block ? fmt::format("nC{}{}c", spatial, block) : rank >= 3 && rank <= 5 ? "nc" + spatial : "row-major";
    };
    return one(in) + " to " + one(out);
  }
};

nn::BlockedAttr blockedBy(mlir::MLIRContext *context, int64_t block) {
  return block ? nn::BlockedAttr::get(context, 1, block) : nn::BlockedAttr();
}

/// The kernel in the form of passes/Partition, row-major everywhere.
mlir::func::FuncOp kernelFunction(mlir::ModuleOp module, const Problem &problem) {
  mlir::MLIRContext *context = module.getContext();
  mlir::OpBuilder b = mlir::OpBuilder::atBlockEnd(module.getBody());
  mlir::Location loc = b.getUnknownLoc();
  auto operands = problem.inputs();
  llvm::SmallVector<mlir::Type> types;
  for (const auto &operand : operands)
    if (operand)
      types.push_back(mlir::RankedTensorType::get(operand->dims, nn::toMlir(context, operand->type)));
  auto function = b.create<mlir::func::FuncOp>(loc, "kernel", b.getFunctionType(types, {}));
  function.setPrivate();
  function->setAttr("nn.family", b.getStringAttr(problem.record().lowering));
  mlir::Block *body = function.addEntryBlock();
  b.setInsertionPointToStart(body);
  llvm::SmallVector<mlir::Value> values;
  unsigned next = 0;
  for (const auto &operand : operands) {
    values.push_back(operand ? mlir::Value(body->getArgument(next)) : mlir::Value());
    if (operand && operand->constant)
      function.setArgAttr(next, "nn.constant", b.getUnitAttr());
    next += operand.has_value();
  }
  auto results = buildOperator(b, problem, values);
  b.create<mlir::func::ReturnOp>(loc, results);
  function.setType(b.getFunctionType(types, mlir::ValueRange(results).getTypes()));
  return function;
}

/// Sets the layouts of the anchor's ports and of the operators after it.
void setLayouts(mlir::func::FuncOp function, const LayoutRule &rule, const ChannelBlocks &blocks, Choice choice) {
  mlir::MLIRContext *context = function.getContext();
  mlir::Block &body = function.front();
  mlir::Operation *anchor = &body.front();
  for (auto [operand, port] : llvm::zip(anchor->getOperands(), rule.operands))
    if (port == Port::input && blocks.of(operand))
      setLayout(operand, blockedBy(context, choice.in ? blocks.of(operand) : 0));
  for (auto [result, port] : llvm::zip(anchor->getResults(), rule.results))
    if (port == Port::output && blocks.of(result))
      setLayout(result, blockedBy(context, choice.out ? blocks.of(result) : 0));
  for (mlir::Operation &op : llvm::drop_begin(body.without_terminator())) {
    nn::BlockedAttr layout = nn::layoutOf(op.getOperand(0));
    for (mlir::Value second : llvm::drop_begin(op.getOperands()))
      setLayout(second, layout);
    setLayout(op.getResult(0), layout);
  }
  mlir::OpBuilder b(context);
  function.setType(b.getFunctionType(body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
}

} // namespace

Outcome<std::string> firstLayout(const Problem &problem, const Target &target, ActivationLayout layout, int threads,
                                 const std::function<Outcome<bool>(const KernelProblem &)> &attempt) {
  std::string family = problem.record().lowering;
  if (family == "view" || family == "reference" || family == "fold")
    return NotApplicable{fmt::format("{} is no kernel of its own", problem.op)};
  int64_t block = target.channelBlock();
  // The layouts of a network: blocked, or row-major images into the first layer.
  std::vector<Choice> choices = {{block, block}, {0, block}, {0, 0}};
  if (layout == ActivationLayout::row)
    choices = {{0, 0}};
  else if (layout == ActivationLayout::blocked)
    choices = {{block, block}};
  else if (problem.operands[0].dims.size() > 1 && problem.operands[0].dims[1] < block / 2)
    std::swap(choices[0], choices[1]);
  std::string reasons;
  for (Choice choice : choices) {
    std::unique_ptr<mlir::MLIRContext> context = makeContext();
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(context.get()));
    mlir::func::FuncOp function = kernelFunction(*module, problem);
    ChannelBlocks blocks;
    for (ElementType type : Target::blockedTypes()) // like in a network (compile/PlanCompilation.cpp)
      blocks.sizes[type] = target.channelBlock(type);
    LayoutRule rule = layoutRule(&function.front().front(), blocks);
    if (choice.in || choice.out) {
      bool possible = rule.rowOnly.empty() && (!rule.uniform || choice.in == choice.out);
      if (!possible && layout == ActivationLayout::blocked)
        return NotApplicable{"its activations are row-major only: " + rule.rowOnly};
      if (!possible)
        continue;
      setLayouts(function, rule, blocks, choice);
    }
    Outcome<bool> made = attempt({{.threads = threads}, function, target});
    std::string name = choice.name(problem.operands[0].dims.size());
    if (made)
      return name;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", name, made.reason());
  }
  return NotApplicable{reasons};
}

} // namespace lathe::lab
