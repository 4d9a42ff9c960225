// The measurements of a machine, or of many: one SQLite file that any number of processes read and write at once.
//
// What a call that writes has returned from is on the disk: it survives kill -9. A call that throws has changed
// nothing. A point and its samples come and go together. Errors are lathe::Error and name the file.
#pragma once

#include "store/Owner.h"
#include "store/Records.h"
#include "store/Sqlite.h"

#include <functional>

namespace lathe::store {

/// "~/.local/share/lathe/lathe.db" (XDG_DATA_HOME respected). Throws Error where neither HOME nor that is set.
std::string defaultStorePath();

struct StoreOptions {
  bool create = true;      // false: Error where there is no file
  double busySeconds = 30; // how long to wait for another process that writes
  int64_t maxPages = 0;    // of SQLite's 4096 bytes; 0: no limit. Beyond it the file is full, as a disk would be
};

/// Which experiments, and which of their points; what is empty does not restrict. Asking for experiments, what is said
/// of points does not restrict either.
struct Filter {
  std::vector<std::string> experiments = {}; // uuids
  std::optional<ExperimentKind> kind = {};
  std::string identity = {};
  std::string op = {}, problem = {}; // operator, canonical text
  std::string provider = {}, variant = {};
  std::string platform = {}; // key
  std::optional<PointStatus> status = {};
};

struct ExperimentSummary {
  Experiment experiment;
  std::string cpu; // of its platform
  size_t points = 0, passed = 0;
  std::optional<Owner> owner; // that measures it now, as far as is known here
};

/// What is left of earlier runs of a command.
struct Unfinished {
  std::string experiment;    // uuid of one that is now this process's; "" where there is none
  std::optional<Owner> busy; // of one that another process is measuring
};

/// One connection, of one thread at a time; processes (not threads, not children after fork) share a file by opening it
/// once each.
class Store {
public:
  /// Opens, creates or migrates. Throws Error for a file of a newer schema, of another program, or that is damaged.
  explicit Store(const std::string &path, const StoreOptions &options = {});

  /// A private copy of the file as it is at this moment, whatever older schema it has; the file is not changed and may
  /// be where nothing can be written. Throws Error as opening does, and when the file is damaged.
  static Store copyOf(const std::string &path);

  const std::string &path() const { return database.path(); }

  // Writing.

  /// Adds an experiment, begun now where it does not say when, on `platform`; its uuid. This process owns it.
  std::string addExperiment(Experiment experiment, const Platform &platform);
  /// Makes the newest experiment of this identity that has not come to its end, and whose process is gone, this
  /// process's: of any number of processes that ask at once one gets it.
  Unfinished takeOver(const std::string &identity);
  /// Says that it came to its end; nobody owns it then. It may be continued, and finished again.
  void finishExperiment(const std::string &uuid, const Disturbance &disturbance);
  /// Adds a point with its samples, measured now where it does not say when. The experiment must be there. A point with
  /// the same key that was measured earlier is replaced; one measured later stays.
  void addPoint(Point point);
  /// Several, all or none.
  void addPoints(std::vector<Point> points);
  /// The same for a schedule of a task on a platform.
  void putTuning(TuningRecord record, const Platform &platform);

  // Reading. Times are as measured, experiments in the order of their start, points in the order of measuring.

  std::vector<ExperimentSummary> experiments(const Filter &filter = {});
  /// The one whose uuid begins with `prefix`; throws Error when there is none or more than one.
  Experiment experiment(const std::string &prefix);
  /// Throws Error for a key that is not there.
  Platform platform(const std::string &key);
  /// Calls `visit` for every point. `visit` must not write to this store.
  void points(const Filter &filter, bool withSamples, const std::function<void(const Point &)> &visit);
  std::vector<Point> points(const Filter &filter = {}, bool withSamples = true);
  /// The last measurement of what `point` is (problem, provider, variant, setting; the rest is ignored) in experiments
  /// of this identity, without samples: so that the same command measures only what is missing.
  std::optional<Point> measured(const std::string &identity, const Point &point);

  /// The fastest that passed; on any platform where `platform` is empty.
  std::optional<TuningRecord> bestTuning(const std::string &task, const std::string &platform = "");
  /// By task, fastest first, those without a time last; all tasks or all platforms where empty.
  std::vector<TuningRecord> tuning(const std::string &task = "", const std::string &platform = "");

  struct Counts {
    int64_t platforms = 0, experiments = 0, points = 0, samples = 0, tuning = 0;
    bool operator==(const Counts &) const = default;
  };
  Counts counts();

  /// For what must be done at once by several calls (import) or seen at one moment (export).
  Database &connection() { return database; }

private:
  friend class Importer;
  explicit Store(Database database) : database(std::move(database)) {}
  enum class Outcome { added, replaced, known };
  // Inside a transaction of the caller's.
  Outcome insertPlatform(const Platform &platform);
  Outcome insertExperiment(const Experiment &experiment); // its platform is there
  Outcome insertPoint(const Point &point);
  Outcome insertTuning(const TuningRecord &record);
  void own(const std::string &uuid);
  std::optional<Owner> ownerOf(const std::string &uuid); // that may live
  int64_t idOf(const char *table, const char *column, const std::string &key);

  Database database;
};

} // namespace lathe::store
