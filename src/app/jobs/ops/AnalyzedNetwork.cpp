#include "jobs/ops/AnalyzedNetwork.h"

#include "lab/StoreRecords.h"
#include "report/Account.h"

namespace lathe::jobs {

using report::Row;

AnalyzedNetwork networkOf(OpsOptions flags, const std::string &op, double seconds) {
  AnalyzedNetwork network;
  network.seconds = seconds;
  auto add = [&](const std::vector<lab::ListedProblem> &entries) {
    for (auto &entry : entries)
      network.parts.push_back({entry.problem.str(), entry.count, entry.nodes});
  };
  if (!flags.model.empty()) {
    ListedModel listed = listModel(flags.model);
    add(listed.problems);
    ModelOptions model;
    model.model = flags.model;
    network.text = modelProblem(model, listed.source, "").text;
    network.command = fmt::format("`lathe ops bench --from-model {}`", flags.model);
  } else if (!flags.suites.empty()) {
    flags.kind = op;
    add(flags.listed());
    network.command = fmt::format("`lathe ops bench {}{}--suite {}`", flags.kind, flags.kind.empty() ? "" : " ",
                                  fmt::join(flags.suites, ","));
  }
  return network;
}

std::optional<double> benchSeconds(store::Store &store, const AnalyzedNetwork &network, const std::string &platform,
                                   int threads, const std::string &resources) {
  if (network.seconds > 0)
    return network.seconds;
  if (network.text.empty())
    return std::nullopt;
  store::Filter filter;
  filter.kind = store::ExperimentKind::bench;
  filter.op = "model";
  filter.platform = platform;
  std::optional<Row> last;
  for (Row &row : report::rowsOf(store, filter))
    if (row.counts() && row.problem.starts_with(network.text) && row.setting.threads == threads &&
        row.setting.batch <= 1 && !row.inCompany() && lab::resourcesText(row.setting) == resources &&
        (!last || last->measured <= row.measured))
      last = std::move(row);
  return last ? std::optional(last->median) : std::nullopt;
}

std::vector<report::Estimate> estimatesOf(const AnalyzedNetwork &network, const std::vector<Row> &rows,
                                          store::Store &store) {
  const std::vector<report::Part> &parts = network.parts;
  if (parts.empty())
    return {};
  auto asInNetwork = report::rowsAsInNetwork(rows, [&](const std::string &platform) {
    return report::networkState(report::constantBytes(parts), report::lastLevelBytes(store.platform(platform)));
  });
  auto seconds = [&](const report::Estimate &estimate) {
    return benchSeconds(store, network, estimate.platform, estimate.setting.threads,
                        lab::resourcesText(estimate.setting));
  };
  std::vector<report::Estimate> result = report::estimates(asInNetwork, parts, seconds);
  for (report::Estimate &estimate : report::estimates(rows, parts, seconds))
    result.push_back(std::move(estimate));
  return result;
}

} // namespace lathe::jobs
