// Times of instructions in profiled runs; in traced ones also those of every execution and of every slot's share.
#include "runtime/plan/Execution.h"

namespace lathe::runtime {
namespace {

/// The share of a slot, with its times.
struct TracedJob {
  ThreadPool::Body body;
  void *context;
  uint32_t instruction;
  std::vector<SlotTime> *shares; // by slot

  static void run(void *context, int slot, int64_t begin, int64_t end) {
    auto *job = static_cast<const TracedJob *>(context);
    uint64_t start = monotonicNanoseconds();
    job->body(job->context, slot, begin, end);
    job->shares[slot].push_back({job->instruction, start, monotonicNanoseconds()});
  }
};

} // namespace

/// An instruction that runs again, in a loop, adds to its time: a loop may have any number of iterations.
void Context::State::addTime(uint32_t instruction, uint64_t begin, uint64_t end) {
  if (options->trace)
    trace.calls.push_back({TracedCall::Kind::instruction, instruction, 0, begin, end});
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
  TracedJob job{body, context, instruction, trace.shares.data()};
  pool.runStages(stages, count, TracedJob::run, &job);
}

/// Runs a branch or an iteration of `instruction`.
void Context::State::executeBody(uint32_t instruction, uint32_t block) {
  if (!options->trace)
    return execute(plan->blocks[block]);
  uint64_t begin = monotonicNanoseconds();
  execute(plan->blocks[block]);
  trace.calls.push_back({TracedCall::Kind::body, instruction, block, begin, monotonicNanoseconds()});
}

} // namespace lathe::runtime
