#include "tune/Transfer.h"

#include "tune/Space.h"

#include <algorithm>

namespace lathe::tune {
namespace {

constexpr size_t mostParts = 5;

/// Keeps `count` random elements, in their order.
template <class T> void draw(std::vector<T> &all, size_t count, Random &random) {
  size_t left = count; // to be drawn from element `i` on
  size_t kept = 0;
  for (size_t i = 0; i < all.size(); ++i)
    if (drawn(random, all.size() - i) < left) {
      --left;
      if (kept != i)
        all[kept] = std::move(all[i]);
      ++kept;
    }
  all.erase(all.begin() + static_cast<ptrdiff_t>(kept), all.end());
}

/// The largest number of schedules per task such that all tasks together have at most `limit`.
size_t mostOfATask(const std::vector<MeasuredTask> &tasks, size_t limit) {
  auto sum = [&](size_t most) {
    size_t count = 0;
    for (const MeasuredTask &task : tasks)
      count += std::min(most, task.schedules.size());
    return count;
  };
  size_t low = 0, high = limit; // sum(low) is within the limit
  while (low < high) {
    size_t middle = (low + high + 1) / 2;
    if (sum(middle) <= limit)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

} // namespace

std::vector<MeasuredTask> sampled(std::vector<MeasuredTask> tasks, const TransferLimits &limits, uint64_t seed) {
  Random random(seed);
  std::erase_if(tasks, [](const MeasuredTask &task) { return task.schedules.size() < 2; });
  if (tasks.size() > limits.tasks)
    draw(tasks, limits.tasks, random);
  size_t most = mostOfATask(tasks, limits.schedules);
  for (MeasuredTask &task : tasks)
    if (task.schedules.size() > most)
      draw(task.schedules, most, random);
  return tasks;
}

TransferModels::TransferModels(std::vector<MeasuredTask> given, const std::set<std::string> &tuned,
                               const ModelKind &kind, std::shared_ptr<const LearnedModel> start)
    : known(std::move(given)), kind(kind), start(std::move(start)) {
  for (const MeasuredTask &task : known)
    if (tuned.contains(task.group))
      parts.try_emplace(task.group, parts.size() % mostParts);
  if (parts.size() == 1 && tuned.size() == 1) // no other task could use this model
    std::erase_if(known, [&](const MeasuredTask &task) { return parts.contains(task.group); });
}

std::shared_ptr<const LearnedModel> TransferModels::modelFor(const std::string &group) {
  auto own = parts.find(group);
  size_t part = own == parts.end() ? mostParts : own->second;
  auto [model, isNew] = trained.try_emplace(part, start);
  if (!isNew || known.empty())
    return model->second;
  if (examples.empty())
    examples = trainingExamples(known, kind.features);
  std::vector<TrainingExample> others;
  for (const TrainingExample &example : examples)
    if (auto its = parts.find(known[example.task].group); its == parts.end() || its->second != part)
      others.push_back(example);
  if (others.empty())
    return start;
  LearnedModelOptions options;
  options.objective = kind.objective;
  options.start = start;
  auto fresh = std::make_shared<LearnedModel>(options);
  fresh->fit(others);
  return model->second = std::move(fresh);
}

size_t TransferModels::tasks() const { return known.size(); }

size_t TransferModels::schedules() const {
  size_t count = 0;
  for (const MeasuredTask &task : known)
    count += task.schedules.size();
  return count;
}

} // namespace lathe::tune
