#include "jobs/records/Records.h"

#include "jobs/Self.h"
#include "jobs/ShippedRecords.h"
#include "store/Archive.h"

namespace lathe::jobs {

using store::TuningRecord;

/// Names of CPUs of the platforms of records.
static std::map<std::string, std::string> processorsOf(store::Store &store,
                                                       const std::vector<store::TunedTask> &tasks) {
  std::map<std::string, std::string> names;
  for (const store::TunedTask &task : tasks)
    for (const TuningRecord &record : task.records)
      if (auto [found, isNew] = names.try_emplace(record.platform); isNew)
        found->second = store.platform(record.platform).cpu;
  return names;
}

store::Store shippedStore() {
  store::Store all = store::Store::temporary(shippedFolder("records"));
  store::importInto(all, shippedArchives(), store::Imported::tuning);
  return all;
}

RecordList listRecords(store::Store &store, const store::TuningFilter &filter) {
  RecordList list;
  list.tasks = store.tunedTasks(filter);
  list.processors = processorsOf(store, list.tasks);
  for (const store::TunedTask &task : list.tasks)
    for (const TuningRecord &record : task.records) {
      ++list.count;
      list.undeclared += !isDeclared(record.schedule);
    }
  return list;
}

std::vector<TriedTask> triedTasks(store::Store &store, const store::TuningFilter &filter) {
  std::vector<store::TunedTask> tasks = store.tunedTasks(filter);
  std::map<std::string, std::string> processors = processorsOf(store, tasks);
  std::vector<TriedTask> all;
  for (const store::TunedTask &task : tasks) {
    std::map<std::string, TriedTask> platforms;
    for (const TuningRecord &record : task.records) {
      auto [found, isNew] = platforms.try_emplace(record.platform);
      TriedTask &tried = found->second;
      if (isNew)
        tried = {task.task, record.platform, processors.at(record.platform)};
      ++tried.trials;
      if (record.status != store::PointStatus::passed && record.status != store::PointStatus::notVerified)
        ++tried.failures[record.status];
      else if (!tried.best && record.seconds) // records are sorted by time
        tried.best = record;
    }
    for (auto &[platform, tried] : platforms)
      all.push_back(std::move(tried));
  }
  return all;
}

Pruned pruneRecords(store::Store &store, const PruneJob &job) {
  Pruned pruned;
  pruned.all = size_t(store.counts().tuning);
  std::vector<TuningRecord> chosen;
  for (const store::TunedTask &task : store.tunedTasks(job.filter)) {
    std::map<std::string, size_t> passed; // by platform
    for (const TuningRecord &record : task.records) {
      size_t *reason = nullptr;
      if (job.otherVersions && record.version != LATHE_VERSION)
        reason = &pruned.otherVersions;
      else if (!record.seconds && job.failures)
        reason = &pruned.failures;
      else if (record.seconds && job.keep && ++passed[record.platform] > *job.keep &&
               record.verdict == store::TuningVerdict::open)
        reason = &pruned.slower;
      if (!reason)
        continue;
      ++*reason;
      chosen.push_back(record);
    }
  }
  pruned.removed = job.dryRun ? chosen.size() : store.removeTuning(chosen);
  return pruned;
}

} // namespace lathe::jobs
