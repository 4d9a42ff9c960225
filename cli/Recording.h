// What a verb measures, kept as it comes (docs/store.md).
#pragma once

#include "cli/ModelFlags.h"
#include "cli/Common.h"
#include "cli/verbs/Measure.h"
#include "store/Store.h"

#include <set>

namespace lathe::cli {

/// --store FILE and --no-store, for a verb that measures.
struct RecordFlags {
  std::string file; // "": the default
  bool off = false;

  void add(Options &app);
};

/// One experiment of this process. All points given are in the store when `add` returns, or none and it throws Error;
/// with --no-store nothing is done.
class Recording {
public:
  /// Opens the store, so that one that cannot be written is said before anything is measured; throws Error. `verb`: the
  /// words before `arguments` on the command line. `settings`: an object, what decides how every point is measured.
  Recording(const RecordFlags &flags, store::ExperimentKind kind, const std::string &verb, const Arguments &arguments,
            nlohmann::json settings);

  /// What is measured runs on another machine, reached by this command. `platform`: as store::platformFromJson reads
  /// it, null where that machine does not tell. Throws Error for a platform of another shape.
  void elsewhere(const std::string &command, const nlohmann::json &platform);
  bool on() const { return opened.has_value(); }
  /// Goes on with the newest experiment of the same command, machine and build that did not come to its end and that no
  /// other process is measuring; what there is to say about it in a line, or "".
  std::string resume();
  /// True when the experiment gone on with has the point (problem, provider, variant, setting).
  bool has(const store::Point &point) const;
  /// The experiment is there from its first point on. Fills in the points' experiment, and the command line where they
  /// say no other way to be repeated.
  void add(std::vector<store::Point> points);
  /// Of the platform measured on.
  void add(const std::vector<store::TuningRecord> &records);
  /// Of the fastest tuning record of a task: of this platform, else of any.
  std::optional<std::string> bestSchedule(const std::string &task);
  void finish(const store::Disturbance &disturbance = {});
  /// "kept in FILE, experiment 3f2a1b4c" and a newline, for people; "" when nothing was kept.
  std::string line() const;

private:
  std::optional<store::Store> opened;
  store::Experiment experiment; // its uuid is empty until the first point
  store::Platform platform;
  std::set<std::string> kept; // keys of the points of an experiment gone on with
};

/// A whole model as a problem: its file's name or zoo:NAME with a hash of the content, of the latter what it is built
/// with, then its inputs ("data 1x3x224x224"). `source`: what its package says that it is (runtime::Model::source),
/// which has the hash of a zoo network.
store::Problem modelProblem(const ModelFlags &model, const std::string &source, const std::string &inputs);
/// How it is compiled and run.
store::Setting modelSetting(const ModelFlags &model, int64_t batch);
/// A package that was run in this process, as a point without times. Passed when the outputs were verified, mistrusted
/// when nobody has judged them.
store::Point modelPoint(const ModelFlags &model, const InputFlags &inputs, const Prepared &prepared,
                        const Verification &verification);

} // namespace lathe::cli
