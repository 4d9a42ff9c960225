#include "store/NotFound.h"
#include "store/Row.h"

#include <map>

namespace lathe::store {

using nlohmann::json;

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

constexpr const char *experimentColumns =
    "experiment.uuid, experiment.kind, experiment.command, experiment.version, experiment.build, platform.key,\n"
    "  experiment.settings, experiment.started, experiment.finished, experiment.other_processors,\n"
    "  experiment.stolen_processors, experiment.revision";

/// The columns before the detail.
Experiment experimentOf(Row &row) {
  Experiment e;
  e.uuid = row.text();
  e.kind = experimentKind(row.text());
  e.command = row.text();
  e.version = row.text();
  e.build = row.text();
  e.platform = row.text();
  e.settings = row.document();
  e.started = row.text();
  e.finished = row.text();
  e.disturbance = row.disturbance();
  e.revision = row.text();
  check(e);
  moveGraph(e);
  return e;
}

void readDetail(Experiment &experiment, Row &row) {
  if (json detail = row.document(); !detail.empty())
    experiment.detail = std::move(detail);
  check(experiment);
}

constexpr const char *sampleColumns =
    "round, repetition, wall_ns, cpu_ns, cycles, instructions, cache_misses, frequency_khz";

constexpr const char *selectPoints =
    "SELECT point.id, experiment.uuid, problem.operator, problem.text, problem.detail, point.provider, point.variant,\n"
    "  setting.threads, setting.batch, setting.type, setting.layout, setting.schedule, setting.cache, setting.extra,\n"
    "  point.measured, point.status, point.reason, point.relative_l2, point.max_difference, point.implementation,\n"
    "  point.provider_version, point.repro, point.prepare_seconds, point.other_processors, point.stolen_processors,\n"
    "  point.starts, point.call_seconds, point.figures\n"
    "FROM point JOIN experiment ON point.experiment = experiment.id JOIN platform ON experiment.platform = "
    "platform.id\n"
    "  JOIN problem ON point.problem = problem.id JOIN setting ON point.setting = setting.id";

Point pointOf(Row &row) {
  Point p;
  p.experiment = row.text();
  p.problem.op = row.text();
  p.problem.text = row.text();
  p.problem.detail = row.document();
  p.provider = row.text();
  p.variant = row.text();
  p.setting.threads = row.count("threads", 1);
  p.setting.batch = row.integer();
  p.setting.type = row.text();
  p.setting.layout = row.text();
  p.setting.schedule = row.text();
  p.setting.cache = cacheState(row.text());
  p.setting.extra = row.document();
  p.measured = row.text();
  p.status = pointStatus(row.text());
  p.reason = row.text();
  p.relativeL2 = row.real();
  p.maxDifference = row.real();
  p.implementation = row.text();
  p.providerVersion = row.text();
  p.repro = row.text();
  p.prepareSeconds = row.real();
  p.disturbance = row.disturbance();
  p.starts = startsFromJson(row.document());
  p.callSeconds = row.real();
  p.figures = figuresFromJson(row.document());
  check(p, false);
  return p;
}

/// The next of a point's samples, which come in the order of rounds and repetitions. Both count from 0 without a gap:
/// whatever a file says, no more memory is taken than it has rows.
void addSample(std::vector<std::vector<Sample>> &rounds, Row &row) {
  int64_t round = row.integer(), repetition = row.integer();
  if (repetition == 0 && round == int64_t(rounds.size()))
    rounds.emplace_back();
  require(!rounds.empty() && round == int64_t(rounds.size()) - 1 && repetition == int64_t(rounds.back().size()),
          "a sample is repetition {} of round {}, expected repetition {} of round {}", repetition, round,
          rounds.empty() ? 0 : rounds.back().size(), rounds.empty() ? 0 : rounds.size() - 1);
  Sample sample;
  sample.wallNs = row.integer();
  for (auto counter :
       {&Sample::cpuNs, &Sample::cycles, &Sample::instructions, &Sample::cacheMisses, &Sample::frequencyKhz})
    sample.*counter = row.optionalInteger();
  rounds.back().push_back(sample);
}

/// Adds the samples of one point. `statement` is made by the first call.
void readSamplesOf(Database &database, std::optional<Statement> &statement, int64_t id, Point &point) {
  if (!statement)
    statement.emplace(database,
                      fmt::format("SELECT {} FROM sample WHERE point = ? ORDER BY round, repetition", sampleColumns));
  statement->bind(id);
  while (statement->step()) {
    Row values(*statement);
    inRow(database.path(), "point", id, [&] { addSample(point.rounds, values); });
  }
  inRow(database.path(), "point", id, [&] { check(point); });
}

} // namespace

