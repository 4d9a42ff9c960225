#include "runtime/plan/Execution.h"

#include "runtime/Cpu.h"

#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
extern "C" void __tsan_read_range(void *address, unsigned long bytes);
extern "C" void __tsan_write_range(void *address, unsigned long bytes);
#define LATHE_DECLARES_ACCESS
#endif
#endif

namespace lathe::runtime {
namespace {

struct KernelJob {
  LatheKernel code;
  void *const *buffers;
  const int64_t *dims;
  char *scratch;
  size_t scratchStride;
  int64_t first;
};

void runKernel(void *context, int slot, int64_t begin, int64_t end) {
  auto *job = static_cast<const KernelJob *>(context);
  KernelFloatMode mode;
  job->code(job->buffers, job->dims, job->first + begin, job->first + end,
            job->scratch ? job->scratch + static_cast<size_t>(slot) * job->scratchStride : nullptr);
}

} // namespace

Value cloneValue(const Value &value) {
  if (value.isTensor())
    return value.tensor().defined() ? Value(value.tensor().clone()) : Value();
  if (value.isSequence()) {
    Sequence result{value.sequence().elementType, {}};
    for (const Value &item : value.sequence().items)
      result.items.push_back(cloneValue(item));
    return result;
  }
  Optional result;
  if (value.optional().value)
    result.value = std::make_shared<Value>(cloneValue(*value.optional().value));
  return result;
}

Value keptValue(const Value &value) { return value.isTensor() ? cloneValue(value) : value; }

uint64_t monotonicNanoseconds() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

void Context::State::run(const RunOptions &runOptions) {
  pool->requireThreads();
  std::optional<ThreadPool::Use> use;
  if (pool.use_count() > 1) // others may have contexts on these slots
    use.emplace(*pool, poolSlots);
  ran = false; // until it has succeeded
  poll(everything);
  struct Running { // its destructor also runs if an instruction throws
    RunState &run;
    ~Running() { run.options = nullptr; }
  } running{active};
  active.options = &runOptions;
  startTrace(); // before the time begins
  uint64_t begin = runOptions.profile ? monotonicNanoseconds() : 0;
  if (bool whole = runOptions.observe || runOptions.until >= 0; whole != wholeBatches) {
    wholeBatches = whole;
    extentsChanged = true; // because memory is laid out in another way
  }
  startStates();
  bindExtents();
  bindPointers();
  forget(plan->lateSymbols); // of the previous run
  for (const LateGroup &group : plan->lateGroups)
    forget(group.symbols);
  active.stopped = false;
  active.times.times.clear();
  active.timeOf.assign(runOptions.profile ? plan->instructions.size() : 0, 0);
  for (uint32_t i = 0; i < slots.size(); ++i)
    if ((slots[i].boxed || slots[i].late) && plan->values[i].storage != Storage::input &&
        plan->values[i].storage != Storage::constant)
      slots[i].written = false;
  hasStreams() ? executePhases() : execute(everything, plan->blocks[0]);
  if (!active.stopped) {
    finishOutputs();
    advanceStates();
  }
  if (runOptions.profile) {
    active.times.begin = begin;
    active.times.end = monotonicNanoseconds();
    active.times.overhead = timeOutside();
  }
  ran = true;
}

void Context::State::execute(Stream &stream, const Block &block) {
  struct Within { // its destructor also runs if an instruction throws
    const Block *&current, *const around;
    ~Within() { current = around; }
  } within{stream.current, std::exchange(stream.current, &block)};
  forget(block.lateSymbols); // of the block's previous run
  checkBlockRules(block);
  for (const Instruction &instruction : block.instructions) {
    if (active.stopped)
      return;
    step(stream, instruction);
  }
}

/// Runs an instruction, or the image loop that begins with it.
void Context::State::step(Stream &stream, const Instruction &instruction) {
  poll(stream);
  if (int32_t number = imageLoopOf[instruction.id]; number >= 0) {
    if (ImageLoop &loop = imageLoops[static_cast<size_t>(number)]; loop.first == instruction.id)
      run(stream, loop);
    return;
  }
  if (!active.options->profile) {
    execute(stream, instruction);
  } else {
    uint64_t begin = monotonicNanoseconds();
    execute(stream, instruction);
    addTime(stream, instruction.id, begin, monotonicNanoseconds());
  }
  if (active.options->observe)
    active.options->observe(instruction.id);
  if (active.options->until == instruction.id)
    active.stopped = true;
}

void Context::State::execute(Stream &stream, const Instruction &instruction) {
  perform(stream, instruction);
  if (plan->lateGroupAfter[instruction.id] >= 0 && !active.stopped)
    settle(instruction.id);
}

void Context::State::perform(Stream &stream, const Instruction &instruction) {
  if (auto *kernel = std::get_if<CallKernel>(&instruction.operation))
    return call(stream, instruction, *kernel);
  if (auto *reference = std::get_if<CallReference>(&instruction.operation))
    return call(stream, instruction, *reference);
  if (auto *shape = std::get_if<ComputeShape>(&instruction.operation))
    return call(stream, *shape);
  if (auto *branch = std::get_if<If>(&instruction.operation))
    return executeBody(stream, instruction.id, readScalar(branch->condition) ? branch->thenBlock : branch->elseBlock);
  call(stream, instruction, std::get<Loop>(instruction.operation));
}

void Context::State::call(Stream &stream, const Instruction &instruction, const CallKernel &call) {
  PreparedKernel &prepared = kernels[instruction.id];
  if (!instruction.known)
    prepareKernel(stream, instruction, call);
  if (!call.elementRanges.empty())
    checkElements(stream, call, prepared);
#ifdef LATHE_DECLARES_ACCESS
  declareAccess(stream, instruction, call);
#endif
  KernelJob job{prepared.code,    prepared.buffers.data(), prepared.dims.data(),
                prepared.scratch, prepared.scratchStride,  prepared.first};
  split(stream, instruction.id, prepared.stages, (prepared.units - prepared.first) / prepared.stages, runKernel, &job);
}

#ifdef LATHE_DECLARES_ACCESS
/// Tells ThreadSanitizer, which does not see kernels, what a call reads and writes, scratch included.
void Context::State::declareAccess(const Stream &stream, const Instruction &instruction, const CallKernel &call) const {
  const PreparedKernel &prepared = kernels[instruction.id];
  for (size_t i = 0; i < call.buffers.size(); ++i) {
    auto bytes = static_cast<size_t>(evaluate(plan->values[call.buffers[i]].bytes));
    if (writes(instruction, call.buffers[i]))
      __tsan_write_range(prepared.buffers[i], bytes);
    else
      __tsan_read_range(prepared.buffers[i], bytes);
  }
  if (prepared.scratch)
    __tsan_write_range(prepared.scratch, scratchOf(call, stream.team.slots()).bytes);
}
#endif

void Context::State::checkElements(const Stream &stream, const CallKernel &call, const PreparedKernel &prepared) {
  for (size_t i = 0; i < call.elementRanges.size(); ++i) {
    const ElementRange &range = call.elementRanges[i];
    const ElementCheck &check = prepared.checks[i];
    const void *elements = prepared.buffers[range.buffer];
    std::optional<int64_t> found = check.findOutside(elements, stream.team);
    if (!found)
      continue;
    const ValueInfo &info = plan->values[call.buffers[range.buffer]];
    const std::vector<std::string> &nodes = plan->kernels[call.kernel].nodes;
    Tensor tensor = Tensor::borrow(info.type, {*found + 1}, const_cast<void *>(elements));
    fail("{}: '{}': {}[{}] is {}, expected a number from {} to {}", file, nodes.empty() ? "kernel" : nodes.front(),
         range.operand, *found,
         isFloat(info.type) ? fmt::format("{}", tensor.asDouble(*found)) : fmt::format("{}", tensor.asInteger(*found)),
         check.least(*found), check.most(*found));
  }
}

void Context::State::call(Stream &stream, const Instruction &instruction, const CallReference &call) {
  PreparedReference &prepared = references[instruction.id];
  for (size_t i = 0; i < call.inputs.size(); ++i)
    if (int32_t value = call.inputs[i]; value >= 0 && (slots[value].boxed || slots[value].late))
      prepared.inputs[i] = view(static_cast<uint32_t>(value));
  for (size_t i = 0; i < call.outputs.size(); ++i)
    if (uint32_t value = call.outputs[i]; slots[value].boxed || slots[value].late)
      prepared.outputs[i] = slots[value].late ? view(value) : Value();
  auto where = [&] {
    return fmt::format("{}: {} ({})", file, call.nodes.empty() ? "operator" : "'" + call.nodes.front() + "'", call.op);
  };
  stream.sharing = instruction.id;
  try {
    call.reference->run(prepared.pointers, prepared.outputs, stream.parallel);
  } catch (const std::exception &error) {
    fail("{}: {}", where(), error.what());
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    uint32_t index = call.outputs[i];
    const ValueInfo &info = plan->values[index];
    Value &result = prepared.outputs[i];
    bool tensor = info.kind == ValueKind::tensor;
    require(result.isTensor() == tensor && (!tensor || result.tensor().type() == info.type),
            "{}: '{}': expected {}, got {}", where(), info.name,
            tensor ? std::string(name(info.type)) : "a sequence or an optional", describe(result));
    if (!slots[index].boxed) {
      if (result.tensor().data() == slots[index].data && result.tensor().dims() == slots[index].dims)
        continue; // written in place
      write(index, result);
      result = view(index);
      continue;
    }
    if (tensor) {
      require(result.tensor().rank() == info.dims.size(), "{}: '{}': expected rank {}, got {}", where(), info.name,
              info.dims.size(), describe(result));
      bindSymbols(info, result.tensor().dims());
      if (!plan->lateSymbols.empty())
        checkRules(true);
      checkBlockRules(*stream.current);
    }
    write(index, result);
    result = Value();
  }
}

void Context::State::bindSymbols(const ValueInfo &info, const std::vector<int64_t> &dims) {
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (Extent extent = info.dims[axis]; !extentKnown[extent])
      if (std::string symbol = loneSymbol(plan->extents[extent]); !symbol.empty())
        bindSymbol(symbol, dims[axis]);
}

void Context::State::call(Stream &stream, const ComputeShape &shape) {
  Value from = view(shape.from);
  require(from.tensor().elements() >= static_cast<int64_t>(shape.symbols.size()),
          "{}: '{}' has {} elements, expected {}", file, plan->values[shape.from].name, from.tensor().elements(),
          shape.symbols.size());
  for (size_t i = 0; i < shape.symbols.size(); ++i) {
    int64_t value = from.tensor().asInteger(static_cast<int64_t>(i));
    require(value >= 0, "{}: '{}': element {} is {}, expected an extent of at least 0", file,
            plan->values[shape.from].name, i, value);
    bindSymbol(shape.symbols[i], value);
  }
  if (!plan->lateSymbols.empty())
    checkRules(true);
  checkBlockRules(*stream.current);
}

/// Where a kernel finds or writes a value whose extents were not known beforehand: allocated at first sight of new
/// extents.
void *Context::State::lateBuffer(uint32_t index) {
  const ValueInfo &info = plan->values[index];
  if (info.root != index) {
    const ValueInfo &root = plan->values[info.root];
    int64_t offset = evaluate(info.rootOffset);
    int64_t bytes = evaluate(info.bytes), whole = evaluate(root.bytes);
    require(offset == 0 || (offset > 0 && offset % 64 == 0 && offset <= whole - bytes),
            "{}: malformed plan: '{}' has {} bytes and lies at byte {} of {}", file, info.name, bytes, offset, whole);
    require(bytes <= whole, "{}: '{}' has {} bytes, '{}' has {}", file, info.name, bytes, root.name, whole);
    return (slots[info.root].boxed ? static_cast<char *>(lateBuffer(info.root)) : slots[info.root].data) + offset;
  }
  Slot &slot = slots[index];
  std::vector<int64_t> dims = evaluate(info.dims);
  if (slot.written && slot.value.isTensor() && slot.value.tensor().dims() == dims)
    return slot.value.tensor().data();
  require(info.storage != Storage::input, "{}: input '{}' has changed its extents", file, info.name);
  int64_t bytes = evaluate(info.bytes);
  Tensor dense = Tensor::borrow(info.type, dims, nullptr);
  require(bytes >= dense.bytes() && dense.bytes() >= 0, "{}: malformed plan: '{}' has {} bytes, needs {}", file,
          info.name, bytes, dense.bytes());
  if (!slot.pages.defined() || slot.pages.dim(0) < bytes)
    slot.pages = Tensor(ElementType::u8, {bytes});
  slot.value = Tensor::borrow(info.type, dims, slot.pages.data());
  slot.written = true;
  return slot.pages.data();
}

/// A value that no instruction has written; it must have no elements, because the plan does not compute such values.
Value Context::State::unwritten(uint32_t index) const {
  const ValueInfo &info = plan->values[index];
  auto isZero = [&](Extent extent) { return plan->extents[extent] == Dim(0); };
  require(info.kind == ValueKind::tensor && std::any_of(info.dims.begin(), info.dims.end(), isZero),
          "{}: '{}' is used before it is computed", file, info.name);
  return Tensor(info.type, evaluate(info.dims));
}

/// The value as references see it: sharing its bytes.
Value Context::State::view(uint32_t index) const {
  const ValueInfo &info = plan->values[index];
  const Slot &slot = slots[index], &root = slots[info.root];
  require(!root.late || root.written, "{}: '{}' is used before its extents are known", file, info.name);
  if (!slot.boxed)
    return Tensor::borrow(info.type, slot.dims, slot.data);
  if (!root.boxed)
    return Tensor::borrow(info.type, evaluate(info.dims), root.data + evaluate(info.rootOffset));
  if (!root.written)
    return unwritten(index);
  if (info.root == index || !root.value.isTensor())
    return root.value;
  std::vector<int64_t> dims = evaluate(info.dims);
  const Tensor &whole = root.value.tensor();
  if (whole.type() == ElementType::string)
    return whole.reshaped(dims);
  int64_t offset = evaluate(info.rootOffset), bytes = root.pages.defined() ? root.pages.dim(0) : whole.bytes();
  Tensor part = Tensor::borrow(info.type, dims, static_cast<char *>(const_cast<void *>(whole.data())) + offset);
  if (offset == 0 && part.bytes() == whole.bytes())
    return whole.reshaped(dims);
  require(offset >= 0 && part.bytes() <= bytes - offset, "{}: '{}': {} at byte {} of {}", file, info.name,
          describe(info.type, part.dims().empty() ? Dims() : toDims(part.dims())), offset, bytes);
  return part;
}

/// Copies `from`, another value of the plan or a reference's result, into value `index`.
void Context::State::write(uint32_t index, const Value &from) {
  const ValueInfo &info = plan->values[index];
  Slot &slot = slots[index];
  if (slot.boxed) {
    Slot &root = slots[info.root];
    if (root.late) { // inside a value that was placed
      Value to = view(index);
      require(from.isTensor() && from.tensor().type() == info.type && from.tensor().dims() == to.tensor().dims(),
              "{}: '{}': expected {}, got {}", file, info.name, describe(to), describe(from));
      if (from.tensor().bytes())
        std::memmove(to.tensor().data(), from.tensor().data(), static_cast<size_t>(from.tensor().bytes()));
      return;
    }
    require(root.boxed && evaluate(info.rootOffset) == 0, "{}: '{}' is written with extents that were not known before",
            file, info.name);
    root.value = keptValue(from);
    root.written = true;
    return;
  }
  require(from.isTensor() && from.tensor().type() == info.type && from.tensor().dims() == slot.dims,
          "{}: '{}': expected {}, got {}", file, info.name, describe(info.type, toDims(slot.dims)), describe(from));
  int64_t bytes = info.blockAxis < 0 ? from.tensor().bytes() : slot.bytes;
  if (bytes)
    std::memmove(slot.data, from.tensor().data(), static_cast<size_t>(bytes));
}

int64_t Context::State::readScalar(uint32_t index) const {
  Value value = view(index);
  require(value.tensor().elements() == 1, "{}: '{}': expected one element, got {}", file, plan->values[index].name,
          describe(value));
  return value.tensor().asInteger(0);
}

void Context::State::writeScalar(uint32_t index, int64_t number) {
  const ValueInfo &info = plan->values[index];
  if (const Slot &slot = slots[index]; !slot.boxed && slot.bytes == (info.type == ElementType::boolean ? 1 : 8)) {
    if (info.type == ElementType::boolean)
      *reinterpret_cast<uint8_t *>(slot.data) = number != 0;
    else
      std::memcpy(slot.data, &number, sizeof number);
    return;
  }
  Tensor tensor(info.type, slots[index].boxed ? std::vector<int64_t>(info.dims.size(), 1) : slots[index].dims);
  require(tensor.elements() == 1, "{}: '{}': expected one element", file, info.name);
  if (info.type == ElementType::boolean)
    *tensor.as<uint8_t>() = number != 0;
  else
    *tensor.as<int64_t>() = number;
  write(index, Value(tensor));
}

/// Hands the results out: in place where the plan wrote into the output, otherwise copied there.
void Context::State::finishOutputs() {
  for (size_t i = 0; i < plan->outputs.size(); ++i) {
    uint32_t index = plan->outputs[i];
    const Slot &slot = slots[index];
    if (grownState(i)) {
      results[i] = Value(); // copied when the caller asks for it
      continue;
    }
    if (!slot.boxed && plan->values[index].storage == Storage::output) {
      results[i] = callerOutputs[i].defined() ? callerOutputs[i] : ownedOutputs[i];
      continue;
    }
    Value value = view(index);
    if (!value.isTensor() || (value.tensor().type() == ElementType::string && !callerOutputs[i].defined())) {
      results[i] = cloneValue(value);
      continue;
    }
    Tensor &to = outputTensor(i, value.tensor().dims());
    if (to.type() == ElementType::string)
      to.strings() = value.tensor().strings();
    else if (value.tensor().bytes() && to.data() != value.tensor().data())
      std::memmove(to.data(), value.tensor().data(), static_cast<size_t>(value.tensor().bytes()));
    results[i] = to;
  }
}

Value Context::State::read(uint32_t index) const {
  const ValueInfo &info = plan->values[index];
  Value value = view(index);
  if (!value.isTensor() || info.blockAxis < 0)
    return cloneValue(value);
  // Undo the blocks: [.., axis / block, .., axis % block] -> row-major.
  const Tensor &from = value.tensor();
  Tensor to(from.type(), from.dims());
  auto axis = static_cast<size_t>(info.blockAxis);
  size_t width = bitWidth(from.type()) / 8;
  int64_t outer = 1, inner = 1, extent = from.dim(axis), blocks = (extent + info.block - 1) / info.block;
  for (size_t i = 0; i < axis; ++i)
    outer *= from.dim(i);
  for (size_t i = axis + 1; i < from.rank(); ++i)
    inner *= from.dim(i);
  auto *source = static_cast<const char *>(from.data());
  auto *target = static_cast<char *>(to.data());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t c = 0; c < extent; ++c)
      for (int64_t i = 0; i < inner; ++i, target += width)
        std::memcpy(target,
                    source + (((o * blocks + c / info.block) * inner + i) * info.block + c % info.block) * width,
                    width);
  return to;
}

} // namespace lathe::runtime
