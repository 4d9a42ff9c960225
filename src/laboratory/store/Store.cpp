#include "store/Store.h"

#include "store/ContentKey.h"
#include "store/FieldRows.h"
#include "store/Schema.h"
#include "store/SqliteFiles.h"
#include "support/Text.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <tuple>

namespace lathe::store {

using nlohmann::json;

std::string defaultStorePath() {
  const char *xdg = std::getenv("XDG_DATA_HOME"), *home = std::getenv("HOME");
  if (xdg && *xdg)
    return std::string(xdg) + "/lathe/lathe.db";
  require(home && *home, "no place for measurements: neither XDG_DATA_HOME nor HOME is set");
  return std::string(home) + "/.local/share/lathe/lathe.db";
}

std::string storeFolder() {
  try {
    return std::filesystem::path(defaultStorePath()).parent_path().string();
  } catch (const Error &) {
    return ".";
  }
}

/// Opens a database for writing, and creates or upgrades the tables.
static Database upgraded(const Location &place, const StoreOptions &options) {
  Database database(place, options.create ? Database::Mode::create : Database::Mode::existing, options.busySeconds);
  // Refuses other programs' databases before any change.
  int64_t version = schemaVersion(database);
  require(options.create || version > 0 || !place.isServer(), "{}: has no store: nothing was kept there yet",
          place.text());
  database.link().beSafe(options.busySeconds, options.maxPages);
  migrate(database);
  return database;
}

/// Like `upgraded`, but leaves no empty file if it cannot create the tables.
static Database opened(const Location &place, const StoreOptions &options) {
  bool isNew = !place.mayExist();
  try {
    return upgraded(place, options);
  } catch (const Error &) {
    if (isNew)
      removeIfEmpty(place.text());
    throw;
  }
}

Store::Store(const std::string &path, const StoreOptions &options) : database(opened(path, options)) {}

Store Store::copyOf(const std::string &path) {
  Database source(path, Database::Mode::readOnly);
  schemaVersion(source);
  Database copy = Database::temporary(path);
  copy.copyFrom(source);
  std::string health = copy.text("PRAGMA quick_check(1)");
  // Removes the text before the finding: "*** in database main ***" and a line end.
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

std::string dump(const json &document) { return asJson(document).dump(-1, ' ', false, json::error_handler_t::replace); }

int64_t idOf(Database &database, const char *table, const char *column, const std::string &key) {
  Statement find(database, fmt::format("SELECT id FROM {} WHERE {} = ?", table, column));
  find.bind(key);
  require(find.step(), "{}: no {} has {} {}", database.path(), table, column, key);
  return find.integer(0);
}

Store::Outcome Store::insertPlatform(const Platform &p) {
  insertRow(database, "platform", "key", p, " ON CONFLICT(key) DO NOTHING", p.key());
  return database.changes() ? Outcome::added : Outcome::known;
}

Store::Outcome Store::insertExperiment(const Experiment &e) {
  check(e);
  // If both are known, the later end counts.
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
                     "UPDATE experiment SET finished = ?, other_processors = ?, stolen_processors = ?\n"
                     "WHERE uuid = ? AND (finished IS NULL OR finished < ?)"); // another writer may have been faster
    update.bind(finished, e.disturbance.otherProcessors, e.disturbance.stolenProcessors, e.uuid, finished).run();
    return Outcome::replaced;
  }
  insertRow(database, "experiment", "identity", e, "", e.identity());
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
    Statement(database, "DELETE FROM point WHERE id = ?").bind(id).run(); // also deletes its samples
    outcome = Outcome::replaced;
  }

  insertRow(database, "problem", "key", p.problem, " ON CONFLICT(key) DO NOTHING", p.problem.key());
  int64_t problem = updateDetail(p.problem.key(), dump(p.problem.detail), p.measured);
  std::string setting = p.setting.key();
  insertRow(database, "setting", "key", p.setting, " ON CONFLICT(key) DO NOTHING", setting);
  int64_t id = insertRow(database, "point", "key, problem, setting", p, " RETURNING id", key, problem,
                         idOf(database, "setting", "key", setting));
  insertSamples(id, p);
  return outcome;
}

int64_t Store::updateDetail(const std::string &problem, const std::string &detail, const std::string &measured) {
  Statement find(database, "SELECT id, detail FROM problem WHERE key = ?");
  find.bind(problem);
  require(find.step(), "{}: no problem has key {}", path(), problem);
  int64_t id = find.integer(0);
  if (find.text(1) != detail) {
    find.reset();
    // Stores merge in any order, so the last measurement decides, not the last insertion.
    Statement(database, "UPDATE problem SET detail = ? WHERE id = ?\n"
                        "  AND NOT EXISTS (SELECT 1 FROM point WHERE point.problem = ? AND point.measured > ?)")
        .bind(detail, id, id, measured)
        .run();
  }
  return id;
}

void Store::insertSamples(int64_t point, const Point &values) {
  // Inserts many rows per statement, with one request to a server.
  constexpr size_t rows = 100, columns = 4 + std::size(sampleCounters);
  std::vector<std::tuple<size_t, size_t, const Sample *>> samples;
  for (size_t round = 0; round < values.rounds.size(); ++round)
    for (size_t repetition = 0; repetition < values.rounds[round].size(); ++repetition)
      samples.emplace_back(round, repetition, &values.rounds[round][repetition]);
  std::optional<Statement> add;
  for (size_t begin = 0, prepared = 0; begin < samples.size(); begin += rows) {
    size_t count = std::min(rows, samples.size() - begin);
    if (count != prepared) {
      std::string names = "point, round, repetition, wall_ns", row = "(?, ?, ?, ?";
      for (auto [key, counter] : sampleCounters) {
        names += std::string(", ") + key;
        row += ", ?";
      }
      std::vector<std::string> places(count, row + ")");
      add.emplace(database, fmt::format("INSERT INTO sample({}) VALUES {}", names, fmt::join(places, ", ")));
      prepared = count;
    }
    for (size_t i = 0; i < count; ++i) {
      auto &[round, repetition, sample] = samples[begin + i];
      int at = int(i * columns);
      for (int64_t value : {point, int64_t(round), int64_t(repetition), sample->wallNs})
        add->bindOne(++at, value);
      for (auto [key, counter] : sampleCounters)
        add->bindOne(++at, sample->*counter);
    }
    add->run();
  }
}

