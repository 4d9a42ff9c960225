// Which extents become known together while a plan runs, and which values can be placed then.
#include "runtime/plan/PlanAnalysis.h"

#include <algorithm>
#include <map>
#include <set>

namespace lathe::runtime {
namespace {

class Grouping {
public:
  explicit Grouping(Plan &plan) : plan(plan) {}

  void run() {
    plan.lateGroupAfter.assign(plan.instructions.size(), -1);
    findBinders();
    if (points.empty())
      return;
    for (uint32_t input : plan.inputs)
      for (Extent dim : plan.values[input].dims)
        ofInputs.insert(loneSymbol(plan.extents[dim]));
    for (Extent extent = 0; extent < plan.extents.size(); ++extent) {
      symbolsOfExtent.push_back(symbolsOf(extent));
      pointOfExtent.push_back(pointBehind(symbolsOfExtent.back()));
    }
    groupExtents();
    groupValues();
    groupRules();
    shareArenas();
  }

private:
  Plan &plan;
  std::map<std::string, std::vector<uint32_t>> binders;  // symbol -> instructions that bind it
  std::map<std::string, uint32_t> points;                // symbol -> instruction behind which it is known
  std::map<uint32_t, size_t> groupAfter;                 // instruction -> group
  std::set<std::string> ofInputs;                        // symbols
  std::vector<std::vector<std::string>> symbolsOfExtent; // without the symbols of inputs
  // The instruction behind which all symbols of an extent are known; -1: none is late, -2: nobody can say.
  std::vector<int64_t> pointOfExtent;

  uint32_t endOf(int64_t id) const { return plan.instructions[static_cast<size_t>(id)]->last; }
  /// The one of two instructions that ends last; -1 is none. -2 if one is -2, or if they run in streams where either
  /// may end last.
  int64_t later(int64_t left, int64_t right) const {
    if (left == -2 || right == -2 || areBeside(left, right))
      return -2;
    return left < 0 || (right >= 0 && endOf(right) > endOf(left)) ? right : left;
  }
  bool areBeside(int64_t left, int64_t right) const {
    if (plan.phases.empty() || left < 0 || right < 0)
      return false;
    auto a = static_cast<uint32_t>(left), b = static_cast<uint32_t>(right);
    return plan.moments[a].phase == plan.moments[b].phase && plan.moments[a].stream != plan.moments[b].stream &&
           !plan.precedes(a, b) && !plan.precedes(b, a);
  }

  /// Symbols of carried values of loops change between instructions, so extents that depend on them are not grouped.
  void findBinders() {
    std::set<std::string> carried;
    for (const SymbolBinding &binding : symbolBindings(plan)) {
      if (binding.carried)
        carried.insert(binding.symbol);
      else
        binders[binding.symbol].push_back(binding.instruction);
    }
    for (auto &[symbol, ids] : binders)
      if (int64_t point = pointFor(ids); point >= 0 && !carried.contains(symbol))
        points[symbol] = static_cast<uint32_t>(point);
  }

  /// The instruction, or the branch that contains all instructions of `ids`; -1: there is none.
  int64_t pointFor(const std::vector<uint32_t> &ids) const {
    bool same = std::all_of(ids.begin(), ids.end(), [&](uint32_t id) { return id == ids.front(); });
    if (same)
      return ids.front();
    auto [low, high] = std::minmax_element(ids.begin(), ids.end());
    for (uint32_t id = *low; id-- > 0;)
      if (endOf(id) >= *high)
        return std::holds_alternative<If>(plan.instructions[id]->operation) ? static_cast<int64_t>(id) : -1;
    return -1;
  }

  /// The symbols of `extent` that no input binds.
  std::vector<std::string> symbolsOf(Extent extent) const {
    std::vector<std::string> symbols;
    plan.extents[extent].collectSymbols(symbols);
    std::erase_if(symbols, [&](const std::string &symbol) { return ofInputs.contains(symbol); });
    return symbols;
  }

  int64_t pointBehind(const std::vector<std::string> &symbols) const {
    int64_t point = -1;
    for (const std::string &symbol : symbols) {
      auto found = points.find(symbol);
      if (found == points.end())
        return -2;
      if (point = later(point, found->second); point == -2)
        return -2;
    }
    return point;
  }

