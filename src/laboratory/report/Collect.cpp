#include "report/Collect.h"

#include "report/PointBelt.h"
#include "store/Outcomes.h"

#include <set>

namespace lathe::report {

/// A title from the kinds of experiments: "ops, segments".
static std::string titleOf(const std::vector<store::ExperimentSummary> &experiments) {
  std::set<std::string_view> kinds;
  for (const store::ExperimentSummary &summary : experiments)
    kinds.insert(name(summary.experiment.kind));
  return fmt::format("{}", fmt::join(kinds, ", "));
}

/// Adds the tuning records of the experiments.
static void addTuning(PageData &data, store::Store &store, const std::set<std::string> &experiments) {
  for (store::TunedTask &task : store.tunedTasks()) {
    std::erase_if(task.records, [&](store::TuningRecord &record) {
      std::vector<store::TuningOutcome> theirs = outcomesOf(record);
      std::erase_if(theirs, [&](const store::TuningOutcome &one) { return !experiments.contains(one.experiment); });
      if (theirs.empty())
        return true;
      setOutcomes(record, std::move(theirs));
      return false;
    });
    if (!task.records.empty())
      data.addTask(task);
  }
}

PageData collect(store::Store &store, const store::Filter &filter, PageHeader header, const CeilingsOf &ceilings) {
  store::Transaction moment(store.connection(), store::Transaction::Kind::read);
  std::vector<store::ExperimentSummary> experiments = store.experiments(filter, true);
  if (header.title.empty())
    header.title = titleOf(experiments);
  PageData data(std::move(header));
  std::set<std::string> chosen;
  for (const store::ExperimentSummary &summary : experiments) {
    data.addPlatform(store.platform(summary.experiment.platform), ceilings(summary.experiment.platform));
    data.addExperiment(summary.experiment);
    chosen.insert(summary.experiment.uuid);
  }
  {
    PointBelt belt([&](const store::Point &point) { data.addPoint(point); });
    store.points(filter, true, [&](const store::Point &point) { belt.add(point); });
    belt.finish();
  }
  if (filter.op.empty() && filter.provider.empty()) // tuning records have no operator or provider
    addTuning(data, store, chosen);
  data.setLabels(store.labels());
  return data;
}

} // namespace lathe::report
