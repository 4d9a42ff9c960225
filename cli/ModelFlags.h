// What a verb is told about the model and how to compile it; the same flags for every verb that takes a MODEL.
#pragma once

#include "cli/Common.h"
#include "runtime/Model.h"

#include <string>
#include <vector>

namespace lathe::cli {

/// What a verb does with MODEL, which decides the flags that it takes: a flag that a verb cannot honour is none of it.
enum class ModelUse {
  graph,   // reads the graph
  kernels, // brings it to kernels and makes no machine code
  compile, // compiles it
  run,     // compiles it where it is no package, and runs it
};

/// MODEL is an ONNX file, textual IR, a package (F.lathe) or zoo:NAME, each with the flags that it can honour: after
/// parsing, the others are Errors that name the flag and what to do.
struct ModelFlags {
  std::string model;
  std::vector<std::string> shapes; // "data=1x3x224x224"
  std::string target = "native";
  int threads = 1;
  int level = 3;
  bool exactMath = false;
  bool referencesOnly = false;
  std::string memory = "any";     // or "small"
  std::string precision = "fp32"; // or "bf16" (support/Precision.h)
  bool noCache = false;
  std::string scheduleFile;
  int64_t zooBatch = 0;    // zoo:NAME built with this batch; 0: its default
  int64_t zooSequence = 0; // likewise, for networks that read sequences
  uint64_t zooSeed = 0;
  std::string package; // that is used instead of compiling MODEL: `verify --package`; "" where there is none

  std::string checkConstants = "once"; // or "always", "never"

  /// `takesPackages`: MODEL may be a package. Always so of verbs that run.
  void add(Options &options, ModelUse use, bool takesPackages = false);
  /// --check-constants, for a verb that loads packages.
  void addLoading(Options &app);
  /// Throws Error, with `reason`, for a flag of the compilation that was given.
  void refuseCompileFlags(const std::string &reason) const;

  /// The flags (not the model) as arguments of `lathe compile`, or of a verb that only reads the graph.
  Arguments compileArguments() const;
  Arguments graphArguments() const;
  /// How packages are loaded.
  runtime::LoadOptions loadOptions() const;

  bool isZoo() const { return model.rfind("zoo:", 0) == 0; }
  std::string zooName() const { return model.substr(4); }

private:
  /// What a flag is about, which decides the models that can honour it.
  enum class Scope { shape, zoo, compile };
  struct Flag {
    const CLI::Option *option;
    Scope scope;
  };
  std::vector<Flag> flags; // all but --threads, which every model honours

  void addCompileFlags(Options &options, bool makesCode);
  void requireHonoured(ModelUse use, bool takesPackages) const;
};

/// `model` is ONNX as far as its first bytes tell: neither a package nor text.
bool looksLikeOnnx(const std::string &path);

/// True when the file begins as a package does. Throws Error when it cannot be read.
bool isPackage(const std::string &path);

} // namespace lathe::cli
