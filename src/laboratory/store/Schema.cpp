#include "store/Schema.h"

#include "store/TuningRows.h"
#include "support/Text.h"

namespace lathe::store {

// Names of kinds and statuses are checked when records are made (Records.cpp), so a new name needs no migration.
static constexpr const char *version1 = R"(
CREATE TABLE platform (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,           -- hash of the whole description
  cpu TEXT NOT NULL,
  architecture TEXT NOT NULL,
  features TEXT NOT NULL,             -- JSON, a list of LLVM's names
  caches TEXT NOT NULL,               -- JSON, [{name, bytes, shared_by_threads}]
  cores INTEGER NOT NULL,
  hardware_threads INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  governor TEXT NOT NULL,
  boost TEXT NOT NULL,
  hypervisor TEXT NOT NULL,
  virtualized INTEGER NOT NULL,
  kernel TEXT NOT NULL,
  compiler TEXT NOT NULL,
  libraries TEXT NOT NULL             -- JSON, {name: version}
) STRICT;

CREATE TABLE experiment (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  identity TEXT NOT NULL,             -- what runs of the same command share
  kind TEXT NOT NULL,
  command TEXT NOT NULL,
  version TEXT NOT NULL,
  build TEXT NOT NULL,
  platform INTEGER NOT NULL REFERENCES platform,
  settings TEXT NOT NULL,             -- JSON, an object
  started TEXT NOT NULL,
  finished TEXT,                      -- NULL: running, or ended from outside
  other_processors REAL,
  stolen_processors REAL
) STRICT;
CREATE INDEX experiment_identity ON experiment(identity);
CREATE INDEX experiment_kind ON experiment(kind, started);

CREATE TABLE problem (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,           -- hash of operator and text
  operator TEXT NOT NULL,
  text TEXT NOT NULL,
  detail TEXT NOT NULL                -- JSON, an object
) STRICT;
CREATE INDEX problem_operator ON problem(operator);

CREATE TABLE setting (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,           -- hash of all columns
  threads INTEGER NOT NULL CHECK (threads >= 1),
  batch INTEGER NOT NULL CHECK (batch >= 0),
  type TEXT NOT NULL,
  layout TEXT NOT NULL,
  schedule TEXT NOT NULL,
  cache TEXT NOT NULL,
  extra TEXT NOT NULL                 -- JSON, an object
) STRICT;

CREATE TABLE point (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,           -- hash of experiment, problem, provider, variant and setting
  experiment INTEGER NOT NULL REFERENCES experiment ON DELETE CASCADE,
  problem INTEGER NOT NULL REFERENCES problem,
  setting INTEGER NOT NULL REFERENCES setting,
  provider TEXT NOT NULL,
  variant TEXT NOT NULL,
  measured TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT NOT NULL,
  relative_l2 REAL,
  max_difference REAL,
  implementation TEXT NOT NULL,
  provider_version TEXT NOT NULL,
  repro TEXT NOT NULL,
  prepare_seconds REAL,
  other_processors REAL,
  stolen_processors REAL
) STRICT;
CREATE INDEX point_experiment ON point(experiment);
CREATE INDEX point_problem ON point(problem);
CREATE INDEX point_setting ON point(setting);

CREATE TABLE sample (
  point INTEGER NOT NULL REFERENCES point ON DELETE CASCADE,
  round INTEGER NOT NULL,
  repetition INTEGER NOT NULL,
  wall_ns INTEGER NOT NULL CHECK (wall_ns >= 0),
  cpu_ns INTEGER,
  cycles INTEGER,
  instructions INTEGER,
  cache_misses INTEGER,
  frequency_khz INTEGER,
  PRIMARY KEY (point, round, repetition)
) STRICT, WITHOUT ROWID;

CREATE TABLE tuning (
  id INTEGER PRIMARY KEY,
  platform INTEGER NOT NULL REFERENCES platform,
  task TEXT NOT NULL,
  schedule TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT NOT NULL,
  seconds REAL,
  measured TEXT NOT NULL,
  UNIQUE (platform, task, schedule)
) STRICT;
CREATE INDEX tuning_best ON tuning(task, seconds);
)";

// A process's memory placement is random and affects its times: samples of one start are not independent.
static constexpr const char *version2 = R"(
ALTER TABLE point ADD COLUMN starts TEXT NOT NULL DEFAULT '[]'; -- JSON, rounds of each start of the process; [] for one
)";

// Removed when the experiment ends. The entry of a killed process is removed by the next process that needs it.
static constexpr const char *version3 = R"(
CREATE TABLE owner (                 -- the process that measures an experiment now
  experiment INTEGER PRIMARY KEY REFERENCES experiment ON DELETE CASCADE,
  host TEXT NOT NULL,
  boot TEXT NOT NULL,                -- of the kernel
  pids TEXT NOT NULL,                -- namespace of the pid
  pid INTEGER NOT NULL,
  started INTEGER NOT NULL           -- clock ticks after the start of the machine
) STRICT;
)";

// A difference between two times may be a difference in the cost of calls.
static constexpr const char *version4 = R"(
ALTER TABLE point ADD COLUMN call_seconds REAL; -- of a call of the provider that does next to nothing
)";

