#include "compile/KernelTasks.h"

#include "codegen/Task.h"
#include "compile/Kernels.h"
#include "ir/SymbolicShapes.h"

namespace lathe {
namespace {

int64_t valueOf(const Dim &dim, const Extents &extents) {
  return dim.evaluate([&](const std::string &symbol) -> int64_t {
    auto found = extents.find(symbol);
    return found == extents.end() ? 1 : found->second;
  });
}

/// The values of the kernel's symbols: from `known`, else 1.
Extents extentsOf(mlir::func::FuncOp kernel, const Extents &known) {
  Extents extents;
  for (const std::string &symbol : kernelSymbols(kernel))
    extents[symbol] = valueOf(Dim::symbol(symbol), known);
  return extents;
}

/// Describes the kernel: anchor, extents of its first operands, and the fused operators.
std::string labelOf(mlir::func::FuncOp kernel, const nn::SymbolicShapes &shapes) {
  mlir::Operation *anchor = anchorOf(kernel);
  if (!anchor)
    anchor = &kernel.front().front();
  std::string label = anchor->getName().stripDialect().str();
  constexpr unsigned shown = 2; // later operands are small, such as a bias or a slope
  for (auto [i, operand] : llvm::enumerate(anchor->getOperands().take_front(shown)))
    label += (i ? " * " : " ") + str(shapes.of(operand).dims);
  for (mlir::Operation &op : kernel.front().without_terminator())
    if (&op != anchor && nn::recordOf(&op) && !mlir::isa<nn::ConstantOp>(op))
      label += ", " + op.getName().stripDialect().str();
  return label;
}

/// Sets label, extents, flops and bytes.
void describe(KernelTask &task, mlir::func::FuncOp kernel, const Extents &known) {
  nn::SymbolicShapes shapes(kernel);
  task.label = labelOf(kernel, shapes);
  task.extents = extentsOf(kernel, known);
  task.flops = 0;
  kernel.walk([&](mlir::Operation *op) { task.flops += double(valueOf(flopsOf(op, shapes), task.extents)); });
  mlir::ValueRange results = kernel.front().getTerminator()->getOperands();
  task.bytes = double(valueOf(bytesMoved(kernel, kernel.getArguments(), results, shapes), task.extents));
}

} // namespace

std::string kernelText(mlir::func::FuncOp kernel) {
  mlir::OwningOpRef<mlir::func::FuncOp> copy = kernel.clone();
  copy->setName("kernel");
  (*copy)->removeAttr("nn.schedule");
  return genericText(copy->getOperation()) + "\n";
}

Outcome<KernelTask> kernelTask(const KernelProblem &problem) {
  Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(problem);
  if (!facts)
    return NotApplicable{facts.reason()};
  KernelTask task;
  task.task = taskOf(problem);
  task.text = kernelText(problem.function);
  task.facts = std::move(*facts);
  Extents known = problem.typical;
  known.insert(task.facts->assumed.begin(), task.facts->assumed.end());
  describe(task, problem.function, known);
  return task;
}

std::vector<KernelTask> kernelTasks(mlir::ModuleOp module, const CompileOptions &options) {
  lowerToKernels(module, options);
  std::map<std::string, int64_t> calls; // by kernel
  module.walk([&](mlir::func::CallOp call) { ++calls[call.getCallee().str()]; });
  Target target = targetOf(options);
  std::vector<KernelTask> tasks;
  std::vector<mlir::func::FuncOp> functions; // by task
  std::map<std::string, size_t> known;       // by task
  Extents extents = options.extents.typical;
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    if (!function->hasAttr("nn.family"))
      continue;
    KernelProblem problem{kernelOptionsOf(options), function, target};
    std::string name = function.getName().str();
    auto [found, added] = known.try_emplace(taskOf(problem), tasks.size());
    if (added) {
      Outcome<KernelTask> task = kernelTask(problem);
      require(task.done(), "kernel @{}: {}", name, task ? "" : task.reason());
      extents.insert(task->facts->assumed.begin(), task->facts->assumed.end());
      tasks.push_back(std::move(*task));
      functions.push_back(function);
    }
    KernelTask &task = tasks[found->second];
    task.kernels.push_back(name);
    for (const std::string &node : nn::nodeNames(function.getLoc()))
      task.nodes.push_back(node);
    task.calls += calls[name];
  }
  // A height or width that one kernel assumes is used for all kernels with the symbol.
  for (size_t i = 0; i < tasks.size(); ++i)
    if (!tasks[i].extents.empty())
      describe(tasks[i], functions[i], extents);
  return tasks;
}

} // namespace lathe
