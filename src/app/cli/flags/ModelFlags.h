// Flags about the model and its compilation, for every verb that takes a MODEL.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/ModelOptions.h"

namespace lathe::cli {

/// What a verb does with its argument MODEL. This determines the flags of the verb.
enum class ModelUse {
  graph,   // read the graph of the model
  kernels, // lower the model to kernels, without machine code
  compile, // compile the model
  predict, // choose schedules as for compiling, without machine code
  tune,    // compile the model with schedules that a search chooses, so that no flag chooses them
  sweep,   // compile the model at each of several levels, targets and numbers of threads, which the verb lists
  run,     // compile the model unless it is a package, and run it
};

/// Adds the flags that set ModelOptions to a verb. A flag that has no effect on the given kind of MODEL is an Error
/// that names the flag and the remedy. `takesPackages`: MODEL may be a package (always true for ModelUse::run).
void addModel(Options &options, ModelOptions &model, ModelUse use, bool takesPackages = false);
/// Adds the flags --specialize and --range, for verbs that make a package (ModelUse::run always has them).
void addVariants(Options &options, ModelOptions &model);
/// Adds the flag --store, for verbs that compile and store no measurements (verbs that do use addRecord).
void addStore(Options &options, ModelOptions &model);
/// Adds the flag --check-constants, for verbs that load packages.
void addLoading(Options &app, ModelOptions &model);
/// Throws Error with `reason` if the user gave a compilation flag.
void refuseCompileFlags(const Options &options, const std::string &reason);

} // namespace lathe::cli
