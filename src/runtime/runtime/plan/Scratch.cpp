#include "runtime/plan/Execution.h"

#include <algorithm>

namespace lathe::runtime {

Context::State::SlotScratch Context::State::scratchOf(const CallKernel &call) const {
  int64_t wanted = evaluate(call.scratchBytes);
  require(wanted >= 0 && wanted < int64_t(1) << 48, "{}: absurd dimensions: {} bytes of scratch", file, wanted);
  size_t bytes = (static_cast<size_t>(wanted) + 4095) / 4096 * 4096;
  if (evaluate(call.stages) > 1)
    return {0, bytes};
  return {bytes, bytes * static_cast<size_t>(pool.slots())};
}

std::vector<std::pair<uint32_t, size_t>> Context::State::requestScratch(std::vector<ArenaRequest> &requests) {
  std::vector<std::pair<uint32_t, size_t>> requested;
  scratchBytes = lateScratch.bytes();
  auto request = [&](size_t bytes, uint32_t first, uint32_t last) {
    for (uint32_t id = first; bytes > 0 && id <= last; ++id)
      requested.emplace_back(id, requests.size());
    requests.push_back({bytes, first, last});
    scratchBytes = std::max<uint64_t>(scratchBytes, bytes);
  };
  std::vector<bool> looped(plan->instructions.size());
  for (const ImageLoop &loop : imageLoops) {
    // Slots are at different steps at the same time, so each has its own scratch, as large as the largest step needs.
    size_t stride = 0;
    for (const ImageLoop::Step &step : loop.steps)
      stride = std::max(stride, scratchOf(std::get<CallKernel>(step.instruction->operation)).stride);
    for (const ImageLoop::Step &step : loop.steps) {
      looped[step.instruction->id] = true;
      kernels[step.instruction->id].scratchStride = stride;
    }
    request(stride * static_cast<size_t>(pool.slots()), loop.first, loop.last);
  }
  for (const Instruction *instruction : plan->instructions) {
    auto *call = std::get_if<CallKernel>(&instruction->operation);
    if (!call || !instruction->known || looped[instruction->id])
      continue;
    SlotScratch scratch = scratchOf(*call);
    kernels[instruction->id].scratchStride = scratch.stride;
    request(scratch.bytes, instruction->id, instruction->id);
  }
  return requested;
}

void Context::State::placeLateScratch(PreparedKernel &prepared, const CallKernel &call) {
  auto [stride, bytes] = scratchOf(call);
  if (bytes > lateScratch.bytes()) {
    lateScratch = Mapping(); // freed before the new one is allocated: memory may be too small for both
    lateScratch = Mapping::allocate(bytes, file);
    scratchBytes = std::max<uint64_t>(scratchBytes, bytes);
  }
  prepared.scratchStride = stride;
  prepared.scratch = bytes > 0 ? lateScratch.data() : nullptr;
}

} // namespace lathe::runtime
