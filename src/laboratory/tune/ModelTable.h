// Compares all learned cost models with the analytic one, on the same held-out schedules.
#pragma once

#include "support/Table.h"
#include "tune/Evaluation.h"

#include <functional>

namespace lathe::tune {

/// The quality of one cost model on schedules that were held out from its training.
struct ModelQuality {
  HeldOut heldOut = HeldOut::schedules;
  std::string model;   // name of the model: "analytic", "xgb_knob", ...
  bool hasUnit = true; // the scores are logarithms of speeds, so the RMSE is meaningful
  Evaluation evaluation;
};

/// Names of the cost models that `modelQualities` evaluates, in its order.
std::vector<std::string> evaluatedModels();

/// Evaluates the analytic cost model, and a learned model for each objective and each set of features. `model`: all
/// training options except the objective. `done` is called after each model.
std::vector<ModelQuality> modelQualities(const std::vector<MeasuredTask> &tasks, const EvaluationOptions &split,
                                         const LearnedModelOptions &model = {},
                                         const std::function<void(const ModelQuality &)> &done = {});

/// The qualities of cost models as a table: one row for each model, in order.
Table modelTable(const std::vector<ModelQuality> &qualities);

} // namespace lathe::tune
