// What `lathe tune` does with the records of a store alone: --evaluate-model and --train-model.
#pragma once

#include "cli/CompilerVerbs.h"
#include "tune/ModelSearcher.h"

namespace lathe::cli {

/// Holds out a fifth of the schedules of each task and a fifth of all tasks, five times each; with a
/// model all tasks of the model, once. Prints a table. `storeFile`: "" is the default store. Throws
/// Error if the store has too few records.
int evaluateModel(const Options &options, const ModelFlags &model, const std::string &storeFile, uint64_t seed);

/// Trains models on the records of a store and writes them to `path`. Throws Error if there are none.
int trainModel(const Options &options, const std::string &storeFile, const tune::ModelKind &kind, uint64_t seed,
               const std::string &path);

} // namespace lathe::cli
