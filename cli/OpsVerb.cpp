// `lathe ops`: single operators in the laboratory.
#include "cli/FrontVerbs.h"
#include "lab/Disturbance.h"
#include "lab/OpsLab.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

namespace lathe::cli {
namespace {

using nlohmann::json;

/// The list of problems of a kind: --problems, else beside the test data or the checkout.
std::string problemsFile(const std::string &given, const std::string &kind) {
  if (!given.empty())
    return given;
  std::string name = kind == "gemm" || kind == "matmul" || kind == "fc" ? "gemm.csv" : "conv2d.csv";
  std::vector<std::string> places;
  if (const char *data = std::getenv("LATHE_TEST_DATA"); data && *data)
    places.push_back(std::string(data) + "/problems/" + name);
  places.push_back("../shared/problems/" + name);
  for (const std::string &place : places)
    if (std::filesystem::exists(place))
      return place;
  fail("no list of problems at {}: give one with --problems", fmt::join(places, " or "));
}

/// Finished rows as JSON lines: those that are there are not measured again, new ones are added as they come.
class RowLog {
public:
  explicit RowLog(const std::string &path) : path(path) {
    if (path.empty())
      return;
    std::string text;
    if (std::filesystem::exists(path))
      text = readFile(path);
    for (size_t begin = 0; begin < text.size();) {
      size_t end = std::min(text.find('\n', begin), text.size());
      std::string line = text.substr(begin, end - begin);
      json row = json::parse(line, nullptr, false);
      // A line that was cut by a kill is measured again; one that is no row of ours is somebody's file.
      bool whole = row.is_object() && row.contains("key") && row["key"].is_string() && row.contains("kind") &&
                   row.contains("points");
      bool cut = row.is_discarded() && line[0] == '{';
      require(whole || cut || line.empty(), "{}: '{:.40}' is no row of lathe ops bench", path, line);
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

struct OpsFlags {
  std::string op = "conv2d", providers = "lathe,onednn", threads = "1", epilogue = "bias+relu", problems, log;
  std::vector<std::string> texts, suites;
  int repetitions = 8;
  bool list = false;
  double minutes = 0;

  std::vector<int> threadCounts() const {
    std::vector<int> counts;
    for (const std::string &word : CLI::detail::split(threads, ',')) {
      char *end = nullptr;
      long count = std::strtol(word.c_str(), &end, 10);
      require(!word.empty() && *end == 0 && count >= 1 && count <= 1024, "--threads: '{}' is no number of threads",
              word);
      counts.push_back(int(count));
    }
    return counts;
  }

  std::vector<lab::ListedProblem> listed() const {
    lab::SyntaxOptions syntax;
    syntax.bias = epilogue != "none";
    syntax.activation = epilogue == "bias+relu" ? "relu" : "";
    lab::ProblemList list;
    for (const std::string &given : texts)
      for (const std::string &text : lab::expandRanges(given)) {
        lab::Problem problem = lab::parseProblem(op, text, syntax);
        bool conv = problem.op == "conv" && text.find('=') == std::string::npos;
        list.add({problem, op, conv ? lab::shortText(problem) : text, text, {}, 1});
      }
    if (!suites.empty())
      for (auto &entry : lab::readProblems(problemsFile(problems, op), suites, syntax))
        list.add(entry);
    require(!list.empty(), "give problems (such as {}) or --suite", example());
    auto result = list.take();
    for (auto &entry : result)
      require(entry.problem.op == result.front().problem.op,
              "'{}' is a {}, the first problem a {}: one operator at a time", entry.text, entry.problem.op,
              result.front().problem.op);
    return result;
  }

  std::string example() const {
    const lab::ProblemSyntax *syntax = lab::findSyntax(op);
    return syntax ? syntax->form : "'conv x=1x64x56x56 w=64x64x3x3:const pads=1,1,1,1'";
  }

  std::string repro(const lab::ListedProblem &entry, int count) const {
    bool quoted = entry.text.find(' ') != std::string::npos;
    return fmt::format("lathe ops bench {} {}{}{} --provider {} --threads {}{}", entry.kind, quoted ? "'" : "",
                       entry.text, quoted ? "'" : "", providers, count,
                       epilogue == "bias+relu" ? "" : " --epilogue " + epilogue);
  }
};

std::string microseconds(const json &point) {
  return point.contains("time") ? fmt::format("{:.1f}", point["time"]["median_ms"].get<double>() * 1e3)
                                : point["status"].get<std::string>();
}

/// A row for people: the problem, each column's time or status, the verdicts.
void printRow(const json &row) {
  std::cout << fmt::format("{:<52} {} thread{}  {:<9}", row["text"].get<std::string>(), row["threads"].get<int>(),
                           row["threads"] == 1 ? " " : "s", row["kind"].get<std::string>());
  for (const json &point : row["points"])
    std::cout << fmt::format("  {}:{} {}", point["provider"].get<std::string>(), point["variant"].get<std::string>(),
                             microseconds(point));
  for (const json &verdict : row["verdicts"])
    std::cout << fmt::format("  {:.3f} {}", verdict["ratio"].get<double>(), verdict["verdict"].get<std::string>());
  std::cout << "\n";
  bool wrong = false;
  for (const json &point : row["points"]) {
    std::string status = point["status"];
    if (status == "passed" || status == "unimplemented" || status == "same_as")
      continue;
    wrong = true;
    std::cout << fmt::format("  {}:{} {}: {}\n", point["provider"].get<std::string>(),
                             point["variant"].get<std::string>(), status, point.value("reason", ""));
  }
  if (wrong)
    std::cout << "  " << row["repro"].get<std::string>() << "\n";
  std::cout.flush();
}

void printSummaries(const std::vector<lab::OpsSummary> &summaries) {
  Table table({"kind", "threads", "peer", "problems", "geometric mean", "faster", "same", "ambiguous", "slower",
               "slower by > 3 %"});
  for (const lab::OpsSummary &s : summaries)
    table.row({s.kind, std::to_string(s.threads), s.peer, std::to_string(s.rows),
               fmt::format("{:.3f}", s.geometricMean), std::to_string(s.faster), std::to_string(s.same),
               std::to_string(s.ambiguous), std::to_string(s.slower), std::to_string(s.slowerBeyond3)});
  if (!summaries.empty())
    std::cout << "\nPeer's time over ours, best variant of each:\n" << table.str();
}

int benchOps(const Arguments &arguments) {
  OpsFlags flags;
  lab::OpsLabOptions bench;
  Options options(
      "ops bench",
      "Times libraries on single operators, side by side. Every output is checked against the reference\n"
      "first; a wrong one has no time. Activations are in the layout each provider likes best, weights are\n"
      "packed, and neither is timed (variant `plain`: row-major activations). The first provider is ours:\n"
      "a ratio is a peer's best time over our best. Exit code 1 when a point failed, crashed or hung.",
      "  lathe ops bench conv2d ic64ih56oc64kh3ph1 --provider lathe,onednn\n"
      "  lathe ops bench conv2d --suite 'benchdnn/*' --provider lathe,onednn:auto,onednn:winograd --threads 1,2\n"
      "  lathe ops bench conv2d --suite benchdnn/resnet50 --list\n"
      "  lathe ops bench softmax 128x1000 12x128x128 --provider lathe,onednn\n");
  std::string kinds = "kind of problem, each with its own short text (docs/problems.md), or an operator's name:\n";
  for (const lab::ProblemSyntax &syntax : lab::problemSyntaxes())
    kinds += fmt::format("{:<11}{}\n", syntax.kind, syntax.form);
  kinds.pop_back();
  options.add_option("operator", flags.op, kinds)->required();
  options.add_option("problem", flags.texts,
                     "short texts, with ranges: ic{16,32}ih{14..56*2}oc64kh3ph1; or operators' own:\n"
                     "'conv x=1x64x56x56 w=64x64x3x3:const pads=1,1,1,1 +relu'");
  options.add_option("--suite", flags.suites, "problems of the list, by suite: benchdnn/resnet50, 'benchdnn/*'")
      ->delimiter(',');
  options.add_option("--problems", flags.problems,
                     "the list, CSV (../shared/problems/conv2d.csv or in $LATHE_TEST_DATA)");
  options
      .add_option("--provider", flags.providers,
                  "NAME or NAME:VARIANT, separated by commas: lathe, onednn; a peer's NAME alone is all its variants")
      ->capture_default_str();
  options.add_option("--threads", flags.threads, "numbers of threads, separated by commas")->capture_default_str();
  options.add_option("--epilogue", flags.epilogue, "none, bias, bias+relu")
      ->check(CLI::IsMember({"none", "bias", "bias+relu"}))
      ->capture_default_str();
  options
      .add_option("--repetitions", flags.repetitions,
                  "rounds at least, each provider having its turn in each; three when --max-seconds are over")
      ->check(CLI::Range(3, 1000))
      ->capture_default_str();
  options.add_option("--max-seconds", bench.maxSeconds, "of timing a row")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  options.add_option("--max-minutes", flags.minutes, "after which no new row is begun (0: no limit)")
      ->check(CLI::NonNegativeNumber);
  options.add_option("--seed", bench.seed, "of the operands");
  options.add_flag("--check-only", bench.checkOnly, "compares outputs and times nothing");
  options.add_flag("--list", flags.list, "prints the problems and ends");
  options.add_option("--log", flags.log,
                     "finished rows as JSON lines: those in FILE are not measured again, new ones are added");
  options.addJson();
  options.parseAll(arguments);

  auto problems = flags.listed();
  auto counts = flags.threadCounts();
  if (flags.list) {
    Table table({"problem", "kind", "GFLOP", "count", "name", "suites"});
    for (auto &entry : problems)
      table.row({entry.text, entry.problem.kind(), fmt::format("{:.3f}", entry.problem.flops() * 1e-9),
                 std::to_string(entry.count), entry.name, fmt::format("{}", fmt::join(entry.suites, " "))});
    std::cout << table.str();
    return success;
  }
  bench.minRounds = flags.repetitions;
  bench.maxRounds = std::max(bench.maxRounds, flags.repetitions);
  RowLog log(flags.log);
  auto columns = lab::opsColumns(problems.front().problem.op, CLI::detail::split(flags.providers, ','), bench);
  std::vector<std::string> names;
  for (auto &column : columns)
    names.push_back(column.name());
  Progress progress("ops bench");
  size_t total = problems.size() * counts.size(), done = 0;
  std::string stage;
  bench.progress = [&](const std::string &what) { progress.update(stage + ": " + what, done, total); };
  lab::OpsLab laboratory(columns, bench);
  auto began = std::chrono::steady_clock::now();
  std::vector<json> rows;
  size_t left = 0, measured = 0;
  for (auto &entry : problems)
    for (int threads : counts) {
      stage = entry.text;
      std::string key = fmt::format("{} threads={} seed={} {}{}", entry.problem.str(), threads, bench.seed,
                                    fmt::join(names, ","), bench.checkOnly ? " check" : "");
      json row;
      if (const json *known = log.find(key)) {
        row = *known;
      } else if (flags.minutes > 0 &&
                 std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() > flags.minutes * 60) {
        ++left;
        continue;
      } else {
        progress.update(stage, done, total);
        row = lab::toJson(laboratory.measure(entry, threads));
        row["key"] = key;
        row["repro"] = flags.repro(entry, threads);
        log.add(row);
        ++measured;
        if (options.printsText())
          printRow(row);
      }
      ++done;
      rows.push_back(std::move(row));
    }
  auto summaries = lab::summarizeOps(rows);
  size_t wrong = 0, disturbed = 0;
  for (const json &row : rows) {
    disturbed += row.value("other_processors", 0.0) > lab::disturbingProcessors;
    for (const json &point : row["points"])
      wrong += !std::set<std::string>{"passed", "unimplemented", "same_as"}.count(point["status"]);
  }
  if (options.printsText()) {
    printSummaries(summaries);
    std::cout << fmt::format("{} rows, {} measured now, {} points that did not pass", rows.size(), measured, wrong);
    if (disturbed)
      std::cout << fmt::format("; other programs disturbed {} rows: their times are not to be trusted", disturbed);
    if (left)
      std::cout << fmt::format("; {} rows left for another time", left);
    std::cout << "\n";
  }
  json documents = json::array();
  for (auto &summary : summaries)
    documents.push_back(lab::toJson(summary));
  options.writeJson({{"providers", names}, {"rows", rows}, {"summaries", documents}, {"left", left}});
  return wrong ? failedVerdict : success;
}

} // namespace

int opsVerb(const Arguments &arguments) {
  bool help = !arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h");
  if (!arguments.empty() && arguments[0] == "bench")
    return benchOps(Arguments(arguments.begin() + 1, arguments.end()));
  if (help)
    return benchOps({"--help"});
  fail("expected: lathe ops bench OPERATOR ..., got '{}'", arguments.empty() ? "" : arguments[0]);
}

} // namespace lathe::cli
