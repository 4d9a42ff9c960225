#include "tune/model/TaskOfKernel.h"

namespace lathe::tune {

Outcome<TaskToTune> taskToTune(const KernelTask &kernel, double clockGhz) {
  Outcome<Schedule> prior = priorSchedule(*kernel.facts);
  if (!prior)
    return NotApplicable{prior.reason()};
  TaskToTune task;
  task.task.key = kernel.task;
  task.task.kernel = kernel.text;
  task.task.family = kernel.facts->family;
  task.task.label = kernel.label;
  task.task.nodes = kernel.nodes;
  task.task.count = std::max<int64_t>(1, kernel.calls);
  task.task.flops = kernel.flops;
  task.task.bytes = kernel.bytes;
  task.task.extents = kernel.extents;
  task.facts = kernel.facts.get();
  task.prior = prior->str();
  for (PredictedSchedule &rule : ruleSchedules(*kernel.facts, {*prior, 0, 0}))
    task.rules.push_back(std::move(rule.schedule));
  task.predictedSeconds = kernel.facts->predict(*prior).total() / (clockGhz * 1e9);
  return task;
}

} // namespace lathe::tune
