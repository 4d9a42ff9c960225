// The search for streams: which instructions of a plan run beside each other, and on how many slots each. No MLIR.
//
// Dynamic programming over the sets of instructions that can be done at one time, as IOS does over stages of a network
// (Ding et al., "IOS: Inter-Operator Scheduler for CNN Acceleration", MLSys 2021). IOS runs the operators of a stage in
// groups and waits for all of them; here the instructions of a phase are list-scheduled on teams and wait only for what
// they use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

/// An instruction for the search.
struct StreamItem {
  std::vector<uint32_t> needs; // earlier items that must be done before it begins, rising
  /// By number of slots - 1: what it costs on a team of that size; all costs have one unit. Empty: unknown, it has all
  /// slots for itself.
  std::vector<double> costs;
  /// Cost of reading its bytes from memory with all slots: items that run beside each other share this rate.
  double memory = 0;
};

/// Slots [first, first + count) of all slots; {0, 0}: all.
struct StreamSlots {
  uint32_t first = 0, count = 0;
  bool operator==(const StreamSlots &) const = default;
};

struct StreamCosts {
  double fork = 0; // to start a team of a phase and to wait for its end
  double wait = 0; // for an instruction that waits for one of another team
};

/// What runs where: items in the order in which the plan lists them, and the slots of each.
struct StreamChoice {
  std::vector<uint32_t> order;    // items
  std::vector<StreamSlots> slots; // by item
  double cost = 0, sequence = 0;  // of the choice, and of all items one after the other on all slots
  bool isSequence() const;
};

/// Share by which a predicted cost must be better before kernels run beside each other, or convolutions become one.
inline constexpr double streamMargin = 0.05;

/// Chooses streams for `slots` slots. `teams` = 0: divides the slots in several ways and takes a phase only if its cost
/// times 1 + `margin` is below that of its items one after the other; also gives an item alone fewer slots, if that
/// cost times 1 + `margin` is below its cost on all of them. The whole must save a fifth of `margin`. `teams` >= 2:
/// every phase has as many teams, as equal as the slots allow, and is taken wherever items can run beside each other.
StreamChoice searchStreams(const std::vector<StreamItem> &items, uint32_t slots, const StreamCosts &costs,
                           uint32_t teams = 0, double margin = streamMargin);

/// All items in their order, one after the other on all slots.
StreamChoice sequenceOf(const std::vector<StreamItem> &items);
/// The choice as text for records of measurements: "stream/1" and, in order, the number of each item, with
/// "@first+count" if it is not on all slots.
std::string textOf(const StreamChoice &choice);
/// Reads the text of a choice, with its costs; nothing if it is none for these items and slots: an item is missing or
/// before one that it needs, or slots are too many.
std::optional<StreamChoice> choiceOf(const std::string &text, const std::vector<StreamItem> &items, uint32_t slots,
                                     const StreamCosts &costs);

/// By item: whether some other item can run beside it, because neither needs the other.
std::vector<bool> haveCompany(const std::vector<StreamItem> &items);

/// The position in `order` behind the phase that begins at `begin`: an item on all slots alone, or items on teams that
/// have no slots in common.
size_t phaseEnd(const StreamChoice &choice, size_t begin);

/// The predicted cost of a choice (a phase lasts at least as long as memory needs for all of its items) for `slots`
/// slots in a run that has `have` slots. Teams then have the same share of the slots. A phase in which a team would get
/// no slot runs in sequence.
double costOf(const StreamChoice &choice, const std::vector<StreamItem> &items, uint32_t slots, uint32_t have,
              const StreamCosts &costs);

} // namespace lathe
