// What `lathe tune` does with the records of a store alone: --evaluate-model and --train-model.
#pragma once

#include "jobs/Source.h"
#include "store/Store.h"
#include "tune/ModelSearcher.h"
#include "tune/ModelTable.h"

namespace lathe::jobs {

struct ModelEvaluation {
  size_t tasks = 0, schedules = 0; // that were measured
  std::vector<tune::ModelQuality> models;
};

/// Holds out a fifth of the schedules of each task and a fifth of all tasks, five times each; with a
/// model all tasks of the model, once. It is compiled without records. Throws Error if the store has too few records.
ModelEvaluation evaluateModel(store::Store &store, ModelOptions model, uint64_t seed);

/// Trains models on the records of a store and writes them to `path`. Returns the families that have one. Throws Error if there
/// are none.
std::vector<std::string> trainModel(store::Store &store, const tune::ModelKind &kind, uint64_t seed,
                                    const std::string &path);

} // namespace lathe::jobs
