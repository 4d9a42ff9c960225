#include "compile/streams/Streams.h"

#include "compile/streams/StreamSearch.h"
#include "package/Dependences.h"
#include "schedule/Schedule.h"
#include "support/Error.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <queue>

namespace lathe {
namespace {

/// The names of an instruction in schedule files: its kernel's name and its source nodes.
std::vector<std::string> namesOf(const plan::PlanT &plan, const plan::InstructionT &instruction) {
  std::vector<std::string> names;
  if (const plan::CallKernelT *call = instruction.operation.AsCallKernel()) {
    const plan::KernelT &kernel = *plan.kernels[call->kernel];
    names = kernel.nodes;
    names.insert(names.begin(), kernel.name);
  } else if (const plan::CallReferenceT *call = instruction.operation.AsCallReference()) {
    names = call->nodes;
  }
  return names;
}

/// The slots for which costs are predicted; others have the cost of the next smaller number.
bool isPredicted(int slots, int all) { return slots <= 4 || slots == all || slots % 4 == 0; }

StreamCosts streamCosts() {
  const double fork = forkJoinCycles(2);
  return {fork, fork / 2};
}

/// An order of the items, earlier ones first as far as their needs allow; `wanted`: the place that an item asks for.
std::vector<uint32_t> orderBy(const std::vector<std::vector<uint32_t>> &needs, const std::vector<int64_t> &wanted) {
  std::vector<size_t> left;
  std::vector<std::vector<uint32_t>> users(needs.size());
  using Entry = std::pair<int64_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (uint32_t i = 0; i < needs.size(); ++i) {
    left.push_back(needs[i].size());
    for (uint32_t before : needs[i])
      users[before].push_back(i);
    if (needs[i].empty())
      ready.emplace(wanted[i], i);
  }
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    uint32_t item = ready.top().second;
    ready.pop();
    order.push_back(item);
    for (uint32_t user : users[item])
      if (--left[user] == 0)
        ready.emplace(wanted[user], user);
  }
  return order;
}

/// Writes a choice into the plan.
void apply(plan::PlanT &plan, const StreamChoice &choice) {
  auto &instructions = plan.blocks[0]->instructions;
  std::vector<std::unique_ptr<plan::InstructionT>> old = std::move(instructions);
  instructions.clear();
  std::map<std::pair<uint32_t, uint32_t>, int> numbers{{{0, 0}, -1}};
  plan.places.clear();
  for (uint32_t item : choice.order) {
    const StreamSlots &at = choice.slots[item];
    auto [entry, fresh] = numbers.try_emplace({at.first, at.count}, static_cast<int>(plan.places.size()));
    if (fresh) {
      plan.places.push_back(std::make_unique<plan::PlaceT>());
      plan.places.back()->first_slot = at.first;
      plan.places.back()->slots = at.count;
    }
    old[item]->place = entry->second;
    instructions.push_back(std::move(old[item]));
  }
  package::setWaits(plan);
}

/// The choice in the lines of a schedule file; nothing if there are none.
std::optional<StreamChoice> givenChoice(const plan::PlanT &plan, const GivenStreams &given, int threads) {
  const auto &instructions = plan.blocks[0]->instructions;
  StreamChoice choice;
  choice.slots.resize(instructions.size());
  std::vector<int64_t> wanted(instructions.size());
  bool found = false;
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    wanted[i] = 2 * int64_t(i);
    std::optional<StreamLine> line = given(namesOf(plan, *instructions[i]));
    if (!line)
      continue;
    found = true;
    if (line->order >= 0)
      wanted[i] = 2 * line->order - 1; // before an instruction without a line
    require(line->first + line->slots <= threads, "{}: slots {} to {}, expected slots of {} threads", line->origin,
            line->first, line->first + line->slots - 1, threads);
    choice.slots[i] = {static_cast<uint32_t>(line->first), static_cast<uint32_t>(line->slots)};
  }
  if (!found)
    return std::nullopt;
  choice.order = orderBy(package::dependences(plan), wanted);
  return choice;
}

} // namespace

StreamsOption streamsOption(const std::string &text, int threads) {
  if (text == "off" || text == "auto")
    return {text == "auto" && threads > 1, 0};
  uint32_t teams = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), teams);
  require(error == std::errc() && end == text.data() + text.size() && teams >= 1,
          "--streams is '{}', expected off, auto or a number of teams", text);
  require(teams <= static_cast<uint32_t>(threads), "--streams is {}, expected at most the number of threads, {}", teams,
          threads);
  return {teams > 1, teams};
}

StreamsReport placeStreams(plan::PlanT &plan, const GivenStreams &given, const StreamsOption &option, int threads,
                           const std::function<KernelCycles(size_t, int)> &cycles) {
  StreamsReport report;
  const auto slots = static_cast<uint32_t>(threads);
  auto &instructions = plan.blocks[0]->instructions;
  std::optional<StreamChoice> choice = givenChoice(plan, given, threads);
  if (!choice && option.search) {
    std::vector<StreamItem> items;
    for (std::vector<uint32_t> &needs : package::dependences(plan))
      items.push_back({std::move(needs), {}, 0});
    for (size_t i = 0; i < items.size(); ++i) {
      std::vector<double> &list = items[i].costs;
      KernelCycles known;
      for (int count = 1; count <= threads; ++count) {
        if (isPredicted(count, threads))
          known = cycles(i, count);
        list.push_back(known.total);
      }
      items[i].memory = known.memory; // of all slots
      if (std::find(list.begin(), list.end(), 0) != list.end())
        list.assign(option.teams ? slots : 0, 1.0);
    }
    choice = searchStreams(items, slots, streamCosts(), option.teams);
    report.cycles = choice->cost;
    report.sequenceCycles = choice->sequence;
    for (uint32_t have = slots; !option.teams && !choice->isSequence() && have > 1;
         --have) { // from how many on it pays
      double sequence = 0;
      for (const StreamItem &item : items)
        sequence += item.costs.empty() ? 0 : item.costs[have - 1];
      if (costOf(*choice, items, slots, have, streamCosts()) > sequence)
        break;
      plan.least_stream_slots = have;
    }
  }
  if (!choice || choice->isSequence())
    return report;
  apply(plan, *choice);
  for (size_t begin = 0, end; begin < instructions.size(); begin = end) {
    end = phaseEnd(*choice, begin);
    if (instructions[begin]->place < 0)
      continue;
    report.instructions += end - begin;
    ++report.phases;
  }
  return report;
}

std::string streamsText(const plan::PlanT &plan) {
  const auto &instructions = plan.blocks[0]->instructions;
  if (plan.places.empty())
    return "";
  std::string text = "# streams\n";
  for (size_t i = 0; i < instructions.size(); ++i) {
    std::vector<std::string> names = namesOf(plan, *instructions[i]);
    if (names.empty() || !canBeListed(names.front()))
      continue;
    text += fmt::format("{}: stream/1 order={}", names.front(), i);
    if (int place = instructions[i]->place; place >= 0)
      text += fmt::format(" first={} slots={}", plan.places[static_cast<size_t>(place)]->first_slot,
                          plan.places[static_cast<size_t>(place)]->slots);
    text += '\n';
  }
  return text;
}

} // namespace lathe
