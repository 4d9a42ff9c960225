// The tuned package of a model: it is compiled, checked against the references, and compared with the untuned
// package.
#pragma once

#include "jobs/corun/Beside.h"
#include "jobs/tune/ReferenceOutputs.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <set>

namespace lathe::jobs {

struct TunedComparison {
  bool slower = false, faster = false; // true: the verdict is that the tuned package is slower, or faster
  double ratio = 0;                    // ratio of times, untuned / tuned; 0: the outputs do not agree
  double seconds = 0;                  // median of the times of a run of the tuned package
  double interval = 0;                 // width of the 95 % interval of the ratio
  nlohmann::json comparison;           // output of `lathe compare`, the tuned package first
};

/// Times the tuned and the untuned package in turns for about `seconds`, while `beside` runs if it is not null. Throws
/// Error if a package cannot be run, and if too few runs of the companion end meanwhile.
TunedComparison compareTuned(const ModelOptions &model, const std::string &tuned, const std::string &untuned,
                             double seconds, const Beside *beside);

/// The result of compiling, checking and comparing the tuned package.
struct TunedOutcome {
  PackageCheck check;
  // comparison with the untuned package; nothing: the check of the outputs failed
  std::optional<TunedComparison> comparison;
  /// The comparison of the package with all schedules, if that package gained nothing, so that packages with fewer
  /// schedules were tried.
  std::optional<TunedComparison> withAll = {};
  std::set<std::string> dropped = {}; // tasks whose schedules were dropped from the package

  /// True if the tuned package is right and there is a verdict on its speed.
  bool valid() const { return check.passed && comparison && comparison->ratio > 0; }
  /// True if the tuned package seems to gain nothing: the verdict is *slower*, or the ratio is below 1. Every kept
  /// schedule gained alone, so the whole model should gain, too.
  bool gainsNothing() const { return valid() && (comparison->slower || comparison->ratio < 1); }
  /// True if the comparison was disturbed so much that it could not show the usual gain of schedules.
  bool isVague() const { return valid() && comparison->interval > 0.05; }
};

/// Texts of tasks, each with its schedule; the task with the greatest expected gain comes first.
using TaskSchedule = std::vector<std::pair<std::string, std::string>>;

/// `options` with these schedules instead of those of records.
CompileOptions withSchedules(CompileOptions options, const TaskSchedule &schedules);

class TunedPackage {
public:
  /// `options`: options of the untuned package. `budget`: seconds of the whole tuning; 0: no limit. `beside`: what runs
  /// beside compared packages, or null. `model` and `beside` must outlive the object.
  TunedPackage(const ModelOptions &model, CompileOptions options, double budget, const Beside *beside);

  /// Does the work of `finish` that does not depend on the search: compiles the untuned package and computes the
  /// reference. Without a budget `finish` does it. Throws Error if this takes more than half of the budget, because
  /// then nothing could be kept.
  void prepare(Progress &progress);
  /// Seconds before the end of the budget that `finish` needs to compile, check and compare.
  double reservedSeconds() const;
  /// Compiles the tuned package with these options and schedules, checks it, and compares it with the untuned package
  /// until `left` seconds from now, or for at least two seconds. Without a budget it compares for `left` seconds. If
  /// the package gains nothing, packages with fewer schedules are compared to find the schedules that gain in the
  /// whole model (tune/GainingChanges.h).
  TunedOutcome finish(const CompileOptions &tunedOptions, const TaskSchedule &schedules, double left,
                      Progress &progress);
  /// The path of the tuned package, which `finish` has made, or of the untuned one.
  std::string path(bool isTuned);

private:
  const ModelOptions &model;
  CompileOptions options;
  double budget;
  const Beside *beside;
  std::string untuned, tuned; // paths of the packages; "": not compiled
  double compileSeconds = 0;
  std::unique_ptr<ReferenceOutputs> reference;

  std::string compileWith(CompileOptions compiling, const TaskSchedule &schedules, const char *name) const;
  void compileUntuned();
  /// Checks the tuned package, and compares it with the untuned package for `seconds`.
  TunedOutcome judge(double checkSeconds, double seconds, Progress &progress);
  /// Replaces the tuned package by one with only the schedules that gain in the whole model, until `end` at most (time
  /// of lab::steadySeconds). Returns the tasks of the dropped schedules.
  std::set<std::string> dropLosing(const CompileOptions &tunedOptions, const TaskSchedule &schedules, double end,
                                   Progress &progress);
};

} // namespace lathe::jobs
