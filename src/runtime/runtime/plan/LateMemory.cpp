// Extents that become known while the plan runs. Values with such extents are placed then, in separate arenas.
#include "runtime/plan/Execution.h"
#include "support/Memory.h"

#include <algorithm>

namespace lathe::runtime {

namespace {

/// Limit of an arena that is allocated for the largest possible extents, in bytes. Untouched pages cost nothing.
constexpr uint64_t mostReserved = uint64_t(1) << 26;

} // namespace

void Context::State::bindSymbol(const std::string &symbol, int64_t value) {
  auto guard = guardLate();
  auto [bound, fresh] = symbols.try_emplace(symbol, value);
  if (!fresh && bound->second == value)
    return;
  bound->second = value;
  if (auto found = plan->lateExtents.find(symbol); found != plan->lateExtents.end())
    for (Extent extent : found->second)
      lateKnown[extent] = false;
}

void Context::State::forget(const std::vector<std::string> &list) {
  if (list.empty())
    return;
  auto guard = guardLate();
  for (const std::string &symbol : list) {
    symbols.erase(symbol);
    if (auto found = plan->lateExtents.find(symbol); found != plan->lateExtents.end())
      for (Extent extent : found->second)
        lateKnown[extent] = false;
  }
}

/// Symbols that a rule bounds by values known before the plan runs.
std::unordered_map<std::string, int64_t> Context::State::lateBounds() const {
  std::unordered_map<std::string, int64_t> bounds;
  auto add = [&](const Rule &rule) {
    std::string symbol = loneSymbol(plan->extents[rule.right]);
    if (rule.relation != Relation::atLeast || !extentKnown[rule.left] || symbol.empty())
      return;
    auto [bound, fresh] = bounds.try_emplace(symbol, extents[rule.left]);
    bound->second = std::min(bound->second, extents[rule.left]);
  };
  std::for_each(plan->rules.begin(), plan->rules.end(), add);
  for (const Block &block : plan->blocks)
    std::for_each(block.rules.begin(), block.rules.end(), add);
  return bounds;
}

/// Bytes of the group's arena with every symbol at its bound. Empty if a symbol has no bound, or if the bytes exceed
/// all memory.
std::optional<uint64_t> Context::State::bytesAtBounds(const LateGroup &group,
                                                      const std::unordered_map<std::string, int64_t> &bounds) const {
  if (!std::all_of(group.symbols.begin(), group.symbols.end(),
                   [&](const std::string &symbol) { return bounds.contains(symbol); }))
    return std::nullopt;
  auto valueOf = [&](const std::string &symbol) {
    auto bound = bounds.find(symbol);
    return bound != bounds.end() ? bound->second : symbols.at(symbol);
  };
  std::vector<ArenaRequest> requests;
  try {
    for (uint32_t value : group.values)
      if (const ValueInfo &info = plan->values[value]; info.storage == Storage::temporary) {
        int64_t bytes = plan->extents[info.bytes].evaluate(valueOf);
        requests.push_back({static_cast<uint64_t>(std::clamp<int64_t>(bytes, 0, int64_t(1) << 40)),
                            plan->live[value].first, plan->live[value].last, streamLife(value)});
      }
  } catch (const Error &) { // the number of bytes is beyond 64 bits
    return std::nullopt;
  }
  return planArena(requests).bytes;
}

/// Marks the values that late groups place. If all extents of a group have bounds, its arena is allocated once, for the
/// bounds.
void Context::State::layOutLate() {
  late.assign(plan->lateGroups.size(), {});
  lateArenas.resize(plan->lateArenas);
  std::unordered_map<std::string, int64_t> bounds = lateBounds();
  for (const LateGroup &group : plan->lateGroups) {
    for (uint32_t value : group.values) {
      slots[value].boxed = false;
      slots[value].late = true;
    }
    if (std::optional<uint64_t> bytes = bytesAtBounds(group, bounds); bytes && *bytes <= mostReserved)
      growLateArena(group.arena, *bytes);
  }
}

void Context::State::growLateArena(uint32_t index, uint64_t bytes) {
  Mapping &mapping = lateArenas[index];
  if (bytes <= mapping.bytes())
    return;
  requireMemory(bytes, fmt::format("{}: what depends on computed extents", file));
  mapping = Mapping(); // freed before the new one is allocated: memory may be too small for both
  mapping = Mapping::allocate(bytes, file);
}

void Context::State::placeGroup(const LateGroup &group, LateState &state) {
  std::vector<ArenaRequest> requests(group.values.size());
  for (size_t i = 0; i < group.values.size(); ++i) {
    const ValueInfo &info = plan->values[group.values[i]];
    Slot &slot = slots[group.values[i]];
    slot.dims = evaluate(info.dims);
    slot.bytes = evaluate(info.bytes);
    checkSizes(info, slot);
    const LiveRange &live = plan->live[group.values[i]];
    if (info.storage == Storage::temporary)
      requests[i] = {static_cast<uint64_t>(slot.bytes), live.first, live.last, streamLife(group.values[i])};
    else
      requests[i] = {0, 1, 0}; // in the caller's memory
  }
  ArenaPlan layout = planArena(requests);
  state.offsets = std::move(layout.offsets);
  state.bytes = layout.bytes;
}

void Context::State::settle(uint32_t instruction) {
  auto guard = guardLate();
  auto index = static_cast<size_t>(plan->lateGroupAfter[instruction]);
  const LateGroup &group = plan->lateGroups[index];
  LateState &state = late[index];
  std::vector<int64_t> key;
  for (const std::string &symbol : group.symbols) {
    auto bound = symbols.find(symbol);
    if (bound == symbols.end())
      return; // the block of this value did not run; no other block may use the value
    key.push_back(bound->second);
  }
  bool changed = state.key != key;
  for (size_t i = 0; changed && i < group.rules.size(); ++i)
    checkRule(plan->rules[group.rules[i]]);
  for (Extent extent : group.extents) {
    if (changed)
      extents[extent] = plan->extents[extent].evaluate([&](const std::string &symbol) { return symbols.at(symbol); });
    lateKnown[extent] = true;
  }
  if (changed) {
    state.key.clear(); // until it is placed
    placeGroup(group, state);
    state.key = std::move(key);
  }
  growLateArena(group.arena, state.bytes);
  if (char *base = lateArenas[group.arena].data(); changed || base != state.base) {
    state.base = base;
    for (size_t i = 0; i < group.values.size(); ++i)
      slots[group.values[i]].data = base + state.offsets[i];
  }
  for (uint32_t value : group.values) {
    Slot &slot = slots[value];
    slot.written = true;
    if (plan->values[value].storage == Storage::output) {
      auto port = std::find(plan->outputs.begin(), plan->outputs.end(), value) - plan->outputs.begin();
      slot.data = static_cast<char *>(outputTensor(static_cast<size_t>(port), slot.dims).data());
    }
  }
}

} // namespace lathe::runtime
