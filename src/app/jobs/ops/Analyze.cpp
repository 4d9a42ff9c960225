#include "jobs/ops/Analyze.h"

#include "jobs/ops/AnalyzedNetwork.h"
#include "jobs/ops/Ceilings.h"
#include "lab/problems/ProblemSyntax.h"

#include <algorithm>

namespace lathe::jobs {
namespace {

using report::Row;

/// What an analysis reads.
struct Given {
  const AnalyzeJob &job;
  store::Store &store;
  const std::vector<Row> &rows, &inCompany;
  const AnalyzedNetwork &network;
};

/// `reason`: why there is none of `items`.
template <class Item> Finding found(std::vector<Item> items, std::string reason) {
  return {"", items.empty() ? std::move(reason) : "", std::move(items)};
}

Finding roofline(const Given &given) {
  Ceilings ceilings(given.store);
  return found(report::rooflineShares(given.rows, [&](auto &platform) { return ceilings.of(platform); }),
               "no timed point whose operations and bytes are known");
}

Finding counters(const Given &given) {
  return found(report::counted(given.rows), "no timed point whose processor time is known");
}

Finding speedup(const Given &given) {
  const std::string &baseline = given.job.baseline;
  if (baseline.empty())
    return {"", "give --baseline PROVIDER", {}};
  report::Speedups speedups = report::speedups(given.rows, report::ColumnChoice::parse(baseline));
  return {"", speedups.rows.empty() ? "nothing was timed beside " + baseline : "", std::move(speedups)};
}

Finding best(const Given &given) { return found(report::best(given.rows), "no timed points"); }

Finding schedules(const Given &given) {
  report::ScheduleGains gains = report::scheduleGains(given.rows);
  return {"", gains.rows.empty() ? "nothing was measured with several schedules (lathe ops bench --schedule)" : "",
          std::move(gains)};
}

Finding failed(const Given &given) { return found(report::failed(given.rows), "none"); }

Finding estimate(const Given &given) {
  return found(estimatesOf(given.network, given.rows, given.store),
               given.network.parts.empty()
                   ? "give --from-model MODEL or --suite SUITE"
                   : "none of the network's operators has a time: " + given.network.command + " measures them");
}

Finding account(const Given &given) {
  const AnalyzedNetwork &network = given.network;
  if (network.text.empty())
    return {"", "give --from-model MODEL", {}};
  report::AccountSources sources{
      [&](const std::string &platform, int threads) {
        return report::lastProfile(given.store, network.text, platform, threads);
      },
      [&](const std::string &platform, int threads) { return benchSeconds(given.store, network, platform, threads); },
      [&](const std::string &platform) { return report::lastLevelBytes(given.store.platform(platform)); }};
  return found(
      report::accounts(given.rows, network.parts, lab::knownProviders().front(), sources),
      fmt::format("needs `lathe profile {0}`, `lathe bench {0}` and {1}", given.job.network.model, network.command));
}

Finding table(const Given &given) {
  return found(report::convTables(given.rows, given.network.parts), "no timed convolution");
}

Finding correlation(const Given &given) {
  return found(report::correlations(given.rows),
               "no feature varies over three timed points of one operator and provider");
}

Finding turning(const Given &given) {
  report::TurningPoints points = report::turningPoints(given.rows);
  return {"",
          points.curves.empty() ? "no curve: two numbers of threads, or three sizes of otherwise equal problems" : "",
          std::move(points)};
}

Finding company(const Given &given) {
  return found(report::slowDowns(given.inCompany), "nothing was measured in company (lathe ops bench --beside)");
}

constexpr std::pair<const char *, Finding (*)(const Given &given)> analyses[] = {
    {"roofline", roofline},   {"counters", counters},       {"speedup", speedup},   {"best", best},
    {"schedules", schedules}, {"failed", failed},           {"estimate", estimate}, {"account", account},
    {"table", table},         {"correlation", correlation}, {"turning", turning},   {"company", company}};

} // namespace

bool AnalyzeJob::wants(std::string_view analysis) const {
  return what.empty() ||
         std::any_of(what.begin(), what.end(), [&](auto &word) { return word == "all" || word == analysis; });
}

std::vector<std::string> analysisNames() {
  std::vector<std::string> names;
  for (auto [name, analysis] : analyses)
    names.emplace_back(name);
  return names;
}

Analyzed analyze(const AnalyzeJob &job, store::Store &store, store::Filter filter) {
  if (const lab::ProblemSyntax *syntax = lab::findSyntax(filter.op)) // points have the dialect's name
    filter.op = lab::parseProblem(filter.op, syntax->form).op;
  Analyzed result;
  std::vector<Row> rows = report::rowsOf(store, filter);
  if (!job.threads.empty())
    std::erase_if(rows, [&](const Row &row) {
      return std::find(job.threads.begin(), job.threads.end(), row.setting.threads) == job.threads.end();
    });
  result.inCompany = report::withCompany(rows);
  result.rows = report::latest(std::move(rows));
  require(!result.rows.empty(), "{}: has no points that match the flags", store.path());
  AnalyzedNetwork network = networkOf(job.network, filter.op, job.measuredMs * 1e-3);
  for (auto [name, analysis] : analyses)
    if (job.wants(name)) {
      result.findings.push_back(analysis({job, store, result.rows, result.inCompany, network}));
      result.findings.back().name = name;
    }
  return result;
}

} // namespace lathe::jobs
