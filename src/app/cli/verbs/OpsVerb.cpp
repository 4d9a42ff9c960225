// `lathe ops`: single operators in the laboratory.
#include "cli/FrontVerbs.h"
#include "cli/flags/OpsFlags.h"
#include "cli/flags/RunFlags.h"
#include "cli/print/ops/OpsPrint.h"
#include "jobs/Progress.h"
#include "jobs/Terminal.h"
#include "jobs/ops/ProblemLists.h"
#include "lab/StoreRecords.h"
#include "lab/problems/ProblemList.h"
#include "support/PendingFile.h"
#include "support/Text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

namespace lathe::cli {
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

int listSuites(const OpsFlags &flags, const Options &options) {
  Table suites = suiteTable(lab::suitesOf(problemLists(flags.problems)));
  if (options.printsText())
    std::cout << suites.str(options.tableStyle());
  options.writeJson({{"suites", jobs::toJson(suites)}});
  return success;
}

/// The columns of each operator in the problems.
class Columns {
public:
  explicit Columns(const OpsFlags &flags) : flags(flags) {}
  const std::vector<lab::OpsColumn> &of(const std::string &op) {
    auto [found, isNew] = byOperator.try_emplace(op);
    if (isNew)
      found->second = flags.columns(op);
    return found->second;
  }
  std::vector<std::string> names(const std::string &op) {
    std::vector<std::string> names;
    for (auto &column : of(op))
      names.push_back(column.name());
    return names;
  }

private:
  const OpsFlags &flags;
  std::map<std::string, std::vector<lab::OpsColumn>> byOperator;
};

/// Prints the amount of work and its time, for two cases: every verdict is clear after the first starts, or none is
/// until the last start. Starting a provider costs 0.2 s, and checks run at 1 GFLOP/s.
void printDryRun(const OpsFlags &flags, const std::vector<lab::ListedProblem> &problems, Columns &columns) {
  size_t rows = 0, points = 0;
  double checks = 0;
  auto settings = flags.settings();
  for (auto &entry : problems) {
    rows += settings.size();
    points += settings.size() * columns.of(entry.problem.op).size();
    checks += entry.problem.flops() * 1e-9;
  }
  const lab::OpsLabOptions &bench = flags.bench;
  auto seconds = [&](int starts) {
    return bench.checkOnly
               ? checks + 0.2 * double(points)
               : checks + starts * (0.2 * double(points) + double(rows) * bench.maxSeconds / bench.maxStarts);
  };
  std::cout << fmt::format("{} x {} = {}, {}; about {}, at most {}\n", counted(int64_t(problems.size()), "problem"),
                           counted(int64_t(settings.size()), "setting"), counted(int64_t(rows), "row"),
                           counted(int64_t(points), "point"), waitText(seconds(bench.minStarts)),
                           waitText(seconds(bench.maxStarts)));
}

/// The number of points of the row that the store lacks.
size_t missingPoints(const Recording &recording, const lab::ListedProblem &entry, const lab::OpsSetting &setting,
                     const std::vector<lab::OpsColumn> &columns) {
  lab::OpsRow row;
  row.listed = entry;
  row.setting = setting;
  for (auto &column : columns) {
    row.points.emplace_back();
    row.points.back().provider = column.provider.name;
    row.points.back().variant = column.variant;
    row.points.back().schedule = column.schedule;
  }
  auto points = lab::pointsOf(row);
  return size_t(std::count_if(points.begin(), points.end(), [&](auto &point) { return !recording.has(point); }));
}

/// One run of `lathe ops bench`: measures the rows that neither the log nor the store has, and reports all rows.
class BenchRun {
public:
  /// Opens the log and the store.
  BenchRun(OpsFlags &flags, const RecordOptions &record, const Options &options, const Arguments &arguments)
      : flags(flags), options(options), columns(flags), settings(flags.settings()), log(flags.log),
        recording(record, store::ExperimentKind::ops, "ops bench", arguments, identity()) {
    require(recording.on() || !flags.readsRecords(), "--schedule records reads the store: not with --no-store");
    if (recording.on() && !record.file.empty())
      namedStore = recording.store()->path();
  }

  /// Calls `ready` when the whole request is known to be possible.
  int run(const std::vector<lab::ListedProblem> &problems, const std::function<void()> &ready) {
    if (const std::string &via = flags.bench.via; !via.empty())
      recording.elsewhere(via, columns.of(problems.front().problem.op).front().platform);
    flags.bench.recordedSchedules = [&](const std::string &task) { return recording.bestSchedule(task); };
    if (std::string said = flags.fresh ? "" : recording.resume(); options.printsText())
      std::cout << said << std::flush;
    for (auto &entry : problems)
      for (const lab::OpsSetting &setting : settings)
        wanted.push_back({entry, setting});
    plan();
    ready();
    flags.bench.progress = [&](const std::string &what, double begun) {
      progress.update(what, done, wanted.size(), begun);
    };
    flags.bench.late = [&] { return timeIsUp(); };
    lab::OpsLab([&](const std::string &op) -> auto & { return columns.of(op); }, flags.bench)
        .measure([&] { return next(); }, [&](const lab::OpsRow &row) { keep(row); });
    if (!left)
      recording.finish();
    report(problems.front().problem.op);
    return wrongPoints(listed()) ? failedVerdict : success;
  }

private:
  using Clock = std::chrono::steady_clock;

  OpsFlags &flags;
  const Options &options;
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
  size_t done = 0, left = 0, kept = 0, measured = 0;

