// The measured schedules of the store, with the facts of their kernels: what learned cost models are
// trained on.
#pragma once

#include "codegen/Task.h"
#include "store/Store.h"
#include "tune/Evaluation.h"

#include <map>

namespace lathe::tune {

class MeasuredTasks {
public:
  /// `here`: the target that tuning has now on the platform with this key; predictions for its tasks use
  /// its facts. Predictions for tasks of all other platforms use what the compiler knew of the machine
  /// that measured them. `store` outlives the object.
  MeasuredTasks(store::Store &store, Target here, std::string platform)
      : store(store), here(std::move(here)), platform(std::move(platform)) {}

  /// Reads what searches have measured of the tasks of a family ("": of all families), without facts.
  /// Tasks that no kernel is known of, and tasks of other versions, are left out. The group of each is
  /// `groupOf`: times are comparable only within one task and platform.
  std::vector<MeasuredTask> read(const std::string &family);
  /// Adds the facts to tasks that `read` has returned. Removes schedules that are not legal any more,
  /// and tasks that this version or its targets do not know.
  void addFacts(std::vector<MeasuredTask> &tasks);

  static std::string groupOf(const std::string &task, const std::string &platform) { return task + "\n" + platform; }
  /// The part of the task's text that is equal for all threads and machines (TaskParts::kernel).
  const std::string &kernelOf(const MeasuredTask &task) const { return origins.at(task.group).parts.kernel; }

private:
  struct Origin {
    std::string task, kernel; // texts
    TaskParts parts;
    std::string platform, experiment; // the experiment of one of the records; "": none is known
  };
  store::Store &store;
  Target here;
  std::string platform;
  std::map<std::string, Origin> origins; // by group
  // By Target::key and experiment.
  std::map<std::pair<std::string, std::string>, std::optional<Target>> elsewhere;

  std::shared_ptr<const KernelFacts> factsOf(mlir::MLIRContext &context, const Origin &origin);
  /// Null if the machine of the experiment makes no target with the key of the task.
  const Target *targetOf(const Origin &origin);
  std::optional<Target> targetElsewhere(const std::string &key, const std::string &experiment);
};

} // namespace lathe::tune
