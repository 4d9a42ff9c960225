// Flags of verbs that run a model: its inputs, and where measurements are stored.
#pragma once

#include "cli/flags/ModelFlags.h"
#include "jobs/Inputs.h"
#include "jobs/Recording.h"
#include "jobs/Steps.h"

namespace lathe::cli {

/// Adds the flags about inputs. `defaultFill` is the value of --fill if inputs are missing and --fill is not given
/// ("": missing inputs are an Error). Without `oneBatch` there is no --batch (addBatches adds it as a list).
void addInputs(Options &options, InputOptions &inputs, const std::string &defaultFill, bool oneBatch = true);

/// Adds the flag --batch as a list of numbers (jobs/Sizes.h). Call it instead of letting addInputs add --batch.
void addBatches(Options &options, std::string &text);

/// Adds the flags --store FILE|URL, --no-store, --tag, --note and --name of the experiment, for verbs that measure.
/// `compiled`: the model of a verb that compiles; its tuning records come from the same store.
void addRecord(Options &app, RecordOptions &record, ModelOptions *compiled = nullptr);

/// Adds the flags --steps and --state.
void addSteps(Options &options, StepOptions &steps);

} // namespace lathe::cli
