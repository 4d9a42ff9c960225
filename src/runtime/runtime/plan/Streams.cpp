// Phases of a plan: streams of instructions that run beside each other, each on a team of its own.
#include "runtime/Waiting.h"
#include "runtime/plan/Execution.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

namespace lathe::runtime {

void Context::State::setParallel(Stream &stream) {
  stream.parallel = [this, &stream](int64_t count, const std::function<void(int64_t, int64_t)> &body) {
    split(
        stream, stream.sharing, 1, count,
        [](void *context, int, int64_t begin, int64_t end) {
          (*static_cast<const std::function<void(int64_t, int64_t)> *>(context))(begin, end);
        },
        const_cast<void *>(static_cast<const void *>(&body)));
  };
}

std::unique_lock<std::recursive_mutex> Context::State::guardLate() const {
  return hasStreams() ? std::unique_lock(lateLock) : std::unique_lock<std::recursive_mutex>();
}

void Context::State::notify() {
  if (sleepers.load() == 0)
    return;
  events.fetch_add(1);
  wake(events);
}

/// Waits until `done()`, and meets interrupts meanwhile.
template <class Done> void Context::State::wait(const Stream &stream, bool spins, const Done &done) {
  auto interrupted = [&] { return leaving.load() || (stream.ofCaller && cancelAsked.load()); };
  auto ready = [&] { return done() || interrupted(); };
  while (!done()) {
    if (interrupted()) {
      meetInterrupt(stream);
    } else if (!spins || !spinUntil(ready)) {
      sleepers.fetch_add(1);
      if (uint32_t seen = events.load(); !ready())
        sleepWhile(events, seen);
      sleepers.fetch_sub(1);
    }
  }
}

void Context::State::meetInterrupt(const Stream &stream) {
  if (leaving.load())
    throw Leave();
  if (!stream.ofCaller) // the thread of the run decides
    return wait(stream, false, [this] { return !cancelAsked.load(); });
  cancelAsked.store(false);
  notify();
  if (!cancelCheck || cancelCheck(cancelData) != 0)
    throw Cancelled(file + ": the run was cancelled");
}

/// Divides the slots of the pool as the plan divides the slots that it was made for. With too few of them for a phase,
/// its instructions run one after the other on all slots.
void Context::State::bindPhases() {
  phases.clear();
  const auto planned = static_cast<uint64_t>(std::max(model->plannedThreads(), 1)),
             have = static_cast<uint64_t>(allSlots.slots());
  if (wholeBatches || !mayStream || have < plan->leastStreamSlots ||
      (plan->mostStreamSlots > 0 && have > plan->mostStreamSlots))
    return;
  bool divides = false; // some phase has several teams, or a team that is not all slots
  for (const Phase &phase : plan->phases) {
    std::vector<ThreadPool::Slots> teams;
    for (const PlaceSlots &place : phase.teams) {
      auto scaled = [&](uint64_t slot) { return static_cast<int>(slot * have / planned); };
      int first = scaled(place.first), end = scaled(uint64_t(place.first) + place.slots);
      teams.push_back({poolSlots.first + first, end - first});
    }
    if (std::any_of(teams.begin(), teams.end(), [](const ThreadPool::Slots &team) { return team.count < 1; }))
      teams.clear();
    phases.push_back(std::make_unique<BoundPhase>(phase, *pool, teams));
    for (size_t i = 0; i < teams.size(); ++i)
      setParallel(*phases.back()->streams.emplace_back(std::make_unique<Stream>(phases.back()->teams[i])));
    divides = divides || teams.size() > 1 || (teams.size() == 1 && teams[0].count < allSlots.slots());
  }
  if (!divides)
    phases.clear();
}

int Context::State::slotsOf(uint32_t instruction) const {
  if (!hasStreams())
    return allSlots.slots();
  const Moment &moment = plan->moments[instruction];
  const BoundPhase &bound = *phases[moment.phase];
  return bound.streams.empty() ? allSlots.slots() : bound.streams[moment.stream]->team.slots();
}

void Context::State::executePhases() {
  const Block &entry = plan->blocks[0];
  checkBlockRules(entry);
  std::optional<std::mt19937_64> random; // takes longer to seed than a small network runs
  if (active.options->shuffle)
    random.emplace(active.options->shuffle);
  active.spoiled.clear();
  for (const auto &bound : phases) {
    if (!bound->streams.empty()) {
      random ? shufflePhase(*bound, *random) : runPhase(*bound);
      continue;
    }
    everything.current = &entry;
    for (size_t i = bound->phase.begin; i < bound->phase.end; ++i)
      step(everything, entry.instructions[i]);
  }
}

/// One run of a phase.
struct Context::State::PhaseRun {
  using Progress = Stream::Progress;
  State &state;
  BoundPhase &bound;
  std::thread::id caller = std::this_thread::get_id();

  bool isDone(uint32_t instruction) const {
    const Moment &moment = state.plan->moments[instruction];
    return bound.streams[moment.stream]->progress.done.load() > instruction;
  }
  bool isFinished() const {
    return std::all_of(bound.streams.begin(), bound.streams.end(),
                       [](const auto &stream) { return stream->progress.finished.load(); });
  }
  void fail(Progress &own, uint32_t instruction) {
    if (!own.error) {
      own.error = std::current_exception();
      own.failed = instruction;
    }
    state.leaving.store(true);
    state.notify();
  }

