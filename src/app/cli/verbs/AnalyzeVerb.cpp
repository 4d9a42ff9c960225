// `lathe ops analyze`: analyses of the measurements in the store (docs/analysing.md).
#include "cli/FrontVerbs.h"
#include "cli/flags/OpsFlags.h"
#include "cli/flags/StoreFlags.h"
#include "cli/print/ops/AnalyzePrint.h"

#include <algorithm>
#include <iostream>

namespace lathe::cli {
namespace {

struct AnalyzeFlags {
  StoreFlags store;
  FilterFlags filters;
  AnalyzeJob job;
  size_t rows = 40;

  void add(Options &options) {
    store.add(options);
    filters.add(options);
    const std::vector<std::string> names = analysisNames();
    std::vector<std::string> offered = names;
    offered.emplace_back("all");
    options.add_option("--threads", job.threads, "Take only points with these numbers of threads, separated by commas")
        ->delimiter(',');
    options
        .add_option(
            "--what", job.what,
            fmt::format(
                "Show these tables, separated by commas; all: every one that has figures (default: a summary):\n{}",
                fmt::join(names, ", ")))
        ->delimiter(',')
        ->check(CLI::IsMember(offered));
    options.add_option("--baseline", job.baseline, "Compute speedups over this provider")
        ->type_name("PROVIDER[:VARIANT[:SCHEDULE]][@PLATFORM]");
    addNetwork(options, job.network, "Set the network of estimate, account and table");
    options
        .add_option("--measured-ms", job.measuredMs,
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
      return std::any_of(names.begin(), names.end(), [&](const char *name) { return job.wants(name); });
    };
    if (job.what.empty())
      options.refuse({"--rows"}, "the summary has one row for each analysis; name tables with --what");
    if (!job.wants("speedup"))
      options.refuse({"--baseline"}, "only the analysis `speedup` has a baseline, which --what leaves out");
    if (!any({"estimate", "account", "table"}))
      options.refuse({"--from-model", "--suite"},
                     "only estimate, account and table look at a network, which --what leaves out");
    if (!any({"estimate", "account"}))
      options.refuse({"--measured-ms"}, "only estimate and account compare with it, which --what leaves out");
    if (job.network.model.empty() && job.network.suites.empty())
      options.refuse({"--measured-ms"}, "no network is given, give --from-model or --suite");
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
  store::Store store = flags.store.open();
  Analyzed analyzed = analyze(flags.job, store, flags.filters.filter(store));
  if (options.printsText())
    std::cout << analyzedText(analyzed, flags.job, store.path(), options.tableStyle(flags.rows));
  options.writeJson(analyzedJson(analyzed));
  return success;
}

} // namespace lathe::cli
