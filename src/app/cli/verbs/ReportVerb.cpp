// `lathe report`: writes measurements of the store as a page with plots (docs/reports.md).
#include "cli/FrontVerbs.h"
#include "cli/flags/OpsFlags.h"
#include "cli/flags/StoreFlags.h"
#include "cli/print/PageFiles.h"
#include "jobs/ops/Report.h"
#include "report/Speedup.h"
#include "support/Text.h"

#include <iostream>

namespace lathe::cli {
namespace {

struct ReportFlags {
  StoreFlags store;
  FilterFlags filters;
  ReportJob job;
  std::string page, svg;

  void add(Options &options) {
    store.add(options);
    filters.add(options);
    options.addOutput("-o,--output", page, "Write the page to FILE (default: report.html, unless --svg is given)");
    options.add_option("--svg", svg, "Write every plot as an SVG file into the folder DIR, with Node.js")
        ->type_name("DIR");
    options.add_option("--title", job.title, "Set the title of the page (default: the kinds of the experiments)");
    options
        .add_option("--baseline", job.baseline, "Show speedups over this provider first; the page can choose another")
        ->type_name("PROVIDER[:VARIANT[:SCHEDULE]][@PLATFORM]");
    addNetwork(options, job.network, "Show the sum over the operators of this network beside its measured time");
    options.addJson();
    options.afterParse([this] {
      if (page.empty() && svg.empty())
        page = "report.html";
      if (!job.baseline.empty())
        report::ColumnChoice::parse(job.baseline);
    });
  }
};

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
  flags.job.command = arguments;
  report::PageData data = reportOf(flags.job, store, flags.filters.filter(store));
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
