#include "jobs/tune/ShipRecords.h"

#include "codegen/Task.h"
#include "jobs/ShippedRecords.h"
#include "lab/StoreRecords.h"
#include "store/Outcomes.h"

#include <filesystem>
#include <map>

namespace lathe::jobs {
namespace {

struct Shipped {
  store::TuningRecord record;
  store::TuningTask task; // without the text of the kernel
  store::Platform platform;
};

/// The records of an archive, one record for each task.
class Archive {
public:
  /// Reads the archive if it exists.
  explicit Archive(std::string file) : file(std::move(file)) {
    if (!std::filesystem::exists(this->file))
      return;
    store::Store read = store::Store::temporary(this->file);
    store::importInto(read, {this->file}, store::Imported::tuning);
    for (store::TunedTask &task : read.tunedTasks())
      for (store::TuningRecord &record : task.records)
        records[record.task] = {record, task.task, read.platform(record.platform)};
    before = schedules();
  }

  /// Takes the records of a kind of machine from `from`.
  void update(store::Store &from, const std::string &machine) {
    for (const store::ChosenSchedule &chosen : from.chosenSchedules(lab::platformHere().key()))
      if (std::optional<TaskParts> task = partsOfTask(chosen.task); task && task->target == machine) {
        if (chosen.verdict == store::TuningVerdict::noGain)
          records.erase(chosen.task);
        else
          take(from, chosen);
      }
    std::erase_if(records, [](const auto &entry) { return !isDeclared(entry.second.record.schedule); });
  }

  /// Writes the archive, or removes it if there is no record.
  void write() const {
    if (records.empty()) {
      std::filesystem::remove(file);
      return;
    }
    std::filesystem::create_directories(std::filesystem::absolute(file).parent_path());
    store::Store all = store::Store::temporary(file);
    for (const auto &[text, one] : records)
      all.addTuning({one.record}, one.task, one.platform);
    store::exportTuning(all, {}, file);
  }

  /// Changes since the archive was read.
  ShippedChanges changes() const {
    ShippedChanges changes{records.size()};
    std::map<std::string, std::string> now = schedules();
    for (const auto &[task, schedule] : now)
      if (auto old = before.find(task); old == before.end())
        ++changes.added;
      else
        changes.changed += old->second != schedule;
    for (const auto &[task, schedule] : before)
      changes.removed += !now.contains(task);
    return changes;
  }

private:
  std::string file;
  std::map<std::string, Shipped> records;    // by task
  std::map<std::string, std::string> before; // schedules by task

  void take(store::Store &from, const store::ChosenSchedule &chosen) {
    store::TuningFilter filter;
    filter.task = chosen.task;
    filter.platform = chosen.platform;
    for (store::TunedTask &task : from.tunedTasks(filter))
      for (store::TuningRecord &record : task.records)
        if (record.schedule == chosen.schedule) {
          setOutcomes(record, {leadingOutcome(record)}); // keeps only the comparison
          record.experiment.clear();                     // the experiment is not shipped
          task.task.kernel.clear();
          records[chosen.task] = {record, task.task, from.platform(chosen.platform)};
        }
  }

  std::map<std::string, std::string> schedules() const {
    std::map<std::string, std::string> all;
    for (const auto &[task, one] : records)
      all[task] = one.record.schedule;
    return all;
  }
};

} // namespace

ShippedChanges shipRecords(store::Store &store, const std::string &machine, const std::string &file) {
  Archive archive(file);
  archive.update(store, machine);
  archive.write();
  return archive.changes();
}

} // namespace lathe::jobs
