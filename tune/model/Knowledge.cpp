#include "tune/model/Knowledge.h"

#include "tune/model/MeasuredTasks.h"

namespace lathe::tune {

Knowledge::Knowledge(store::Store &store, const Target &here, const std::string &platform,
                     const std::vector<TaskToTune> &tasks, const ModelKind &kind, uint64_t seed)
    : platform(platform) {
  std::map<std::string, std::set<std::string>> tuned; // groups by family
  for (const TaskToTune &task : tasks)
    tuned[task.task.family].insert(MeasuredTasks::groupOf(task.task.key, platform));
  const TransferLimits limits;
  MeasuredTasks reader(store, here, platform);
  for (const auto &[family, groups] : tuned) {
    std::vector<MeasuredTask> known = sampled(reader.read(family), limits, seed);
    reader.addFacts(known); // which leaves schedules out
    if (TransferModels ofFamily(sampled(std::move(known), limits, seed), groups, kind); ofFamily.tasks())
      models.emplace(family, std::move(ofFamily));
  }
}

std::shared_ptr<const LearnedModel> Knowledge::modelFor(const Task &task) {
  auto found = models.find(task.family);
  return found == models.end() ? nullptr : found->second.modelFor(MeasuredTasks::groupOf(task.key, platform));
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
