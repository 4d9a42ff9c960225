#include "jobs/ops/OpsBench.h"

#include "jobs/Progress.h"
#include "jobs/Recording.h"
#include "lab/StoreRecords.h"
#include "support/PendingFile.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace lathe::jobs {
namespace {

using nlohmann::json;

/// Finished rows as JSON lines. Rows in the file are not measured again; new rows are appended as they finish.
class RowLog {
public:
  explicit RowLog(const std::string &path) : path(path) {
    if (path.empty())
      return;
    require(!PendingFile::isStream(path),
            "--log {}: is a stream, expected a file: rows that it holds are not measured again", path);
    std::string text;
    if (std::filesystem::exists(path))
      text = readFile(path);
    for (size_t begin = 0; begin < text.size();) {
      size_t end = std::min(text.find('\n', begin), text.size());
      std::string line = text.substr(begin, end - begin);
      json row = json::parse(line, nullptr, false);
      // A line that a kill has cut is measured again. A line that is not a row means that the file belongs to somebody
      // else.
      bool whole = row.is_object() && row.contains("key") && row["key"].is_string() && row.contains("kind") &&
                   row.contains("points");
      bool cut = row.is_discarded() && line[0] == '{';
      require(whole || cut || line.empty(), "{}: '{:.40}' is not a row of lathe ops bench", path, line);
      if (whole)
        rows[row["key"].get<std::string>()] = row;
      begin = end + 1;
    }
    file.open(path, std::ios::app);
    require(file.good(), "{}: cannot be written", path);
    if (!text.empty() && text.back() != '\n')
      file << '\n';
  }
  const json *find(const std::string &key) const {
    auto found = rows.find(key);
    return found == rows.end() ? nullptr : &found->second;
  }
  void add(const json &row) {
    if (path.empty())
      return;
    file << row.dump() << std::endl;
    require(file.good(), "{}: cannot be written", path);
  }

private:
  std::string path;
  std::map<std::string, json> rows;
  std::ofstream file;
};

/// The columns of each operator in the problems.
class Columns {
public:
  explicit Columns(const OpsOptions &options) : options(options) {}
  const std::vector<lab::OpsColumn> &of(const std::string &op) {
    auto [found, isNew] = byOperator.try_emplace(op);
    if (isNew)
      found->second = options.columns(op);
    return found->second;
  }
  std::vector<std::string> names(const std::string &op) {
    std::vector<std::string> names;
    for (auto &column : of(op))
      names.push_back(column.name());
    return names;
  }

private:
  const OpsOptions &options;
  std::map<std::string, std::vector<lab::OpsColumn>> byOperator;
};

/// The number of points of the row that the store lacks.
size_t missingPoints(const Recording &recording, const lab::ListedProblem &entry, const lab::OpsSetting &setting,
                     const std::vector<lab::OpsColumn> &columns) {
  lab::OpsRow row;
  row.listed = entry;
  row.setting = setting;
  row.points = lab::pointsToMeasure(columns, setting);
  auto points = lab::pointsOf(row);
  return size_t(std::count_if(points.begin(), points.end(), [&](auto &point) { return !recording.has(point); }));
}

/// One run of `lathe ops bench`.
class OpsRun {
public:
  /// Opens the log and the store.
  OpsRun(OpsOptions given, const OpsWatch &watch)
      : options(std::move(given)), watch(watch), columns(options), settings(options.settings()), log(options.log),
        recording(options.record, store::ExperimentKind::ops, "ops bench", options.command, identity()) {
    require(recording.on() || !options.readsRecords(), "--schedule records reads the store: not with --no-store");
    if (recording.on() && !options.record.file.empty())
      namedStore = recording.store()->path();
  }

  OpsRows run(const std::vector<lab::ListedProblem> &problems) {
    lab::OpsLabOptions &bench = options.bench;
    const std::string &firstOp = problems.front().problem.op;
    if (!bench.via.empty())
      recording.elsewhere(bench.via, columns.of(firstOp).front().platform);
    bench.recordedSchedules = [&](const std::string &task) { return recording.bestSchedule(task); };
    if (!options.fresh)
      watch(recording.resume(), {});
    for (auto &entry : problems)
      for (const lab::OpsSetting &setting : settings)
        wanted.push_back({entry, setting});
    plan();
    options.resources.attempted(); // a refusal comes before anything is measured
    options.sayNotes();
    bench.progress = [&](const std::string &what, double begun) { progress.update(what, done, wanted.size(), begun); };
    bench.late = [&] { return timeIsUp(); };
    auto columnsOf = [&](const std::string &op) -> auto & { return columns.of(op); };
    lab::OpsLab(columnsOf, bench).measure([&] { return next(); }, [&](const lab::OpsRow &row) { keep(row); });
    if (!result.left)
      recording.finish();
    for (auto &[place, row] : rows)
      result.rows.push_back(std::move(row));
    result.columns = columns.names(firstOp);
    result.stored = recording.line();
    return std::move(result);
  }

private:
  using Clock = std::chrono::steady_clock;

