// Flags of verbs that run a model: its inputs, and where measurements are stored.
#pragma once

#include "cli/ModelFlags.h"
#include "jobs/Inputs.h"
#include "jobs/Recording.h"

namespace lathe::cli {

struct InputFlags : InputOptions {
  /// Adds the flags. `defaultFill` applies if inputs are missing and --fill is not given ("": an
  /// Error). Without `oneBatch` there is no --batch (addBatches adds a list).
  void add(Options &options, const std::string &defaultFill, bool oneBatch = true);
};

/// Adds --batch as a list (jobs/Sizes.h). Call it instead of the flag of InputFlags.
void addBatches(Options &options, std::string &text);

/// --store FILE|URL and --no-store, and --tag, --note and --name of the experiment, for verbs that measure.
struct RecordFlags : RecordOptions {
  /// `compiled`: the model of a verb that compiles; its tuning records are those of this store.
  void add(Options &app, ModelFlags *compiled = nullptr);
};

} // namespace lathe::cli
