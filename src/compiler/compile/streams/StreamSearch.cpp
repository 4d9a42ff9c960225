#include "compile/streams/StreamSearch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

namespace lathe {
namespace {

/// A set of items.
class Items {
public:
  explicit Items(size_t count = 0) : words((count + 63) / 64) {}
  bool has(size_t item) const { return words[item / 64] >> (item % 64) & 1; }
  void add(size_t item) { words[item / 64] |= uint64_t(1) << (item % 64); }
  void add(const Items &other) {
    for (size_t i = 0; i < words.size(); ++i)
      words[i] |= other.words[i];
  }
  size_t size() const {
    size_t count = 0;
    for (uint64_t word : words)
      count += static_cast<size_t>(__builtin_popcountll(word));
    return count;
  }
  bool contains(const Items &other) const {
    for (size_t i = 0; i < words.size(); ++i)
      if (other.words[i] & ~words[i])
        return false;
    return true;
  }
  auto operator<=>(const Items &) const = default;

private:
  std::vector<uint64_t> words;
};

/// Which items come before which.
class Relations {
public:
  explicit Relations(const std::vector<StreamItem> &items)
      : ancestors(items.size(), Items(items.size())), direct(ancestors), descendants(items.size()) {
    for (size_t i = 0; i < items.size(); ++i)
      for (uint32_t before : items[i].needs) {
        ancestors[i].add(ancestors[before]);
        ancestors[i].add(before);
        direct[i].add(before);
      }
    for (size_t i = 0; i < items.size(); ++i)
      for (size_t before = 0; before < i; ++before)
        descendants[before] += ancestors[i].has(before);
  }

  bool needs(size_t item, size_t before) const { return direct[item].has(before); }
  /// True if the item runs before or after every other one.
  bool isCut(size_t item) const { return ancestors[item].size() + descendants[item] + 1 == ancestors.size(); }

private:
  std::vector<Items> ancestors, direct; // by item: all that must be done before it, and those that it needs itself
  std::vector<size_t> descendants;      // number
};

constexpr std::string_view choiceVersion = "stream/1";
constexpr size_t mostStates = 256; // sets of done items that one part of the network may have
constexpr size_t mostInRow = 24;   // items of a phase where there are more sets

class Search {
public:
  Search(const std::vector<StreamItem> &items, uint32_t slots, const StreamCosts &costs, uint32_t teams, double margin)
      : items(items), slots(slots), costs(costs), margin(margin), forced(teams > 0), relations(items) {
    findPartitions(teams);
    for (const StreamItem &item : items) {
      double least = item.costs.empty() ? 0 : item.costs[0];
      for (size_t i = 0; i < item.costs.size(); ++i)
        least = std::min(least, item.costs[i] * double(i + 1));
      work.push_back(forced ? 0 : least);
    }
  }

  StreamChoice run() {
    choice.slots.resize(items.size());
    choice.sequence = sequenceOf(items).cost;
    for (size_t begin = 0; begin < items.size();) {
      size_t end = begin + 1; // a cut alone, or what lies between two cuts
      while (!relations.isCut(begin) && end < items.size() && !relations.isCut(end))
        ++end;
      searchPart(begin, end);
      begin = end;
    }
    choice.cost = costOf(choice, items, slots, slots, costs);
    // What streams cost outside of kernels is not in these costs.
    if (!forced && choice.cost * (1 + margin / 5) > choice.sequence)
      return sequenceOf(items);
    return std::move(choice);
  }

private:
  using Partition = std::vector<StreamSlots>;
  /// A phase, or one item on all slots.
  struct Step {
    double cost = std::numeric_limits<double>::infinity();
    std::vector<uint32_t> list; // items in their order
    std::vector<StreamSlots> at;
    size_t from = 0; // state before it
  };

  const std::vector<StreamItem> &items;
  const uint32_t slots;
  const StreamCosts &costs;
  const double margin;
  const bool forced;
  const Relations relations;
  std::vector<Partition> partitions;
  std::vector<double> work; // by item: the least product of cost and slots
  StreamChoice choice;

  double wide(const StreamItem &item) const { return item.costs.empty() ? 0 : item.costs.back(); }
  double on(uint32_t item, uint32_t count) const { return items[item].costs[count - 1]; }

