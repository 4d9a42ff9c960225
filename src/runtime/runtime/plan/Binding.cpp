#include "runtime/Cpu.h"
#include "runtime/plan/Execution.h"
#include "support/Memory.h"

#include <algorithm>
#include <cstring>

namespace lathe::runtime {

namespace {
int threadsOf(const ContextOptions &options) {
  return options.threads > 0 ? options.threads
         : options.pool      ? options.pool->slots() - options.firstSlot
                             : availableCpus();
}
} // namespace

Context::State::State(std::shared_ptr<const Model> shared, const ContextOptions &options)
    : model(std::move(shared)), file(model->file()),
      pool(options.pool ? options.pool : std::make_shared<ThreadPool>(threadsOf(options))), mayStream(options.streams),
      poolSlots{options.pool ? options.firstSlot : 0, threadsOf(options)}, allSlots(pool->team(poolSlots)) {
  setParallel(everything);
  inputs.resize(model->inputs().size());
  inputSet.resize(inputs.size());
  inputCopies.resize(inputs.size());
  callerOutputs.resize(model->outputs().size());
  ownedOutputs.resize(callerOutputs.size());
  results.resize(callerOutputs.size());
}

int64_t Context::State::evaluate(Extent extent) const {
  if (extentKnown[extent])
    return extents[extent];
  auto guard = guardLate();
  if (lateKnown[extent])
    return extents[extent];
  return plan->extents[extent].evaluate([&](const std::string &symbol) {
    auto it = symbols.find(symbol);
    require(it != symbols.end(), "{}: extent '{}' is needed before '{}' is known", file, plan->extents[extent].str(),
            symbol);
    return it->second;
  });
}

std::vector<int64_t> Context::State::evaluate(const std::vector<Extent> &list) const {
  std::vector<int64_t> result;
  for (Extent extent : list)
    result.push_back(evaluate(extent));
  return result;
}

void Context::State::bindExtents() {
  if (!extentsChanged)
    return;
  try {
    bindChangedExtents();
  } catch (...) {
    plan = nullptr; // nothing is laid out for it
    throw;
  }
}

void Context::State::bindChangedExtents() {
  choosePlan();
  bindGrowths();
  extents.assign(plan->extents.size(), 0);
  extentKnown.assign(plan->extents.size(), false);
  lateKnown.assign(plan->extents.size(), false);
  checkRules(false);
  for (Extent i = 0; i < extents.size(); ++i) {
    const Dim &dim = plan->extents[i];
    bool known = true;
    if (!dim.isConstant()) {
      std::vector<std::string> names;
      dim.collectSymbols(names);
      known = std::all_of(names.begin(), names.end(), [&](const std::string &name) { return symbols.contains(name); });
    }
    if (known)
      extents[i] = dim.isConstant() ? dim.constant() : evaluate(i);
    extentKnown[i] = known;
  }
  checkGrowths();
  layOut();
  extentsChanged = false;
  pointersChanged = true;
  ran = false;
}

/// The extents and the byte size of a value must agree, because kernels and references rely on both.
void Context::State::checkSizes(const ValueInfo &info, const Slot &slot) const {
  int64_t dense = denseBytes(info.type, slot.dims);
  auto index = static_cast<uint32_t>(&info - plan->values.data());
  bool roomy = std::any_of(plan->growths.begin(), plan->growths.end(),
                           [&](const Growth &growth) { return plan->outputs[growth.output] == index; });
  bool exact = (info.storage == Storage::input || info.storage == Storage::output) && !roomy;
  require(slot.bytes >= 0 && (exact ? slot.bytes == dense : slot.bytes >= dense),
          "{}: malformed plan: '{}' has {} bytes, {} needs {}", file, info.name, slot.bytes,
          describe(info.type, toDims(slot.dims)), dense);
  const Slot &root = slots[info.root];
  if (root.boxed)
    return;
  int64_t offset = evaluate(info.rootOffset);
  require(slot.bytes <= root.bytes && offset >= 0 && offset <= root.bytes - slot.bytes && offset % 64 == 0,
          "{}: malformed plan: '{}' has {} bytes and lies at byte {} of {}", file, info.name, slot.bytes, offset,
          root.bytes);
}

/// Bytes of all inputs and outputs.
uint64_t Context::State::portBytes() const {
  uint64_t bytes = 0;
  for (const std::vector<uint32_t> *ports : {&plan->inputs, &plan->outputs})
    for (uint32_t port : *ports)
      bytes += static_cast<uint64_t>(slots[port].bytes);
  return bytes;
}

/// "'x' f32 1x3x224x224, 'mask' i64 1x16".
std::string Context::State::inputsText() const {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i)
    text += fmt::format("{}'{}' {}", i ? ", " : "", model->inputs()[i].name, describe(inputs[i]));
  return text;
}

