// A store of measurements: one SQLite file, or a PostgreSQL server by URL, that any number of processes can read and
// write at once.
//
// A writing call returns after its data is on disk, so the data survives kill -9. A call that throws has changed
// nothing. A point and its samples are written and deleted together. Errors are lathe::Error and name the file, or the
// URL without its password.
//
// If a server is lost, calls wait for it (serverWaitSeconds) and then write. A server that stays away, or cannot write,
// is an Error; new experiments, points and tuning records of this object are then in a local file, which the message
// names.
#pragma once

#include "store/Database.h"
#include "store/Labels.h"
#include "store/Owner.h"
#include "store/Records.h"

#include <functional>

namespace lathe::store {

/// The path of the user's store, "~/.local/share/lathe/lathe.db" (or under XDG_DATA_HOME). Throws Error if neither HOME
/// nor XDG_DATA_HOME is set.
std::string defaultStorePath();
/// The folder of defaultStorePath(); "." if defaultStorePath throws.
std::string storeFolder();

struct StoreOptions {
  bool create = true;      // false: a missing file, or a server without a store, is an Error instead
  double busySeconds = 30; // seconds to wait for another process that writes to the store
  int64_t maxPages = 0;    // size limit of the store's file in pages of 4096 bytes, beyond which writes fail; 0: none
};

/// Conditions that select experiments and points of a store. An empty field does not restrict. Conditions on points do
/// not restrict the selection of experiments.
struct Filter {
  std::vector<std::string> experiments = {}; // uuids of the selected experiments
  std::optional<ExperimentKind> kind = {};
  std::string identity = {};
  std::string op = {}, problem = {}; // op: name of the operator; problem: canonical text of the problem
  std::string provider = {}, variant = {};
  std::string platform = {}; // key of the platform on which it was measured
  std::optional<PointStatus> status = {};
};

/// Conditions that select tuning records of a store. An empty field does not restrict.
struct TuningFilter {
  std::string task = {};                  // text of the record's tuning task
  std::string part = {};                  // substring of the text of the record's tuning task
  std::string family = {};                // kernel family of the record's tuning task
  std::string platform = {};              // key of the platform that measured the record, or the beginning of the key
  std::string cpu = {};                   // substring of the CPU's name on the platform or in the task's text
  std::vector<PointStatus> statuses = {}; // statuses that a selected record may have; empty: any
  bool withKernel = false;                // true: only records of tasks whose kernel is known
};

/// A tuning task with its tuning records: the fastest record first, records without a time last.
struct TunedTask {
  TuningTask task;
  std::vector<TuningRecord> records;
};

/// The schedule that compilations use for a task, as its records decide.
struct ChosenSchedule {
  std::string task;
  // faster: compilations use `schedule`; noGain: they use the default schedule
  TuningVerdict verdict = TuningVerdict::noGain;
  std::string schedule; // the chosen schedule; "" with the verdict noGain
  std::string platform; // key of the platform that measured the schedule
  std::string measured;
};

struct ExperimentSummary {
  Experiment experiment;
  std::string cpu; // name of the CPU of the experiment's platform
  size_t points = 0, passed = 0;
  std::optional<Owner> owner; // the process that measures the experiment now, if any
};

/// An unfinished experiment that an earlier run of the same command has left, as Store::takeOver finds it.
struct Unfinished {
  std::string experiment;    // uuid of the experiment that this process now owns; "": none
  std::optional<Owner> busy; // owner of an experiment that another process is measuring
};

/// A connection to a store of measurements, used from one thread at a time. Processes share a store by opening it once
/// each; threads and forked children must not share an object.
class Store {
public:
  /// Opens, creates or migrates the store in a file or at a URL. Throws Error for a newer schema, for a database of
  /// another program, for a damaged file, and for a server that cannot be reached.
  explicit Store(const std::string &path, const StoreOptions &options = {});

  /// Returns a private copy of the current content of a store's file with any older schema. The file is not changed
  /// and may be read-only. Throws Error like the constructor, and if the file is damaged.
  static Store copyOf(const std::string &path);
  /// Creates a private store that is removed with the object. Messages call it `name`.
  static Store temporary(const std::string &name);

  const std::string &path() const { return database.path(); }

  // The following calls write to the store.

  /// Adds an experiment on `platform` and returns its uuid. An empty start time becomes the current
  /// time. This process owns the experiment.
  std::string addExperiment(Experiment experiment, const Platform &platform);
  /// Takes over the newest unfinished experiment with this identity (Experiment::identity) whose process is gone. If
  /// several processes ask at once, only one gets it.
  Unfinished takeOver(const std::string &identity);
  /// Marks an experiment as finished; no process owns it afterwards. It may be continued and finished again.
  void finishExperiment(const std::string &uuid, const Disturbance &disturbance);
  /// Replaces the detail of an experiment by another JSON object.
  void setDetail(const std::string &uuid, const nlohmann::json &detail);
  /// Adds labels, or none of them if one is invalid. Labels with an empty time get a new time (timeOfChange). Throws
  /// Error for an invalid label.
  void addLabels(const std::vector<Label> &labels);
  /// Adds a point with its samples to the store; an empty time becomes the current time. The experiment of the point
  /// must exist. Of two points with one key the later measurement stays.
  void addPoint(Point point);
  /// Adds several points to the store, or none of them if one cannot be added.
  void addPoints(std::vector<Point> points);
  /// Adds tuning records of schedules for `task`, measured on `platform`, or none of them if one cannot be added. Sets
  /// their task and platform; an empty time becomes the current time. Their experiment must exist. Records of one
  /// schedule for one task on one platform merge (store/Outcomes.h). The facts about the task (family, kernel) are
  /// stored once.
  void addTuning(std::vector<TuningRecord> records, const TuningTask &task, const Platform &platform);
  /// Adds tuning records of several tasks, or none of them if one cannot be added.
  void addTuning(std::vector<TunedTask> tasks, const Platform &platform);
  /// Removes the tuning records given, unless they were measured again in the meantime, and tasks that then have no
  /// records. Returns the number of records removed.
  size_t removeTuning(const std::vector<TuningRecord> &records);

