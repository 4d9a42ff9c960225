// The tuned package of a model: compiled, checked against the references, and compared with the untuned one.
#pragma once

#include "cli/tuning/ReferenceOutputs.h"
#include "support/Table.h"

#include <nlohmann/json.hpp>

#include <map>
#include <memory>

namespace lathe::cli {

struct TunedComparison {
  bool slower = false;       // the verdict on the tuned package
  double ratio = 0;          // untuned time / tuned time; 0: the outputs do not agree
  nlohmann::json comparison; // of `lathe compare`, the tuned package first

  /// "1.052 times the untuned one's speed (1.044 to 1.060), faster"; `other`: what is not tuned, in words.
  std::string speedText(const std::string &other = "untuned") const;
  /// Times of both packages side by side. The outputs agree.
  Table sides() const;
};

/// Times both packages in turns for about `seconds`. Throws Error if a package cannot be run.
TunedComparison compareTuned(const ModelFlags &model, const std::string &tuned, const std::string &untuned,
                             double seconds);

/// What became of the tuned package.
struct TunedOutcome {
  PackageCheck check;
  std::optional<TunedComparison> comparison; // nothing: the check did not pass

  /// The tuned package is right, and there is a verdict on its speed.
  bool valid() const { return check.passed && comparison && comparison->ratio > 0; }
  /// The verdict is *slower*, or the ratio is below 1: every kept schedule gained alone, so the whole should gain, too.
  bool gainsNothing() const { return valid() && (comparison->slower || comparison->ratio < 1); }
  /// "1.052 times the untuned one's speed (1.044 to 1.060), faster; verified: relative error 3.1e-07"
  std::string str() const;
};

class TunedPackage {
public:
  /// `options`: of the untuned package. `budget`: seconds of the whole tuning; 0: no limit. `model` outlives the object.
  TunedPackage(const ModelFlags &model, CompileOptions options, double budget);

  /// Does what the end needs and what does not depend on the search: compiles the untuned package and computes the reference.
  /// Without a budget `finish` does so. Throws Error if that takes more than half of the budget: then nothing could be kept.
  void prepare(Progress &progress);
  /// Seconds before the end of the budget in which `finish` compiles, checks and compares.
  double reservedSeconds() const;
  /// Compiles the package with these options and schedules (by the text of their tasks), checks it, and compares it with the
  /// untuned one until `left` seconds from now, or for two more seconds. Without a budget it compares for `left` seconds.
  TunedOutcome finish(const CompileOptions &tunedOptions, const std::map<std::string, std::string> &schedules,
                      double left, Progress &progress);
  /// Copies the tuned package, which `finish` has made, or the untuned one to `path`.
  void write(const std::string &path, bool isTuned);

private:
  const ModelFlags &model;
  CompileOptions options;
  double budget;
  std::string untuned, tuned; // files; "": not compiled
  double compileSeconds = 0;
  std::unique_ptr<ReferenceOutputs> reference;

  std::string compileWith(CompileOptions compiling, const std::map<std::string, std::string> &schedules,
                          const char *name) const;
  void compileUntuned();
};

} // namespace lathe::cli
