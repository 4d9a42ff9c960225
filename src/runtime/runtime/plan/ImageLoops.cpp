#include "runtime/Cpu.h"
#include "runtime/plan/Execution.h"
#include "runtime/plan/PlanAnalysis.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace lathe::runtime {

/// True if only instructions of `run` use the bytes of value `root`.
bool Context::State::isInside(uint32_t root, std::span<const Instruction *const> run) const {
  const LiveRange &live = plan->live[root];
  if (live.first < run.front()->id || live.last > run.back()->id)
    return false;
  if (!hasStreams())
    return true;
  const StreamLife &life = plan->streamLives[root]; // instructions of other streams may have ids between
  for (size_t stream = 0; stream < life.ends.size(); ++stream)
    if (life.ends[stream] > 0 && stream != plan->moments[run.front()->id].stream)
      return false;
  return true;
}

/// The loop over `run`. Values that no other instruction uses live inside.
Context::State::ImageLoop Context::State::makeImageLoop(std::span<const Instruction *const> run) const {
  ImageLoop loop;
  loop.first = run.front()->id;
  loop.last = run.back()->id;
  loop.images = evaluate(std::get<CallKernel>(run.front()->operation).images);
  auto root = [&](uint32_t value) { return plan->values[value].root; };
  auto replicated = [&](uint32_t value) {
    const Slot &slot = slots[root(value)];
    return plan->values[root(value)].storage == Storage::temporary && isInside(root(value), run) &&
           slot.bytes % (loop.images * int64_t(arenaAlignment)) == 0 && slots[value].bytes == slot.bytes;
  };
  std::vector<bool> partly(plan->values.size()); // roots of which some value shows only a part
  for (const Instruction *instruction : run)
    for (uint32_t value : std::get<CallKernel>(instruction->operation).buffers)
      if (!replicated(value))
        partly[root(value)] = true;
  for (const Instruction *instruction : run) {
    ImageLoop::Step step{instruction, {}};
    for (uint32_t value : std::get<CallKernel>(instruction->operation).buffers) {
      bool inside = !partly[root(value)];
      step.imageBytes.push_back(inside ? slots[value].bytes / loop.images : 0);
      if (inside && std::find(loop.inside.begin(), loop.inside.end(), root(value)) == loop.inside.end())
        loop.inside.push_back(root(value));
    }
    loop.steps.push_back(std::move(step));
  }
  return loop;
}

/// Adds the stretches of `run` that are cheaper image by image, by prediction or by measured times.
void Context::State::addImageLoops(std::span<const Instruction *const> run, int64_t images) {
  std::vector<ImageCall> calls(run.size());
  std::vector<ImageValue> values;
  std::unordered_map<uint32_t, size_t> numberOf; // roots that may live inside, in `values`
  std::vector<uint32_t> partly;                  // roots of which some call uses only a part
  auto lastUse = [&](uint32_t id) {
    auto found = std::find_if(run.begin(), run.end(), [&](const Instruction *one) { return one->id == id; });
    return static_cast<size_t>(found - run.begin());
  };
  for (size_t i = 0; i < run.size(); ++i) {
    const CallKernel &call = std::get<CallKernel>(run[i]->operation);
    if (slotsOf(run.front()->id) == model->plannedThreads()) {
      calls[i].callSeconds = call.callSeconds;
      calls[i].imagesSeconds = call.imagesSeconds;
    }
    for (uint32_t value : call.buffers) {
      uint32_t root = plan->values[value].root;
      const LiveRange &live = plan->live[root];
      if (plan->values[root].storage == Storage::constant) {
        calls[i].weights += double(slots[value].bytes);
        continue;
      }
      calls[i].passing += double(slots[value].bytes) / double(images);
      if (slots[value].bytes != slots[root].bytes)
        partly.push_back(root);
      if (plan->values[root].storage != Storage::temporary || !isInside(root, run) ||
          slots[root].bytes % (images * int64_t(arenaAlignment)) != 0)
        continue;
      auto [found, added] = numberOf.try_emplace(root, values.size());
      if (added)
        values.push_back({double(slots[root].bytes) / double(images), i, lastUse(live.last), {}});
      values[found->second].uses.push_back(i);
    }
  }
  for (uint32_t root : partly)
    if (auto found = numberOf.find(root); found != numberOf.end())
      values[found->second].uses.clear();
  std::vector<Stretch> stretches = imageStretches(calls, values, images, slotsOf(run.front()->id), plan->imageCosts);
  if (std::any_of(calls.begin(), calls.end(), [](const ImageCall &call) { return call.isMeasured(); }))
    stretches = measuredStretches(calls, values, stretches, plan->imageCosts);
  for (const Stretch &stretch : stretches)
    imageLoops.push_back(makeImageLoop(run.subspan(stretch.first, stretch.last - stretch.first)));
}

