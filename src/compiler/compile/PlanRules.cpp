#include "compile/PlanRules.h"

#include "ir/Bridge.h"
#include "ops/ElementBounds.h"
#include "passes/Rewrite.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace lathe {
namespace {

/// Symbols that are the extent of an input or of a value that a reference allocates, or that an instruction computes.
std::set<std::string> boundSymbols(const plan::PlanT &plan) {
  std::set<std::string> bound;
  for (const auto &value : plan.values) {
    if (value->storage != plan::Storage::Input && value->storage != plan::Storage::Dynamic)
      continue;
    for (const std::string &text : value->dims) {
      std::vector<std::string> names;
      Dim dim = Dim::parse(text);
      dim.collectSymbols(names);
      if (names.size() == 1 && dim == Dim::symbol(names[0]))
        bound.insert(names[0]);
    }
  }
  for (const auto &block : plan.blocks)
    for (const auto &instruction : block->instructions)
      if (const plan::ComputeShapeT *compute = instruction->operation.AsComputeShape())
        bound.insert(compute->symbols.begin(), compute->symbols.end());
  return bound;
}

} // namespace

namespace {

/// Adds each rule over bound symbols to `list` once.
void addBoundRules(const plan::PlanT &plan, std::vector<std::unique_ptr<plan::RuleT>> &list,
                   std::span<const nn::NodeRule> rules) {
  std::set<std::string> bound = boundSymbols(plan);
  std::set<std::tuple<uint8_t, std::string, std::string>> present;
  for (const auto &rule : list)
    present.emplace(rule->relation, rule->left, rule->right);
  for (const auto &[rule, node] : rules) {
    std::vector<std::string> names;
    rule.left.collectSymbols(names);
    rule.right.collectSymbols(names);
    auto entry = std::make_unique<plan::RuleT>();
    entry->relation = static_cast<uint8_t>(rule.relation);
    entry->left = rule.left.str();
    entry->right = rule.right.str();
    entry->node = node;
    if (std::all_of(names.begin(), names.end(), [&](const std::string &name) { return bound.contains(name); }) &&
        present.emplace(entry->relation, entry->left, entry->right).second)
      list.push_back(std::move(entry));
  }
}

} // namespace

void addRules(plan::PlanT &plan, std::span<const nn::NodeRule> rules) { addBoundRules(plan, plan.rules, rules); }

void addBlockRules(plan::PlanT &plan, uint32_t block, std::span<const nn::NodeRule> rules) {
  addBoundRules(plan, plan.blocks[block]->rules, rules);
}

void addRanges(plan::PlanT &plan, std::span<const ExtentRange> ranges) {
  for (const ExtentRange &range : ranges) {
    auto entry = std::make_unique<plan::RangeT>();
    entry->symbol = range.symbol;
    entry->min = range.min;
    entry->max = range.max;
    plan.ranges.push_back(std::move(entry));
  }
}

namespace {

/// How far elements may lie outside their ranges: 0, or more than any index if no result of `op` has elements and
/// nothing uses them. References do nothing in that case, too.
Dim beyondRanges(mlir::Operation *op, const nn::SymbolicShapes &shapes) {
  constexpr int64_t farther = int64_t(1) << 40;
  Dim elements = 0;
  for (mlir::Value result : op->getResults())
    elements = elements + product(shapes.of(result).dims);
  return maximum(Dim(1) - elements, 0) * farther;
}

/// True if `value` is a constant whose elements are in `bound`, as far as the range is known.
bool isConstantInside(mlir::Value value, const ElementBound &bound) {
  std::optional<Tensor> tensor = constantOf(value);
  if (!tensor || !allConstant(bound.least) || !allConstant(bound.most) || !isInteger(tensor->type()))
    return false;
  for (int64_t i = 0; i < tensor->elements(); ++i) {
    size_t place = static_cast<size_t>(i) % bound.least.size();
    if (tensor->asInteger(i) < bound.least[place].constant() || tensor->asInteger(i) > bound.most[place].constant())
      return false;
  }
  return true;
}

/// Descriptions of the operands of `op`, in the order of its record.
std::vector<TensorInfo> operandsOf(mlir::Operation *op, const nn::SymbolicShapes &shapes) {
  std::vector<TensorInfo> infos;
  for (mlir::Value operand : nn::operandsByRecord(op))
    infos.push_back(operand ? shapes.of(operand) : TensorInfo());
  return infos;
}

} // namespace

std::vector<std::unique_ptr<plan::ElementRangeT>> elementRanges(mlir::func::FuncOp kernel, mlir::func::CallOp call,
                                                                const nn::SymbolicShapes &shapes) {
  std::vector<TensorInfo> arguments;
  for (mlir::Value operand : call.getOperands())
    arguments.push_back(shapes.of(operand));
  nn::SymbolicShapes inside(kernel, arguments);
  std::vector<std::unique_ptr<plan::ElementRangeT>> ranges;
  kernel.walk([&](mlir::Operation *op) {
    const OpRecord *record = nn::recordOf(op);
    if (!record)
      return;
    llvm::SmallVector<mlir::Value> operands = nn::operandsByRecord(op);
    std::vector<TensorInfo> infos = operandsOf(op, inside);
    InferInputs inputs;
    for (auto [operand, info] : llvm::zip_equal(operands, infos))
      inputs.push_back(operand ? &info : nullptr);
    Dim beyond = beyondRanges(op, inside);
    for (const ElementBound &bound : elementBounds(*record, *nn::attrsOf(op), inputs)) {
      mlir::Value operand = operands[bound.operand];
      auto argument = llvm::dyn_cast<mlir::BlockArgument>(operand);
      if (isConstantInside(argument ? call.getOperand(argument.getArgNumber()) : operand, bound))
        continue;
      require(argument != nullptr, "internal: {}: a kernel computes '{}', whose range is to be checked",
              nn::describe(op->getLoc()), record->operands[bound.operand].name);
      auto range = std::make_unique<plan::ElementRangeT>();
      range->buffer = argument.getArgNumber();
      for (size_t i = 0; i < bound.least.size(); ++i) {
        range->least.push_back((bound.least[i] - beyond).str());
        range->most.push_back((bound.most[i] + beyond).str());
      }
      range->operand = record->operands[bound.operand].name;
      ranges.push_back(std::move(range));
    }
  });
  return ranges;
}

} // namespace lathe