  LateGroup &groupFor(int64_t at) {
    auto point = static_cast<uint32_t>(at);
    auto [it, inserted] = groupAfter.try_emplace(point, plan.lateGroups.size());
    if (inserted) {
      plan.lateGroups.emplace_back();
      plan.lateGroups.back().after = plan.lateGroups.back().last = point;
      plan.lateGroupAfter[point] = static_cast<int>(it->second);
    }
    return plan.lateGroups[it->second];
  }

  void groupExtents() {
    for (Extent extent = 0; extent < plan.extents.size(); ++extent) {
      int64_t point = pointOfExtent[extent];
      if (point < 0)
        continue;
      LateGroup &group = groupFor(point);
      group.extents.push_back(extent);
      for (const std::string &symbol : symbolsOfExtent[extent]) {
        plan.lateExtents[symbol].push_back(extent);
        if (std::find(group.symbols.begin(), group.symbols.end(), symbol) == group.symbols.end())
          group.symbols.push_back(symbol);
      }
    }
  }

  /// Values that a loop passes on change places with other buffers, so each keeps its own memory.
  std::vector<bool> passedOn() const {
    std::vector<bool> result(plan.values.size());
    for (const Instruction *instruction : plan.instructions)
      if (auto *loop = std::get_if<Loop>(&instruction->operation))
        for (const std::vector<uint32_t> *list : {&loop->bodyInputs, &loop->bodyOutputs})
          for (uint32_t value : *list)
            result[plan.values[value].root] = true;
    return result;
  }

  void groupValues() {
    std::vector<bool> own = passedOn();
    for (uint32_t index = 0; index < plan.values.size(); ++index) {
      const ValueInfo &info = plan.values[index];
      bool placed = info.storage == Storage::temporary || info.storage == Storage::output;
      if (info.known || !placed || own[index] || info.kind != ValueKind::tensor || info.type == ElementType::string)
        continue;
      std::vector<Extent> all = info.dims;
      all.push_back(info.bytes);
      int64_t point = -1;
      for (Extent extent : all)
        point = later(point, pointOfExtent[extent]);
      const LiveRange &live = plan.live[index];
      if (point < 0 || live.first > live.last || live.first <= endOf(point))
        continue;
      LateGroup &group = groupFor(point);
      group.values.push_back(index);
      if (info.storage == Storage::temporary)
        group.last = std::max(group.last, live.last);
    }
  }

  /// A rule is checked once for every combination of extents.
  void groupRules() {
    for (uint32_t i = 0; i < plan.rules.size(); ++i) {
      int64_t left = pointOfExtent[plan.rules[i].left], right = pointOfExtent[plan.rules[i].right];
      int64_t point = later(left, right);
      if (point < 0)
        continue;
      groupFor(point).rules.push_back(i);
      plan.rules[i].grouped = true;
    }
  }

  void shareArenas() {
    std::vector<LateGroup *> order;
    for (LateGroup &group : plan.lateGroups)
      order.push_back(&group);
    std::sort(order.begin(), order.end(), [&](auto *a, auto *b) { return endOf(a->after) < endOf(b->after); });
    std::vector<std::vector<const LateGroup *>> arenas; // groups by arena
    for (LateGroup *group : order) {
      auto free = std::find_if(arenas.begin(), arenas.end(), [&](const auto &others) {
        return std::all_of(others.begin(), others.end(), [&](auto *other) { return isOver(*other, *group); });
      });
      if (free == arenas.end())
        free = arenas.emplace(free);
      group->arena = static_cast<uint32_t>(free - arenas.begin());
      free->push_back(group);
    }
    plan.lateArenas = static_cast<uint32_t>(arenas.size());
  }

  /// True if nothing uses the values of `group` any more when those of `next` are placed.
  bool isOver(const LateGroup &group, const LateGroup &next) const {
    if (plan.phases.empty())
      return std::max(group.last, endOf(group.after)) < endOf(next.after);
    StreamLife begin = lifeOfUse(plan, next.after, endOf(next.after));
    return lifeOfUse(plan, group.after, endOf(group.after)).isBefore(begin) &&
           std::all_of(group.values.begin(), group.values.end(), [&](uint32_t value) {
             return plan.values[value].storage != Storage::temporary || plan.streamLives[value].isBefore(begin);
           });
  }
};

} // namespace

void findLateGroups(Plan &plan) { Grouping(plan).run(); }

} // namespace lathe::runtime