  /// The settings that every point is measured with.
  json identity() const {
    json identity = {{"seed", flags.bench.seed},
                     {"check_only", flags.bench.checkOnly},
                     {"repetitions", flags.repetitions},
                     {"starts", flags.bench.minStarts},
                     {"max_starts", flags.bench.maxStarts},
                     {"max_seconds", flags.bench.maxSeconds}};
    if (!flags.bench.via.empty())
      identity["via"] = flags.bench.via;
    return identity;
  }

  /// The key of the row in the log.
  std::string keyOf(const lab::ListedProblem &entry, const lab::OpsSetting &setting) {
    const std::string &via = flags.bench.via;
    return fmt::format("{} threads={} cache={} layout={} seed={} {}{}{}", entry.problem.str(), setting.threads,
                       store::name(setting.cache), name(setting.layout), flags.bench.seed,
                       fmt::join(columns.names(entry.problem.op), ","), flags.bench.checkOnly ? " check" : "",
                       via.empty() ? "" : " via " + via);
  }

  bool timeIsUp() const {
    return flags.minutes > 0 && std::chrono::duration<double>(Clock::now() - began).count() > flags.minutes * 60;
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
        ++kept;
      } else if (timeIsUp()) {
        ++left;
        continue;
      } else {
        places[key] = here;
        return wanted[here];
      }
      ++done;
    }
    return std::nullopt;
  }

  /// The rows in the order of the problems.
  std::vector<json> listed() const {
    std::vector<json> all;
    for (auto &[place, row] : rows)
      all.push_back(row);
    return all;
  }

  /// Stores a measured row and prints it.
  void keep(const lab::OpsRow &result) {
    std::string key = keyOf(result.listed, result.setting),
                repro = flags.repro(result.listed, result.setting, namedStore);
    auto points = lab::pointsOf(result);
    for (store::Point &point : points)
      point.repro = repro;
    recording.add(std::move(points));
    recording.add(lab::tuningOf(result));
    json &row = rows[places.at(key)] = lab::toJson(result);
    row["key"] = key;
    row["repro"] = repro;
    log.add(row);
    if (options.printsText())
      printRow(row, options.tableStyle().width);
    ++measured;
    ++done;
  }

  void report(const std::string &firstOp) {
    auto rows = listed();
    auto summaries = lab::summarizeOps(rows);
    if (options.printsText()) {
      printSummaries(summaries, options.tableStyle());
      std::cout << totalsText(rows, measured, kept, left) << overheadText(rows) << uncountedText(rows)
                << recording.line();
    }
    json documents = json::array();
    for (auto &summary : summaries)
      documents.push_back(lab::toJson(summary));
    options.writeJson({{"providers", columns.names(firstOp)},
                       {"rows", rows},
                       {"summaries", documents},
                       {"kept", kept},
                       {"left", left}});
  }
};

int benchOps(const Arguments &arguments) {
  OpsFlags flags;
  RecordOptions record;
  Options options(
      "ops bench",
      "Time libraries on single operators side by side. Every output is first checked against the reference;\n"
      "a wrong output gets no time. Each provider chooses the layout of its activations and packs its weights before\n"
      "the timing (variant `plain`: row-major activations). The first provider is ours: a ratio is a peer's best time\n"
      "over our best time. Exit code 1 if a point failed, is mistrusted, crashed, timed out or exceeded its memory "
      "limit.",
      "  lathe ops bench conv2d ic64ih56oc64kh3ph1\n"
      "  lathe ops bench --suite networks/resnet50 --cache hot,cold --dry-run\n"
      "  lathe ops bench conv2d --suite 'deepbench/*' --provider lathe,onednn:auto,onednn:winograd --threads 1,2\n"
      "  lathe ops bench conv2d ic64ih56oc64kh3ph1 --layout any,row,blocked --schedule 'default,records'\n"
      "  lathe ops bench softmax 128x1000 12x128x128 --provider all\n"
      "  lathe ops bench --from-model resnet50.onnx --provider lathe,onnxruntime\n"
      "  lathe ops bench gemm m{64..1024*2}n1024k1024 --via \"ssh board\" --via-directory /opt/lathe/bin\n");
  flags.add(options);
  addRecord(options, record);
  options.addShowing();
  options.parseAll(arguments);
  if (flags.listsSuites())
    return listSuites(flags, options);
  std::vector<std::string> notes = flags.finish();
  auto problems = flags.listed();
  if (flags.list) {
    printList(problems, options.tableStyle());
    return success;
  }
  auto sayNotes = [&] { // after all flags were checked: an error is one line
    for (const std::string &note : notes)
      if (!Progress::isSilent())
        say(fmt::format("lathe ops bench: {}", note));
  };
  if (flags.dryRun) {
    Columns columns(flags);
    flags.settings();
    sayNotes();
    printDryRun(flags, problems, columns);
    return success;
  }
  BenchRun run(flags, record, options, arguments);
  return run.run(problems, sayNotes);
}

int problemsOps(const Arguments &arguments) { return forwardToCompiler("problems", arguments); }

const Verb opsVerbs[] = {
    {"bench", "Time libraries on single operators side by side", benchOps},
    {"problems", "List a model's operators as problems for bench", problemsOps},
    {"analyze", "Analyse the measurements in the store", analyzeVerb},
    {"diff", "Compare experiments point by point", diffVerb},
};

} // namespace

int opsVerb(const Arguments &arguments) {
  return runSubVerb("ops", "Compare libraries on single operators and analyse the measurements.\n", opsVerbs,
                    "  lathe ops bench conv2d ic64ih56oc64kh3ph1 --provider lathe,onednn\n"
                    "  lathe ops problems zoo:resnet18\n"
                    "  lathe ops analyze --what best\n"
                    "  lathe ops diff before.jsonl.gz after.jsonl.gz\n",
                    arguments);
}

} // namespace lathe::cli
