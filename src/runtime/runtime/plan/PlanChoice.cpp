// Chooses the plan of a package that admits the inputs' extents, and checks its rules over extents.
#include "runtime/plan/Execution.h"

#include <algorithm>

namespace lathe::runtime {

/// "input 'x' (f32 Nx3x224x224): " for the first input with the extent `symbol`; "" where none has it.
std::string Context::State::inputWith(const Plan &candidate, const std::string &symbol) {
  for (uint32_t input : candidate.inputs) {
    const ValueInfo &info = candidate.values[input];
    Dims dims;
    for (Extent extent : info.dims)
      dims.push_back(candidate.extents[extent]);
    if (std::find(dims.begin(), dims.end(), Dim::symbol(symbol)) != dims.end())
      return fmt::format("input '{}' ({}): ", info.name, describe(info.type, dims));
  }
  return "";
}

/// Returns "" if `candidate` admits the inputs, and their extents in `bound`; otherwise the reason why not.
std::string Context::State::matchPlan(const Plan &candidate, std::unordered_map<std::string, int64_t> &bound) const {
  auto misfit = [&](size_t input) {
    const ValueInfo &info = candidate.values[candidate.inputs[input]];
    Dims expected;
    for (Extent extent : info.dims)
      expected.push_back(candidate.extents[extent]);
    return fmt::format("input '{}': expected {}, got {}", info.name, describe(info.type, expected),
                       describe(inputs[input]));
  };
  for (bool formulas : {false, true}) // symbols first, then formulas over them
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueInfo &info = candidate.values[candidate.inputs[i]];
      if (info.kind != ValueKind::tensor)
        continue;
      const std::vector<int64_t> &dims = inputs[i].tensor().dims();
      if (dims.size() != info.dims.size())
        return misfit(i);
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        const Dim &dim = candidate.extents[info.dims[axis]];
        if (dim.isConstant()) {
          if (dim.constant() != dims[axis])
            return misfit(i);
        } else if (std::string symbol = loneSymbol(dim); !symbol.empty()) {
          if (auto [it, inserted] = bound.try_emplace(symbol, dims[axis]); it->second != dims[axis])
            return fmt::format("{} ('{}' is {} elsewhere)", misfit(i), it->first, it->second);
        } else if (formulas) {
          int64_t value = dim.evaluate([&](const std::string &symbol) {
            auto it = bound.find(symbol);
            return it != bound.end() ? it->second : dims[axis];
          });
          if (value != dims[axis])
            return fmt::format("{} ({} is {})", misfit(i), dim.str(), value);
        }
      }
    }
  for (const Range &range : candidate.ranges)
    if (auto it = bound.find(range.symbol); it != bound.end() && (it->second < range.min || it->second > range.max))
      return fmt::format("{}expected {} from {} to {}, got {}", inputWith(candidate, range.symbol), range.symbol,
                         range.min, range.max, it->second);
  return {};
}

void Context::State::choosePlan() {
  for (size_t i = 0; i < inputs.size(); ++i)
    require(inputSet[i], "{}: input '{}' is not set", file, model->inputs()[i].name);
  const Program &program = model->program();
  // The ranges of a specialised plan may use symbols that occur only in the general plan's inputs.
  std::unordered_map<std::string, int64_t> general;
  std::string reason = matchPlan(program.plans.back(), general);
  for (const Plan &candidate : program.plans) {
    symbols = general;
    if (reason = matchPlan(candidate, symbols); reason.empty()) {
      plan = &candidate;
      return;
    }
  }
  fail("{}: {}", file, reason);
}

/// Checks the relations that kernels rely on and that shape functions could not decide without values. `late`: rules
/// over extents that references return, as far as they have returned.
void Context::State::checkRules(bool late) const {
  for (const Rule &rule : plan->rules)
    if (rule.known != late && !rule.grouped)
      checkRule(rule);
}

/// Does nothing while a symbol of the rule is not bound.
void Context::State::checkRule(const Rule &rule) const {
  ExtentRule expected{rule.relation, plan->extents[rule.left], plan->extents[rule.right]};
  std::vector<std::string> names, values;
  expected.left.collectSymbols(names);
  expected.right.collectSymbols(names);
  auto guard = guardLate();
  if (!std::all_of(names.begin(), names.end(), [&](auto &name) { return symbols.contains(name); }))
    return;
  int64_t left = evaluate(rule.left), right = evaluate(rule.right);
  if (holds(rule.relation, left, right))
    return;
  for (const std::string &name : names)
    values.push_back(fmt::format("{} = {}", name, symbols.at(name)));
  fail("{}: {}: the inputs' extents do not fit: expected {}, got {} and {} ({})", file, rule.node, str(expected), left,
       right, fmt::join(values, ", "));
}

void Context::State::checkBlockRules(const Block &block) const {
  for (const Rule &rule : block.rules)
    checkRule(rule);
}

} // namespace lathe::runtime
