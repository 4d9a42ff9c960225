#include "report/Network.h"

#include "report/Best.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace lathe::report {

using nlohmann::json;

namespace {

/// Rows that may be added up, by problem.
struct Group {
  const Row *any = nullptr;
  std::map<std::string, std::vector<const Row *>> problems;
  std::set<std::string> providers;
};

/// Rows of operators that count, by their context without the problem; a problem states its own type.
std::map<std::string, Group> groupsOf(const std::vector<Row> &rows) {
  std::map<std::string, Group> groups;
  for (const Row &row : rows) {
    // The sum for a network includes only verified results, and no operator runs in company in a network.
    if (!row.counts() || !row.shape || !row.verifiedHere() || row.inCompany())
      continue;
    Row untyped = row;
    untyped.setting.type.clear();
    Group &group = groups[contextText(untyped)];
    group.any = &row;
    group.problems[row.problem].push_back(&row);
    group.providers.insert(row.provider);
  }
  return groups;
}

} // namespace

std::vector<Estimate> estimates(const std::vector<Row> &rows, const std::vector<Part> &parts,
                                const std::function<std::optional<double>(const Estimate &estimate)> &measuredSeconds) {
  std::vector<Estimate> result;
  for (auto &[context, group] : groupsOf(rows)) {
    std::vector<std::string> providers(group.providers.begin(), group.providers.end());
    providers.insert(providers.begin(), "");
    for (const std::string &provider : providers) {
      Estimate estimate;
      estimate.context = context;
      estimate.provider = provider;
      estimate.platform = group.any->platform;
      estimate.setting = group.any->setting;
      for (const Part &part : parts) {
        auto found = group.problems.find(part.problem);
        const Row *best = found == group.problems.end() ? nullptr : fastest(found->second, [&](const Row &row) {
          return provider.empty() || row.provider == provider;
        });
        if (!best) {
          estimate.missing.push_back(part);
          continue;
        }
        estimate.seconds += double(part.count) * best->median;
        estimate.counted += part.count;
      }
      if (estimate.counted == 0)
        continue;
      estimate.measuredSeconds = measuredSeconds ? measuredSeconds(estimate) : std::nullopt;
      if (estimate.measuredSeconds)
        estimate.difference = (estimate.seconds - *estimate.measuredSeconds) / *estimate.measuredSeconds;
      result.push_back(std::move(estimate));
    }
  }
  return result;
}

static ConvLine lineOf(const lab::Problem &problem, int64_t count) {
  ConvLine line;
  line.problem = problem.str();
  line.input = fmt::format("{}", fmt::join(problem.operand("x")->dims, "x"));
  line.kernel = fmt::format("{}", fmt::join(problem.operand("w")->dims, "x"));
  line.stride = fmt::format("{}", fmt::join(problem.attrsAs<ConvAttrs>().strides, "x"));
  line.flops = problem.flops();
  line.count = count;
  return line;
}

std::vector<ConvTable> convTables(const std::vector<Row> &rows, const std::vector<Part> &parts) {
  std::vector<ConvTable> tables;
  for (auto &[context, group] : groupsOf(rows)) {
    ConvTable table;
    table.context = context;
    if (parts.empty()) {
      for (auto &[problem, measured] : group.problems)
        if (measured[0]->op == "conv")
          table.lines.push_back(lineOf(*measured[0]->shape, 1));
    } else {
      for (const Part &part : parts)
        if (lab::Problem problem = lab::Problem::parse(part.problem); problem.op == "conv")
          table.lines.push_back(lineOf(problem, part.count));
    }
    double sum = 0;
    for (ConvLine &line : table.lines)
      if (auto found = group.problems.find(line.problem); found != group.problems.end()) {
        line.row = fastest(found->second);
        line.seconds = line.row->median;
        line.total = double(line.count) * line.seconds;
        sum += line.total;
      }
    if (sum == 0)
      continue;
    for (ConvLine &line : table.lines)
      line.share = line.total / sum;
    std::sort(table.lines.begin(), table.lines.end(),
              [](auto &a, auto &b) { return std::tie(b.total, a.problem) < std::tie(a.total, b.problem); });
    tables.push_back(std::move(table));
  }
  return tables;
}

json toJson(const Estimate &estimate) {
  json missing = json::array();
  for (const Part &part : estimate.missing)
    missing.push_back({{"problem", part.problem}, {"count", part.count}});
  json document = {{"context", estimate.context},
                   {"provider", estimate.provider.empty() ? "best" : estimate.provider},
                   {"platform", estimate.platform},
                   {"threads", estimate.setting.threads},
                   {"operators", estimate.counted},
                   {"estimate_ms", estimate.seconds * 1e3},
                   {"missing", missing}};
  if (estimate.measuredSeconds)
    document["measured_ms"] = *estimate.measuredSeconds * 1e3;
  if (estimate.difference)
    document["difference_percent"] = *estimate.difference * 100;
  return document;
}

json toJson(const ConvTable &table) {
  json lines = json::array();
  for (const ConvLine &line : table.lines) {
    json document = {{"input", line.input},     {"kernel", line.kernel},      {"stride", line.stride},
                     {"problem", line.problem}, {"gflop", line.flops * 1e-9}, {"count", line.count}};
    if (line.row) {
      document["time1_ms"] = line.seconds * 1e3;
      document["time_m_ms"] = line.total * 1e3;
      document["share"] = line.share;
      document["provider"] = columnOf(*line.row);
    }
    lines.push_back(std::move(document));
  }
  return {{"context", table.context}, {"lines", lines}};
}

} // namespace lathe::report
