#include "runtime/Context.h"

#include "runtime/plan/Execution.h"

#include <algorithm>

namespace lathe::runtime {

Context::Context(std::shared_ptr<const Model> model, const ContextOptions &options)
    : state(std::make_unique<State>(std::move(model), options)) {}
Context::~Context() = default;

const Model &Context::model() const { return *state->model; }
int Context::threads() const { return state->allSlots.slots(); }
void Context::setInput(size_t index, Value value) { state->setInput(index, std::move(value)); }
void Context::setOutput(size_t index, Tensor tensor) { state->setOutput(index, std::move(tensor)); }
void Context::keepState(size_t input, size_t output, int64_t max) { state->keepState(input, output, max); }
void Context::resetStates() { state->resetStates(); }
Value Context::nextInput(size_t index) {
  require(index < state->inputs.size(), "{}: input {} of {}", state->file, index, state->inputs.size());
  return state->nextInput(index);
}
const std::vector<int64_t> &Context::inputDims(size_t index) const {
  require(index < state->inputs.size() && state->inputSet[index], "{}: input {} is not set", state->file, index);
  return state->inputs[index].tensor().dims();
}
void Context::run(const RunOptions &options) { state->run(options); }
void Context::cancel() noexcept {
  state->cancelAsked.store(true);
  state->notify();
}
void Context::resetCancel() noexcept { state->cancelAsked.store(false, std::memory_order_relaxed); }
void Context::setCancelCheck(int (*check)(void *data), void *data) {
  state->cancelCheck = check;
  state->cancelData = data;
}

std::vector<Value> Context::run(std::span<const Value> inputs) {
  require(inputs.size() == state->inputs.size(), "{}: {} inputs given, expected {}", state->file, inputs.size(),
          state->inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    setInput(i, inputs[i]);
  run();
  std::vector<Value> copies;
  for (const Value &result : state->results)
    copies.push_back(result.isTensor() ? Value(result.tensor().clone()) : result);
  return copies;
}

const Value &Context::output(size_t index) const {
  require(index < state->results.size(), "{}: output {} of {}", state->file, index, state->results.size());
  require(state->ran, "{}: output '{}' is requested before a run", state->file, state->model->outputs()[index].name);
  state->copyGrown(index);
  return state->results[index];
}

std::vector<int64_t> Context::outputDims(size_t index) {
  require(index < state->results.size(), "{}: output {} of {}", state->file, index, state->results.size());
  state->bindExtents();
  const ValueInfo &info = state->plan->values[state->plan->outputs[index]];
  for (Extent extent : info.dims)
    require(state->extentKnown[extent], "{}: output '{}': extent '{}' depends on data", state->file, info.name,
            state->plan->extents[extent].str());
  return state->evaluate(info.dims);
}

const RunProfile &Context::profile() const { return state->active.times; }
const RunTrace &Context::trace() const { return state->active.trace; }
std::vector<ProfileRow> Context::profileRows() const {
  std::vector<ProfileRow> rows;
  for (const InstructionTime &time : state->active.times.times)
    if (state->plan && state->plan->outermost[time.instruction])
      rows.push_back({instruction(time.instruction), time.instruction, time.end - time.begin});
  return rows;
}

MemoryUse Context::memory() const { return state->memory(); }

const Plan &Context::plan() const {
  require(state->plan != nullptr, "{}: no extents are bound yet", state->file);
  return *state->plan;
}

size_t Context::instructionCount() const { return plan().instructions.size(); }

ValuePlace Context::place(uint32_t value) const {
  require(value < plan().values.size(), "{}: value {} of {}", state->file, value, plan().values.size());
  auto known = [&](Extent extent) {
    try {
      return state->evaluate(extent);
    } catch (const Error &) {
      return int64_t(-1);
    }
  };
  const ValueInfo &info = plan().values[value];
  ValuePlace place{{}, known(info.bytes), known(info.rootOffset)};
  for (Extent extent : info.dims)
    place.dims.push_back(known(extent));
  return place;
}

/// Adds the operands that are present; -1 means absent.
static void addKnown(std::vector<uint32_t> &values, const std::vector<int32_t> &operands) {
  for (int32_t operand : operands)
    if (operand >= 0)
      values.push_back(static_cast<uint32_t>(operand));
}

InstructionInfo Context::instruction(size_t index) const {
  const Plan &current = plan();
  require(index < current.instructions.size(), "{}: instruction {} of {}", state->file, index,
          current.instructions.size());
  const Instruction &instruction = *current.instructions[index];
  InstructionInfo info;
  if (auto *call = std::get_if<CallKernel>(&instruction.operation)) {
    const KernelInfo &kernel = current.kernels[call->kernel];
    auto number = [&](Extent extent) {
      try {
        return static_cast<double>(state->evaluate(extent));
      } catch (const Error &) {
        return 0.0; // depends on data that is not there yet
      }
    };
    info = {"kernel",
            kernel.name,
            kernel.family,
            kernel.shapes,
            kernel.schedule,
            kernel.nodes,
            number(kernel.flops),
            number(kernel.bytes),
            {},
            kernel.origin};
    // A prediction is made with all symbols at 1. Equal traffic shows that they are 1 now.
    double atOne = static_cast<double>(current.extents[kernel.bytes].evaluate([](const std::string &) { return 1; }));
    if (info.bytes == atOne)
      info.predictedCycles = kernel.predictedCycles;
    info.imageByImage = state->imageLoopOf[instruction.id] >= 0;
    for (uint32_t value : call->buffers)
      (state->writes(instruction, value) ? info.outputs : info.inputs).push_back(value);
    for (uint32_t value : info.inputs)
      if (current.values[value].storage == Storage::constant)
        info.constantBytes += static_cast<double>(std::max<int64_t>(0, place(value).bytes));
    info.workItems = number(call->units) / std::max(1.0, number(call->stages));
  } else if (auto *call = std::get_if<CallReference>(&instruction.operation)) {
    info.kind = "reference";
    info.name = call->op;
    info.nodes = call->nodes;
    info.outputs = call->outputs;
    addKnown(info.inputs, call->inputs);
  } else if (auto *shape = std::get_if<ComputeShape>(&instruction.operation)) {
    info.kind = "compute_shape";
    info.inputs = {shape->from};
  } else if (auto *branch = std::get_if<If>(&instruction.operation)) {
    info.kind = "if";
    info.inputs = {branch->condition};
  } else {
    const Loop &loop = std::get<Loop>(instruction.operation);
    info.kind = "loop";
    info.outputs = loop.results;
    addKnown(info.inputs, {loop.tripCount, loop.condition});
    info.inputs.insert(info.inputs.end(), loop.initial.begin(), loop.initial.end());
  }
  if (instruction.place >= 0)
    info.planned = {current.places[size_t(instruction.place)].first, current.places[size_t(instruction.place)].slots};
  return info;
}

Value Context::readValue(uint32_t value) const {
  require(value < plan().values.size(), "{}: value {} of {}", state->file, value, plan().values.size());
  return state->read(value);
}

} // namespace lathe::runtime
