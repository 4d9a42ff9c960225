// Flags about the model and its compilation, for every verb that takes a MODEL.
#pragma once

#include "cli/Common.h"
#include "cli/models/ModelFormat.h"
#include "compile/Options.h"
#include "runtime/Model.h"

#include <functional>
#include <map>
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

/// MODEL is an ONNX, TFLite, TensorFlow or Keras file, the folder of a SavedModel, textual IR, a package (F.lathe) or
/// zoo:NAME. A flag that has no effect on this kind of MODEL is an Error that names the flag and the remedy.
struct ModelFlags : CompileChoices {
  std::string model;
  std::vector<std::string> shapes;              // "data=1x3x224x224"
  std::vector<std::string> overrides;           // as in ImportOptions
  std::string requantizeRounding = "reference"; // or "optimised" (import/Import.h)
  std::string signature;                        // as in ImportOptions
  std::vector<std::string> custom;              // "Scale=scale.mlir": definitions of Keras layers (import/Import.h)
  bool noCache = false;
  bool noRecords = false;
  std::string store;       // whose tuning records are used; "": the default
  int64_t zooBatch = 0;    // batch of zoo:NAME; 0: its default
  int64_t zooSequence = 0; // steps or tokens of zoo:NAME; 0: its default
  uint64_t zooSeed = 0;
  bool leaveOut = false; // as in ImportOptions; no flag
  std::string package;   // package used instead of compiling MODEL (`verify --package`); "": none

  std::string checkConstants = "once"; // or "always", "never"

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

  /// The flags without the model, as arguments of `lathe compile`, or of a verb that only reads the
  /// graph.
  Arguments compileArguments() const;
  Arguments graphArguments() const;
  /// The flags about tuning records.
  Arguments recordArguments() const;
  /// True if the compilation uses tuning records (cli/UsedRecords.h).
  bool takesRecords() const { return makesCode && !noRecords && !referencesOnly; }
  /// Options for loading packages.
  runtime::LoadOptions loadOptions() const;

  bool isZoo() const { return model.rfind("zoo:", 0) == 0; }
  std::string zooName() const { return model.substr(4); }

private:
  /// Subject of a flag, which determines the kinds of MODEL that it applies to.
  enum class Scope { shape, zoo, import, custom, compile };
  struct Flag {
    const CLI::Option *option;
    Scope scope;
  };
  std::vector<Flag> flags; // all but --threads, which applies to every model
  bool makesCode = false;

  void addCompileFlags(Options &options, ModelUse use);
  void addChoices(Options &options, const std::function<bool(std::string_view name)> &offered);
  void requireHonoured(ModelUse use, bool takesPackages) const;
};

/// Says on stderr, once in a command, that there are fewer processors than threads of a run.
void sayIfCrowded(int64_t threads);

/// The name of a class and the file of each --custom flag.
std::map<std::string, std::string> customDefinitions(const std::vector<std::string> &texts);

} // namespace lathe::cli