/// Finds the sequences of calls that may run image by image, and in them the stretches that should.
void Context::State::findImageLoops() {
  imageLoops.clear();
  imageLoopOf.assign(plan->instructions.size(), -1);
  if (wholeBatches)
    return;
  std::vector<const Instruction *> entry;
  for (const Instruction &instruction : plan->blocks[0].instructions)
    entry.push_back(&instruction);
  if (!hasStreams())
    findImageLoops(entry);
  for (const auto &bound : phases)
    if (bound->streams.empty()) {
      findImageLoops(std::span(entry).subspan(bound->phase.begin, bound->phase.end - bound->phase.begin));
    } else {
      for (const std::vector<const Instruction *> &stream : bound->phase.streams)
        findImageLoops(stream);
    }
  for (size_t i = 0; i < imageLoops.size(); ++i)
    for (const ImageLoop::Step &step : imageLoops[i].steps)
      imageLoopOf[step.instruction->id] = static_cast<int32_t>(i);
}

/// Finds them in instructions that run one after the other. A loop waits for other streams before it begins, and they
/// wait for its end.
void Context::State::findImageLoops(std::span<const Instruction *const> instructions) {
  std::vector<const Instruction *> run;
  int64_t images = 1;
  auto close = [&] {
    if (!run.empty())
      addImageLoops(run, images);
    run.clear();
  };
  for (const Instruction *instruction : instructions) {
    auto *call = std::get_if<CallKernel>(&instruction->operation);
    int64_t count = call && instruction->known ? evaluate(call->images) : 1;
    bool fits = count > 1 && evaluate(call->stages) == 1 && evaluate(call->units) % count == 0 &&
                std::none_of(call->buffers.begin(), call->buffers.end(), [&](uint32_t v) { return slots[v].boxed; });
    if (!fits || count != images || (hasStreams() && !instruction->waits.empty()))
      close();
    if (!fits)
      continue;
    images = count;
    run.push_back(instruction);
  }
  close();
}

/// One arena request per loop holds a replica of the inside values for each slot. Values that enter or leave the loop
/// live as long as the whole loop.
void Context::State::requestImages(std::vector<ArenaRequest> &requests, std::deque<StreamLife> &lives) {
  for (ImageLoop &loop : imageLoops) {
    std::vector<ArenaRequest> images;
    for (uint32_t value : loop.inside) {
      images.push_back(
          {static_cast<uint64_t>(slots[value].bytes / loop.images), plan->live[value].first, plan->live[value].last});
      requests[value] = {};
    }
    ArenaPlan replica = planArena(images);
    loop.offsets = replica.offsets;
    loop.replicaBytes = replica.bytes;
    for (const ImageLoop::Step &step : loop.steps)
      for (uint32_t value : std::get<CallKernel>(step.instruction->operation).buffers)
        if (ArenaRequest &request = requests[plan->values[value].root]; request.bytes > 0) {
          request.first = std::min(request.first, loop.first);
          request.last = std::max(request.last, loop.last);
          if (hasStreams()) {
            StreamLife &life = lives.emplace_back(*request.streams);
            addUse(*plan, life, loop.first, loop.last);
            request.streams = &life;
          }
        }
    const int slots = slotsOf(loop.first);
    auto replicas = static_cast<uint64_t>(std::min<int64_t>(slots, loop.images));
    loop.request = requests.size();
    requests.push_back({replica.bytes * replicas, loop.first, loop.last,
                        hasStreams() ? &lives.emplace_back(lifeOfUse(*plan, loop.first, loop.last)) : nullptr});
    loop.pointers.assign(static_cast<size_t>(slots), {});
  }
}

/// Data that slots share while they run a loop.
struct Context::State::ImageJob {
  State &state;
  const Stream &stream;
  ImageLoop &loop;
  int64_t begin = 0;             // the first image of this job
  size_t step = 0;               // where slots work on one step together
  std::vector<uint64_t> spent;   // nanoseconds of the first slot by step, where they are asked for
  std::atomic<bool> ends{false}; // the run is cancelled: slots skip the rest of their images

  uint32_t instruction(size_t number) const { return loop.steps[number].instruction->id; }
  bool isTraced() const { return !state.active.trace.shares.empty(); }

