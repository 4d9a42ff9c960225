// Lists the tasks that `lathe tune` tunes, from a model or from problems.
#pragma once

#include "compile/ScheduleSource.h"
#include "jobs/Source.h"
#include "lab/problems/ProblemList.h"
#include "tune/model/TaskOfKernel.h"

namespace lathe::jobs {

/// A list of tuning tasks, with the facts about kernels that they refer to. Can be moved.
class TaskList {
public:
  /// Begins an empty list. `clockGhz` converts predicted cycles to seconds.
  explicit TaskList(double clockGhz = 0) : clockGhz(clockGhz) {}

  /// Adds the tasks of a model that have `only` in their label, nodes or text. Throws Error if there is none.
  void addModel(const ModelOptions &model, const CompileOptions &compiling, const std::string &only);
  /// Adds the tasks of problems, each as one kernel in the layout of a network. Returns the reasons why other problems
  /// have no task: "conv2d ...: reason".
  std::vector<std::string> addProblems(const std::vector<lab::ListedProblem> &problems,
                                       const CompileOptions &compiling);

  std::vector<tune::TaskToTune> tasks;

private:
  double clockGhz;
  std::vector<std::unique_ptr<KernelFacts>> facts; // facts about the kernel of each task

  /// Adds the task of a kernel to the list. Returns false if no schedule computes the kernel.
  bool add(KernelTask kernel);
};

/// A kernel of a model as a task of its own, to be measured in one run.
tune::Task taskOf(const ScheduleTask &kernel, BatchOrder order);

} // namespace lathe::jobs
