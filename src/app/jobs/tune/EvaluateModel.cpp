#include "jobs/tune/EvaluateModel.h"

#include "compile/KernelTasks.h"
#include "lab/StoreRecords.h"
#include "support/Text.h"
#include "tune/model/Knowledge.h"
#include "tune/model/MeasuredTasks.h"

namespace lathe::jobs {
namespace {

constexpr size_t leastSchedules = 10; // per task: a fifth of them can still be ordered
constexpr size_t leastKernels = 5;    // as many as cross-validation parts

size_t schedulesOf(const std::vector<tune::MeasuredTask> &tasks) {
  size_t count = 0;
  for (const tune::MeasuredTask &task : tasks)
    count += task.schedules.size();
  return count;
}

/// The tasks of a store with enough schedules. Tasks of the same kernel with other threads or on another machine form a
/// group, which is held out together.
std::vector<tune::MeasuredTask> readTasks(store::Store &store, const Target &here) {
  tune::MeasuredTasks reader(store, here, lab::platformHere().key());
  std::vector<tune::MeasuredTask> tasks = reader.read("");
  reader.addFacts(tasks);
  size_t schedules = schedulesOf(tasks), all = tasks.size();
  std::erase_if(tasks, [](const tune::MeasuredTask &task) { return task.schedules.size() < leastSchedules; });
  std::set<std::string> kernels;
  for (tune::MeasuredTask &task : tasks)
    kernels.insert(task.group = reader.kernelOf(task));
  require(kernels.size() >= leastKernels,
          "{}: has {} of {}, expected at least {} tasks with {} schedules each; `lathe tune` measures them",
          store.path(), counted(int64_t(schedules), "measured schedule"), counted(int64_t(all), "task"), leastKernels,
          leastSchedules);
  return tasks;
}

/// Groups of the tasks of a model. Throws Error unless the store has some of them, and others.
std::set<std::string> groupsOf(const ModelOptions &model, const std::vector<tune::MeasuredTask> &tasks,
                               const std::string &store) {
  CompileOptions compiling = compileOptions(model, nullptr);
  Source source = loadSource(model);
  std::set<std::string> groups;
  for (const KernelTask &kernel : kernelTasks(*source.module, compiling))
    if (std::optional<TaskParts> parts = partsOfTask(kernel.task))
      groups.insert(parts->kernel);
  auto known = std::count_if(tasks.begin(), tasks.end(), [&](auto &task) { return groups.contains(task.group); });
  require(known > 0, "{}: has no measured schedules of {}", store, model.model);
  require(size_t(known) < tasks.size(), "{}: has measured schedules of {} alone, expected other tasks to learn from",
          store, model.model);
  return groups;
}

} // namespace

ModelEvaluation evaluateModel(store::Store &store, ModelOptions model, uint64_t seed) {
  model.noRecords = true;
  Progress progress("tune --evaluate-model");
  progress.update("reading the kernels of the records", 0, 0);
  std::vector<tune::MeasuredTask> tasks = readTasks(store, targetOf(compileOptions(model, nullptr)));
  std::vector<tune::EvaluationOptions> splits = {{.heldOut = tune::HeldOut::schedules, .seed = seed},
                                                 {.heldOut = tune::HeldOut::groups, .seed = seed}};
  if (!model.model.empty())
    splits = {
        tune::EvaluationOptions{.heldOut = tune::HeldOut::chosen, .chosen = groupsOf(model, tasks, store.path())}};
  std::vector<tune::ModelQuality> qualities;
  size_t done = 0, total = splits.size() * tune::evaluatedModels().size();
  for (const tune::EvaluationOptions &split : splits) {
    auto after = [&](const tune::ModelQuality &one) { progress.update(one.model + " is evaluated", ++done, total); };
    for (tune::ModelQuality &one : tune::modelQualities(tasks, split, {}, after))
      qualities.push_back(std::move(one));
  }
  return {tasks.size(), schedulesOf(tasks), std::move(qualities)};
}

std::vector<std::string> trainModel(store::Store &store, const tune::ModelKind &kind, uint64_t seed,
                                    const std::string &path) {
  Progress progress("tune --train-model");
  progress.update("training", 0, 0);
  tune::TrainedModels models = tune::trainModels(store, Target::parse("native"), lab::platformHere().key(), kind, seed);
  require(!models.models.empty(), "{}: has no task with 2 measured schedules; `lathe tune` measures them",
          store.path());
  tune::writeModels(path, models);
  std::vector<std::string> families;
  for (const auto &[family, model] : models.models)
    families.push_back(family);
  return families;
}

} // namespace lathe::jobs
