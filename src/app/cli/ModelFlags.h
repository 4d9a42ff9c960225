// Flags about the model and its compilation, for every verb that takes a MODEL.
#pragma once

#include "cli/Common.h"
#include "jobs/ModelFormat.h"
#include "jobs/ModelOptions.h"

#include <functional>
#include <string>
#include <vector>

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

/// The flags of ModelOptions. A flag that has no effect on this kind of MODEL is an Error that names the flag and the remedy.
struct ModelFlags : ModelOptions {
  /// Adds the flags. `takesPackages`: MODEL may be a package (always true for ModelUse::run).
  void add(Options &options, ModelUse use, bool takesPackages = false);
  /// Adds --specialize and --range, for verbs that make a package (always for ModelUse::run).
  void addVariants(Options &options);
  /// Adds --store, for verbs that compile and keep no measurements (others: RecordFlags).
  void addStore(Options &options);
  /// Adds --check-constants, for verbs that load packages.
  void addLoading(Options &app);
  /// Throws Error with `reason` if a compilation flag was given.
  void refuseCompileFlags(const std::string &reason) const;

private:
  /// Subject of a flag, which determines the kinds of MODEL that it applies to.
  enum class Scope { shape, zoo, import, custom, compile };
  struct Flag {
    const CLI::Option *option;
    Scope scope;
  };
  std::vector<Flag> flags; // all but --threads, which applies to every model

  void addCompileFlags(Options &options, ModelUse use);
  void addChoices(Options &options, const std::function<bool(std::string_view name)> &offered);
  void requireHonoured(ModelUse use, bool takesPackages) const;
};

/// Says on stderr, once in a command, that there are fewer processors than threads of a run.
void sayIfCrowded(int64_t threads);

} // namespace lathe::cli
