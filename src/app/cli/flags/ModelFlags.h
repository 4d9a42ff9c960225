// Flags about the model and its compilation, for every verb that takes a MODEL.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/ModelOptions.h"

namespace lathe::cli {

/// Use of MODEL by a verb. It determines the flags of the verb.
enum class ModelUse {
  graph,   // read the graph
  kernels, // lower it to kernels, without machine code
  compile, // compile it
  tune,    // compile it with schedules that a search chooses, so that no flag does
  sweep,   // compile it anew at each of several levels, targets and numbers of threads, which the verb lists
  run,     // compile it unless it is a package, and run it
};

/// Adds the flags of ModelOptions. One that has no effect on this kind of MODEL is an Error that names the flag and the remedy.
/// `takesPackages`: MODEL may be a package (always true for ModelUse::run).
void addModel(Options &options, ModelOptions &model, ModelUse use, bool takesPackages = false);
/// Adds --specialize and --range, for verbs that make a package (always for ModelUse::run).
void addVariants(Options &options, ModelOptions &model);
/// Adds --store, for verbs that compile and keep no measurements (others: addRecord).
void addStore(Options &options, ModelOptions &model);
/// Adds --check-constants, for verbs that load packages.
void addLoading(Options &app, ModelOptions &model);
/// Throws Error with `reason` if a compilation flag was given.
void refuseCompileFlags(const Options &options, const std::string &reason);

} // namespace lathe::cli
