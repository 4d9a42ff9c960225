#include "tune/model/Knowledge.h"

#include "schedule/Algorithms.h"
#include "tune/model/MeasuredTasks.h"

namespace lathe::tune {

/// A sample of the tasks of a family.
static std::vector<MeasuredTask> sampleOf(MeasuredTasks &reader, const std::string &family, uint64_t seed) {
  const TransferLimits limits;
  std::vector<MeasuredTask> known = sampled(reader.read(family), limits, seed);
  reader.addFacts(known); // removes illegal schedules
  return sampled(std::move(known), limits, seed);
}

void Knowledge::read(store::Store &store, const Target &here, const std::string &measuredOn,
                     const std::vector<TaskToTune> &tasks, const ModelKind &kind, uint64_t seed,
                     const std::string &company) {
  platform = measuredOn;
  std::map<std::string, std::set<std::string>> tuned; // groups by family
  for (const TaskToTune &task : tasks)
    tuned[task.task.family].insert(MeasuredTasks::groupOf(task.task.key, platform));
  MeasuredTasks reader(store, here, platform, company);
  for (const auto &[family, groups] : tuned)
    if (TransferModels ofFamily(sampleOf(reader, family, seed), groups, kind, startOf(family)); ofFamily.tasks())
      models.emplace(family, std::move(ofFamily));
}

std::shared_ptr<const LearnedModel> Knowledge::startOf(const std::string &family) const {
  auto found = start.models.find(family);
  return found == start.models.end() ? nullptr : found->second;
}

std::shared_ptr<const LearnedModel> Knowledge::modelFor(const Task &task) {
  auto found = models.find(task.family);
  return found == models.end() ? startOf(task.family)
                               : found->second.modelFor(MeasuredTasks::groupOf(task.key, platform));
}

TrainedModels trainModels(store::Store &store, const Target &here, const std::string &platform, const ModelKind &kind,
                          uint64_t seed) {
  std::set<std::string> families;
  for (const Algorithm &algorithm : algorithms())
    families.insert(algorithm.family);
  families.erase(""); // choices above kernels have no family
  TrainedModels all{kind, {}};
  MeasuredTasks reader(store, here, platform);
  for (const std::string &family : families)
    if (auto model = TransferModels(sampleOf(reader, family, seed), {}, kind).modelFor(""))
      all.models[family] = std::move(model);
  return all;
}

size_t Knowledge::tasks() const {
  size_t count = 0;
  for (const auto &[family, ofFamily] : models)
    count += ofFamily.tasks();
  return count;
}

size_t Knowledge::schedules() const {
  size_t count = 0;
  for (const auto &[family, ofFamily] : models)
    count += ofFamily.schedules();
  return count;
}

} // namespace lathe::tune
