// Flags of verbs that run a model: its inputs, and where measurements are stored.
#pragma once

#include "cli/flags/ModelFlags.h"
#include "jobs/Inputs.h"
#include "jobs/Recording.h"
#include "jobs/Steps.h"

namespace lathe::cli {

/// Adds the flags of inputs. `defaultFill` applies if inputs are missing and --fill is not given ("": an Error). Without
/// `oneBatch` there is no --batch (addBatches adds a list).
void addInputs(Options &options, InputOptions &inputs, const std::string &defaultFill, bool oneBatch = true);

/// Adds --batch as a list (jobs/Sizes.h). Call it instead of the flag of InputOptions.
void addBatches(Options &options, std::string &text);

/// Adds --store FILE|URL, --no-store, --tag, --note and --name of the experiment, for verbs that measure. `compiled`: the model
/// of a verb that compiles; its tuning records are those of this store.
void addRecord(Options &app, RecordOptions &record, ModelOptions *compiled = nullptr);

/// Adds --steps and --state.
void addSteps(Options &options, StepOptions &steps);

} // namespace lathe::cli
