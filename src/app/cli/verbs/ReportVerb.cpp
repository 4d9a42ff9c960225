// `lathe report`: writes measurements of the store as a page with plots (docs/reports.md).
#include "cli/FrontVerbs.h"
#include "cli/flags/OpsFlags.h"
#include "cli/flags/RunFlags.h"
#include "cli/flags/StoreFlags.h"
#include "cli/print/PageFiles.h"
#include "jobs/ops/AnalyzedNetwork.h"
#include "jobs/ops/Ceilings.h"
#include "process/ShellWords.h"
#include "report/Account.h"
#include "report/Collect.h"
#include "report/Speedup.h"
#include "store/ContentKey.h"
#include "support/Text.h"

#include <iostream>
#include <set>

namespace lathe::cli {
namespace {

struct ReportFlags {
  StoreFlags store;
  FilterFlags filters;
  OpsOptions network; // for estimates
  std::string page, svg, title, baseline;

  void add(Options &options) {
    store.add(options);
    filters.add(options);
    options.addOutput("-o,--output", page, "Write the page to FILE (default: report.html, unless --svg is given)");
    options.add_option("--svg", svg, "Write every plot as an SVG file into the folder DIR, with Node.js")
        ->type_name("DIR");
    options.add_option("--title", title, "Set the title of the page (default: the kinds of the experiments)");
    options.add_option("--baseline", baseline, "Show speedups over this provider first; the page can choose another")
        ->type_name("PROVIDER[:VARIANT[:SCHEDULE]][@PLATFORM]");
    addNetwork(options, network, "Show the sum over the operators of this network beside its measured time");
    options.addJson();
    options.afterParse([this] {
      if (page.empty() && svg.empty())
        page = "report.html";
      if (!baseline.empty())
        report::ColumnChoice::parse(baseline);
    });
  }
};

/// Adds sums over the network's operators, with the caches as in the network and as measured.
void addEstimates(report::PageData &data, store::Store &store, ReportFlags &flags) {
  AnalyzedNetwork network = networkOf(flags.network, flags.filters.op);
  if (network.parts.empty())
    return;
  std::string name =
      flags.network.model.empty() ? fmt::format("{}", fmt::join(flags.network.suites, ", ")) : flags.network.model;
  std::vector<report::Row> rows = report::latest(report::rowsOf(store, flags.filters.filter(store)));
  data.addEstimates(name, estimatesOf(network, rows, store));
}

/// Throws Error unless there is a point with the provider, variant and schedule of --baseline.
void requireBaseline(const ReportFlags &flags, store::Store &store) {
  if (flags.baseline.empty())
    return;
  report::ColumnChoice choice = report::ColumnChoice::parse(flags.baseline);
  std::set<std::string> known;
  for (const report::Row &row : report::rowsOf(store, flags.filters.filter(store))) {
    if (choice.matches(row))
      return;
    known.insert(row.provider + (row.variant.empty() ? "" : ":" + row.variant));
  }
  require(known.empty(), "--baseline {}: has no points here, expected one of {}", flags.baseline,
          fmt::join(known, ", "));
}

report::PageData collect(ReportFlags &flags, store::Store &store, const Arguments &arguments) {
  ProgramBuild build = programBuild();
  Arguments words{"lathe", "report"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Ceilings ceilings(store);
  report::PageData data = report::collect(store, flags.filters.filter(store),
                                          {.title = flags.title,
                                           .command = process::shellCommand(words),
                                           .version = build.version,
                                           .build = build.key,
                                           .created = store::timeNow(),
                                           .baseline = flags.baseline},
                                          [&](const std::string &platform) { return ceilings.of(platform); });
  addEstimates(data, store, flags);
  require(data.points() + data.tuningRecords() > 0, "{}: has no points that match the flags", store.path());
  return data;
}

} // namespace

int reportVerb(const Arguments &arguments) {
  ReportFlags flags;
  Options options(
      "report",
      "Write measurements of the store as one page with plots, for a browser, without any network request.\n"
      "Every mark leads to its raw samples and to the command that repeats it (docs/reports.md).",
      "  lathe report\n"
      "  lathe report --experiment 3f2a,81c0 -o convolutions.html --baseline onednn\n"
      "  lathe report --kind ops --from-model zoo:resnet50 --svg plots\n"
      "  lathe report --suite networks/resnet50 --provider lathe\n");
  flags.add(options);
  options.parseAll(arguments);
  if (!flags.page.empty())
    requirePage();
  store::Store store = flags.store.open();
  requireBaseline(flags, store);
  report::PageData data = collect(flags, store, arguments);
  nlohmann::json document = data.document();
  if (!flags.page.empty())
    writePage(flags.page, document);
  size_t plots = flags.svg.empty() ? 0 : writePlots(flags.svg, document);
  if (options.printsText() && flags.page != "-") {
    std::string what =
        fmt::format("{}, {}, {}", counted(int64_t(data.experiments()), "experiment"),
                    counted(int64_t(data.points()), "point"), counted(int64_t(data.tuningRecords()), "tuning record"));
    if (!flags.page.empty())
      std::cout << fmt::format("{}: {}\n", flags.page, what);
    if (!flags.svg.empty())
      std::cout << fmt::format("{}: {}\n", flags.svg, counted(int64_t(plots), "plot"));
  }
  options.writeJson(document);
  return success;
}

} // namespace lathe::cli