  OpsOptions options;
  const OpsWatch &watch;
  Columns columns;
  std::vector<lab::OpsSetting> settings;
  RowLog log;
  std::string namedStore; // as named by the command, without a password; "": the default
  Recording recording;
  Progress progress{"ops bench"};
  Clock::time_point began = Clock::now();
  std::vector<lab::OpsRequest> wanted;
  size_t place = 0;                     // place of the next row
  std::map<std::string, size_t> places; // places of rows being measured, by key
  std::map<size_t, json> rows;          // by place; from the log, or measured
  size_t done = 0;
  OpsRows result;

  /// The settings that every point is measured with.
  json identity() const {
    json identity = {{"seed", options.bench.seed},
                     {"check_only", options.bench.checkOnly},
                     {"repetitions", options.repetitions},
                     {"starts", options.bench.minStarts},
                     {"max_starts", options.bench.maxStarts},
                     {"max_seconds", options.bench.maxSeconds}};
    if (!options.bench.via.empty())
      identity["via"] = options.bench.via;
    for (const lab::OpsSetting &setting : settings)
      if (!setting.beside.empty()) // points alone are bound to CPUs, too
        identity["cpus"].push_back({setting.cpus.measured, setting.cpus.beside});
    return identity;
  }

  /// The key of the row in the log.
  std::string keyOf(const lab::ListedProblem &entry, const lab::OpsSetting &setting) {
    const std::string &via = options.bench.via;
    std::string resources = setting.resources.text(), beside;
    for (const lab::OpsBeside &one : setting.beside)
      beside += " " + one.company.str();
    return fmt::format("{} threads={} cache={} layout={} seed={} {}{}{}{}{}", entry.problem.str(), setting.threads,
                       store::name(setting.cache), name(setting.layout), options.bench.seed,
                       fmt::join(columns.names(entry.problem.op), ","), options.bench.checkOnly ? " check" : "",
                       via.empty() ? "" : " via " + via, resources.empty() ? "" : " resources " + resources, beside);
  }

  bool timeIsUp() const {
    return options.minutes > 0 && std::chrono::duration<double>(Clock::now() - began).count() > options.minutes * 60;
  }

  void plan() {
    size_t missing = 0;
    std::set<std::string> seen; // a problem may be listed twice
    for (auto &[entry, setting] : wanted)
      if (std::string key = keyOf(entry, setting); !log.find(key) && seen.insert(key).second)
        missing += missingPoints(recording, entry, setting, columns.of(entry.problem.op));
    recording.plan(missing);
  }

  /// The next row that must be measured.
  std::optional<lab::OpsRequest> next() {
    while (place < wanted.size()) {
      size_t here = place++;
      auto &[entry, setting] = wanted[here];
      std::string key = keyOf(entry, setting);
      if (const json *known = log.find(key)) {
        rows[here] = *known;
      } else if (places.contains(key) || missingPoints(recording, entry, setting, columns.of(entry.problem.op)) == 0) {
        ++result.kept;
      } else if (timeIsUp()) {
        ++result.left;
        continue;
      } else {
        places[key] = here;
        return wanted[here];
      }
      ++done;
    }
    return std::nullopt;
  }

  void keep(const lab::OpsRow &fresh) {
    std::string key = keyOf(fresh.listed, fresh.setting),
                repro = options.repro(fresh.listed, fresh.setting, namedStore);
    auto points = lab::pointsOf(fresh);
    for (store::Point &point : points)
      point.repro = repro;
    recording.add(std::move(points));
    recording.add(lab::tuningOf(fresh));
    json &row = rows[places.at(key)] = lab::toJson(fresh);
    row["key"] = key;
    row["repro"] = repro;
    log.add(row);
    watch("", row);
    ++result.measured;
    ++done;
  }
};

} // namespace

OpsEffort effortOf(const OpsOptions &options, const std::vector<lab::ListedProblem> &problems) {
  constexpr double startSeconds = 0.2; // of a provider
  constexpr double checkedFlops = 1e9; // in a second
  const lab::OpsLabOptions &bench = options.bench;
  Columns columns(options);
  std::vector<lab::OpsSetting> settings = options.settings();
  OpsEffort effort{settings.size()};
  size_t companions = settings.empty() ? 0 : settings.front().beside.size();
  options.sayNotes();
  effort.rows = effort.settings * problems.size();
  double checks = 0;
  for (auto &entry : problems) {
    effort.points += effort.settings * columns.of(entry.problem.op).size() * (1 + companions);
    checks += entry.problem.flops() / checkedFlops;
  }
  auto seconds = [&](int starts) {
    double started = startSeconds * double(effort.points);
    return checks +
           (bench.checkOnly ? started : starts * (started + double(effort.rows) * bench.maxSeconds / bench.maxStarts));
  };
  effort.least = seconds(bench.minStarts);
  effort.most = seconds(bench.maxStarts);
  return effort;
}

size_t OpsRows::wrongPoints() const {
  static const std::set<std::string> right = {"passed", "unimplemented", "same_as"};
  size_t wrong = 0;
  for (const json &row : rows)
    for (const json &point : row["points"])
      wrong += !right.count(point["status"]);
  return wrong;
}

OpsRows benchOps(OpsOptions options, const std::vector<lab::ListedProblem> &problems, const OpsWatch &watch) {
  return OpsRun(std::move(options), watch).run(problems);
}

} // namespace lathe::jobs