  void findPartitions(uint32_t teams) {
    auto add = [&](const std::vector<double> &shares) {
      Partition partition;
      double sum = std::accumulate(shares.begin(), shares.end(), 0.0), upTo = 0;
      for (double share : shares) {
        auto first = static_cast<uint32_t>(upTo * slots / sum + 0.5);
        upTo += share;
        auto end = static_cast<uint32_t>(upTo * slots / sum + 0.5);
        if (end <= first)
          return;
        partition.push_back({first, end - first});
      }
      if (std::find(partitions.begin(), partitions.end(), partition) == partitions.end())
        partitions.push_back(partition);
    };
    if (teams > 0)
      return add(std::vector<double>(std::min(teams, slots), 1));
    for (const std::vector<double> &shares : std::vector<std::vector<double>>{
             {1, 1}, {1, 1, 1, 1}, {2, 1, 1}, {1, 1, 1}, {2, 1}, {3, 1}, {7, 1}, {1, 1, 1, 1, 1, 1, 1, 1}})
      add(shares);
  }

  /// Items of [begin, end) that can be done at the same time: all sets that contain what their items need. If there are
  /// too many, only the first 0, 1, 2, ... items.
  std::vector<Items> statesOf(size_t begin, size_t end) const {
    std::set<Items> all;
    std::vector<Items> open{Items(items.size())};
    all.insert(open.front());
    while (!open.empty() && all.size() <= mostStates) {
      Items state = open.back();
      open.pop_back();
      for (size_t item = begin; item < end; ++item) {
        if (state.has(item) || !isReady(state, item, begin))
          continue;
        Items next = state;
        next.add(item);
        if (all.insert(next).second)
          open.push_back(next);
      }
    }
    std::vector<Items> states(all.begin(), all.end());
    if (all.size() > mostStates) {
      states.assign(1, Items(items.size()));
      for (size_t item = begin; item < end; ++item) {
        states.push_back(states.back());
        states.back().add(item);
      }
    }
    std::stable_sort(states.begin(), states.end(), [](const Items &a, const Items &b) { return a.size() < b.size(); });
    return states;
  }
  bool isReady(const Items &state, size_t item, size_t begin) const {
    const std::vector<uint32_t> &needs = items[item].needs;
    return std::all_of(needs.begin(), needs.end(),
                       [&](uint32_t before) { return before < begin || state.has(before); });
  }

  void searchPart(size_t begin, size_t end) {
    std::vector<Items> states = statesOf(begin, end);
    std::vector<double> best(states.size(), std::numeric_limits<double>::infinity());
    std::vector<Step> steps(states.size());
    best[0] = 0;
    for (size_t to = 1; to < states.size(); ++to)
      for (size_t from = to; from-- > 0;) {
        size_t count = states[to].size() - states[from].size();
        if (count == 0 || (states.size() > mostStates && count > mostInRow) || !states[to].contains(states[from]))
          continue;
        std::vector<uint32_t> list;
        double least = best[from]; // no team has more than its share of the work
        for (size_t item = begin; item < end; ++item)
          if (states[to].has(item) && !states[from].has(item)) {
            list.push_back(static_cast<uint32_t>(item));
            least += work[item] / slots;
          }
        if (least >= best[to])
          continue;
        if (Step step = stepOf(list); best[from] + step.cost < best[to]) {
          best[to] = best[from] + step.cost;
          steps[to] = std::move(step);
          steps[to].from = from;
        }
      }
    std::vector<const Step *> path;
    for (size_t state = states.size() - 1; state > 0; state = steps[state].from)
      path.push_back(&steps[state]);
    for (auto step = path.rbegin(); step != path.rend(); ++step)
      for (size_t i = 0; i < (*step)->list.size(); ++i) {
        choice.order.push_back((*step)->list[i]);
        choice.slots[(*step)->list[i]] = (*step)->at[i];
      }
  }

  /// The step of one item without company: on all slots, or on fewer if it is faster there.
  Step alone(uint32_t item) const {
    Step best{wide(items[item]), {item}, {StreamSlots{}}};
    const std::vector<double> &cost = items[item].costs;
    for (uint32_t count = 1; !forced && count < cost.size(); ++count)
      if (double on = (cost[count - 1] + costs.fork) * (1 + margin); on < best.cost)
        best = {on, {item}, {StreamSlots{0, count}}};
    return best;
  }