void Context::State::layOut() {
  slots.clear();
  slots.resize(plan->values.size());
  bindPhases();
  std::deque<StreamLife> lives; // what requests point to, beside lives of the plan
  std::vector<ArenaRequest> requests(plan->values.size());
  for (uint32_t i = 0; i < slots.size(); ++i) {
    const ValueInfo &info = plan->values[i];
    Slot &slot = slots[i];
    slot.boxed = !info.known || info.kind != ValueKind::tensor || info.type == ElementType::string;
    if (slot.boxed)
      continue;
    slot.dims = evaluate(info.dims);
    slot.bytes = evaluate(info.bytes);
    if (info.storage == Storage::temporary)
      requests[i] = {static_cast<uint64_t>(std::max<int64_t>(0, slot.bytes)), plan->live[i].first, plan->live[i].last,
                     streamLife(i)};
  }
  for (uint32_t i = 0; i < slots.size(); ++i)
    if (!slots[i].boxed)
      checkSizes(plan->values[i], slots[i]);
  findImageLoops();
  requestImages(requests, lives);
  size_t values = requests.size();
  kernels.assign(plan->instructions.size(), {});
  auto scratchRequests = requestScratch(requests, lives);
  ArenaPlan layout = planArena(requests);
  arenaBytes = layout.bytes;
  liveBytes = largestLiveSet(std::span(requests).first(values));
  requireMemory(layout.bytes + portBytes(), fmt::format("{}: a run with {}", file, inputsText()));
  if (arena.bytes() < layout.bytes) {
    arena = Mapping(); // freed before the new one is allocated: memory may be too small for both
    arena = Mapping::allocate(layout.bytes, file);
  }
  for (uint32_t i = 0; i < slots.size(); ++i) {
    const ValueInfo &info = plan->values[i];
    if (slots[i].boxed)
      continue;
    if (info.storage == Storage::temporary)
      slots[i].data = arena.data() + layout.offsets[i];
    else if (info.storage == Storage::constant) // kernels and references only read it
      slots[i].data = const_cast<char *>(model->constants()) + info.offset;
  }
  for (const ImageLoop &loop : imageLoops)
    for (size_t i = 0; i < loop.inside.size(); ++i)
      slots[loop.inside[i]].data = arena.data() + layout.offsets[loop.request] + loop.offsets[i];
  for (auto [instruction, request] : scratchRequests)
    kernels[instruction].scratch = arena.data() + layout.offsets[request];
  references.assign(plan->instructions.size(), {});
  layOutLate();
}

/// The caller's buffer or the runtime's own, of the given extents.
Tensor &Context::State::outputTensor(size_t index, const std::vector<int64_t> &dims) {
  const Port &port = model->outputs()[index];
  Tensor &bound = callerOutputs[index];
  if (bound.defined()) {
    require(bound.dims() == dims, "{}: output '{}': expected {}, got {}", file, port.name,
            describe(port.type, toDims(dims)), describe(Value(bound)));
    return bound;
  }
  Tensor &owned = ownedOutputs[index];
  if (!owned.defined() || owned.dims() != dims)
    owned = Tensor(port.type, dims);
  return owned;
}

