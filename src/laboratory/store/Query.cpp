#include "store/FieldRows.h"
#include "store/NotFound.h"

#include <map>

namespace lathe::store {

namespace {

void restrictExperiments(Where &where, const Filter &filter) {
  if (!filter.experiments.empty()) {
    std::string places;
    for (auto &uuid : filter.experiments) {
      places += places.empty() ? "?" : ", ?";
      where.values.push_back(uuid);
    }
    where.add("experiment.uuid IN (" + places + ")");
  }
  if (filter.kind)
    where.equal("experiment.kind", name(*filter.kind));
  where.equal("experiment.identity", filter.identity);
  where.equal("platform.key", filter.platform);
}

void restrictPoints(Where &where, const Filter &filter) {
  where.equal("problem.operator", filter.op);
  where.equal("problem.text", filter.problem);
  where.equal("point.provider", filter.provider);
  where.equal("point.variant", filter.variant);
  if (filter.status)
    where.equal("point.status", name(*filter.status));
}

/// Reads the fields of a row with columnsOf<Experiment>.
Experiment experimentOf(Row &row, bool withDetail) {
  auto e = fieldsOf<Experiment>(row, withDetail);
  check(e);
  moveGraph(e);
  return e;
}

/// The columns of a sample, after the columns that identify it: "wall_ns, cpu_ns, ...".
std::string sampleColumns() {
  std::string columns = "round, repetition, wall_ns";
  for (auto [key, counter] : sampleCounters)
    columns += std::string(", ") + key;
  return columns;
}

std::string selectPoints() {
  return "SELECT point.id, " + columnsOf<Point>("point") +
         "\nFROM point JOIN experiment ON point.experiment = experiment.id\n"
         "  JOIN platform ON experiment.platform = platform.id\n"
         "  JOIN problem ON point.problem = problem.id JOIN setting ON point.setting = setting.id";
}

Point pointOf(Row &row) {
  auto p = fieldsOf<Point>(row);
  check(p, false);
  return p;
}

/// Adds the next sample of a point. Samples come in the order of rounds and repetitions, which count from 0 without
/// gaps, so a damaged file cannot use more memory than it has rows.
void addSample(std::vector<std::vector<Sample>> &rounds, Row &row) {
  int64_t round = row.integer(), repetition = row.integer();
  if (repetition == 0 && round == int64_t(rounds.size()))
    rounds.emplace_back();
  require(!rounds.empty() && round == int64_t(rounds.size()) - 1 && repetition == int64_t(rounds.back().size()),
          "a sample is repetition {} of round {}, expected repetition {} of round {}", repetition, round,
          rounds.empty() ? 0 : rounds.back().size(), rounds.empty() ? 0 : rounds.size() - 1);
  Sample sample;
  sample.wallNs = row.integer();
  for (auto [key, counter] : sampleCounters)
    sample.*counter = row.optionalInteger();
  rounds.back().push_back(sample);
}

/// Adds the samples of one point. The first call prepares `statement`.
void readSamplesOf(Database &database, std::optional<Statement> &statement, int64_t id, Point &point) {
  if (!statement)
    statement.emplace(database,
                      fmt::format("SELECT {} FROM sample WHERE point = ? ORDER BY round, repetition", sampleColumns()));
  statement->bind(id);
  while (statement->step()) {
    Row values(*statement);
    inRow(database.path(), "point", id, [&] { addSample(point.rounds, values); });
  }
  inRow(database.path(), "point", id, [&] { check(point); });
}

} // namespace

/// The process that measures an experiment, if it may be alive.
static std::optional<Owner> ownerOf(Row &row) {
  Owner owner;
  owner.host = row.text();
  owner.boot = row.text();
  owner.pids = row.text();
  owner.pid = row.integer();
  owner.started = row.integer();
  return owner.pid && owner.mayLive() ? std::optional(owner) : std::nullopt;
}

std::vector<ExperimentSummary> Store::experiments(const Filter &filter, bool withDetail) {
  Where where;
  restrictExperiments(where, filter);
  // Counts points with the index alone, which is impossible if points are restricted.
  Statement select(database, fmt::format("SELECT {}, platform.cpu,\n"
                                         "  (SELECT count(*) FROM point WHERE point.experiment = experiment.id),\n"
                                         "  (SELECT count(*) FROM point WHERE point.experiment = experiment.id\n"
                                         "     AND point.status = 'passed'),\n"
                                         "  host, boot, pids, pid, owner.started\n"
                                         "FROM experiment JOIN platform ON experiment.platform = platform.id\n"
                                         "  LEFT JOIN owner ON owner.experiment = experiment.id{}\n"
                                         "ORDER BY experiment.started, experiment.uuid",
                                         columnsOf<Experiment>("experiment", withDetail), where.sql));
  where.bindTo(select);
  std::vector<ExperimentSummary> summaries;
  while (select.step()) {
    Row row(select);
    ExperimentSummary summary;
    summary.experiment = inRow(path(), "experiment", select.text(0), [&] { return experimentOf(row, withDetail); });
    summary.cpu = row.text();
    summary.points = size_t(row.integer());
    summary.passed = size_t(row.integer());
    summary.owner = ownerOf(row);
    if (!withDetail)
      summary.experiment.detail = {};
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

Experiment Store::experiment(const std::string &prefix) {
  Statement select(database, fmt::format("SELECT {} FROM experiment\n"
                                         "  JOIN platform ON experiment.platform = platform.id\n"
                                         "WHERE substr(experiment.uuid, 1, length(?)) = ? LIMIT 2",
                                         columnsOf<Experiment>("experiment")));
  select.bind(prefix, prefix);
  if (prefix.empty() || !select.step())
    throw NotFound(fmt::format("{}: no experiment's id begins with '{}'", path(), prefix));
  Row row(select);
  Experiment found = inRow(path(), "experiment", select.text(0), [&] { return experimentOf(row, true); });
  if (select.step())
    throw NotFound(fmt::format("{}: the ids of several experiments begin with '{}'", path(), prefix));
  return found;
}

std::vector<std::string> Store::platformKeys() {
  std::vector<std::string> keys;
  Statement select(database, "SELECT key FROM platform ORDER BY key");
  while (select.step())
    keys.push_back(select.text(0));
  return keys;
}

Platform Store::platform(const std::string &key) {
  Statement select(database, fmt::format("SELECT {} FROM platform WHERE key = ?", columnsOf<Platform>("platform")));
  select.bind(key);
  require(select.step(), "{}: no platform has the key {}", path(), printable(key));
  Row row(select);
  return inRow(path(), "platform", key, [&] { return fieldsOf<Platform>(row); });
}

void Store::points(const Filter &filter, bool withSamples, const std::function<void(const Point &)> &visit) {
  Where where;
  restrictExperiments(where, filter);
  restrictPoints(where, filter);
  Statement select(database,
                   selectPoints() + where.sql +
                       "\nORDER BY experiment.started, experiment.uuid, point.measured, point.key",
                   RowTransfer::inPieces);
  where.bindTo(select);
  // On a server one request gets the samples of `most` points; in a file one statement per point is faster.
  const bool isServer = database.location().isServer();
  const size_t most = isServer ? 64 : 1;
  std::vector<std::pair<int64_t, Point>> some; // by id
  std::optional<Statement> samples;            // for one point
  auto visitAll = [&] {
    if (withSamples && isServer)
      readSamples(some);
    else if (withSamples && !some.empty())
      readSamplesOf(database, samples, some[0].first, some[0].second);
    for (auto &[id, point] : some)
      visit(point);
    some.clear();
  };
  while (select.step()) {
    Row row(select);
    int64_t id = row.integer();
    some.emplace_back(id, inRow(path(), "point", id, [&] { return pointOf(row); }));
    if (some.size() == most)
      visitAll();
  }
  visitAll();
}

void Store::readSamples(std::vector<std::pair<int64_t, Point>> &points) {
  if (points.empty())
    return;
  std::string places;
  std::map<int64_t, Point *> byId;
  for (auto &[id, point] : points) {
    places += places.empty() ? "?" : ", ?";
    byId[id] = &point;
  }
  Statement samples(database,
                    fmt::format("SELECT point, {} FROM sample WHERE point IN ({})\n"
                                "ORDER BY point, round, repetition",
                                sampleColumns(), places),
                    RowTransfer::oneByOne);
  for (size_t i = 0; i < points.size(); ++i)
    samples.bindOne(int(i) + 1, points[i].first);
  while (samples.step()) {
    Row values(samples);
    int64_t id = values.integer();
    inRow(path(), "point", id, [&] { addSample(byId.at(id)->rounds, values); });
  }
  for (auto &[id, point] : points)
    inRow(path(), "point", id, [&] { check(point); });
}

std::vector<Point> Store::points(const Filter &filter, bool withSamples) {
  std::vector<Point> found;
  points(filter, withSamples, [&](const Point &point) { found.push_back(point); });
  return found;
}

std::optional<Point> Store::measured(const std::string &identity, const Point &point) {
  Statement select(database, selectPoints() + "\nWHERE experiment.identity = ? AND problem.key = ?\n"
                                              "  AND point.provider = ? AND point.variant = ?\n"
                                              "  AND setting.key = ? ORDER BY point.measured DESC LIMIT 1");
  select.bind(identity, point.problem.key(), point.provider, point.variant, point.setting.key());
  if (!select.step())
    return std::nullopt;
  Row row(select);
  int64_t id = row.integer();
  return inRow(path(), "point", id, [&] { return pointOf(row); });
}

Store::Counts Store::counts() {
  auto rows = [&](const char *table) { return database.integer(fmt::format("SELECT count(*) FROM {}", table)); };
  return {rows("platform"), rows("experiment"), rows("point"), rows("sample"), rows("tuning")};
}

} // namespace lathe::store
