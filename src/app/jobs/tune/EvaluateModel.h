// What `lathe tune` does with only the records of a store: --evaluate-model and --train-model.
#pragma once

#include "jobs/Source.h"
#include "store/Store.h"
#include "tune/ModelSearcher.h"
#include "tune/ModelTable.h"

namespace lathe::jobs {

struct ModelEvaluation {
  size_t tasks = 0, schedules = 0; // numbers of tasks and schedules that were measured
  std::vector<tune::ModelQuality> models;
};

/// Evaluates learned cost models: holds out a fifth of the schedules of each task and a fifth of all tasks, five times
/// each; if `model` names a model, holds out all tasks of that model, once, as compiled without records. Throws Error
/// if the store has too few records.
ModelEvaluation evaluateModel(store::Store &store, ModelOptions model, uint64_t seed);

/// Trains cost models on the records of a store and writes them to `path`. Returns the kernel families that have a
/// model. Throws Error if there are none.
std::vector<std::string> trainModel(store::Store &store, const tune::ModelKind &kind, uint64_t seed,
                                    const std::string &path);

} // namespace lathe::jobs