namespace {
/// A constant of strings: each element as a 32-bit length, then its bytes (package/Writer.h).
Tensor decodeStrings(const char *at, int64_t bytes, std::vector<int64_t> dims, const std::string &file) {
  const char *end = at + bytes;
  denseBytes(ElementType::u8, dims);
  int64_t elements = 1;
  for (int64_t dim : dims)
    elements *= dim;
  require(elements <= bytes / 4, "{}: malformed constant: {} strings in {} bytes", file, elements, bytes);
  Tensor result(ElementType::string, std::move(dims));
  for (std::string &element : result.strings()) {
    uint32_t length;
    require(end - at >= 4, "{}: malformed constant of strings", file);
    std::memcpy(&length, at, 4);
    at += 4;
    require(end - at >= length, "{}: malformed constant of strings", file);
    element.assign(at, length);
    at += length;
  }
  return result;
}
} // namespace

void Context::State::bindPointers() {
  if (!pointersChanged)
    return;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Slot &slot = slots[plan->inputs[i]];
    if (slot.boxed)
      slot.value = inputs[i], slot.written = true;
    else
      slot.data = static_cast<char *>(inputs[i].tensor().data());
  }
  for (size_t i = 0; i < plan->outputs.size(); ++i) {
    Slot &slot = slots[plan->outputs[i]];
    if (!slot.boxed && grownState(i))
      slot.data = growingBuffer(i, slot);
    else if (!slot.boxed && !slot.late && plan->values[plan->outputs[i]].storage == Storage::output)
      slot.data = static_cast<char *>(outputTensor(i, slot.dims).data());
  }
  for (uint32_t i = 0; i < slots.size(); ++i) {
    const ValueInfo &info = plan->values[i];
    Slot &slot = slots[i];
    if (slot.boxed && info.storage == Storage::constant && !slot.written) {
      const char *bytes = model->constants() + info.offset;
      slot.value = decodeStrings(bytes, evaluate(info.bytes), evaluate(info.dims), file);
      slot.written = true;
    } else if (!slot.boxed && info.storage == Storage::alias) {
      slot.data = slots[info.root].data + evaluate(info.rootOffset);
    }
  }
  for (const Instruction *instruction : plan->instructions) {
    if (auto *call = std::get_if<CallKernel>(&instruction->operation); call && instruction->known) {
      prepareKernel(everything, *instruction, *call);
    } else if (auto *call = std::get_if<CallReference>(&instruction->operation)) {
      PreparedReference &prepared = references[instruction->id];
      prepared.inputs.assign(call->inputs.size(), {});
      prepared.pointers.assign(call->inputs.size(), nullptr);
      prepared.outputs.assign(call->outputs.size(), {});
      for (size_t i = 0; i < call->inputs.size(); ++i)
        if (int32_t value = call->inputs[i]; value >= 0) {
          prepared.pointers[i] = &prepared.inputs[i];
          if (!slots[value].boxed && !slots[value].late)
            prepared.inputs[i] = view(static_cast<uint32_t>(value));
        }
      for (size_t i = 0; i < call->outputs.size(); ++i)
        if (uint32_t value = call->outputs[i]; !slots[value].boxed && !slots[value].late)
          prepared.outputs[i] = view(value);
    }
  }
  loops.clear();
  for (const Instruction *instruction : plan->instructions)
    if (auto *loop = std::get_if<Loop>(&instruction->operation))
      prepareLoop(*instruction, *loop);
  pointersChanged = false;
}

