#include "compile/PlanRules.h"

#include "ir/Bridge.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace lathe {
namespace {

/// Symbols that are the extent of an input or of a value that a reference allocates.
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
  return bound;
}

} // namespace

namespace {

/// Adds the rules over bound symbols to `list`, each once.
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

std::vector<std::unique_ptr<plan::ElementRangeT>> elementRanges(mlir::func::FuncOp kernel, mlir::func::CallOp call,
                                                                const nn::SymbolicShapes &shapes) {
  std::vector<std::unique_ptr<plan::ElementRangeT>> ranges;
  kernel.walk([&](mlir::Operation *op) {
    const OpRecord *record = nn::recordOf(op);
    if (!record || record->lowering != std::string_view("recurrent"))
      return;
    llvm::SmallVector<mlir::Value> operands = nn::operandsByRecord(op);
    for (auto [operand, description] : llvm::zip(operands, record->operands)) {
      auto lengths = llvm::dyn_cast_if_present<mlir::BlockArgument>(operand);
      if (description.name != std::string_view("sequence_lens") || !lengths)
        continue;
      auto x = llvm::cast<mlir::BlockArgument>(operands[0]);
      auto range = std::make_unique<plan::ElementRangeT>();
      range->buffer = lengths.getArgNumber();
      range->max = shapes.of(call.getOperand(x.getArgNumber())).dims[0].str();
      range->operand = description.name;
      ranges.push_back(std::move(range));
    }
  });
  return ranges;
}

} // namespace lathe
