// Times of instructions in profiled runs; in traced ones also those of every execution and of every slot's share.
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

/// Empties the tracks and takes the memory of all events that they may keep. Pages that a run does not reach cost nothing.
void Context::State::startTrace() {
  if (!options->trace) {
    trace = {};
    return;
  }
  size_t instructions = 0;
  for (const Plan &candidate : model->program().plans)
    instructions = std::max(instructions, candidate.instructions.size());
  traceMost = options->traceLimit;
  outermostMost = traceMost + 2 * instructions; // an instruction, and the images that it begins
  auto empty = [&](auto &track) {
    track.events.clear();
    track.events.reserve(outermostMost);
    track.leftOut = 0;
  };
  trace.shares.resize(static_cast<size_t>(pool.slots()));
  empty(trace.calls);
  for (TraceTrack<SlotTime> &slot : trace.shares)
    empty(slot);
}

/// Events that a track with `kept` events has room for. Instructions of the entry block run once, so what follows a long
/// loop finds room.
size_t Context::State::mostEvents(uint32_t instruction, size_t kept) const {
  return kept < traceMost || !plan->outermost[instruction] ? traceMost : outermostMost;
}

/// An instruction that runs again, in a loop, adds to its time: a loop may have any number of iterations.
void Context::State::addTime(uint32_t instruction, uint64_t begin, uint64_t end) {
  if (options->trace)
    trace.calls.add({TracedCall::Kind::instruction, instruction, 0, 0, begin, end},
                    mostEvents(instruction, trace.calls.events.size()));
  size_t &index = timeOf[instruction];
  if (index == 0) {
    times.times.push_back({instruction, begin, end});
    index = times.times.size();
  } else {
    times.times[index - 1].end += end - begin;
  }
}

void Context::State::split(uint32_t instruction, int64_t stages, int64_t count, ThreadPool::Body body, void *context) {
  if (trace.shares.empty())
    return pool.runStages(stages, count, body, context);
  TracedJob job{body, context, instruction, trace.shares.data(),
                plan->outermost[instruction] ? outermostMost : traceMost};
  pool.runStages(stages, count, TracedJob::run, &job);
}

/// Runs a branch or an iteration of `instruction`.
void Context::State::executeBody(uint32_t instruction, uint32_t block, int64_t iteration) {
  if (!options->trace)
    return execute(plan->blocks[block]);
  uint64_t begin = monotonicNanoseconds();
  execute(plan->blocks[block]);
  trace.calls.add(
      {TracedCall::Kind::body, instruction, block, static_cast<uint32_t>(iteration), begin, monotonicNanoseconds()},
      traceMost);
}

} // namespace lathe::runtime
