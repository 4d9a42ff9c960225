#include "tune/ModelTable.h"

#include "support/Error.h"
#include "tune/ModelSearcher.h"

#include <cmath>

namespace lathe::tune {
namespace {

constexpr const char *analytic = "analytic";

std::vector<ModelKind> learnedModels() {
  std::vector<ModelKind> all;
  for (Objective objective : {Objective::regression, Objective::ranking})
    for (FeatureSet set : featureSets)
      all.push_back({set, objective});
  return all;
}

const char *text(HeldOut heldOut) {
  return heldOut == HeldOut::schedules ? "schedules" : heldOut == HeldOut::groups ? "tasks" : "network";
}

std::string number(double value) { return std::isfinite(value) ? fmt::format("{:.3f}", value) : ""; }

} // namespace

std::vector<std::string> evaluatedModels() {
  std::vector<std::string> names = {analytic};
  for (const ModelKind &one : learnedModels())
    names.push_back(name(one));
  return names;
}

std::vector<ModelQuality> modelQualities(const std::vector<MeasuredTask> &tasks, const EvaluationOptions &split,
                                         const LearnedModelOptions &model,
                                         const std::function<void(const ModelQuality &)> &done) {
  std::vector<ModelQuality> all;
  auto add = [&](const std::string &name, bool hasUnit, const Evaluation &evaluation) {
    all.push_back({split.heldOut, name, hasUnit, evaluation});
    if (done)
      done(all.back());
  };
  add(analytic, true, evaluateAnalytic(tasks, split));
  for (const ModelKind &one : learnedModels()) {
    LearnedModelOptions options = model;
    options.objective = one.objective;
    add(name(one), one.objective == Objective::regression, evaluate(tasks, one.features, options, split));
  }
  return all;
}

Table modelTable(const std::vector<ModelQuality> &qualities) {
  Table table({textColumn("held out"), textColumn("model"), numberColumn("pairs").key("pair_accuracy"),
               numberColumn("peak@1").key("peak_1"), numberColumn("peak@5").key("peak_5"),
               numberColumn("RMSE").key("rmse"), numberColumn("training", "s").drop(2),
               numberColumn("score", "us").drop(1), numberColumn("tasks").drop(3), numberColumn("schedules").drop(4),
               numberColumn("differing pairs").onlyData()});
  for (const ModelQuality &one : qualities) {
    const Ranking &ranking = one.evaluation.ranking;
    bool learned = one.model != analytic;
    table.row({text(one.heldOut), one.model, number(ranking.accuracy), number(ranking.peak1), number(ranking.peak5),
               one.hasUnit ? number(ranking.rmse) : "", learned ? fmt::format("{:.2f}", one.evaluation.fitSeconds) : "",
               fmt::format("{:.1f}", one.evaluation.scoreSeconds * 1e6), std::to_string(ranking.tasks),
               std::to_string(ranking.schedules), std::to_string(ranking.pairs)});
  }
  return table;
}

} // namespace lathe::tune
