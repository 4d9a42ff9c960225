// Times of instructions in profiled runs. Traced runs also record every execution and the share of every slot.
#include "runtime/plan/Execution.h"

#include <algorithm>

namespace lathe::runtime {
namespace {

/// The share of a slot, with its times.
struct TracedJob {
  ThreadPool::Body body;
  void *context;
  uint32_t instruction;
  TraceTrack<SlotTime> *shares; // by slot
  size_t most;                  // events that a slot keeps

  static void run(void *context, int slot, int64_t begin, int64_t end) {
    auto *job = static_cast<const TracedJob *>(context);
    uint64_t start = monotonicNanoseconds();
    job->body(job->context, slot, begin, end);
    job->shares[slot].add({job->instruction, start, monotonicNanoseconds()}, job->most);
  }
};

} // namespace

/// Empties the tracks and reserves memory for all events that they may keep. Pages that a run does not touch cost
/// nothing.
void Context::State::startTrace() {
  if (!active.options->trace) {
    active.trace = {};
    return;
  }
  size_t instructions = 0;
  for (const Plan &candidate : model->program().plans)
    instructions = std::max(instructions, candidate.instructions.size());
  active.traceMost = active.options->traceLimit;
  active.outermostMost = active.traceMost + 2 * instructions; // an instruction, and the images that it begins
  auto empty = [&](auto &track) {
    track.events.clear();
    track.events.reserve(active.outermostMost);
    track.leftOut = 0;
  };
  active.trace.shares.resize(static_cast<size_t>(allSlots.slots()));
  empty(active.trace.calls);
  for (TraceTrack<SlotTime> &slot : active.trace.shares)
    empty(slot);
}

/// Maximum events of a track. Instructions of the entry block run once, so room is kept for those after a long loop.
size_t Context::State::mostEvents(uint32_t instruction, size_t kept) const {
  return kept < active.traceMost || !plan->outermost[instruction] ? active.traceMost : active.outermostMost;
}

/// An instruction that runs again, in a loop, adds to its time: a loop may have any number of iterations.
void Context::State::addTime(const Stream &stream, uint32_t instruction, uint64_t begin, uint64_t end) {
  std::unique_lock guard(timesLock, std::defer_lock);
  if (hasStreams())
    guard.lock();
  if (active.options->trace)
    active.trace.calls.add({TracedCall::Kind::instruction, instruction, 0, 0, begin, end, firstSlot(stream),
                            static_cast<uint32_t>(stream.team.slots())},
                           mostEvents(instruction, active.trace.calls.events.size()));
  size_t &index = active.timeOf[instruction];
  if (index == 0) {
    active.times.times.push_back({instruction, begin, end});
    index = active.times.times.size();
  } else {
    active.times.times[index - 1].end += end - begin;
  }
}

void Context::State::split(Stream &stream, uint32_t instruction, int64_t stages, int64_t count, ThreadPool::Body body,
                           void *context) {
  if (active.trace.shares.empty())
    return stream.team.runStages(stages, count, body, context);
  TracedJob job{body, context, instruction, active.trace.shares.data() + firstSlot(stream),
                plan->outermost[instruction] ? active.outermostMost : active.traceMost};
  stream.team.runStages(stages, count, TracedJob::run, &job);
}

/// Runs a branch or an iteration of `instruction`.
void Context::State::executeBody(Stream &stream, uint32_t instruction, uint32_t block, int64_t iteration) {
  if (!active.options->trace)
    return execute(stream, plan->blocks[block]);
  uint64_t begin = monotonicNanoseconds();
  execute(stream, plan->blocks[block]);
  addTraced(
      stream,
      {TracedCall::Kind::body, instruction, block, static_cast<uint32_t>(iteration), begin, monotonicNanoseconds()},
      active.traceMost);
}

void Context::State::addTraced(const Stream &stream, TracedCall call, size_t most) {
  call.firstSlot = firstSlot(stream);
  call.slots = static_cast<uint32_t>(stream.team.slots());
  std::unique_lock guard(timesLock, std::defer_lock);
  if (hasStreams())
    guard.lock();
  active.trace.calls.add(call, most);
}

/// Time of the profiled run in which no instruction of the entry block ran, in nanoseconds.
uint64_t Context::State::timeOutside() const {
  std::vector<std::pair<uint64_t, uint64_t>> inside;
  for (const InstructionTime &time : active.times.times)
    if (plan->outermost[time.instruction])
      inside.emplace_back(time.begin, time.end);
  if (hasStreams()) // otherwise in order
    std::sort(inside.begin(), inside.end());
  uint64_t outside = active.times.end - active.times.begin, until = 0;
  for (auto [begin, end] : inside) {
    if (end > until)
      outside -= end - std::max(begin, until);
    until = std::max(until, end);
  }
  return outside;
}

} // namespace lathe::runtime