std::string Store::addExperiment(Experiment experiment, const Platform &platform) {
  if (experiment.uuid.empty())
    experiment.uuid = newUuid();
  if (experiment.started.empty())
    experiment.started = timeNow();
  experiment.platform = platform.key();
  write(
      Transaction::Kind::append,
      [&](Store &into, bool again) {
        into.insertPlatform(platform);
        require(into.insertExperiment(experiment) == Outcome::added || again, "{}: experiment {} exists already",
                path(), experiment.uuid);
        into.own(experiment.uuid);
      },
      true);
  if (database.location().isServer())
    mine.emplace_back(experiment, platform);
  return experiment.uuid;
}

void Store::own(const std::string &uuid) {
  Owner owner = Owner::self();
  Statement(database, "INSERT INTO owner(experiment, host, boot, pids, pid, started) VALUES (?, ?, ?, ?, ?, ?)\n"
                      "ON CONFLICT(experiment) DO UPDATE SET host = excluded.host, boot = excluded.boot,\n"
                      "  pids = excluded.pids, pid = excluded.pid, started = excluded.started")
      .bind(idOf(database, "experiment", "uuid", uuid), owner.host, owner.boot, owner.pids, owner.pid, owner.started)
      .run();
}

Unfinished Store::takeOver(const std::string &identity) {
  Unfinished found;
  database.repeated([&](bool) {
    Transaction transaction(database);
    found = {};
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
  });
  if (database.location().isServer() && !found.experiment.empty()) {
    Experiment experiment = this->experiment(found.experiment);
    mine.emplace_back(experiment, platform(experiment.platform));
  }
  return found;
}

void Store::finishExperiment(const std::string &uuid, const Disturbance &disturbance) {
  std::string finished = timeNow();
  write(Transaction::Kind::append, [&](Store &into, bool) {
    Experiment ended = into.experiment(uuid);
    ended.finished = finished;
    ended.disturbance = disturbance;
    into.insertExperiment(ended);
    Statement(into.database, "DELETE FROM owner WHERE experiment = ?")
        .bind(idOf(into.database, "experiment", "uuid", uuid))
        .run();
  });
}

void Store::setDetail(const std::string &uuid, const nlohmann::json &detail) {
  for (auto &[experiment, platform] : mine)
    if (experiment.uuid == uuid)
      experiment.detail = detail;
  write(Transaction::Kind::append, [&](Store &into, bool) {
    Statement(into.database, "UPDATE experiment SET detail = ? WHERE uuid = ?").bind(dump(detail), uuid).run();
  });
}

void Store::addLabels(const std::vector<Label> &labels) {
  write(Transaction::Kind::append, [&](Store &into, bool) {
    for (Label label : labels) {
      if (label.changed.empty())
        label.changed = timeOfChange(into.database, label);
      mergeLabel(into.database, label);
    }
  });
}

void Store::addPoint(Point point) { addPoints({std::move(point)}); }

void Store::addPoints(std::vector<Point> points) {
  for (Point &point : points)
    if (point.measured.empty())
      point.measured = timeNow();
  write(Transaction::Kind::append, [&](Store &into, bool) {
    for (const Point &point : points)
      into.insertPoint(point);
  });
}

void Store::write(Transaction::Kind kind, const Body &body, bool isBeginning) {
  auto keep = [&] {
    Store &local = rescueFile();
    Transaction transaction(local.database);
    body(local, true);
    transaction.commit();
  };
  auto keepAndTell = [&] { // called when a signal ends the process
    try {
      keep();
      storeNotice(fmt::format("lathe: store: what was measured is in {}: lathe store merge '{}' {}", rescue->path(),
                              path(), rescue->path()));
    } catch (const Error &error) {
      storeNotice(fmt::format("lathe: store: what was measured last is lost: {}", error.what()));
    }
  };
  std::string reason = path() + ": the server has failed before";
  if (!rescue)
    try {
      return database.repeated(
          [&](bool again) {
            Transaction transaction(database, kind);
            body(*this, again);
            transaction.commit();
          },
          database.location().isServer() ? keepAndTell : std::function<void()>());
    } catch (const ServerFailure &failure) {
      reason = failure.what();
    }
  try {
    keep();
  } catch (const Error &error) {
    fail("{}; what was measured is in no file either: {}", reason, error.what());
  }
  if (!isBeginning)
    fail("{}; what was measured is in {}: `lathe store merge '{}' {}` adds it when the server works again", reason,
         rescue->path(), path(), rescue->path());
}

Store &Store::rescueFile() {
  if (!rescue) {
    rescue = std::make_unique<Store>(
        fmt::format("{}-{}.db", database.location().filesAt(storeFolder()), newUuid().substr(0, 8)));
    Transaction transaction(rescue->database);
    for (auto &[experiment, platform] : mine) {
      rescue->insertPlatform(platform);
      rescue->insertExperiment(experiment);
    }
    transaction.commit();
  }
  return *rescue;
}

} // namespace lathe::store
