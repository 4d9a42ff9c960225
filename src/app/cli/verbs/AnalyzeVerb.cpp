// `lathe ops analyze`: analyses of the measurements in the store (docs/analysing.md).
#include "cli/FrontVerbs.h"
#include "cli/flags/OpsFlags.h"
#include "cli/flags/StoreFlags.h"
#include "cli/print/ops/AnalyzeSummary.h"
#include "jobs/ops/AnalyzedNetwork.h"
#include "jobs/ops/Ceilings.h"
#include "lab/problems/ProblemSyntax.h"

#include <algorithm>
#include <iostream>

namespace lathe::cli {
namespace {

using nlohmann::json;
using report::Row;

const std::vector<std::string> analyses = {"roofline", "counters", "speedup", "best",        "schedules", "failed",
                                           "estimate", "account",  "table",   "correlation", "turning"};

std::vector<std::string> allAnd(std::vector<std::string> names) {
  names.emplace_back("all");
  return names;
}

struct AnalyzeFlags {
  StoreFlags store;
  FilterFlags filters;
  OpsFlags network; // operators of a network, and their counts
  std::vector<std::string> what;
  std::vector<int> threads;
  std::string baseline;
  double measuredMs = 0;
  size_t rows = 40;

  void add(Options &options) {
    store.add(options);
    filters.add(options);
    options.add_option("--threads", threads, "Take only points with these numbers of threads, separated by commas")
        ->delimiter(',');
    options
        .add_option(
            "--what", what,
            fmt::format(
                "Show these tables, separated by commas; all: every one that has figures (default: a summary):\n{}",
                fmt::join(analyses, ", ")))
        ->delimiter(',')
        ->check(CLI::IsMember(allAnd(analyses)));
    options.add_option("--baseline", baseline, "Compute speedups over this provider")
        ->type_name("PROVIDER[:VARIANT[:SCHEDULE]][@PLATFORM]");
    addNetwork(options, network, "Set the network of estimate, account and table");
    options
        .add_option("--measured-ms", measuredMs,
                    "Set the time of the whole network, in ms (default: its last verified `lathe bench` in the store)")
        ->check(CLI::PositiveNumber);
    options.add_option("--rows", rows, "Show at most this many rows of each table (0: all); JSON has all")
        ->capture_default_str();
    options.addWide();
    options.addJson();
    options.afterParse([this, &options] { requireHonoured(options); });
  }
  /// Throws Error for a flag that none of the requested analyses uses.
  void requireHonoured(const Options &options) const {
    auto any = [&](std::initializer_list<const char *> names) {
      return std::any_of(names.begin(), names.end(), [&](const char *name) { return wants(name); });
    };
    if (what.empty())
      options.refuse({"--rows"}, "the summary has one row for each analysis; name tables with --what");
    if (!wants("speedup"))
      options.refuse({"--baseline"}, "only the analysis `speedup` has a baseline, which --what leaves out");
    if (!any({"estimate", "account", "table"}))
      options.refuse({"--from-model", "--suite"},
                     "only estimate, account and table look at a network, which --what leaves out");
    if (!any({"estimate", "account"}))
      options.refuse({"--measured-ms"}, "only estimate and account compare with it, which --what leaves out");
    if (network.model.empty() && network.suites.empty())
      options.refuse({"--measured-ms"}, "no network is given, give --from-model or --suite");
  }
  bool wants(const std::string &analysis) const { return what.empty() || given("all") || given(analysis); }
  bool given(const std::string &word) const { return std::find(what.begin(), what.end(), word) != what.end(); }
};

/// Collects the results of the analyses, as tables or one line each, and as one document.
class Findings {
public:
  Findings(const AnalyzeFlags &flags, const Options &options)
      : flags(flags), printsText(options.printsText()), style(options.tableStyle(flags.rows)),
        lines({textColumn("--what"), textColumn("in short").shrink(40)}) {}

