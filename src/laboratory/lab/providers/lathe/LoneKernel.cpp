#include "lab/providers/lathe/LoneKernel.h"

#include "codegen/Generate.h"
#include "codegen/target/Emit.h"
#include "lab/StoredForm.h"
#include "lab/providers/kernel/ProblemKernel.h"
#include "runtime/MappedKernel.h"

#include <cstring>

namespace lathe::lab {

namespace {

/// A zeroed buffer for the stored form.
Tensor bufferFor(const StoredForm &form) {
  Tensor tensor(ElementType::u8, {std::max<int64_t>(1, form.bytes())});
  std::memset(tensor.data(), 0, static_cast<size_t>(tensor.bytes()));
  return tensor;
}

int64_t blockOf(mlir::Value value) {
  nn::BlockedAttr layout = nn::layoutOf(value);
  return layout ? layout.getSize() : 0;
}

StoredForm storedForm(mlir::Value value) {
  auto type = mlir::cast<mlir::RankedTensorType>(value.getType());
  return {nn::toElementType(type.getElementType()), type.getShape().vec(), blockOf(value)};
}

} // namespace

/// Generates the kernel with the source's schedule. Declines if there is none, or if it is illegal.
static Outcome<GeneratedKernel> generated(const ScheduleTask &task, const LoneKernelOptions &options) {
  Outcome<FoundSchedule> found = options.schedules->find(task);
  if (!found)
    return NotApplicable{found.reason()};
  if (!task.facts())
    return NotApplicable{task.facts().reason()};
  return generate(task.problem, **task.facts(), found->schedule);
}

struct LoneKernel::State {
  std::optional<runtime::MappedKernel> code;
  std::string implementation;
  TaskSchedule scheduled;
  std::vector<Tensor> operands; // the kernel's arguments: inputs, packed constants, results
  std::vector<bool> constant;   // for each operand
  std::vector<void *> buffers;
  std::vector<StoredForm> results; // the last of the operands
  int64_t units = 0, stages = 1;
  size_t scratchStride = 0;
  Tensor scratch;

  Outcome<bool> generate(const KernelProblem &problem, const LoneKernelOptions &options, const ProblemInputs &inputs) {
    mlir::func::FuncOp function = problem.function;
    const Target &target = problem.target;
    ScheduleTask task(problem);
    scheduled.task = task.text();
    mlir::Block &body = function.front();
    std::vector<StoredForm> stored;
    for (mlir::Value argument : body.getArguments())
      stored.push_back(storedForm(argument));
    results.clear();
    for (mlir::Value result : body.getTerminator()->getOperands())
      results.push_back(storedForm(result));
    constant.clear();
    for (unsigned i = 0; i < stored.size(); ++i)
      constant.push_back(bool(function.getArgAttr(i, "nn.constant")));
    Outcome<GeneratedKernel> kernel = generated(task, options);
    if (!kernel)
      return NotApplicable{kernel.reason()};
    CodeImage image = linkImage({emitObject(*kernel->module, target)}, target);
    code.emplace(image.bytes, image.entries.at(0));
    operands.clear();
    size_t next = 0;
    for (const Tensor &input : inputs) {
      if (!input.defined())
        continue;
      size_t at = next++;
      auto &packing = kernel->packings.at(at);
      if (!constant[at] || !packing) {
        operands.push_back(bufferFor(stored[at]));
        stored[at].store(input, operands.back().data());
        continue;
      }
      nn::ConstantData data{input.type(), input.dims(),
                            llvm::ArrayRef<char>(static_cast<const char *>(input.data()), size_t(input.bytes())),
                            false};
      std::vector<char> packed = packing->pack(data);
      Tensor bytes(ElementType::u8, {std::max<int64_t>(1, int64_t(packed.size()))});
      std::memcpy(bytes.data(), packed.data(), packed.size());
      operands.push_back(bytes);
    }
    for (StoredForm &result : results)
      operands.push_back(bufferFor(result));
    for (Tensor &operand : operands)
      buffers.push_back(operand.data());
    units = kernel->units.constant();
    stages = kernel->stages.constant();
    scratchStride = size_t(kernel->scratchBytes.constant() + 63) / 64 * 64;
    scratch = Tensor(ElementType::u8, {std::max<int64_t>(1, int64_t(scratchStride) * problem.threads)});
    implementation = scheduled.schedule = kernel->schedule.str();
    scheduled.predictedCycles = (*task.facts())->predict(kernel->schedule).total();
    return true;
  }
};

LoneKernel::LoneKernel(std::unique_ptr<State> state) : state(std::move(state)) {}
LoneKernel::~LoneKernel() = default;
const std::string &LoneKernel::implementation() const { return state->implementation; }
const TaskSchedule &LoneKernel::scheduled() const { return state->scheduled; }

Outcome<std::unique_ptr<LoneKernel>> LoneKernel::make(const Problem &problem, const Target &target,
                                                      const LoneKernelOptions &options, const ProblemInputs &inputs) {
  std::unique_ptr<State> state;
  Outcome<std::string> layout =
      firstLayout(problem, target, options.layout, options.threads, [&](const KernelProblem &kernel) {
        state = std::make_unique<State>();
        return state->generate(kernel, options, inputs);
      });
  if (!layout)
    return NotApplicable{layout.reason()};
  state->implementation += " " + *layout;
  return std::unique_ptr<LoneKernel>(new LoneKernel(std::move(state)));
}

Outcome<std::string> LoneKernel::task(const Problem &problem, const Target &target, const LoneKernelOptions &options) {
  std::string task;
  Outcome<std::string> layout =
      firstLayout(problem, target, options.layout, options.threads, [&](const KernelProblem &kernel) -> Outcome<bool> {
        ScheduleTask asked(kernel);
        task = asked.text();
        Outcome<GeneratedKernel> made = generated(asked, options);
        return made ? Outcome<bool>(true) : Outcome<bool>(NotApplicable{made.reason()});
      });
  if (!layout)
    return NotApplicable{layout.reason()};
  return task;
}

void LoneKernel::run(runtime::ThreadPool &pool) const {
  state->code->run(pool, {.buffers = state->buffers.data(),
                          .units = state->units,
                          .stages = state->stages,
                          .scratch = state->scratchStride ? state->scratch.as<char>() : nullptr,
                          .scratchStride = state->stages > 1 ? 0 : state->scratchStride});
}

std::vector<std::span<const char>> LoneKernel::constants() const {
  std::vector<std::span<const char>> ranges;
  for (size_t i = 0; i < state->constant.size(); ++i)
    if (state->constant[i])
      ranges.emplace_back(static_cast<const char *>(state->operands[i].data()), size_t(state->operands[i].bytes()));
  return ranges;
}

std::vector<Tensor> LoneKernel::outputs() const {
  std::vector<Tensor> outputs;
  size_t first = state->operands.size() - state->results.size();
  for (size_t i = 0; i < state->results.size(); ++i)
    outputs.push_back(state->results[i].load(state->operands[first + i].data()));
  return outputs;
}

} // namespace lathe::lab
