#include "compile/streams/Streams.h"

#include "compile/streams/StreamSearch.h"
#include "package/Dependences.h"
#include "support/Error.h"
#include "support/archive/RecordArchive.h"

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

/// Chooses streams for one plan, from what was measured and predicted.
class Choosing {
public:
  Choosing(plan::PlanT &plan, const StreamsOption &option, int threads, const StreamFacts &facts,
           const MeasuredStreams &measured)
      : plan(plan), option(option), threads(threads), facts(facts), measured(measured) {}

  StreamChoice choose(StreamsReport &report) {
    for (std::vector<uint32_t> &needs : package::dependences(plan))
      items.push_back({std::move(needs), {}, 0});
    report.plan = identity();
    predict();
    if (measured.times && option.teams == 0)
      report.measured = useTimes();
    fill();
    std::optional<StreamChoice> choice;
    const auto slots = static_cast<uint32_t>(threads);
    if (measured.decision && option.teams == 0)
      if (auto decision = measured.decision(report.plan)) {
        choice = decision->first.empty() ? sequenceOf(items) : choiceOf(decision->first, items, slots, streamCosts());
        report.decision = choice ? decision->second : "";
      }
    if (!choice)
      choice = searchStreams(items, slots, streamCosts(), option.teams, measured.margin);
    report.cycles = choice->cost;
    report.sequenceCycles = choice->sequence;
    report.choice = textOf(*choice);
    if (option.teams == 0 && !choice->isSequence()) {
      plan.least_stream_slots = leastSlots(*choice);
      plan.most_stream_slots = slots; // nobody predicts more
    }
    return std::move(*choice);
  }

private:
  plan::PlanT &plan;
  const StreamsOption &option;
  const int threads;
  const StreamFacts &facts;
  const MeasuredStreams &measured;
  std::vector<StreamItem> items;

  std::string identity() const {
    ContentHasher hasher;
    for (size_t i = 0; i < items.size(); ++i)
      hasher.update(fmt::format("{}\n{}\n", facts.identity(i), fmt::join(items[i].needs, " ")));
    return hasher.digest();
  }

  /// Predicts the costs of all items on the numbers of slots for which it is done (isPredicted); others are 0.
  void predict() {
    for (size_t i = 0; i < items.size(); ++i) {
      items[i].costs.resize(static_cast<size_t>(threads));
      for (int count = 1; count <= threads; ++count)
        if (isPredicted(count, threads)) {
          KernelCycles known = facts.cycles(i, count);
          items[i].costs[static_cast<size_t>(count - 1)] = known.total;
          items[i].memory = known.memory; // of all slots
        }
    }
  }

  /// Replaces predicted costs by measured ones, in the unit of the predictions: the factor between the units is that of
  /// all measured costs together. Costs of an item on other numbers of slots keep their ratio to its measured ones.
  /// Returns the number of items with a measured cost.
  size_t useTimes() {
    struct Known {
      size_t item, slot;
      double seconds;
    };
    std::vector<Known> times;
    double cycles = 0, seconds = 0;
    std::vector<bool> company = haveCompany(items);
    for (size_t i = 0; i < items.size(); ++i)
      for (int count = 1; count <= threads; ++count) {
        const double predicted = items[i].costs[static_cast<size_t>(count - 1)];
        if (predicted == 0 || !company[i])
          continue;
        if (std::optional<double> time = facts.seconds(i, count)) {
          times.push_back({i, static_cast<size_t>(count - 1), *time});
          cycles += predicted;
          seconds += *time;
        }
      }
    size_t used = 0;
    for (auto begin = times.begin(), end = begin; begin != times.end(); begin = end, ++used) {
      end = std::find_if(begin, times.end(), [&](const Known &known) { return known.item != begin->item; });
      std::vector<double> &costs = items[begin->item].costs;
      double itsSeconds = 0, itsCycles = 0;
      for (auto known = begin; known != end; ++known) {
        itsSeconds += known->seconds;
        itsCycles += costs[known->slot];
      }
      const double unit = cycles / seconds;
      for (double &cost : costs)
        cost *= itsSeconds * unit / itsCycles;
      for (auto known = begin; known != end; ++known)
        costs[known->slot] = known->seconds * unit;
      items[begin->item].memory = std::min(items[begin->item].memory, costs.back());
    }
    return used;
  }

  /// Gives each number of slots the cost of the next smaller one that has a cost. Items without costs get none, or all
  /// the same if the number of teams is given.
  void fill() {
    for (StreamItem &item : items)
      if (item.costs.front() == 0 || item.costs.back() == 0)
        item.costs.assign(option.teams ? item.costs.size() : 0, 1.0);
      else
        for (size_t i = 1; i < item.costs.size(); ++i)
          if (item.costs[i] == 0)
            item.costs[i] = item.costs[i - 1];
  }

  /// The least number of slots of a run from which on the choice is predicted to pay.
  uint32_t leastSlots(const StreamChoice &choice) const {
    const auto slots = static_cast<uint32_t>(threads);
    uint32_t least = slots;
    for (uint32_t have = slots; have > 1; --have) {
      double sequence = 0;
      for (const StreamItem &item : items)
        sequence += item.costs.empty() ? 0 : item.costs[have - 1];
      if (costOf(choice, items, slots, have, streamCosts()) > sequence)
        break;
      least = have;
    }
    return least;
  }
};

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
                           const StreamFacts &facts, const MeasuredStreams &measured) {
  StreamsReport report;
  auto &instructions = plan.blocks[0]->instructions;
  std::optional<StreamChoice> choice = givenChoice(plan, given, threads);
  if (!choice && option.search)
    choice = Choosing(plan, option, threads, facts, measured).choose(report);
  if (!choice || choice->isSequence())
    return report;
  apply(plan, *choice);
  for (size_t begin = 0, end; begin < instructions.size(); begin = end) {
    end = phaseEnd(*choice, begin);
    if (instructions[begin]->place < 0)
      continue;
    const bool together = std::any_of(instructions.begin() + int64_t(begin), instructions.begin() + int64_t(end),
                                      [&](const auto &other) { return other->place != instructions[begin]->place; });
    (together ? report.instructions : report.alone) += end - begin;
    report.phases += together;
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
