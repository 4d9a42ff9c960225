// The store's measured schedules with facts about their kernels, as training data for learned cost models.
#pragma once

#include "codegen/Task.h"
#include "store/Store.h"
#include "tune/Evaluation.h"

#include <map>

namespace lathe::tune {

class MeasuredTasks {
public:
  /// `here`: the current target of tuning on the platform with this key; predictions for its tasks use its facts.
  /// Predictions for tasks of other platforms use the facts that the compiler had about the measuring machine. `store`
  /// must outlive the object. `company`: what ran beside the kernels, as store::Company::str; "": only measurements of
  /// kernels alone are read.
  MeasuredTasks(store::Store &store, Target here, std::string platform, std::string company = "")
      : store(store), here(std::move(here)), platform(std::move(platform)), company(std::move(company)) {}

  /// Reads the measurements of searches for the tasks of a kernel family ("": of all families), without facts about
  /// the kernels. Leaves out tasks without a kernel and tasks of other versions. The group of each measurement is
  /// `groupOf`: times are comparable only within one task and platform.
  std::vector<MeasuredTask> read(const std::string &family);
  /// Adds the facts about kernels to tasks that `read` has returned. Removes schedules that are no longer legal, and
  /// tasks that this version of the compiler or its targets do not know.
  void addFacts(std::vector<MeasuredTask> &tasks);

  static std::string groupOf(const std::string &task, const std::string &platform) { return task + "\n" + platform; }
  /// Returns the part of a task's text that is equal for all numbers of threads and all machines (TaskParts::kernel).
  const std::string &kernelOf(const MeasuredTask &task) const { return origins.at(task.group).parts.kernel; }

private:
  struct Origin {
    std::string task, kernel; // texts of the task and its kernel
    TaskParts parts;
    /// Key of the platform; uuid of the experiment of one of the records, "": none is known.
    std::string platform, experiment;
  };
  store::Store &store;
  Target here;
  std::string platform, company;
  std::map<std::string, Origin> origins; // origin of each measured task, by its group
  // Targets of other machines, by the key of the target (Target::key) and the experiment.
  std::map<std::pair<std::string, std::string>, std::optional<Target>> elsewhere;

  std::shared_ptr<const KernelFacts> factsOf(mlir::MLIRContext &context, const Origin &origin);
  /// Returns the target on which the task was measured; null if the machine recorded in its experiment gives no target
  /// with the task's key.
  const Target *targetOf(const Origin &origin);
  std::optional<Target> targetElsewhere(const std::string &key, const std::string &experiment);
};

} // namespace lathe::tune
