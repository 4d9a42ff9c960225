// Finds the order that a plan with places guarantees: its phases, which follow each other, and the streams of each
// phase.
#include "runtime/plan/PlanAnalysis.h"

#include "support/Error.h"

#include <algorithm>

namespace lathe::runtime {
namespace {

/// Divides the entry block into phases. A phase ends where an instruction has no place, or a place that has slots
/// in common with another place of the phase.
class Phases {
public:
  explicit Phases(Plan &plan) : plan(plan) {}

  void run() {
    plan.moments.resize(plan.instructions.size());
    plan.before.resize(plan.instructions.size());
    for (const Instruction &instruction : plan.blocks[0].instructions)
      add(instruction);
  }

private:
  Plan &plan;

  static bool meet(const PlaceSlots &a, const PlaceSlots &b) {
    return a.first < b.first + b.slots && b.first < a.first + a.slots;
  }

  /// The number of the stream of `instruction` in the last phase; -1: it begins another phase.
  int streamFor(const Instruction &instruction) {
    if (plan.phases.empty())
      return -1;
    const std::vector<PlaceSlots> &teams = plan.phases.back().teams;
    if (instruction.place < 0 || teams.empty())
      return instruction.place < 0 && teams.empty() ? 0 : -1;
    const PlaceSlots &place = plan.places[static_cast<size_t>(instruction.place)];
    if (auto found = std::find(teams.begin(), teams.end(), place); found != teams.end())
      return static_cast<int>(found - teams.begin());
    bool meets = std::any_of(teams.begin(), teams.end(), [&](const PlaceSlots &team) { return meet(team, place); });
    return meets ? -1 : static_cast<int>(teams.size());
  }

  void add(const Instruction &instruction) {
    int stream = streamFor(instruction);
    if (stream < 0) {
      size_t begin = plan.phases.empty() ? 0 : plan.phases.back().end;
      plan.phases.push_back({begin, begin, {}, {}});
      stream = 0;
    }
    Phase &phase = plan.phases.back();
    ++phase.end;
    if (auto number = static_cast<size_t>(stream); number >= phase.streams.size()) {
      phase.streams.emplace_back();
      if (instruction.place >= 0)
        phase.teams.push_back(plan.places[static_cast<size_t>(instruction.place)]);
    }
    phase.streams[static_cast<size_t>(stream)].push_back(&instruction);
    for (uint32_t id = instruction.id; id <= instruction.last; ++id)
      plan.moments[id] = {static_cast<uint32_t>(plan.phases.size() - 1), static_cast<uint32_t>(stream), instruction.id};
    findBefore(instruction, static_cast<size_t>(stream));
  }

  /// By stream of the phase: all instructions of the stream with smaller ids are done before `instruction` begins.
  void findBefore(const Instruction &instruction, size_t stream) {
    const Phase &phase = plan.phases.back();
    std::vector<uint32_t> &before = plan.before[instruction.id];
    auto join = [&](const std::vector<uint32_t> &other) {
      before.resize(std::max(before.size(), other.size()));
      for (size_t i = 0; i < other.size(); ++i)
        before[i] = std::max(before[i], other[i]);
    };
    before.assign(phase.streams.size(), 0);
    if (size_t size = phase.streams[stream].size(); size > 1)
      join(plan.before[phase.streams[stream][size - 2]->id]);
    for (uint32_t wait : instruction.waits)
      if (const Moment &moment = plan.moments[wait]; moment.phase + 1 == plan.phases.size()) {
        join(plan.before[wait]);
        before[moment.stream] = std::max(before[moment.stream], plan.instructions[wait]->last + 1);
      }
    before[stream] = instruction.id;
  }
};

} // namespace

void findPhases(Plan &plan) {
  const std::vector<Instruction> &entry = plan.blocks[0].instructions;
  if (std::any_of(entry.begin(), entry.end(), [](const Instruction &instruction) { return instruction.place >= 0; }))
    Phases(plan).run();
}

void addUse(const Plan &plan, StreamLife &life, uint32_t first, uint32_t last) {
  const Moment &moment = plan.moments[first];
  const bool fresh = life.begins.empty();
  size_t streams = plan.phases[moment.phase].streams.size();
  if (fresh || moment.phase < life.firstPhase) {
    life.firstPhase = moment.phase;
    life.begins.assign(streams, UINT32_MAX);
  }
  if (fresh || moment.phase > life.lastPhase) {
    life.lastPhase = moment.phase;
    life.ends.assign(streams, 0);
  }
  if (moment.phase == life.firstPhase) {
    const std::vector<uint32_t> &before = plan.before[moment.entry];
    for (size_t stream = 0; stream < streams; ++stream) {
      uint32_t done = stream == moment.stream ? first : stream < before.size() ? before[stream] : 0;
      life.begins[stream] = std::min(life.begins[stream], done);
    }
  }
  if (moment.phase == life.lastPhase)
    life.ends[moment.stream] = std::max(life.ends[moment.stream], last + 1);
}

StreamLife lifeOfUse(const Plan &plan, uint32_t first, uint32_t last) {
  StreamLife life;
  addUse(plan, life, first, last);
  return life;
}

bool Plan::precedes(uint32_t first, uint32_t second) const {
  if (phases.empty())
    return instructions[first]->last < second;
  const Moment &a = moments[first], &b = moments[second];
  if (a.phase != b.phase)
    return a.phase < b.phase;
  if (a.stream == b.stream)
    return instructions[first]->last < second;
  const std::vector<uint32_t> &done = before[b.entry];
  return a.stream < done.size() && done[a.stream] > first;
}

} // namespace lathe::runtime
