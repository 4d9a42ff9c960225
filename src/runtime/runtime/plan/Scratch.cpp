#include "runtime/plan/Execution.h"
#include "runtime/plan/PlanAnalysis.h"

#include <algorithm>

namespace lathe::runtime {

Context::State::SlotScratch Context::State::scratchOf(const CallKernel &call, int slots) const {
  int64_t wanted = evaluate(call.scratchBytes);
  require(wanted >= 0 && wanted < int64_t(1) << 48, "{}: absurd dimensions: {} bytes of scratch", file, wanted);
  size_t bytes = (static_cast<size_t>(wanted) + 4095) / 4096 * 4096;
  if (evaluate(call.stages) > 1)
    return {0, bytes};
  return {bytes, bytes * static_cast<size_t>(slots)};
}

std::vector<std::pair<uint32_t, size_t>> Context::State::requestScratch(std::vector<ArenaRequest> &requests,
                                                                        std::deque<StreamLife> &lives) {
  std::vector<std::pair<uint32_t, size_t>> requested;
  scratchBytes = everything.lateScratch.bytes();
  auto request = [&](size_t bytes, uint32_t first, uint32_t last) {
    const StreamLife *life = hasStreams() ? &lives.emplace_back(lifeOfUse(*plan, first, last)) : nullptr;
    requests.push_back({bytes, first, last, life});
    scratchBytes = std::max<uint64_t>(scratchBytes, bytes);
    return requests.size() - 1;
  };
  std::vector<bool> looped(plan->instructions.size());
  for (const ImageLoop &loop : imageLoops) {
    // Slots are at different steps at the same time, so each has its own scratch, as large as the largest step needs.
    size_t stride = 0;
    for (const ImageLoop::Step &step : loop.steps)
      stride = std::max(stride, scratchOf(std::get<CallKernel>(step.instruction->operation), 1).stride);
    size_t index = request(stride * static_cast<size_t>(slotsOf(loop.first)), loop.first, loop.last);
    for (const ImageLoop::Step &step : loop.steps) {
      looped[step.instruction->id] = true;
      kernels[step.instruction->id].scratchStride = stride;
      if (stride > 0)
        requested.emplace_back(step.instruction->id, index);
    }
  }
  for (const Instruction *instruction : plan->instructions) {
    auto *call = std::get_if<CallKernel>(&instruction->operation);
    if (!call || !instruction->known || looped[instruction->id])
      continue;
    SlotScratch scratch = scratchOf(*call, slotsOf(instruction->id));
    kernels[instruction->id].scratchStride = scratch.stride;
    size_t index = request(scratch.bytes, instruction->id, instruction->id);
    if (scratch.bytes > 0)
      requested.emplace_back(instruction->id, index);
  }
  return requested;
}

void Context::State::placeLateScratch(Stream &stream, PreparedKernel &prepared, const CallKernel &call) {
  auto [stride, bytes] = scratchOf(call, stream.team.slots());
  if (Mapping &memory = stream.lateScratch; bytes > memory.bytes()) {
    memory = Mapping(); // freed before the new one is allocated: memory may be too small for both
    memory = Mapping::allocate(bytes, file);
    auto guard = guardLate();
    scratchBytes = std::max<uint64_t>(scratchBytes, bytes);
  }
  prepared.scratchStride = stride;
  prepared.scratch = bytes > 0 ? stream.lateScratch.data() : nullptr;
}

} // namespace lathe::runtime
