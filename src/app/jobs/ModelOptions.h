// Options that jobs share: a model, and how it is imported, compiled and loaded.
#pragma once

#include "compile/Options.h"
#include "jobs/Common.h"
#include "jobs/ModelFormat.h"
#include "runtime/Model.h"

#include <map>

namespace lathe::jobs {

/// The options of a job about its model. The model is an ONNX, TFLite, TensorFlow or Keras file, the folder of a
/// SavedModel, textual IR, a package (F.lathe) or zoo:NAME.
struct ModelOptions : CompileChoices {
  std::string model;
  std::vector<std::string> shapes;              // extents of inputs in the form of --shape, "data=1x3x224x224"
  std::vector<std::string> overrides;           // inputs that stay inputs (ImportOptions::overrides)
  std::string requantizeRounding = "reference"; // or "optimised" (import/Import.h)
  std::string signature;                        // signature to import (ImportOptions::signature)
  std::vector<std::string> custom;              // "Scale=scale.mlir": definitions of Keras layers (import/Import.h)
  bool noCache = false;
  bool noRecords = false;
  std::string store;       // store whose tuning records are used; "": the default store
  std::string company;     // records in this company (store::Company::str) come before those alone; "": those alone
  int64_t zooBatch = 0;    // batch of zoo:NAME; 0: the network's default
  int64_t zooSequence = 0; // steps or tokens of zoo:NAME; 0: the network's default
  uint64_t zooSeed = 0;
  bool leaveOut = false;  // leave out unsupported nodes (ImportOptions::leaveOut)
  bool makesCode = false; // the job compiles, so that tuning records may be used
  std::string package;    // package used instead of compiling the model; "": none

  std::string checkConstants = "once"; // when the hash of a package's constants is checked; or "always", "never"

  /// These options without the model, as arguments of `lathe compile`, or of a verb that only reads the graph.
  Arguments compileArguments() const;
  Arguments graphArguments() const;
  /// The options about tuning records, as arguments of a verb.
  Arguments recordArguments() const;
  /// True if the compilation uses tuning records (jobs/UsedRecords.h).
  bool takesRecords() const { return makesCode && !noRecords && !referencesOnly; }
  /// Options for loading packages.
  runtime::LoadOptions loadOptions() const;

  bool isZoo() const { return model.rfind("zoo:", 0) == 0; }
  std::string zooName() const { return model.substr(4); }
};

/// Parses `custom` of ModelOptions: the file of each definition, by name of the class.
std::map<std::string, std::string> customDefinitions(const std::vector<std::string> &texts);

/// Prints on stderr, once in a command, that a run has more threads than `processors`, or than this process may use if
/// 0.
void sayIfCrowded(int64_t threads, size_t processors = 0);

} // namespace lathe::jobs
