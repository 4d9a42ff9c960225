#include "serve/Listing.h"

#include "report/PlatformNames.h"

#include <set>

namespace lathe::serve {

using nlohmann::json;

static std::string stateOf(const store::ExperimentSummary &summary) {
  return !summary.experiment.finished.empty() ? "finished" : summary.owner ? "running" : "stopped";
}

static json toJson(const store::ExperimentSummary &summary, const store::TuningCount &tuning) {
  const store::Experiment &experiment = summary.experiment;
  json document = {{"uuid", experiment.uuid},         {"kind", name(experiment.kind)},
                   {"command", experiment.command},   {"version", experiment.version},
                   {"started", experiment.started},   {"finished", experiment.finished},
                   {"platform", experiment.platform}, {"cpu", summary.cpu},
                   {"points", summary.points},        {"passed", summary.passed},
                   {"records", tuning.records},       {"records_passed", tuning.passed}};
  document["state"] = stateOf(summary);
  if (summary.owner) {
    store::Owner here = store::Owner::self();
    document["pid"] = summary.owner->pid;
    if (summary.owner->host != here.host)
      document["host"] = summary.owner->host;
  }
  return document;
}

std::vector<json> experimentsJson(store::Store &store, const std::vector<store::ExperimentSummary> &summaries) {
  std::map<std::string, store::TuningCount> tuning = store::tuningCounts(store);
  store::Filter running;
  for (const store::ExperimentSummary &summary : summaries)
    if (stateOf(summary) == "running")
      running.experiments.push_back(summary.experiment.uuid);
  std::map<std::string, size_t> planned;
  if (!running.experiments.empty())
    for (const store::ExperimentSummary &summary : store.experiments(running, true))
      if (auto points = summary.experiment.plannedPoints())
        planned[summary.experiment.uuid] = *points;
  std::vector<json> documents;
  for (const store::ExperimentSummary &summary : summaries) {
    const std::string &uuid = summary.experiment.uuid;
    documents.push_back(toJson(summary, tuning[uuid]));
    if (auto found = planned.find(uuid); found != planned.end())
      documents.back()["planned_points"] = found->second;
  }
  return documents;
}

json platformsJson(store::Store &store, const std::vector<store::ExperimentSummary> &experiments) {
  struct Sums {
    size_t experiments = 0, points = 0;
    std::string last;
  };
  std::map<std::string, Sums> byKey;
  for (const store::ExperimentSummary &summary : experiments) {
    Sums &sums = byKey[summary.experiment.platform];
    ++sums.experiments;
    sums.points += summary.points;
    sums.last = std::max(sums.last, summary.experiment.started);
  }
  std::map<std::string, store::Platform> platforms;
  for (auto &[key, sums] : byKey)
    platforms[key] = store.platform(key);
  std::map<std::string, std::string> names =
      report::platformNames(platforms, indexOf(store.labels(), store::LabelTarget::platform));
  json list = json::array();
  for (auto &[key, platform] : platforms) {
    const Sums &sums = byKey[key];
    list.push_back({{"key", key},
                    {"name", names.at(key)},
                    {"cores", platform.cores},
                    {"hardware_threads", platform.hardwareThreads},
                    {"memory_bytes", platform.memoryBytes},
                    {"kernel", platform.kernel},
                    {"compiler", platform.compiler},
                    {"experiments", sums.experiments},
                    {"points", sums.points},
                    {"last", sums.last}});
  }
  return list;
}

json modelsJson(store::Store &store) {
  struct Sums {
    std::set<std::string> experiments, providers;
    size_t points = 0, passed = 0;
    std::string last;
  };
  std::map<std::string, Sums> byText;
  store.points({.op = "model"}, false, [&](const store::Point &point) {
    Sums &sums = byText[point.problem.text];
    sums.experiments.insert(point.experiment);
    bool verified = point.status != store::PointStatus::notVerified;
    sums.providers.insert(verified ? point.provider : fmt::format("{} ({})", point.provider, shownName(point.status)));
    ++sums.points;
    sums.passed += point.status == store::PointStatus::passed;
    sums.last = std::max(sums.last, point.measured);
  });
  json list = json::array();
  for (auto &[text, sums] : byText)
    list.push_back({{"text", text},
                    {"experiments", sums.experiments},
                    {"providers", sums.providers},
                    {"points", sums.points},
                    {"passed", sums.passed},
                    {"last", sums.last}});
  return list;
}

std::string shownMessage(std::string message, const std::string &store) {
  std::string name = store::Location(store).name();
  for (size_t at = 0; !store.empty() && (at = message.find(store, at)) != message.npos; at += name.size())
    message.replace(at, store.size(), name);
  return message;
}

} // namespace lathe::serve
