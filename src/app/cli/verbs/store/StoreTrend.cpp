// `lathe store trend`: times over dates and commits.
#include "cli/flags/StoreFlags.h"
#include "cli/print/store/TrendPrint.h"
#include "cli/verbs/store/StoreVerbs.h"
#include "support/Text.h"

#include <filesystem>
#include <iostream>
#include <set>
#include <tuple>

namespace lathe::cli {
namespace {

/// Throws Error that names the missing times, and the providers with other times.
[[noreturn]] void failWithoutTimes(store::Store &store, const report::TrendFilter &filter) {
  const auto &[provider, variant] = std::tie(filter.points.provider, filter.points.variant);
  std::string wanted = filter.text.empty() ? "any problem" : "'" + filter.text + "'";
  auto timed = [&](const report::TrendFilter &wider) {
    std::set<std::string> providers;
    for (const report::TrendSeries &series : report::trendsOf(store, wider))
      providers.insert(series.provider + (variant.empty() ? "" : ":" + series.variant));
    return providers;
  };
  report::TrendFilter wider = filter;
  wider.points.provider = wider.points.variant = "";
  if (!provider.empty() || !variant.empty())
    if (std::set<std::string> others = timed(wider); !others.empty())
      fail("{}: has no times of {} by {}{}, only by {}", store.path(), wanted,
           provider.empty() ? "any provider" : provider, variant.empty() ? "" : ":" + variant,
           printable(fmt::format("{}", fmt::join(others, ", "))));
  fail("{}: has no times of {}", store.path(), wanted);
}

} // namespace

int storeTrend(const Arguments &arguments) {
  StoreFlags flags;
  FilterFlags filterFlags;
  report::TrendFilter filter;
  std::string csv, variant;
  Options options(
      "store trend",
      "Show the times of a network or a problem over dates and commits of lathe, and the points where they\n"
      "changed (docs/store.md). Without a name: one line a series.",
      "  lathe store trend\n  lathe store trend zoo:resnet50 --provider lathe\n"
      "  lathe store trend resnet50.onnx --csv trend.csv\n");
  options.add_option("name", filter.text, "a model, a part of a problem's text, or an operator (default: all)");
  filterFlags.add(options);
  options.add_option("--variant", variant, "Take only points of this variant");
  flags.add(options);
  options.addOutput("--csv", csv, "Write one row an observation as CSV (-: standard output)")->type_name("FILE");
  options.addWide();
  options.addJson();
  options.parseAll(arguments);
  store::Store store = flags.open();
  filter.points = filterFlags.filter(store);
  filter.points.variant = variant;
  bool named = !filter.text.empty();
  if (named && filter.text.find('/') != std::string::npos) // problems have file names without folders
    filter.text = std::filesystem::path(filter.text).filename().string();
  std::vector<report::TrendSeries> all = report::trendsOf(store, filter);
  if (all.empty())
    failWithoutTimes(store, filter);
  if (options.printsText())
    std::cout << trendText(all, named, store.path(), options.tableStyle());
  if (!csv.empty())
    writeFile(csv, trendCsv(all));
  options.writeJson(trendJson(all, store.path()));
  return success;
}

} // namespace lathe::cli
