#include "jobs/tune/TaskList.h"

#include "compile/KernelTasks.h"
#include "compile/Kernels.h"
#include "lab/providers/kernel/ProblemKernel.h"

namespace lathe::jobs {

static bool mentions(const KernelTask &task, const std::string &text) {
  auto has = [&](const std::string &where) { return where.find(text) != std::string::npos; };
  return has(task.label) || has(task.task) || std::any_of(task.nodes.begin(), task.nodes.end(), has);
}

bool TaskList::add(KernelTask kernel) {
  Outcome<tune::TaskToTune> task = tune::taskToTune(kernel, clockGhz);
  if (!task)
    return false;
  tasks.push_back(std::move(*task));
  facts.push_back(std::move(kernel.facts));
  return true;
}

void TaskList::addModel(const ModelOptions &model, const CompileOptions &compiling, const std::string &only) {
  Source source = loadSource(model);
  bool any = false;
  for (KernelTask &kernel : kernelTasks(*source.module, compiling))
    if (mentions(kernel, only))
      any |= add(std::move(kernel));
  require(any, "{}: no kernel{} has a schedule", model.model, only.empty() ? "" : fmt::format(" with '{}'", only));
}

std::vector<std::string> TaskList::addProblems(const std::vector<lab::ListedProblem> &problems,
                                               const CompileOptions &compiling) {
  Target target = targetOf(compiling);
  KernelOptions options = kernelOptionsOf(compiling);
  std::vector<std::string> declined;
  for (const lab::ListedProblem &entry : problems) {
    auto attempt = [&](const KernelProblem &problem) -> Outcome<bool> {
      Outcome<KernelTask> task = kernelTask(KernelProblem{options, problem.function, target});
      if (!task)
        return NotApplicable{task.reason()};
      task->calls = entry.count;
      task->nodes = {entry.name.empty() ? entry.text : entry.name};
      return add(std::move(*task)) ? Outcome<bool>(true) : Outcome<bool>(NotApplicable{"it has no schedule"});
    };
    Outcome<std::string> layout =
        lab::firstLayout(entry.problem, target, lab::ActivationLayout::any, options.threads, attempt);
    if (!layout)
      declined.push_back(fmt::format("{} {}: {}", entry.kind, entry.text, layout.reason()));
  }
  return declined;
}

tune::Task taskOf(const ScheduleTask &kernel, BatchOrder order) {
  tune::Task task;
  task.order = order;
  Outcome<KernelTask> found = kernelTask(kernel.problem);
  if (!found) // the kernel has a schedule, so it has facts
    return task;
  task.key = found->task;
  task.kernel = found->text;
  task.family = found->facts->family;
  task.label = found->label;
  task.nodes = kernel.nodes;
  task.flops = found->flops;
  task.bytes = found->bytes;
  task.extents = found->extents;
  return task;
}

} // namespace lathe::jobs
