#include "runtime/plan/PlanAnalysis.h"

#include "support/Error.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace lathe::runtime {
namespace {

/// Walks the blocks in the order in which they run.
class BindingWalk {
public:
  explicit BindingWalk(const Plan &plan) : plan(plan) {
    for (uint32_t input : plan.inputs)
      add(plan.values[input], false, [](const std::string &) {});
  }

  std::vector<SymbolBinding> run() {
    walk(0);
    return std::move(bindings);
  }

private:
  const Plan &plan;
  std::set<std::string> bound;
  std::vector<SymbolBinding> bindings;

  /// Calls `fresh` for each symbol that is an extent of the value and not bound yet, and marks it as bound.
  template <class F> void add(const ValueInfo &info, bool dynamicAlone, const F &fresh) {
    if (dynamicAlone && info.storage != Storage::dynamic)
      return;
    for (Extent extent : info.dims)
      if (std::string symbol = loneSymbol(plan.extents[extent]); !symbol.empty() && bound.insert(symbol).second)
        fresh(symbol);
  }

  void walk(uint32_t block) {
    for (const Instruction &instruction : plan.blocks[block].instructions) {
      auto bind = [&](const std::string &symbol) {
        bindings.push_back({symbol, block, instruction.id, false});
        bound.insert(symbol);
      };
      auto results = [&](const std::vector<uint32_t> &list) {
        for (uint32_t index : list)
          add(plan.values[index], true, bind);
      };
      if (auto *call = std::get_if<CallReference>(&instruction.operation)) {
        results(call->outputs);
      } else if (auto *shape = std::get_if<ComputeShape>(&instruction.operation)) {
        std::for_each(shape->symbols.begin(), shape->symbols.end(), bind);
      } else if (auto *branch = std::get_if<If>(&instruction.operation)) {
        const std::set<std::string> before = bound;
        walk(branch->thenBlock);
        const std::set<std::string> afterThen = std::exchange(bound, before);
        walk(branch->elseBlock);
        bound.insert(afterThen.begin(), afterThen.end());
      } else if (auto *loop = std::get_if<Loop>(&instruction.operation)) {
        const std::set<std::string> before = bound;
        for (uint32_t input : loop->bodyInputs)
          add(plan.values[input], false,
              [&](const std::string &symbol) { bindings.push_back({symbol, block, instruction.id, true}); });
        walk(loop->body);
        bound = before; // the body may run zero times
        results(loop->results);
      }
    }
  }
};

class Analysis {
public:
  explicit Analysis(Plan &plan) : plan(plan) {}
  void run() {
    number();
    findPhases(plan);
    findLives();
    markKnown();
    findBlockSymbols();
  }

private:
  Plan &plan;
  std::vector<int> visits; // by block

  /// Numbers the instructions depth first. Only one instruction may enter a block.
  void number() {
    visits.assign(plan.blocks.size(), 0);
    numberBlock(0, 0);
  }
  void numberBlock(uint32_t index, int depth) {
    require(depth <= 64, "blocks are nested more than 64 deep");
    require(visits[index]++ == 0, "block {} is entered from two places or from itself", index);
    for (Instruction &instruction : plan.blocks[index].instructions) {
      instruction.id = static_cast<uint32_t>(plan.instructions.size());
      plan.instructions.push_back(&instruction);
      plan.outermost.push_back(index == 0);
      if (auto *branch = std::get_if<If>(&instruction.operation)) {
        numberBlock(branch->thenBlock, depth + 1);
        numberBlock(branch->elseBlock, depth + 1);
      } else if (auto *loop = std::get_if<Loop>(&instruction.operation)) {
        numberBlock(loop->body, depth + 1);
      }
      instruction.last = static_cast<uint32_t>(plan.instructions.size() - 1);
    }
    for (Instruction &instruction : plan.blocks[index].instructions)
      for (uint32_t &wait : instruction.waits) // so far a position in the block
        wait = plan.blocks[index].instructions[wait].id;
  }

  /// Calls f for each value that the instruction itself reads or writes.
  template <class F> static void eachValue(const Instruction &instruction, const F &f) {
    auto all = [&](const auto &list) {
      for (auto index : list)
        if (static_cast<int64_t>(index) >= 0)
          f(static_cast<uint32_t>(index));
    };
    if (auto *call = std::get_if<CallKernel>(&instruction.operation)) {
      all(call->buffers);
    } else if (auto *call = std::get_if<CallReference>(&instruction.operation)) {
      all(call->inputs);
      all(call->outputs);
    } else if (auto *shape = std::get_if<ComputeShape>(&instruction.operation)) {
      f(shape->from);
    } else if (auto *branch = std::get_if<If>(&instruction.operation)) {
      f(branch->condition);
    } else if (auto *loop = std::get_if<Loop>(&instruction.operation)) {
      all(std::vector<int32_t>{loop->tripCount, loop->condition});
      all(loop->bodyInputs);
      all(loop->bodyOutputs);
      all(loop->initial);
      all(loop->results);
    }
  }

