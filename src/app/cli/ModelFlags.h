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

/// What a verb does with MODEL, which determines the flags of the verb.
enum class ModelUse {
  graph,   // the verb reads the graph
  kernels, // the verb lowers the graph to kernels, without machine code
  compile, // the verb compiles it
  tune,    // the verb compiles it with schedules that a search chooses; no flag chooses them
  sweep,   // the verb compiles it at each of several levels, targets and numbers of threads
  run,     // the verb compiles it unless it is a package, and runs it
};

/// MODEL is an ONNX, TFLite, TensorFlow or Keras file, the folder of a SavedModel, textual IR, a package (F.lathe) or
/// zoo:NAME. A flag that has no effect on this kind of MODEL is an Error that names the flag and the remedy.
struct ModelFlags : CompileChoices {
  std::string model;
  std::vector<std::string> shapes;              // "data=1x3x224x224"
  std::vector<std::string> overrides;           // ImportOptions::overrides
  std::string requantizeRounding = "reference"; // "reference" or "optimised" (import/Import.h)
  std::string signature;                        // ImportOptions::signature
  std::vector<std::string> custom;              // "Scale=scale.mlir": definitions of Keras layers (import/Import.h)
  bool noCache = false;
  bool noRecords = false;
  std::string store;       // store whose tuning records are used; "": the default store
  int64_t zooBatch = 0;    // batch of zoo:NAME; 0: the default of the network
  int64_t zooSequence = 0; // steps or tokens of zoo:NAME; 0: the default of the network
  uint64_t zooSeed = 0;
  bool leaveOut = false; // ImportOptions::leaveOut; no flag sets it
  std::string package;   // package used instead of compiling MODEL (`verify --package`); "": none

  std::string checkConstants = "once"; // "once", "always" or "never"

  /// Adds the flags for verbs with this use of MODEL. `takesPackages`: MODEL may be a package (always true for
  /// ModelUse::run).
  void add(Options &options, ModelUse use, bool takesPackages = false);
  /// Adds --specialize and --range, for verbs that make a package (always for ModelUse::run).
  void addVariants(Options &options);
  /// Adds --store, for verbs that compile and store no measurements (other verbs: RecordFlags).
  void addStore(Options &options);
  /// Adds --check-constants, for verbs that load packages.
  void addLoading(Options &app);
  /// Throws Error with `reason` if a flag about compilation was given.
  void refuseCompileFlags(const std::string &reason) const;

  /// The flags, without the model, as arguments of `lathe compile` (compileArguments), or of a verb that only reads the
  /// graph (graphArguments).
  Arguments compileArguments() const;
  Arguments graphArguments() const;
  /// The flags that choose tuning records, as arguments.
  Arguments recordArguments() const;
  /// True if the compilation uses tuning records (cli/UsedRecords.h).
  bool takesRecords() const { return makesCode && !noRecords && !referencesOnly; }
  /// How packages are loaded: options of the runtime.
  runtime::LoadOptions loadOptions() const;

  bool isZoo() const { return model.rfind("zoo:", 0) == 0; }
  std::string zooName() const { return model.substr(4); }

private:
  /// What a flag is about, which determines the kinds of MODEL that it applies to.
  enum class Scope { shape, zoo, import, custom, compile };
  struct Flag {
    const CLI::Option *option;
    Scope scope;
  };
  std::vector<Flag> flags; // all flags except --threads, which applies to every model
  bool makesCode = false;

  void addCompileFlags(Options &options, ModelUse use);
  void addChoices(Options &options, const std::function<bool(std::string_view name)> &offered);
  void requireHonoured(ModelUse use, bool takesPackages) const;
};

/// Prints on stderr, once per command, that there are fewer processors than threads.
void sayIfCrowded(int64_t threads);

/// The class name and the file of each --custom flag, in order.
std::map<std::string, std::string> customDefinitions(const std::vector<std::string> &texts);

} // namespace lathe::cli
