// `lathe tune --evaluate-model`: how well learned cost models order the measured schedules of a store.
#pragma once

#include "cli/CompilerVerbs.h"

namespace lathe::cli {

/// Holds out a fifth of the schedules of each task and a fifth of all tasks, five times each; with a
/// model all tasks of the model, once. Prints a table. `storeFile`: "" is the default store. Throws
/// Error if the store has too few records.
int evaluateModel(const Options &options, const ModelFlags &model, const std::string &storeFile, uint64_t seed);

} // namespace lathe::cli