void Context::State::prepareKernel(Stream &stream, const Instruction &instruction, const CallKernel &call) {
  PreparedKernel &prepared = kernels[instruction.id];
  prepared.buffers.resize(call.buffers.size());
  for (uint32_t value : call.buffers)
    if (const Slot &root = slots[plan->values[value].root]; root.late && !root.written)
      fail("{}: '{}' is used before its extents are known", file, plan->values[value].name);
  for (size_t i = 0; i < call.buffers.size(); ++i)
    prepared.buffers[i] = slots[call.buffers[i]].boxed ? lateBuffer(call.buffers[i]) : slots[call.buffers[i]].data;
  if (prepared.code && instruction.known)
    return; // only buffers have moved
  prepared.code = model->kernel(plan->firstKernel + call.kernel);
  prepared.dims = evaluate(call.dims);
  prepared.units = evaluate(call.units);
  prepared.stages = evaluate(call.stages);
  prepared.first = evaluate(call.firstUnit);
  require(prepared.first >= 0 && prepared.first <= prepared.units && (prepared.first == 0 || prepared.stages == 1),
          "{}: malformed plan: work items from {} to {} in {} stages", file, prepared.first, prepared.units,
          prepared.stages);
  require(prepared.stages >= 1 && prepared.units % prepared.stages == 0, "{}: malformed plan: {} units in {} stages",
          file, prepared.units, prepared.stages);
  prepared.checks.clear();
  for (const ElementRange &range : call.elementRanges) {
    const ValueInfo &info = plan->values[call.buffers[range.buffer]];
    int64_t count = 1;
    for (int64_t extent : evaluate(info.dims))
      count *= extent;
    prepared.checks.emplace_back(info.type, count, evaluate(range.least), evaluate(range.most));
  }
  if (!instruction.known)
    placeLateScratch(stream, prepared, call);
}

bool Context::State::writes(const Instruction &instruction, uint32_t value) const {
  const ValueInfo &info = plan->values[value];
  Storage storage = plan->values[info.root].storage;
  if (storage == Storage::input || storage == Storage::constant)
    return false;
  // Several instructions may write parts of one buffer.
  auto extentOr = [&](Extent extent, int64_t fallback) {
    try {
      return evaluate(extent);
    } catch (const Error &) {
      return fallback; // depends on data that does not exist yet: assume an overlap
    }
  };
  auto meet = [&](const ValueInfo &a, const ValueInfo &b) {
    int64_t from = extentOr(a.rootOffset, 0), to = extentOr(b.rootOffset, 0);
    return from < to + extentOr(b.bytes, INT64_MAX / 2) && to < from + extentOr(a.bytes, INT64_MAX / 2);
  };
  // A loop around the instruction counts as a user of its body's outputs, but has not written them yet.
  auto isResultOfBody = [&](uint32_t other) {
    const Instruction &first = *plan->instructions[plan->firstUse[other]];
    auto *loop = first.last >= instruction.id ? std::get_if<Loop>(&first.operation) : nullptr;
    auto has = [&](const std::vector<uint32_t> &list) {
      return std::find(list.begin(), list.end(), other) != list.end();
    };
    return loop && has(loop->bodyOutputs) && !has(loop->bodyInputs) && !has(loop->initial);
  };
  for (uint32_t other = 0; other < plan->values.size(); ++other)
    if (plan->values[other].root == info.root && plan->firstUse[other] < instruction.id && !isResultOfBody(other) &&
        meet(info, plan->values[other]))
      return false;
  return true;
}

MemoryUse Context::State::memory() const {
  MemoryUse use;
  use.arenaBytes = arenaBytes;
  for (const Mapping &mapping : lateArenas)
    use.arenaBytes += mapping.bytes();
  use.liveBytes = liveBytes;
  use.scratchBytes = scratchBytes;
  use.constantBytes = model->constantBytes();
  for (const KeptState &kept : states)
    use.stateBytes += kept.max > 0 ? kept.store.bytes()
                      : kept.owned ? static_cast<uint64_t>(inputs[kept.input].tensor().bytes())
                                   : 0;
  for (const Tensor &tensor : ownedOutputs)
    use.outputBytes += tensor.defined() ? static_cast<uint64_t>(tensor.bytes()) : 0;
  for (const Tensor &tensor : inputCopies)
    use.copiedBytes += tensor.defined() ? static_cast<uint64_t>(tensor.bytes()) : 0;
  for (const Slot &slot : slots)
    use.copiedBytes += slot.pages.defined() ? static_cast<uint64_t>(slot.pages.bytes()) : 0;
  return use;
}

} // namespace lathe::runtime
