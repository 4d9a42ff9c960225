// What a verb is told about the model and how to compile it; the same flags for every verb that takes a MODEL.
#pragma once

#include "cli/Common.h"
#include "runtime/Model.h"

#include <string>
#include <vector>

namespace lathe::cli {

/// MODEL is an ONNX file, textual IR, a package (F.lathe) or zoo:NAME. The optimisation flags say how a model is
/// compiled; a package was already.
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

  std::string checkConstants = "once"; // or "always", "never"

  void add(Options &app);
  /// --check-constants, for a verb that loads packages.
  void addLoading(Options &app);
  /// The flags (not the model) as arguments of `lathe compile`.
  Arguments compileArguments() const;
  /// How packages are loaded.
  runtime::LoadOptions loadOptions() const;

  bool isZoo() const { return model.rfind("zoo:", 0) == 0; }
  std::string zooName() const { return model.substr(4); }
};

/// `model` is ONNX as far as its first bytes tell: neither a package nor text.
bool looksLikeOnnx(const std::string &path);

/// True when the file begins as a package does. Throws Error when it cannot be read.
bool isPackage(const std::string &path);

} // namespace lathe::cli
