#include "jobs/ops/AnalyzedNetwork.h"

#include "jobs/Recording.h"

namespace lathe::jobs {

using report::Row;

AnalyzedNetwork networkOf(OpsOptions &flags, const std::string &op) {
  AnalyzedNetwork network;
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

std::optional<double> benchSeconds(store::Store &store, const std::string &named, const std::string &platform,
                                   int threads) {
  if (named.empty())
    return std::nullopt;
  store::Filter filter;
  filter.kind = store::ExperimentKind::bench;
  filter.op = "model";
  filter.platform = platform;
  std::optional<Row> last;
  for (Row &row : report::rowsOf(store, filter))
    if (row.counts() && row.problem.starts_with(named) && row.setting.threads == threads && row.setting.batch <= 1 &&
        (!last || last->measured <= row.measured))
      last = std::move(row);
  return last ? std::optional(last->median) : std::nullopt;
}

} // namespace lathe::jobs
