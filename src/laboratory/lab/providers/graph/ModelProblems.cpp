#include "lab/providers/graph/ModelProblems.h"

#include "ir/Main.h"
#include "ir/SymbolicShapes.h"
#include "ops/WindowPads.h"

#include <algorithm>
#include <map>
#include <set>

namespace lathe::lab {
namespace {

/// The value's extents with all symbols set to 1; nothing if an extent depends on data.
std::optional<std::vector<int64_t>> extents(const TensorInfo &info) {
  std::vector<int64_t> dims;
  for (const Dim &dim : info.dims) {
    if (isUnknown(dim))
      return std::nullopt;
    Dim one = dim.substitute([](const std::string &) { return Dim(1); });
    dims.push_back(one.constant());
  }
  return dims;
}

bool isElementwise(mlir::Operation *op) {
  const OpRecord *record = nn::recordOf(op);
  return record && std::string_view(record->lowering) == "elementwise";
}

/// True for one operand and default attributes: the form that a problem's epilogue can express.
bool isPlainUnary(mlir::Operation *op) {
  return isElementwise(op) && op->getNumOperands() == 1 && describe(*nn::attrsOf(op)).empty();
}

/// The word for applying `op` to `value` in a problem's epilogue; nothing if there is none.
std::optional<std::string> epilogueOf(mlir::Operation *op, mlir::Value value) {
  if (isPlainUnary(op))
    return nn::recordOf(op)->name;
  const OpRecord *record = nn::recordOf(op);
  if (!record || !takesSecondOperand(record->name) || op->getNumOperands() != 2)
    return std::nullopt;
  bool first = op->getOperand(0) == value, commutes = record->name != std::string_view("sub");
  mlir::Value other = op->getOperand(first);
  // An epilogue cannot express operands that are broadcast or known beforehand.
  auto argument = mlir::dyn_cast<mlir::BlockArgument>(other);
  auto function = mlir::dyn_cast<mlir::func::FuncOp>(op->getParentOp());
  bool known = !argument || !function || function.getArgAttr(argument.getArgNumber(), "nn.constant");
  return (first || commutes) && !known && other.getType() == value.getType() ? std::optional<std::string>(record->name)
                                                                             : std::nullopt;
}

/// The main operators of a kernel: every contraction, otherwise the first operator that is not element-wise, otherwise
/// the first one.
std::vector<mlir::Operation *> anchorsOf(mlir::Block &body) {
  std::vector<mlir::Operation *> contractions;
  mlir::Operation *first = nullptr;
  for (mlir::Operation &op : body.without_terminator()) {
    const OpRecord *record = nn::recordOf(&op);
    if (!record)
      continue;
    if (std::string_view(record->lowering) == "contraction")
      contractions.push_back(&op);
    if (!first || (isElementwise(first) && !isElementwise(&op)))
      first = &op;
  }
  if (contractions.empty() && first)
    return {first};
  return contractions;
}

/// The anchor as a problem; nothing if extents depend on data or an element type has no values.
std::optional<Problem> problemOf(mlir::func::FuncOp kernel, mlir::Operation *anchor, const nn::SymbolicShapes &shapes) {
  Problem problem;
  const OpRecord &record = *nn::recordOf(anchor);
  problem.op = record.name;
  std::unique_ptr<Attrs> attrs = nn::attrsOf(anchor);
  size_t index = 0;
  for (mlir::Value value : nn::operandsByRecord(anchor)) {
    size_t at = std::min(index++, record.operands.size() - 1);
    if (!value)
      continue;
    TensorInfo info = shapes.of(value);
    auto dims = extents(info);
    if (!dims || info.type == ElementType::string)
      return std::nullopt;
    ProblemOperand operand;
    operand.name = record.operands[at].name;
    operand.type = info.type;
    operand.dims = *dims;
    auto argument = mlir::dyn_cast<mlir::BlockArgument>(value);
    operand.constant = argument ? bool(kernel.getArgAttr(argument.getArgNumber(), "nn.constant"))
                                : bool(value.getDefiningOp<nn::ConstantOp>());
    problem.operands.push_back(std::move(operand));
  }
  if (!problem.operands.empty())
    settlePads(*attrs, toDims(problem.operands[0].dims),
               problem.operands.size() > 1 ? toDims(problem.operands[1].dims) : Dims());
  problem.attrs = std::move(attrs);
  try {
    problem.check(problem.op);
  } catch (const Error &) { // extents depend on the operands' values
    return std::nullopt;
  }
  return problem;
}

/// Indices must be inside the axis that they index.
void boundIndices(Problem &problem) {
  for (auto &operand : problem.operands)
    if (operand.name == "indices") {
      auto &dims = problem.operands[0].dims;
      operand.low = 0;
      operand.high = dims.empty() ? 1 : double(*std::min_element(dims.begin(), dims.end()));
    }
}

} // namespace

ModelProblems problemsOf(mlir::ModuleOp module) {
  ProblemList list;
  std::map<std::string, int64_t> besides;
  mainFunction(module).walk([&](mlir::func::CallOp call) {
    auto kernel = module.lookupSymbol<mlir::func::FuncOp>(call.getCallee());
    if (!kernel || !kernel->hasAttr("nn.family"))
      return;
    mlir::Block &body = kernel.front();
    std::set<mlir::Operation *> said;
    for (mlir::Operation *anchor : anchorsOf(body)) {
      auto problem = problemOf(kernel, anchor, nn::SymbolicShapes(kernel));
      if (!problem) // it was described before
        continue;
      boundIndices(*problem);
      said.insert(anchor);
      // The operators after the anchor are its epilogue, if each is the only reader of its predecessor.
      mlir::Operation *last = anchor;
      while (last->getNumResults() == 1 && last->getResult(0).hasOneUse()) {
        mlir::Operation *next = *last->getResult(0).getUsers().begin();
        auto applied = epilogueOf(next, last->getResult(0));
        if (!applied)
          break;
        problem->epilogue.push_back(*applied);
        said.insert(next);
        last = next;
      }
      ListedProblem entry;
      entry.problem = std::move(*problem);
      entry.kind = entry.problem.op;
      entry.text = entry.problem.str();
      auto nodes = nn::nodeNames(anchor->getLoc());
      entry.name = nodes.empty() ? "" : nodes.front();
      entry.nodes = {entry.name};
      entry.count = 1;
      list.add(std::move(entry));
    }
    for (mlir::Operation &op : body.without_terminator())
      if (const OpRecord *record = nn::recordOf(&op); record && !said.contains(&op))
        ++besides[record->name];
  });
  return {list.take(), {besides.begin(), besides.end()}};
}

} // namespace lathe::lab