// Tasks get a separate table: a task's text is long, its kernel longer, and it has hundreds of records.
static constexpr const char *version5 = R"(
CREATE TABLE task (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE,         -- versioned canonical text
  family TEXT NOT NULL,              -- kernel family; '' where not known
  kernel TEXT                        -- the kernel function as text, without weights; NULL where not known
) STRICT;
INSERT INTO task(text, family) SELECT DISTINCT task, '' FROM tuning ORDER BY task;

ALTER TABLE tuning RENAME TO tuning_of_version4;
DROP INDEX tuning_best;
CREATE TABLE tuning (
  id INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES task,
  platform INTEGER NOT NULL REFERENCES platform,
  schedule TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT NOT NULL,
  seconds REAL,                      -- of one run; NULL: none, or not passed
  samples TEXT NOT NULL,             -- JSON, ns of every timed run
  verdict TEXT NOT NULL,             -- of a comparison in turns with the default schedule
  searcher TEXT NOT NULL,            -- '' where no search has proposed the schedule
  build_seconds REAL,
  run_seconds REAL,
  version TEXT NOT NULL,             -- of lathe; '' where not known
  build TEXT NOT NULL,
  experiment INTEGER REFERENCES experiment ON DELETE SET NULL,
  measured TEXT NOT NULL,
  other_processors REAL,
  stolen_processors REAL,
  UNIQUE (task, platform, schedule)
) STRICT;
INSERT INTO tuning(id, task, platform, schedule, status, reason, seconds, samples, verdict, searcher, version, build,
  measured)
  SELECT old.id, task.id, old.platform, old.schedule, old.status, old.reason, old.seconds, '[]', 'open', '', '', '',
    old.measured
  FROM tuning_of_version4 AS old JOIN task ON task.text = old.task;
DROP TABLE tuning_of_version4;
-- What compilations ask for, without a look at the table.
CREATE INDEX tuning_choice ON tuning(task, platform, verdict, seconds, schedule, measured)
  WHERE seconds IS NOT NULL AND searcher <> '';
)";

// Measurements other than times: accuracy of a classifier, distance of a quantised model.
static constexpr const char *version6 = R"(
ALTER TABLE point ADD COLUMN figures TEXT NOT NULL DEFAULT '{}'; -- JSON, an object of numbers
)";

// Times over the history of the sources need the commit.
static constexpr const char *version7 = R"(
ALTER TABLE experiment ADD COLUMN revision TEXT NOT NULL DEFAULT ''; -- commit of lathe's sources; '' where not known
)";

// Data about the measured object is large and not a setting: experiments that differ only in it measure in the same
// way.
static constexpr const char *version8 = R"(
ALTER TABLE experiment ADD COLUMN detail TEXT NOT NULL DEFAULT '{}'; -- JSON, an object: what was measured
)";

// A measurement is added to a record and replaces nothing in it.
static constexpr const char *version9 = R"(
ALTER TABLE tuning ADD COLUMN outcomes TEXT NOT NULL DEFAULT '[]'; -- JSON, where there is more than one
)";

// Users' labels (store/Labels.h). The labelled object may come later, with another archive.
static constexpr const char *version10 = R"(
CREATE TABLE label (
  target TEXT NOT NULL,              -- experiment, platform or problem
  key TEXT NOT NULL,
  kind TEXT NOT NULL,                -- name, note or 'tag WORD'
  value TEXT NOT NULL,               -- '': removed
  changed TEXT NOT NULL,
  PRIMARY KEY (target, key, kind)
) STRICT;
)";

// The limits that were requested are in the setting's `extra`. Times beside other work are not those of work that runs
// alone.
static constexpr const char *version11 = R"(
ALTER TABLE point ADD COLUMN held TEXT NOT NULL DEFAULT '{}'; -- JSON, an object: resources as read back
ALTER TABLE setting ADD COLUMN company TEXT NOT NULL DEFAULT '{}'; -- JSON, an object: what runs beside; {} for nothing
)";

static constexpr const char *steps[] = {version1, version2, version3, version4,  version5, version6,
                                        version7, version8, version9, version10, version11};

std::span<const char *const> schemaSteps() { return steps; }

int64_t schemaVersion(Database &database, std::span<const char *const> steps) {
  auto newest = int64_t(steps.size());
  int64_t version = database.link().schemaVersion();
  require(version >= 0, "{}: is a database of another program", database.path());
  // A foreign object could change the effect of our statements.
  std::string foreign = database.link().foreignObject();
  require(foreign.empty(), "{}: has a {}, which lathe does not make", database.path(), printable(foreign));
  require(version <= newest, "{}: has version {} of the schema, this lathe knows versions up to {}: use a newer lathe",
          database.path(), version, newest);
  return version;
}

void migrate(Database &database, std::span<const char *const> steps) {
  auto newest = int64_t(steps.size());
  if (schemaVersion(database, steps) == newest)
    return;
  database.repeated([&](bool) {
    Transaction transaction(database);
    // Checks again, now that no other process can write: another process may have migrated it.
    int64_t version = schemaVersion(database, steps);
    if (version == 0)
      database.link().prepareEmpty();
    constexpr int64_t canonicalSchedules = 9; // the version that introduced them
    bool isOlder = version > 0 && version < canonicalSchedules && newest >= canonicalSchedules;
    for (; version < newest; ++version)
      database.execute(database.link().dialectOf(steps[size_t(version)]));
    if (isOlder)
      mergeEqualSchedules(database);
    database.link().setSchemaVersion(newest);
    transaction.commit();
  });
}

} // namespace lathe::store
