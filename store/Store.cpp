#include "store/Store.h"

#include "store/ContentKey.h"
#include "store/Schema.h"
#include "support/Text.h"

#include <chrono>
#include <cstdlib>
#include <thread>

namespace lathe::store {

using nlohmann::json;

std::string defaultStorePath() {
  const char *xdg = std::getenv("XDG_DATA_HOME"), *home = std::getenv("HOME");
  if (xdg && *xdg)
    return std::string(xdg) + "/lathe/lathe.db";
  require(home && *home, "no place for measurements: neither XDG_DATA_HOME nor HOME is set");
  return std::string(home) + "/.local/share/lathe/lathe.db";
}

/// Write-ahead logging lets readers go on while one writes. Changing to it wants the file alone for a moment, and
/// SQLite does not wait for that by itself.
static void writeAhead(Database &database, double seconds) {
  using Clock = std::chrono::steady_clock;
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (database.text("PRAGMA journal_mode") != "wal")
    try {
      // A file system that cannot do it (no shared memory) keeps the other journal: slower, as safe.
      if (database.text("PRAGMA journal_mode = WAL") != "wal")
        return;
    } catch (const Error &) {
      if (Clock::now() > end)
        throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

Store::Store(const std::string &path, const StoreOptions &options)
    : database(path, options.create ? Database::Mode::create : Database::Mode::existing, options.busySeconds) {
  schemaVersion(database); // refuses what is not ours before anything is changed
  writeAhead(database, options.busySeconds);
  // FULL: a point that was reported written survives a power cut, too.
  database.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
  if (options.maxPages)
    database.execute(fmt::format("PRAGMA max_page_count = {}", options.maxPages));
  migrate(database);
}

Store Store::copyOf(const std::string &path) {
  Database source(path, Database::Mode::readOnly);
  schemaVersion(source);
  Database copy = Database::temporary(path);
  copy.copyFrom(source);
  std::string health = copy.text("PRAGMA quick_check(1)");
  // "*** in database main ***" and a line end stand before the finding.
  if (size_t end = health.rfind("***\n"); end != health.npos)
    health.erase(0, end + 4);
  require(health == "ok" && copy.text("PRAGMA foreign_key_check").empty(), "{}: is damaged: {}", path,
          health == "ok" ? "a row refers to one that is not there" : printable(health));
  migrate(copy);
  return Store(std::move(copy));
}

Store Store::temporary(const std::string &name) {
  Database database = Database::temporary(name);
  migrate(database);
  return Store(std::move(database));
}

static std::string dump(const json &document) {
  return (document.is_null() ? json::object() : document).dump(-1, ' ', false, json::error_handler_t::replace);
}

int64_t Store::idOf(const char *table, const char *column, const std::string &key) {
  Statement find(database, fmt::format("SELECT id FROM {} WHERE {} = ?", table, column));
  find.bind(key);
  require(find.step(), "{}: no {} has {} {}", path(), table, column, key);
  return find.integer(0);
}

Store::Outcome Store::insertPlatform(const Platform &p) {
  json document = toJson(p);
  Statement insert(database, "INSERT INTO platform(key, cpu, architecture, features, caches, cores, hardware_threads,\n"
                             "  memory_bytes, governor, boost, hypervisor, virtualized, kernel, compiler, libraries)\n"
                             "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(key) DO NOTHING");
  insert
      .bind(p.key(), validUtf8(p.cpu), validUtf8(p.architecture), dump(document["features"]), dump(document["caches"]),
            p.cores, p.hardwareThreads, p.memoryBytes, validUtf8(p.governor), validUtf8(p.boost),
            validUtf8(p.hypervisor), p.virtualized, validUtf8(p.kernel), validUtf8(p.compiler),
            dump(document["libraries"]))
      .run();
  return database.changes() ? Outcome::added : Outcome::known;
}

Store::Outcome Store::insertExperiment(const Experiment &e) {
  check(e);
  // Where it is known, the later end counts.
  std::optional<std::string> finished, knownFinished;
  if (!e.finished.empty())
    finished = e.finished;
  Statement find(database, "SELECT finished FROM experiment WHERE uuid = ?");
  find.bind(e.uuid);
  if (find.step()) {
    if (!finished || (!find.isNull(0) && find.text(0) >= *finished))
      return Outcome::known;
    find.reset();
    Statement update(database,
                     "UPDATE experiment SET finished = ?, other_processors = ?, stolen_processors = ? WHERE uuid = ?");
    update.bind(finished, e.disturbance.otherProcessors, e.disturbance.stolenProcessors, e.uuid).run();
    return Outcome::replaced;
  }
  Statement insert(database,
                   "INSERT INTO experiment(uuid, identity, kind, command, version, build, platform, settings,\n"
                   "  started, finished, other_processors, stolen_processors)\n"
                   "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert
      .bind(e.uuid, e.identity(), name(e.kind), validUtf8(e.command), validUtf8(e.version), validUtf8(e.build),
            idOf("platform", "key", e.platform), dump(e.settings), e.started, finished, e.disturbance.otherProcessors,
            e.disturbance.stolenProcessors)
      .run();
  return Outcome::added;
}

Store::Outcome Store::insertPoint(const Point &p) {
  check(p);
  std::string key = p.key();
  Outcome outcome = Outcome::added;
  Statement find(database, "SELECT id, measured FROM point WHERE key = ?");
  find.bind(key);
  if (find.step()) {
    if (find.text(1) >= p.measured)
      return Outcome::known;
    int64_t id = find.integer(0);
    find.reset();
    Statement(database, "DELETE FROM point WHERE id = ?").bind(id).run(); // and its samples
    outcome = Outcome::replaced;
  }

  Statement addProblem(database, "INSERT INTO problem(key, operator, text, detail) VALUES (?, ?, ?, ?)\n"
                                 "ON CONFLICT(key) DO NOTHING");
  addProblem.bind(p.problem.key(), validUtf8(p.problem.op), validUtf8(p.problem.text), dump(p.problem.detail)).run();
  const Setting &s = p.setting;
  Statement addSetting(database, "INSERT INTO setting(key, threads, batch, type, layout, schedule, cache, extra)\n"
                                 "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(key) DO NOTHING");
  addSetting
      .bind(s.key(), s.threads, s.batch, validUtf8(s.type), validUtf8(s.layout), validUtf8(s.schedule), name(s.cache),
            dump(s.extra))
      .run();

  Statement addPoint(
      database, "INSERT INTO point(key, experiment, problem, setting, provider, variant, measured, status,\n"
                "  reason, relative_l2, max_difference, implementation, provider_version, repro, prepare_seconds,\n"
                "  other_processors, stolen_processors, starts, call_seconds, figures)\n"
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id");
  addPoint.bind(key, idOf("experiment", "uuid", p.experiment), idOf("problem", "key", p.problem.key()),
                idOf("setting", "key", s.key()), validUtf8(p.provider), validUtf8(p.variant), p.measured,
                name(p.status), validUtf8(p.reason), p.relativeL2, p.maxDifference, validUtf8(p.implementation),
                validUtf8(p.providerVersion), validUtf8(p.repro), p.prepareSeconds, p.disturbance.otherProcessors,
                p.disturbance.stolenProcessors, json(p.starts).dump(), p.callSeconds, dump(json(p.figures)));
  addPoint.step();
  int64_t id = addPoint.integer(0);
  addPoint.run();

  Statement addSample(database, "INSERT INTO sample(point, round, repetition, wall_ns, cpu_ns, cycles, instructions,\n"
                                "  cache_misses, frequency_khz) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (size_t round = 0; round < p.rounds.size(); ++round)
    for (size_t repetition = 0; repetition < p.rounds[round].size(); ++repetition) {
      const Sample &sample = p.rounds[round][repetition];
      addSample
          .bind(id, int64_t(round), int64_t(repetition), sample.wallNs, sample.cpuNs, sample.cycles,
                sample.instructions, sample.cacheMisses, sample.frequencyKhz)
          .run();
    }
  return outcome;
}

std::string Store::addExperiment(Experiment experiment, const Platform &platform) {
  if (experiment.uuid.empty())
    experiment.uuid = newUuid();
  if (experiment.started.empty())
    experiment.started = timeNow();
  experiment.platform = platform.key();
  Transaction transaction(database);
  insertPlatform(platform);
  require(insertExperiment(experiment) == Outcome::added, "{}: experiment {} exists already", path(), experiment.uuid);
  own(experiment.uuid);
  transaction.commit();
  return experiment.uuid;
}

void Store::own(const std::string &uuid) {
  Owner owner = Owner::self();
  Statement(database, "INSERT OR REPLACE INTO owner(experiment, host, boot, pids, pid, started)\n"
                      "VALUES (?, ?, ?, ?, ?, ?)")
      .bind(idOf("experiment", "uuid", uuid), owner.host, owner.boot, owner.pids, owner.pid, owner.started)
      .run();
}

Unfinished Store::takeOver(const std::string &identity) {
  Transaction transaction(database);
  Unfinished found;
  auto known = experiments({.identity = identity});
  for (auto summary = known.rbegin(); summary != known.rend() && found.experiment.empty(); ++summary) {
    if (!summary->experiment.finished.empty())
      continue;
    if (summary->owner && summary->owner != Owner::self())
      found.busy = summary->owner;
    else
      found.experiment = summary->experiment.uuid;
  }
  if (!found.experiment.empty())
    own(found.experiment);
  transaction.commit();
  return found;
}

void Store::finishExperiment(const std::string &uuid, const Disturbance &disturbance) {
  Transaction transaction(database);
  Experiment ended = experiment(uuid);
  ended.finished = timeNow();
  ended.disturbance = disturbance;
  insertExperiment(ended);
  Statement(database, "DELETE FROM owner WHERE experiment = ?").bind(idOf("experiment", "uuid", uuid)).run();
  transaction.commit();
}

void Store::addPoint(Point point) { addPoints({std::move(point)}); }

void Store::addPoints(std::vector<Point> points) {
  Transaction transaction(database);
  for (Point &point : points) {
    if (point.measured.empty())
      point.measured = timeNow();
    insertPoint(point);
  }
  transaction.commit();
}

} // namespace lathe::store