/// The process that measures an experiment, if there is one that may be alive.
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
  // Points are counted by their index alone, which the restriction on them would not allow.
  Statement select(database, fmt::format("SELECT {}, platform.cpu,\n"
                                         "  (SELECT count(*) FROM point WHERE point.experiment = experiment.id),\n"
                                         "  (SELECT count(*) FROM point WHERE point.experiment = experiment.id\n"
                                         "     AND point.status = 'passed'),\n"
                                         "  host, boot, pids, pid, owner.started{}\n"
                                         "FROM experiment JOIN platform ON experiment.platform = platform.id\n"
                                         "  LEFT JOIN owner ON owner.experiment = experiment.id{}\n"
                                         "ORDER BY experiment.started, experiment.uuid",
                                         experimentColumns, withDetail ? ", experiment.detail" : "", where.sql));
  where.bindTo(select);
  std::vector<ExperimentSummary> summaries;
  while (select.step()) {
    Row row(select);
    ExperimentSummary summary;
    summary.experiment = inRow(path(), "experiment", select.text(0), [&] { return experimentOf(row); });
    summary.cpu = row.text();
    summary.points = size_t(row.integer());
    summary.passed = size_t(row.integer());
    summary.owner = ownerOf(row);
    if (withDetail)
      inRow(path(), "experiment", select.text(0), [&] { readDetail(summary.experiment, row); });
    else
      summary.experiment.detail = {};
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

Experiment Store::experiment(const std::string &prefix) {
  Statement select(database, fmt::format("SELECT {}, experiment.detail FROM experiment\n"
                                         "  JOIN platform ON experiment.platform = platform.id\n"
                                         "WHERE substr(experiment.uuid, 1, length(?)) = ? LIMIT 2",
                                         experimentColumns));
  select.bind(prefix, prefix);
  if (prefix.empty() || !select.step())
    throw NotFound(fmt::format("{}: no experiment's id begins with '{}'", path(), prefix));
  Row row(select);
  Experiment found = inRow(path(), "experiment", select.text(0), [&] {
    Experiment read = experimentOf(row);
    readDetail(read, row);
    return read;
  });
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
  Statement select(database, "SELECT cpu, architecture, features, caches, cores, hardware_threads, memory_bytes,\n"
                             "  governor, boost, hypervisor, virtualized, kernel, compiler, libraries\n"
                             "FROM platform WHERE key = ?");
  select.bind(key);
  require(select.step(), "{}: no platform has the key {}", path(), printable(key));
  Row row(select);
  return inRow(path(), "platform", key, [&] {
    json document;
    for (const char *field : {"cpu", "architecture"})
      document[field] = row.text();
    for (const char *field : {"features", "caches"})
      document[field] = row.document();
    for (const char *field : {"cores", "hardware_threads", "memory_bytes"})
      document[field] = row.integer();
    for (const char *field : {"governor", "boost", "hypervisor"})
      document[field] = row.text();
    document["virtualized"] = row.integer() != 0;
    for (const char *field : {"kernel", "compiler"})
      document[field] = row.text();
    document["libraries"] = row.document();
    return platformFromJson(document);
  });
}

void Store::points(const Filter &filter, bool withSamples, const std::function<void(const Point &)> &visit) {
  Where where;
  restrictExperiments(where, filter);
  restrictPoints(where, filter);
  Statement select(
      database, selectPoints + where.sql + "\nORDER BY experiment.started, experiment.uuid, point.measured, point.key",
      RowTransfer::inPieces);
  where.bindTo(select);
  // A server is asked once for the samples of so many points. In a file one statement finds those of a point faster.
  const bool isServer = database.location().isServer();
  const size_t most = isServer ? 64 : 1;
  std::vector<std::pair<int64_t, Point>> some; // by id
  std::optional<Statement> samples;            // of a point
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
                                sampleColumns, places),
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
  Statement select(database, std::string(selectPoints) + "\nWHERE experiment.identity = ? AND problem.key = ?\n"
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
