// Stores the measurements of a verb in a store (docs/store.md).
#pragma once

#include "jobs/Common.h"
#include "jobs/ModelOptions.h"
#include "jobs/Prepared.h"
#include "jobs/UsedRecords.h"
#include "store/Store.h"

#include <set>

namespace lathe::jobs {

/// Where measurements are stored, and the labels of their experiment.
struct RecordOptions {
  std::string file; // file or URL of the store; "": the default store
  bool off = false;
  std::vector<std::string> tags;
  std::string note, name;
};

/// Version of this program, and a hash of the programs that compute: it tells two builds of one version apart.
struct ProgramBuild {
  std::string version, key;
  std::string revision; // commit of the sources, with + at the end if they were changed; "" if unknown
};
ProgramBuild programBuild();

/// Describes an experiment that this process measures here; it has no uuid yet. `verb` is the part of the command line
/// before `arguments`.
store::Experiment experimentHere(store::ExperimentKind kind, const std::string &verb, const Arguments &arguments,
                                 nlohmann::json settings);

/// One experiment of this process in the store. When `add` returns, all its points are in the store; if `add` throws
/// Error, none of them is. With --no-store it does nothing.
class Recording {
public:
  /// Opens the store before anything is measured. Throws Error if it cannot be written. `verb` and `arguments` as for
  /// experimentHere. `settings` is an object that says how every point is measured.
  Recording(const RecordOptions &flags, store::ExperimentKind kind, const std::string &verb, const Arguments &arguments,
            nlohmann::json settings);

  /// Declares that everything runs on another machine, which `command` reaches. `platform` has the form of
  /// store::platformFromJson; null if unknown. Throws Error for another form.
  void elsewhere(const std::string &command, const nlohmann::json &platform);
  bool on() const { return opened.has_value(); }
  /// Adds a member to the detail of the experiment. Call it before the first `add`.
  void addDetail(const std::string &name, nlohmann::json value);
  /// Stores the expected number of points of the experiment: the points that it already has (after resume()) plus
  /// `missing`. `lathe serve` shows this number while the experiment runs. Call it after resume() and before the first
  /// `add`.
  void plan(size_t missing);
  /// The experiment that is recorded. Its uuid is empty before the first `add`; with --no-store all of it is empty.
  const store::Experiment &described() const { return experiment; }
  /// Continues the newest unfinished experiment of the same command, machine and build that no other process is
  /// measuring. Returns a line about it for the user; "" if there is no such experiment.
  std::string resume();
  /// True if the continued experiment has the point (problem, provider, variant, setting).
  bool has(const store::Point &point) const;
  /// Adds points to the experiment. The first call creates the experiment. Sets the experiment of the points, and the
  /// command line as their `repro` if they have none.
  void add(std::vector<store::Point> points);
  /// Adds tuning records of a task for the measured platform, or none of them if one cannot be added, with the version
  /// and the build of this program. An experiment of kind `tune` has records instead of points.
  void add(const store::TuningTask &task, std::vector<store::TuningRecord> records);
  /// Adds tuning records of several tasks, or none of them if one cannot be added.
  void add(std::vector<store::TunedTask> tasks);
  /// Adds tuning records of tasks of which only the text is known.
  void add(const std::vector<store::TuningRecord> &records);
  /// Returns the schedule of the task's fastest tuning record in the store; a record of this platform comes before
  /// others.
  std::optional<std::string> bestSchedule(const std::string &task);
  void finish(const store::Disturbance &disturbance = {});
  /// What the user is told at the end: "kept in FILE, experiment 3f2a1b4c" and a newline; "" if nothing was stored.
  std::string line() const;

  /// The opened store, from which earlier measurements can be read; null with --no-store.
  store::Store *store() { return opened ? &*opened : nullptr; }
  /// Key of the measured platform; "" with --no-store.
  const std::string &platformKey() const { return experiment.platform; }

private:
  /// Creates the experiment if there is none yet, with the current clock of this machine in its detail ("clock_ghz").
  void begin();
  /// Gives the experiment the labels of the flags --tag, --note and --name.
  void label();

  std::optional<store::Store> opened;
  store::Experiment experiment; // the experiment; its uuid is empty until the first point
  store::Platform platform;
  RecordOptions flags;
  bool isElsewhere = false;   // true: the experiment is measured on another machine
  std::set<std::string> kept; // keys of the points of a continued experiment
};

/// The kernel family of a schedule's text; "" for a text that is not a schedule of this version.
std::string familyOf(const std::string &schedule);

/// A whole model as a problem: file name or zoo:NAME with a hash of the content (and the arguments
/// of a zoo network), then its inputs ("data 1x3x224x224"). `source` is runtime::Model::source,
/// which has the hash of a zoo network.
store::Problem modelProblem(const ModelOptions &model, const std::string &source, const std::string &inputs);
/// Returns the setting of a model in the store: how it is compiled and run. `use`: how the compiled package uses
/// tuning records.
store::Setting modelSetting(const ModelOptions &model, int64_t batch, const RecordUse &use);
/// Makes a point without times for a package that ran in this process: passed if the outputs were verified, mistrusted
/// if nobody has checked them.
store::Point modelPoint(const ModelOptions &model, const InputOptions &inputs, const Prepared &prepared,
                        const Verification &verification);

} // namespace lathe::jobs