  /// The step of lowest cost for items that run after some set and before all others; its cost is infinite if they
  /// cannot run beside each other.
  Step stepOf(const std::vector<uint32_t> &list) const {
    if (list.size() == 1)
      return alone(list[0]);
    if (std::any_of(list.begin(), list.end(), [&](uint32_t item) { return items[item].costs.empty(); }))
      return {};
    std::vector<std::vector<size_t>> needs(list.size()); // positions in `list`
    for (size_t i = 0; i < list.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (relations.needs(list[i], list[j]))
          needs[i].push_back(j);
    Step best;
    for (const Partition &partition : partitions) {
      Step step = schedule(list, needs, partition);
      if (std::adjacent_find(step.at.begin(), step.at.end(), std::not_equal_to<>()) == step.at.end())
        continue;                              // a stream alone is no phase
      step.cost *= forced ? 1e-3 : 1 + margin; // forced: as much as possible runs beside others
      if (step.cost < best.cost)
        best = std::move(step);
    }
    return best;
  }

  /// List scheduling: of the items whose operands are there, the one with the longest path behind it goes to the team
  /// on which it ends first.
  Step schedule(const std::vector<uint32_t> &list, const std::vector<std::vector<size_t>> &needs,
                const Partition &partition) const {
    Step step;
    const uint32_t usual = std::max(1u, slots / static_cast<uint32_t>(partition.size()));
    std::vector<double> path(list.size()), done(list.size());
    std::vector<size_t> team(list.size(), partition.size());
    for (size_t i = list.size(); i-- > 0;) {
      path[i] += on(list[i], usual); // behind the items that need it, which come later in the list
      for (size_t before : needs[i])
        path[before] = std::max(path[before], path[i]);
    }
    std::vector<double> free(partition.size());
    for (size_t count = 0; count < list.size(); ++count) {
      size_t next = list.size();
      for (size_t i = 0; i < list.size(); ++i)
        if (team[i] == partition.size() && (next == list.size() || path[i] > path[next]) &&
            std::all_of(needs[i].begin(), needs[i].end(),
                        [&](size_t before) { return team[before] < partition.size(); }))
          next = i;
      double end = std::numeric_limits<double>::infinity();
      for (size_t t = 0; t < partition.size(); ++t) {
        double begin = free[t];
        for (size_t before : needs[next])
          begin = std::max(begin, done[before] + (team[before] == t ? 0 : costs.wait));
        if (double ends = begin + on(list[next], partition[t].count); ends < end) {
          end = ends;
          team[next] = t;
        }
      }
      done[next] = free[team[next]] = end;
      step.list.push_back(list[next]);
      step.at.push_back(partition[team[next]]);
    }
    double memory = 0;
    for (uint32_t item : list)
      memory += items[item].memory;
    step.cost = std::max(memory, *std::max_element(free.begin(), free.end())) + costs.fork * double(partition.size());
    return step;
  }
};

} // namespace

bool StreamChoice::isSequence() const {
  return std::all_of(slots.begin(), slots.end(), [](const StreamSlots &at) { return at.count == 0; });
}

StreamChoice searchStreams(const std::vector<StreamItem> &items, uint32_t slots, const StreamCosts &costs,
                           uint32_t teams, double margin) {
  return Search(items, slots, costs, teams, margin).run();
}

StreamChoice sequenceOf(const std::vector<StreamItem> &items) {
  StreamChoice choice;
  choice.order.resize(items.size());
  std::iota(choice.order.begin(), choice.order.end(), 0u);
  choice.slots.resize(items.size());
  for (const StreamItem &item : items)
    choice.cost += item.costs.empty() ? 0 : item.costs.back();
  choice.sequence = choice.cost;
  return choice;
}

std::string textOf(const StreamChoice &choice) {
  std::string text(choiceVersion);
  for (uint32_t item : choice.order) {
    text += fmt::format(" {}", item);
    if (const StreamSlots &at = choice.slots[item]; at.count > 0)
      text += fmt::format("@{}+{}", at.first, at.count);
  }
  return text;
}

std::optional<StreamChoice> choiceOf(const std::string &text, const std::vector<StreamItem> &items, uint32_t slots,
                                     const StreamCosts &costs) {
  if (!text.starts_with(choiceVersion))
    return std::nullopt;
  const char *at = text.data() + choiceVersion.size(), *end = text.data() + text.size();
  bool good = true;
  auto number = [&](char before) { // behind the character `before`
    uint32_t value = 0;
    good = good && at < end && *at == before;
    if (good) {
      auto [rest, error] = std::from_chars(at + 1, end, value);
      good = error == std::errc();
      at = rest;
    }
    return value;
  };
  StreamChoice choice;
  choice.slots.resize(items.size());
  std::vector<bool> done(items.size());
  while (at < end) {
    uint32_t item = number(' ');
    StreamSlots place;
    if (good && at < end && *at == '@')
      place = {number('@'), number('+')};
    if (!good || item >= items.size() || done[item] || place.first > slots || place.count > slots - place.first ||
        !std::all_of(items[item].needs.begin(), items[item].needs.end(), [&](uint32_t before) { return done[before]; }))
      return std::nullopt;
    done[item] = true;
    choice.order.push_back(item);
    choice.slots[item] = place;
  }
  if (choice.order.size() != items.size())
    return std::nullopt;
  choice.sequence = sequenceOf(items).cost;
  choice.cost = costOf(choice, items, slots, slots, costs);
  return choice;
}

std::vector<bool> haveCompany(const std::vector<StreamItem> &items) {
  std::vector<bool> company;
  Relations relations(items);
  for (size_t i = 0; i < items.size(); ++i)
    company.push_back(!relations.isCut(i));
  return company;
}

size_t phaseEnd(const StreamChoice &choice, size_t begin) {
  auto at = [&](size_t position) { return choice.slots[choice.order[position]]; };
  auto meet = [](const StreamSlots &a, const StreamSlots &b) {
    return !(a == b) && a.first < b.first + b.count && b.first < a.first + a.count;
  };
  size_t end = begin + 1;
  if (at(begin).count == 0)
    return end;
  for (; end < choice.order.size() && at(end).count > 0; ++end)
    for (size_t other = begin; other < end; ++other)
      if (meet(at(other), at(end)))
        return end;
  return end;
}

double costOf(const StreamChoice &choice, const std::vector<StreamItem> &items, uint32_t slots, uint32_t have,
              const StreamCosts &costs) {
  std::vector<double> done(items.size());
  double now = 0;                            // end of the last phase
  auto sizeOf = [&](const StreamSlots &at) { // of a team in this run
    auto scaled = [&](uint64_t slot) { return static_cast<uint32_t>(slot * have / slots); };
    return scaled(at.first + at.count) - scaled(at.first);
  };
  auto costOn = [&](uint32_t item, uint32_t count) {
    const std::vector<double> &cost = items[item].costs;
    return cost.empty() ? 0 : cost[std::min<size_t>(count, cost.size()) - 1];
  };
  for (size_t begin = 0, end; begin < choice.order.size(); begin = end) {
    end = phaseEnd(choice, begin);
    std::map<uint32_t, double> free; // by first slot of a team: when it is free
    bool beside = true;
    for (size_t i = begin; i < end; ++i) {
      const StreamSlots &at = choice.slots[choice.order[i]];
      beside = beside && sizeOf(at) > 0;
      free.emplace(at.first, now);
    }
    double last = now, memory = 0;
    for (size_t i = begin; i < end; ++i) {
      uint32_t item = choice.order[i];
      const StreamSlots &at = choice.slots[item];
      if (!beside) {
        last += costOn(item, have);
        continue;
      }
      memory += items[item].memory;
      double &time = free.at(at.first);
      for (uint32_t before : items[item].needs)
        if (choice.slots[before].count > 0 && !(choice.slots[before] == at))
          time = std::max(time, done[before] + costs.wait);
      time += costOn(item, sizeOf(at));
      done[item] = time;
      last = std::max(last, time);
    }
    now = std::max(last, now + memory) + (beside ? costs.fork * double(free.size()) : 0);
  }
  return now;
}

} // namespace lathe