  template <class Item>
  void add(const std::string &name, const std::string &title, const std::vector<Item> &items, const std::string &reason,
           auto &&text) {
    json list = json::array();
    for (const Item &item : items)
      list.push_back(toJson(item));
    add(name, title, items.empty() ? reason : "", items, text, std::move(list));
  }
  /// `text(found, style)` prints the analysis as tables. `reason`: why there is no result; otherwise empty.
  template <class Found>
  void add(const std::string &name, const std::string &title, const std::string &reason, const Found &found,
           auto &&text, json figures) {
    if (!reason.empty()) {
      document["not_applicable"][name] = reason;
      without += fmt::format("  {:<12} {}\n", name, reason);
      return;
    }
    if (flags.what.empty())
      lines.row({name, summaryOf(found)});
    else if (printsText)
      std::cout << fmt::format("{}\n\n{}\n", title, text(found, style));
    document[name] = std::move(figures);
  }
  /// Prints the single lines if no table was requested, and the analyses without figures.
  void close() const {
    if (lines.rowCount())
      std::cout << "\n" << lines.str({style.width}) << "\n--what NAME,... shows the tables, --what all every one\n";
    if (!without.empty())
      std::cout << "No figures:\n" << without;
  }

  json document = json::object();

private:
  const AnalyzeFlags &flags;
  bool printsText;
  TableStyle style;
  std::string without;
  Table lines;
};

/// Runs analyses on the rows of a store.
class Analysis {
public:
  Analysis(Findings &findings, const AnalyzeFlags &flags, store::Store &store, const std::vector<Row> &rows,
           const AnalyzedNetwork &network)
      : findings(findings), flags(flags), store(store), rows(rows), network(network) {}

  /// Runs every analysis that the flags request.
  void run() {
    static constexpr std::pair<const char *, void (Analysis::*)()> all[] = {
        {"roofline", &Analysis::roofline},   {"counters", &Analysis::counters},
        {"speedup", &Analysis::speedup},     {"best", &Analysis::best},
        {"schedules", &Analysis::schedules}, {"failed", &Analysis::failed},
        {"estimate", &Analysis::estimate},   {"account", &Analysis::account},
        {"table", &Analysis::table},         {"correlation", &Analysis::correlation},
        {"turning", &Analysis::turning}};
    for (auto [name, analyze] : all)
      if (flags.wants(name))
        (this->*analyze)();
  }

private:
  Findings &findings;
  const AnalyzeFlags &flags;
  store::Store &store;
  const std::vector<Row> &rows;
  const AnalyzedNetwork &network;

  /// Time of the whole network, in seconds.
  std::optional<double> measured(const std::string &platform, int threads) {
    if (flags.measuredMs > 0)
      return flags.measuredMs * 1e-3;
    return network.text.empty() ? std::nullopt : benchSeconds(store, network.text, platform, threads);
  }
  int64_t lastLevel(const std::string &platform) { return report::lastLevelBytes(store.platform(platform)); }

  void roofline() {
    Ceilings ceilings(store);
    findings.add("roofline", "Share of the roofline",
                 report::rooflineShares(rows, [&](auto &p) { return ceilings.of(p); }),
                 "no timed point whose operations and bytes are known", rooflineText);
  }

  void counters() {
    findings.add("counters", "What the runs cost", report::counted(rows),
                 "no timed point whose processor time is known", countedText);
  }

  void speedup() {
    report::Speedups speedups;
    std::string reason = "give --baseline PROVIDER";
    if (!flags.baseline.empty()) {
      speedups = report::speedups(rows, report::ColumnChoice::parse(flags.baseline));
      reason = speedups.rows.empty() ? "nothing was timed beside " + flags.baseline : "";
    }
    findings.add(
        "speedup", "Speedup over " + flags.baseline, reason, speedups,
        [&](auto &found, auto &style) { return speedupText(found, flags.baseline, style); }, toJson(speedups));
  }

  void best() {
    auto best = report::best(rows);
    json points = json::array(), counts = json::array();
    for (auto &entry : best)
      points.push_back(toJson(entry));
    for (auto &count : report::countBest(best))
      counts.push_back(toJson(count));
    findings.add("best", "Fastest of each problem and setting", best.empty() ? "no timed points" : "", best, bestText,
                 {{"points", points}, {"counts", counts}});
  }

  void schedules() {
    report::ScheduleGains gains = report::scheduleGains(rows);
    findings.add("schedules", "Best schedule over the default",
                 gains.rows.empty() ? "nothing was measured with several schedules (lathe ops bench --schedule)" : "",
                 gains, schedulesText, toJson(gains));
  }

  void failed() {
    auto failed = report::failed(rows);
    json points = json::array();
    for (const Row *row : failed)
      points.push_back(report::failedJson(*row));
    findings.add("failed", "Points that failed", failed.empty() ? "none" : "", failed, failedText, points);
  }

