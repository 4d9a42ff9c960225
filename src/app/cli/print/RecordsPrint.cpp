#include "cli/print/RecordsPrint.h"

#include "support/Text.h"

namespace lathe::cli {

using nlohmann::json;
using store::TuningRecord;

namespace {

std::string timeText(const TuningRecord &record) { return record.seconds ? millisecondsText(*record.seconds) : ""; }

/// "2.1" of the seconds spent on building and running; "" if unknown.
std::string spentText(const TuningRecord &record) {
  return record.buildSeconds || record.runSeconds
             ? fmt::format("{:.2f}", record.buildSeconds.value_or(0) + record.runSeconds.value_or(0))
             : "";
}

std::string verdictText(const TuningRecord &record) {
  return record.verdict == store::TuningVerdict::open ? "" : std::string(name(record.verdict));
}

std::string scheduleText(const TuningRecord &record) {
  bool isVerified = record.status != store::PointStatus::notVerified;
  return isVerified ? record.schedule : fmt::format("({}) {}", shownName(record.status), record.schedule);
}

} // namespace

std::string recordsText(size_t count) { return counted(int64_t(count), "tuning record"); }

Table recordsTable(const RecordList &list) {
  Table table({textColumn("CPU").drop(3).shrink(12), numberColumn("", "ms"), textColumn("status"),
               textColumn("reason").drop(2).shrink(12), textColumn("schedule").shrink(16),
               textColumn("task").shrink(20), textColumn("verdict").drop(1), numberColumn("samples").drop(5),
               textColumn("searcher").drop(4), numberColumn("spent", "s").drop(6), textColumn("measured").drop(7),
               textColumn("version").drop(8)});
  for (const store::TunedTask &task : list.tasks)
    for (const TuningRecord &record : task.records)
      table.row({list.processors.at(record.platform), timeText(record), std::string(shownName(record.status)),
                 record.reason, record.schedule, record.task, verdictText(record),
                 record.samples.empty() ? "" : std::to_string(record.samples.size()), record.searcher,
                 spentText(record), record.measured.substr(0, 19) + "Z", record.version});
  return table;
}

json recordsJson(const RecordList &list) {
  json records = json::array();
  for (const store::TunedTask &task : list.tasks)
    for (const TuningRecord &record : task.records) {
      json &document = records.emplace_back(store::toJson(record));
      if (!record.samples.empty())
        document["samples_ns"] = record.samples; // samples of all outcomes
      document["cpu"] = list.processors.at(record.platform);
      document["family"] = task.task.family;
    }
  return records;
}

Table triedTable(const std::vector<TriedTask> &tasks) {
  Table table({textColumn("CPU").drop(3).shrink(12), numberColumn("", "ms"), numberColumn("trials"),
               textColumn("failures").drop(1).shrink(10), textColumn("verdict").drop(2),
               textColumn("schedule").shrink(16), textColumn("task").shrink(20)});
  for (const TriedTask &tried : tasks) {
    const auto &best = tried.best;
    table.row({tried.cpu, best ? timeText(*best) : "", std::to_string(tried.trials), countsText(tried.failures),
               best ? verdictText(*best) : "", best ? scheduleText(*best) : "none passed", tried.task.text});
  }
  return table;
}

json triedJson(const std::vector<TriedTask> &tasks) {
  json list = json::array();
  for (const TriedTask &tried : tasks) {
    json failures = json::object();
    for (auto &[status, count] : tried.failures)
      failures[std::string(name(status))] = count;
    list.push_back({{"task", tried.task.text},
                    {"family", tried.task.family},
                    {"platform", tried.platform},
                    {"cpu", tried.cpu},
                    {"trials", tried.trials},
                    {"failures", failures},
                    {"best", tried.best ? store::toJson(*tried.best) : json()}});
  }
  return list;
}

} // namespace lathe::cli
