#include "runtime/Execution.h"

#include <algorithm>

namespace lathe::runtime {

size_t Context::State::scratchStride(const CallKernel &call) const {
  int64_t bytes = evaluate(call.scratchBytes);
  require(bytes >= 0 && bytes < int64_t(1) << 48, "{}: absurd dimensions: {} bytes of scratch", file, bytes);
  return (static_cast<size_t>(bytes) + 4095) / 4096 * 4096;
}

size_t Context::State::scratchOfAllSlots(const CallKernel &call) const {
  return scratchStride(call) * static_cast<size_t>(evaluate(call.stages) > 1 ? 1 : pool.slots());
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
    // Slots are not at the same step at the same time: each has a place of its own, as large as the largest step needs.
    size_t stride = 0;
    for (const ImageLoop::Step &step : loop.steps)
      stride = std::max(stride, scratchStride(std::get<CallKernel>(step.instruction->operation)));
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
    kernels[instruction->id].scratchStride = evaluate(call->stages) > 1 ? 0 : scratchStride(*call);
    request(scratchOfAllSlots(*call), instruction->id, instruction->id);
  }
  return requested;
}

void Context::State::placeLateScratch(PreparedKernel &prepared, const CallKernel &call) {
  size_t bytes = scratchOfAllSlots(call);
  if (bytes > lateScratch.bytes()) {
    lateScratch = Mapping(); // before the new one is there: both at once may be too much
    lateScratch = Mapping::allocate(bytes, file);
    scratchBytes = std::max<uint64_t>(scratchBytes, bytes);
  }
  prepared.scratchStride = prepared.stages > 1 ? 0 : scratchStride(call);
  prepared.scratch = bytes > 0 ? lateScratch.data() : nullptr;
}

} // namespace lathe::runtime