  /// Units [first, last) of image `image`, its values in replica `replica`.
  void call(size_t number, int slot, int64_t image, int64_t replica, int64_t first, int64_t last) const {
    const ImageLoop::Step &done = loop.steps[number];
    const PreparedKernel &kernel = state.kernels[done.instruction->id];
    std::vector<void *> &pointers = loop.pointers[static_cast<size_t>(slot)];
    pointers.assign(kernel.buffers.begin(), kernel.buffers.end());
    for (size_t i = 0; i < pointers.size(); ++i)
      if (int64_t bytes = done.imageBytes[i])
        // The kernel adds image * bytes to the pointer, so this offset is subtracted.
        pointers[i] = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(pointers[i]) +
                                               static_cast<uintptr_t>(replica) * loop.replicaBytes -
                                               static_cast<uintptr_t>(image) * static_cast<uintptr_t>(bytes));
    char *scratch = kernel.scratch ? kernel.scratch + static_cast<size_t>(slot) * kernel.scratchStride : nullptr;
    kernel.code(pointers.data(), kernel.dims.data(), first, last, scratch);
  }
  /// For the slot of the leader, whose floating-point mode is the program's own meanwhile.
  void poll(std::optional<KernelFloatMode> &mode) {
    if (!state.isInterrupted())
      return;
    mode.reset();
    try {
      state.poll(stream);
    } catch (...) {
      ends.store(true, std::memory_order_relaxed);
      throw;
    }
    mode.emplace();
  }
  int64_t unitsOfImage(size_t number) const {
    return state.kernels[loop.steps[number].instruction->id].units / loop.images;
  }

  /// Each slot takes its images through all steps.
  static void passImages(void *context, int slot, int64_t begin, int64_t end) {
    auto &job = *static_cast<ImageJob *>(context);
    std::optional<KernelFloatMode> mode(std::in_place);
    bool timed = (slot == 0 && !job.spent.empty()) || job.isTraced();
    for (int64_t image = begin; image < end; ++image)
      for (size_t number = 0; number < job.loop.steps.size(); ++number) {
        if (slot == 0)
          job.poll(mode);
        else if (job.ends.load(std::memory_order_relaxed))
          return;
        uint64_t before = timed ? monotonicNanoseconds() : 0;
        int64_t units = job.unitsOfImage(number);
        job.call(number, slot, image, slot, image * units, (image + 1) * units);
        if (!timed)
          continue;
        uint64_t after = monotonicNanoseconds();
        if (slot == 0 && !job.spent.empty())
          job.spent[number] += after - before;
        if (job.isTraced())
          job.state.active.trace.shares[job.state.firstSlot(job.stream) + static_cast<size_t>(slot)].add(
              {job.instruction(number), before, after}, job.state.active.traceMost);
      }
  }

  /// One step of the images from `begin` on, a replica each, its units split over the slots.
  static void passStep(void *context, int slot, int64_t begin, int64_t end) {
    auto &job = *static_cast<ImageJob *>(context);
    KernelFloatMode mode;
    int64_t units = job.unitsOfImage(job.step);
    for (int64_t at = begin; at < end;) {
      int64_t replica = at / units, stop = std::min(end, (replica + 1) * units), image = job.begin + replica;
      job.call(job.step, slot, image, replica, at + job.begin * units, stop + job.begin * units);
      at = stop;
    }
  }
};

/// Each slot takes its images alone through all steps. Images that cannot be shared equally go step by step: all slots
/// share each step.
void Context::State::run(Stream &stream, ImageLoop &loop) {
  ImageJob job{*this, stream, loop, 0, 0, {}, false};
  if (active.options->profile)
    job.spent.assign(loop.steps.size(), 0);
  uint64_t start = active.options->profile ? monotonicNanoseconds() : 0;
  job.begin = loop.images / stream.team.slots() * stream.team.slots();
  stream.team.run(job.begin, ImageJob::passImages, &job);
  if (int64_t rest = loop.images - job.begin)
    for (job.step = 0; job.step < loop.steps.size(); ++job.step) {
      poll(stream);
      uint64_t before = active.options->profile ? monotonicNanoseconds() : 0;
      split(stream, job.instruction(job.step), 1, rest * job.unitsOfImage(job.step), ImageJob::passStep, &job);
      if (active.options->profile)
        job.spent[job.step] += monotonicNanoseconds() - before;
    }
  uint64_t first = start;
  // One row for each step, as if each step had passed the whole batch alone.
  for (size_t i = 0; i < job.spent.size(); ++i, start += job.spent[i - 1])
    addTime(stream, job.instruction(i), start, start + job.spent[i]);
  if (active.options->trace)
    addTraced(stream, {TracedCall::Kind::images, loop.first, loop.last, 0, first, monotonicNanoseconds()},
              active.outermostMost);
}

} // namespace lathe::runtime
