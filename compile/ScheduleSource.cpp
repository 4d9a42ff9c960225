#include "compile/ScheduleSource.h"

#include "codegen/Task.h"
#include "codegen/space/ContractionFormat.h"
#include "schedule/Algorithms.h"

#include "llvm/Support/raw_ostream.h"

namespace lathe {

ScheduleTask::ScheduleTask(const KernelProblem &problem)
    : problem(problem), kernel(mlir::func::FuncOp(problem.function).getName().str()),
      nodes(nn::nodeNames(mlir::func::FuncOp(problem.function).getLoc())), identity(kernelIdentity(problem.function)) {}

const std::string &ScheduleTask::text() const {
  if (!taskText)
    taskText = taskOf(problem);
  return *taskText;
}

const Outcome<std::unique_ptr<KernelFacts>> &ScheduleTask::facts() const {
  if (!read)
    read = readFacts(problem);
  return *read;
}

Outcome<FoundSchedule> WrittenSchedules::find(const ScheduleTask &task) const {
  mlir::func::FuncOp kernel = task.problem.function;
  auto text = kernel->getAttrOfType<mlir::StringAttr>("nn.schedule");
  if (!text)
    return NotApplicable{"the kernel has no attribute nn.schedule"};
  try {
    return FoundSchedule{readSchedule(text.str()), "nn.schedule of the kernel", true};
  } catch (const Error &error) {
    fail("{}: {}", nn::describe(kernel.getLoc()), error.what());
  }
}

Outcome<FoundSchedule> TaskSchedules::find(const ScheduleTask &task) const {
  std::optional<Entry> entry = entryOf(task.text());
  if (!entry)
    return NotApplicable{fmt::format("{} has no schedule for the task {}", name, task.text())};
  try {
    Schedule schedule = readSchedule(entry->schedule);
    require(!keepsPrecision || task.problem.precision != Precision::fp32 || !roundsOperands(schedule),
            "schedule '{}' rounds operands, expected --precision bf16", entry->schedule);
    return FoundSchedule{std::move(schedule), entry->origin};
  } catch (const Error &error) {
    std::string reason = fmt::format("{} is not used: {}", entry->origin, error.what());
    refused.insert(reason);
    return NotApplicable{std::move(reason)};
  }
}

Outcome<FoundSchedule> PriorSchedules::find(const ScheduleTask &task) const {
  auto found = known.find(task.identity);
  if (found == known.end()) {
    const auto &facts = task.facts();
    Outcome<ScheduleChoice> choice = facts ? priorChoice(**facts) : NotApplicable{facts.reason()};
    found = known.emplace(task.identity, std::move(choice)).first;
  }
  if (!found->second)
    return NotApplicable{found->second.reason()};
  return FoundSchedule{found->second->schedule(), found->second->byModel ? "the prior's model" : "the prior's rule"};
}

std::string genericText(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.useLocalScope().printGenericOpForm();
  op->print(stream, flags);
  return text;
}

std::string kernelIdentity(mlir::func::FuncOp kernel) {
  // Printing is far cheaper than generating; only the name has to go.
  std::string text = genericText(kernel);
  std::string name = "sym_name = \"" + kernel.getName().str() + "\"";
  if (size_t at = text.find(name); at != std::string::npos)
    text.erase(at, name.size());
  return text;
}

} // namespace lathe