  /// Sums the network's time with the caches as in the network, then as measured.
  void estimate() {
    const std::vector<report::Part> &parts = network.parts;
    std::vector<report::Estimate> found;
    if (!parts.empty()) {
      auto asInNetwork = report::rowsAsInNetwork(rows, [&](const std::string &platform) {
        return report::networkState(report::constantBytes(parts), lastLevel(platform));
      });
      auto seconds = [&](const report::Estimate &estimate) {
        return measured(estimate.platform, estimate.setting.threads);
      };
      for (const std::vector<Row> *list : std::initializer_list<const std::vector<Row> *>{&asInNetwork, &rows})
        for (auto &estimate : report::estimates(*list, parts, seconds))
          found.push_back(std::move(estimate));
    }
    findings.add("estimate", "Sum over the network's operators", found,
                 parts.empty() ? "give --from-model MODEL or --suite SUITE"
                               : "none of the network's operators has a time: " + network.command + " measures them",
                 estimateText);
  }

  void account() {
    std::vector<report::Account> found;
    if (!network.text.empty())
      found = report::accounts(rows, network.parts, lab::knownProviders().front(),
                               {[&](const std::string &platform, int threads) {
                                  return report::lastProfile(store, network.text, platform, threads);
                                },
                                [&](const std::string &platform, int threads) { return measured(platform, threads); },
                                [&](const std::string &platform) { return lastLevel(platform); }});
    findings.add("account", "Where the network's time goes", found,
                 network.text.empty() ? "give --from-model MODEL"
                                      : fmt::format("needs `lathe profile {0}`, `lathe bench {0}` and {1}",
                                                    flags.network.model, network.command),
                 accountText);
  }

  void table() {
    findings.add("table", "Convolutions by shape", report::convTables(rows, network.parts), "no timed convolution",
                 convTableText);
  }

  void correlation() {
    findings.add("correlation", "What the times follow", report::correlations(rows),
                 "no feature varies over three timed points of one operator and provider", correlationText);
  }

  void turning() {
    findings.add("turning", "Turning points (slopes of logarithms)", report::turningPoints(rows),
                 "no curve: two numbers of threads, or three sizes of otherwise equal problems", turningText);
  }
};

} // namespace

int analyzeVerb(const Arguments &arguments) {
  AnalyzeFlags flags;
  Options options(
      "ops analyze",
      "Analyse the measurements in the store: shares of the roofline, speedups over a baseline provider, the fastest,\n"
      "failures, a network's sum of its operators, correlations and turning points (docs/analysing.md). Of several\n"
      "measurements of one point the last one counts.",
      "  lathe ops analyze --kind ops\n"
      "  lathe ops analyze --experiment 3f2a --what speedup --baseline onednn\n"
      "  lathe ops analyze --from-model resnet50.onnx --what estimate,table\n"
      "  lathe ops analyze --suite networks/resnet50 --measured-ms 12.5 --what estimate\n"
      "  lathe ops analyze --what turning,correlation --provider lathe --json -\n");
  flags.add(options);
  options.parseAll(arguments);
  if (const lab::ProblemSyntax *syntax = lab::findSyntax(flags.filters.op)) // points have the dialect's name
    flags.filters.op = lab::parseProblem(flags.filters.op, syntax->form).op;

  store::Store store = flags.store.open();
  std::vector<Row> rows = report::latest(report::rowsOf(store, flags.filters.filter(store)));
  if (!flags.threads.empty())
    std::erase_if(rows, [&](const Row &row) {
      return std::find(flags.threads.begin(), flags.threads.end(), row.setting.threads) == flags.threads.end();
    });
  require(!rows.empty(), "{}: has no points that match the flags", store.path());
  AnalyzedNetwork network = networkOf(flags.network, flags.filters.op);
  Findings findings(flags, options);
  if (flags.what.empty() && options.printsText())
    std::cout << storeSummary(store.path(), rows);
  else if (options.printsText())
    std::cout << report::unverifiedNote(rows);
  Analysis(findings, flags, store, rows, network).run();
  if (options.printsText())
    findings.close();
  findings.document["points"] = rows.size();
  options.writeJson(findings.document);
  return success;
}

} // namespace lathe::cli