  void runStream(size_t number) {
    Stream &stream = *bound.streams[number];
    Progress &own = stream.progress;
    stream.current = &state.plan->blocks[0];
    uint32_t current = 0;
    try {
      for (const Instruction *instruction : bound.phase.streams[number]) {
        current = instruction->id;
        for (uint32_t before : instruction->waits)
          if (state.plan->moments[before].phase == state.plan->moments[current].phase && !isDone(before))
            state.wait(stream, bound.teams.spins(), [&] { return isDone(before); });
        state.step(stream, *instruction);
        // Instructions of an image loop are done when the loop is, which runs where the first of them stands.
        own.done.store(instruction->last + 1);
        state.notify();
      }
    } catch (const Leave &) {
    } catch (...) {
      fail(own, current);
    }
    own.finished.store(true);
    state.notify();
  }

  /// For the thread of the run, when its own stream has ended: other streams may wait for its answer to cancel().
  void awaitOthers() {
    Stream &stream = *bound.streams[bound.teams.ofCaller()];
    while (!isFinished()) {
      bound.teams.help();
      try {
        state.wait(stream, bound.teams.spins(), [this] { return isFinished(); });
      } catch (const Leave &) {
        return;
      } catch (...) {
        fail(stream.progress, UINT32_MAX);
      }
    }
  }

  static void lead(void *context, int number, const ThreadPool::Team &) {
    auto &run = *static_cast<PhaseRun *>(context);
    // The caller leads one team, and after that those whose leaders have not begun.
    Stream &stream = *run.bound.streams[static_cast<size_t>(number)];
    stream.ofCaller = std::this_thread::get_id() == run.caller;
    run.runStream(static_cast<size_t>(number));
    if (static_cast<size_t>(number) == run.bound.teams.ofCaller())
      run.awaitOthers();
  }
};

void Context::State::runPhase(BoundPhase &bound) {
  for (const auto &stream : bound.streams)
    stream->progress.begin();
  PhaseRun run{*this, bound};
  bound.teams.run(PhaseRun::lead, &run);
  leaving.store(false);
  const auto &streams = bound.streams;
  auto failed = std::min_element(streams.begin(), streams.end(),
                                 [](const auto &a, const auto &b) { return a->progress.failed < b->progress.failed; });
  if (failed->get()->progress.error)
    std::rethrow_exception(failed->get()->progress.error);
  for (const auto &stream : streams)
    if (stream->progress.error)
      std::rethrow_exception(stream->progress.error);
}

/// Runs the instructions of a phase one at a time in a random order that the plan allows, all on this thread.
void Context::State::shufflePhase(BoundPhase &bound, std::mt19937_64 &random) {
  const auto &streams = bound.phase.streams;
  std::vector<size_t> next(streams.size());
  std::vector<uint32_t> done(streams.size()); // by stream: all instructions with smaller ids are done
  auto isReady = [&](size_t stream) {
    if (next[stream] == streams[stream].size())
      return false;
    const Instruction &instruction = *streams[stream][next[stream]];
    return std::all_of(instruction.waits.begin(), instruction.waits.end(), [&](uint32_t before) {
      const Moment &moment = plan->moments[before];
      return moment.phase < plan->moments[instruction.id].phase || done[moment.stream] > before;
    });
  };
  while (true) {
    std::vector<size_t> ready;
    for (size_t stream = 0; stream < streams.size(); ++stream)
      if (isReady(stream))
        ready.push_back(stream);
    if (ready.empty())
      return;
    size_t stream = ready[random() % ready.size()];
    const Instruction &instruction = *streams[stream][next[stream]++];
    bound.streams[stream]->current = &plan->blocks[0];
    step(*bound.streams[stream], instruction);
    done[stream] = instruction.last + 1;
    spoilDead(plan->moments[instruction.id].phase, done);
  }
}

/// Overwrites the values that nothing uses any more after instructions of a phase have run.
void Context::State::spoilDead(uint32_t phase, const std::vector<uint32_t> &done) {
  active.spoiled.resize(slots.size());
  for (uint32_t i = 0; i < slots.size(); ++i) {
    const StreamLife &life = plan->streamLives[i];
    const Slot &slot = slots[i];
    if (plan->values[i].storage != Storage::temporary || slot.boxed || !slot.data || life.lastPhase != phase ||
        life.ends.empty() || (slot.late && !slot.written))
      continue;
    bool dead = std::equal(life.ends.begin(), life.ends.end(), done.begin(), std::less_equal<>());
    // After a use in the middle of a body, later instructions of the body may have these bytes.
    bool ended = std::all_of(life.ends.begin(), life.ends.end(), [&](uint32_t end) {
      return end == 0 || plan->instructions[plan->moments[end - 1].entry]->last == end - 1;
    });
    bool inside = std::any_of(imageLoops.begin(), imageLoops.end(), [&](const ImageLoop &loop) {
      return std::find(loop.inside.begin(), loop.inside.end(), i) != loop.inside.end(); // has the size of one image
    });
    if (!dead || active.spoiled[i])
      continue;
    active.spoiled[i] = true; // once: other values may have these bytes from now on
    if (ended && !inside)
      std::memset(slot.data, 0xFF, static_cast<size_t>(slot.bytes)); // NaN
  }
}

} // namespace lathe::runtime