  void findLives() {
    plan.live.assign(plan.values.size(), {});
    if (!plan.phases.empty())
      plan.streamLives.resize(plan.values.size());
    plan.firstUse.assign(plan.values.size(), UINT32_MAX);
    auto touch = [&](uint32_t index, uint32_t first, uint32_t last) {
      LiveRange &range = plan.live[plan.values[index].root];
      range.first = std::min(range.first, first);
      range.last = std::max(range.last, last);
      if (!plan.phases.empty() && last < plan.instructions.size())
        addUse(plan, plan.streamLives[plan.values[index].root], first, last);
    };
    for (const Instruction *instruction : plan.instructions)
      eachValue(*instruction, [&](uint32_t index) {
        touch(index, instruction->id, instruction->id);
        plan.firstUse[index] = std::min(plan.firstUse[index], instruction->id);
      });
    // Carried values of a loop, and outer values that its body reads, must survive every iteration. Each iteration
    // writes all other values of the body anew. Inner loops first; an outer loop then extends these lifetimes.
    for (auto it = plan.instructions.rbegin(); it != plan.instructions.rend(); ++it)
      if (const Instruction &loop = **it; std::holds_alternative<Loop>(loop.operation)) {
        eachValue(loop, [&](uint32_t index) { touch(index, loop.id, loop.last); });
        for (uint32_t id = loop.id + 1; id <= loop.last; ++id)
          eachValue(*plan.instructions[id], [&](uint32_t index) {
            if (plan.live[plan.values[index].root].first < loop.id)
              touch(index, loop.id, loop.last);
          });
      }
    for (uint32_t index : plan.outputs)
      touch(index, std::numeric_limits<uint32_t>::max(), std::numeric_limits<uint32_t>::max());
    for (uint32_t index : plan.outputs) // never written: an output that is an input or a constant
      if (LiveRange &range = plan.live[plan.values[index].root]; range.first == std::numeric_limits<uint32_t>::max())
        range.first = 0;
  }

  bool computed(const std::string &symbol) const {
    return std::any_of(plan.instructions.begin(), plan.instructions.end(), [&](const Instruction *instruction) {
      auto *shape = std::get_if<ComputeShape>(&instruction->operation);
      return shape && std::find(shape->symbols.begin(), shape->symbols.end(), symbol) != shape->symbols.end();
    });
  }

  /// Rules over extents of dynamic values are checked after a reference has returned the value.
  void findLateSymbols(const std::vector<bool> &known) {
    std::vector<std::string> dynamic;
    for (const ValueInfo &info : plan.values)
      for (Extent extent : info.dims)
        if (info.storage == Storage::dynamic)
          dynamic.push_back(loneSymbol(plan.extents[extent]));
    for (Rule &rule : plan.rules)
      for (Extent extent : {rule.left, rule.right}) {
        if (known[extent])
          continue;
        rule.known = false;
        std::vector<std::string> symbols;
        plan.extents[extent].collectSymbols(symbols);
        for (std::string &symbol : symbols) {
          bool bound = std::any_of(plan.inputs.begin(), plan.inputs.end(), [&](uint32_t input) {
            const std::vector<Extent> &dims = plan.values[input].dims;
            return std::any_of(dims.begin(), dims.end(),
                               [&](Extent dim) { return loneSymbol(plan.extents[dim]) == symbol; });
          });
          if (bound)
            continue;
          require(std::find(dynamic.begin(), dynamic.end(), symbol) != dynamic.end() || computed(symbol),
                  "the rule of {} needs '{}', which nothing binds", rule.node, symbol);
          plan.lateSymbols.push_back(std::move(symbol));
        }
      }
  }

  /// Finds Block::lateSymbols: symbols that get a new value each time the body runs.
  void findBlockSymbols() {
    for (SymbolBinding &binding : symbolBindings(plan))
      if (binding.block > 0 && !binding.carried)
        plan.blocks[binding.block].lateSymbols.push_back(std::move(binding.symbol));
  }

  /// Marks values and instructions whose extents are known once the inputs' extents are.
  void markKnown() {
    std::vector<std::string> bound;
    for (uint32_t index : plan.inputs)
      for (Extent extent : plan.values[index].dims)
        if (std::string symbol = loneSymbol(plan.extents[extent]); !symbol.empty())
          bound.push_back(std::move(symbol));
    for (const Growth &growth : plan.growths)
      bound.insert(bound.end(), {growth.capacity, growth.kept});
    std::vector<bool> known(plan.extents.size());
    for (Extent i = 0; i < plan.extents.size(); ++i) {
      std::vector<std::string> symbols;
      plan.extents[i].collectSymbols(symbols);
      known[i] = std::all_of(symbols.begin(), symbols.end(), [&](const std::string &symbol) {
        return std::find(bound.begin(), bound.end(), symbol) != bound.end();
      });
    }
    findLateSymbols(known);
    auto all = [&](const std::vector<Extent> &list) {
      return std::all_of(list.begin(), list.end(), [&](Extent extent) { return known[extent]; });
    };
    for (ValueInfo &info : plan.values)
      info.known = info.storage != Storage::dynamic && all(info.dims) && known[info.bytes] && known[info.rootOffset];
    for (ValueInfo &info : plan.values)
      info.known = info.known && plan.values[info.root].known;
    for (Block &block : plan.blocks)
      for (Instruction &instruction : block.instructions) {
        eachValue(instruction, [&](uint32_t index) { instruction.known &= plan.values[index].known; });
        if (auto *call = std::get_if<CallKernel>(&instruction.operation))
          instruction.known &= all(call->dims) && known[call->units] && known[call->scratchBytes] &&
                               known[call->images] && known[call->stages] && known[call->firstUnit];
      }
  }
};

} // namespace

std::string loneSymbol(const Dim &dim) {
  std::vector<std::string> symbols;
  dim.collectSymbols(symbols);
  return symbols.size() == 1 && symbols[0] == dim.str() ? symbols[0] : std::string();
}

std::vector<SymbolBinding> symbolBindings(const Plan &plan) { return BindingWalk(plan).run(); }

void analyzePlan(Plan &plan) {
  Analysis(plan).run();
  findLateGroups(plan);
}

} // namespace lathe::runtime