  // The following calls read from the store. Experiments come in the order of their start, points in the order of
  // measuring.

  /// Returns the experiments that `filter` selects. `withDetail`: with Experiment::detail, which may be large.
  std::vector<ExperimentSummary> experiments(const Filter &filter = {}, bool withDetail = false);
  /// Returns the experiment whose uuid begins with `prefix`. Throws Error if there is none or more
  /// than one.
  Experiment experiment(const std::string &prefix);
  /// Returns the keys of all platforms in the store, sorted.
  std::vector<std::string> platformKeys();
  /// Returns the platform with this key from the store. Throws Error if there is none.
  Platform platform(const std::string &key);
  /// Calls `visit` for every point that the filter selects. `visit` must not write to this store.
  void points(const Filter &filter, bool withSamples, const std::function<void(const Point &)> &visit);
  std::vector<Point> points(const Filter &filter = {}, bool withSamples = true);
  /// Returns the last measurement of the same problem, provider, variant and setting as `point` in experiments with
  /// this identity, without samples. A repeated command uses it to measure only missing points.
  std::optional<Point> measured(const std::string &identity, const Point &point);

  /// Returns the tuning records that `filter` selects, ordered by task, the fastest of a task first, records without a
  /// time last. A filter with a task and a platform gives the schedules that searches on that platform have tried.
  std::vector<TuningRecord> tuning(const TuningFilter &filter = {});
  /// Returns the tuning records that `filter` selects, together with their tasks. A filter with a family and
  /// `withKernel` gives the training data of a learned cost model.
  std::vector<TunedTask> tunedTasks(const TuningFilter &filter = {});
  /// Returns the tuning record of the fastest schedule of a task with the status `passed`, from any searcher; from any
  /// platform if `platform` is empty.
  std::optional<TuningRecord> bestTuning(const std::string &task, const std::string &platform = "");
  /// Returns the schedule that compilations use for each task, sorted by task. Only records count whose schedule was
  /// compared with the default schedule: those of `platform`, or, if it has none for the task, those of all other
  /// platforms. The fastest of them with the verdict `faster` is chosen; without one the default schedule.
  std::vector<ChosenSchedule> chosenSchedules(const std::string &platform);

  /// Returns all labels of the store, including removed ones, in the order of target, key and kind.
  std::vector<Label> labels() { return readLabels(database); }

  struct Counts {
    int64_t platforms = 0, experiments = 0, points = 0, samples = 0, tuning = 0;
    bool operator==(const Counts &) const = default;
  };
  Counts counts();

  /// The database connection of the store, for transactions over several calls (import, export).
  Database &connection() { return database; }

private:
  friend class Importer;
  explicit Store(Database database) : database(std::move(database)) {}
  enum class Outcome { added, replaced, known };
  // The following private calls must be made inside a transaction of the caller.
  Outcome insertPlatform(const Platform &platform);
  Outcome insertExperiment(const Experiment &experiment); // the experiment's platform must already be in the store
  Outcome insertPoint(const Point &point);
  void insertSamples(int64_t point, const Point &values);
  /// Sets the stored detail of the problem with this key, unless a point of the problem was measured after `measured`.
  /// Returns the id of the problem's row.
  int64_t updateDetail(const std::string &problem, const std::string &detail, const std::string &measured);
  void insertTask(const TuningTask &task);
  // the record's platform and experiment must already be in the store
  Outcome insertTuning(const TuningRecord &record);
  void own(const std::string &uuid);
  // reads the samples of `points`, pairs of a row id and a point
  void readSamples(std::vector<std::pair<int64_t, Point>> &points);

  using Body = std::function<void(Store &into, bool again)>;
  /// Calls `body`, which writes to the store `into`, in a transaction. `again`: an earlier call may already have
  /// written the same data. If the server stays away, `body` writes to the local file instead, and an Error reports
  /// it. With `isBeginning` there is no Error, because a later call will write more and report it.
  void write(Transaction::Kind kind, const Body &body, bool isBeginning = false);
  /// The local file to which this object writes while its server is lost, with the experiments of this object; created
  /// if there is none.
  Store &rescueFile();

  Database database;
  /// For a store on a server: the experiments that points of this object refer to, and their platforms.
  std::vector<std::pair<Experiment, Platform>> mine;
  std::unique_ptr<Store> rescue;
};

} // namespace lathe::store
