// The tuned package of a model: compiled, checked against the references, and compared with the untuned one.
#pragma once

#include "jobs/tune/ReferenceOutputs.h"
#include "support/Table.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <set>

namespace lathe::jobs {

struct TunedComparison {
  bool slower = false;       // the verdict on the tuned package
  double ratio = 0;          // untuned time / tuned time; 0: the outputs do not agree
  double interval = 0;       // width of the 95 % interval of the ratio
  nlohmann::json comparison; // of `lathe compare`, the tuned package first

  /// "1.052 times the untuned one's speed (1.044 to 1.060), faster"; `other`: what is not tuned, in words.
  std::string speedText(const std::string &other = "untuned") const;
  /// Times of both packages side by side. The outputs agree.
  Table sides() const;
};

/// Times both packages in turns for about `seconds`. Throws Error if a package cannot be run.
TunedComparison compareTuned(const ModelOptions &model, const std::string &tuned, const std::string &untuned,
                             double seconds);

/// What became of the tuned package.
struct TunedOutcome {
  PackageCheck check;
  std::optional<TunedComparison> comparison; // nothing: the check did not pass
  /// Of the package with all schedules, where it gained nothing and others were tried: they have fewer schedules.
  std::optional<TunedComparison> withAll = {};
  std::set<std::string> dropped = {}; // tasks whose schedules are not in the package

  /// The tuned package is right, and there is a verdict on its speed.
  bool valid() const { return check.passed && comparison && comparison->ratio > 0; }
  /// The verdict is *slower*, or the ratio is below 1: every kept schedule gained alone, so the whole should gain, too.
  bool gainsNothing() const { return valid() && (comparison->slower || comparison->ratio < 1); }
  /// The comparison was disturbed: it could not have shown what schedules usually gain.
  bool isVague() const { return valid() && comparison->interval > 0.05; }
  /// "1.052 times the untuned one's speed (1.044 to 1.060), faster; verified: relative error 3.1e-07"
  std::string str() const;
};

/// Schedules by the text of their task, those that are expected to gain most first.
using TaskSchedule = std::vector<std::pair<std::string, std::string>>;

class TunedPackage {
public:
  /// `options`: of the untuned package. `budget`: seconds of the whole tuning; 0: no limit. `model` outlives the object.
  TunedPackage(const ModelOptions &model, CompileOptions options, double budget);

  /// Does what the end needs and what does not depend on the search: compiles the untuned package and computes the reference.
  /// Without a budget `finish` does so. Throws Error if that takes more than half of the budget: then nothing could be kept.
  void prepare(Progress &progress);
  /// Seconds before the end of the budget in which `finish` compiles, checks and compares.
  double reservedSeconds() const;
  /// Compiles the package with these options and schedules, checks it, and compares it with the untuned one until `left`
  /// seconds from now, or for two more seconds. Without a budget it compares for `left` seconds. If the package gains
  /// nothing, packages with fewer schedules are compared to find those that gain inside the model (tune/GainingChanges.h).
  TunedOutcome finish(const CompileOptions &tunedOptions, const TaskSchedule &schedules, double left,
                      Progress &progress);
  /// Copies the tuned package, which `finish` has made, or the untuned one to `path`.
  void write(const std::string &path, bool isTuned);

private:
  const ModelOptions &model;
  CompileOptions options;
  double budget;
  std::string untuned, tuned; // files; "": not compiled
  double compileSeconds = 0;
  std::unique_ptr<ReferenceOutputs> reference;

  std::string compileWith(CompileOptions compiling, const TaskSchedule &schedules, const char *name) const;
  void compileUntuned();
  /// Checks the tuned package, and compares it with the untuned one for so many seconds.
  TunedOutcome judge(double checkSeconds, double seconds, Progress &progress);
  /// Makes the package with the schedules that gain inside the model the tuned one, until `end` at most (of
  /// lab::steadySeconds). Returns the tasks of the other schedules.
  std::set<std::string> dropLosing(const CompileOptions &tunedOptions, const TaskSchedule &schedules, double end,
                                   Progress &progress);
};

} // namespace lathe::jobs
