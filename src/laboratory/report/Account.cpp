#include "report/Account.h"

#include "lab/StoreRecords.h"
#include "lab/judging/Statistics.h"
#include "report/Best.h"

#include <algorithm>
#include <set>
#include <utility>

namespace lathe::report {

using nlohmann::json;
using store::CacheState;

CacheState networkState(double constantBytes, double lastLevelBytes) {
  return lastLevelBytes > 0 && constantBytes > lastLevelBytes ? CacheState::coldConstants : CacheState::hot;
}

CacheState operatorState(const std::string &problem, CacheState network) {
  return lab::Problem::parse(problem).constantBytes() > 0 ? network : CacheState::hot;
}

double constantBytes(const std::vector<Part> &parts) {
  double bytes = 0;
  for (const Part &part : parts)
    bytes += double(part.count) * lab::Problem::parse(part.problem).constantBytes();
  return bytes;
}

double lastLevelBytes(const store::Platform &platform) {
  double bytes = 0;
  for (auto &cache : platform.caches)
    bytes = std::max(bytes, double(cache.bytes));
  return bytes;
}

std::vector<Row> rowsAsInNetwork(const std::vector<Row> &rows,
                                 const std::function<CacheState(const std::string &platform)> &state) {
  std::vector<Row> chosen;
  for (const Row &row : rows)
    if (row.shape && row.setting.cache == (row.shape->constantBytes() > 0 ? state(row.platform) : CacheState::hot)) {
      Row &copy = chosen.emplace_back(row);
      copy.setting.cache = CacheState::hot;
      copy.setting.extra["caches"] = "as in the network";
    }
  return chosen;
}

// Profiles.

std::optional<Profile> lastProfile(store::Store &store, const std::string &model, const std::string &platform,
                                   int threads) {
  store::Filter filter;
  filter.kind = store::ExperimentKind::profile;
  filter.platform = platform;
  filter.op = "model";
  std::optional<store::Point> whole;
  store.points(filter, true, [&](const store::Point &point) {
    bool fits = point.problem.text.starts_with(model) && point.setting.threads == threads && point.setting.batch <= 1 &&
                point.setting.company.empty() && !point.setting.extra.contains("until") && !point.rounds.empty();
    if (fits && (!whole || whole->measured <= point.measured))
      whole = point;
  });
  if (!whole)
    return std::nullopt;
  Profile profile;
  profile.experiment = whole->experiment;
  std::vector<double> runs = lab::secondsOf(*whole);
  std::vector<size_t> chosen = lab::fastestQuarter(runs);
  profile.seconds = profile.overhead = lab::meanAt(runs, chosen);
  filter = {};
  filter.experiments = {whole->experiment};
  filter.op = "kernel";
  std::map<size_t, ProfiledKernel> kernels; // by place in the plan
  store.points(filter, true, [&](const store::Point &point) {
    auto seconds = lab::secondsOf(point);
    if (seconds.size() != runs.size())
      return;
    const json &detail = point.problem.detail;
    ProfiledKernel &kernel = kernels[detail.at("index").get<size_t>()];
    detail.at("name").get_to(kernel.name);
    detail.at("kind").get_to(kernel.kind);
    detail.at("nodes").get_to(kernel.nodes);
    kernel.seconds = lab::meanAt(seconds, chosen);
  });
  for (auto &[index, kernel] : kernels) {
    profile.overhead -= kernel.seconds;
    profile.kernels.push_back(std::move(kernel));
  }
  return profile;
}

// Accounts.

double Account::estimated() const {
  double sum = 0;
  for (auto &line : lines)
    sum += line.estimated;
  return sum;
}

std::string AccountLine::states() const {
  std::string text;
  for (const Operator &one : operators) {
    std::string state = one.state ? std::string(name(*one.state)) : "none";
    if (text != state)
      text += (text.empty() ? "" : " + ") + state;
  }
  return text;
}

namespace {

/// Seconds of one run of a part alone, by state.
using Alone = std::map<CacheState, double>;

/// Assigns kernels and parts to lines.
class Accounting {
public:
  Accounting(const std::vector<Part> &parts, std::vector<Alone> alone, CacheState network)
      : parts(parts), alone(std::move(alone)), network(network) {
    for (size_t i = 0; i < parts.size(); ++i) {
      left.push_back(parts[i].count);
      for (auto &node : parts[i].nodes)
        if (!node.empty())
          ++occurrences[node][i];
    }
  }

  void add(const ProfiledKernel &kernel) {
    std::set<size_t> computed;
    std::map<size_t, int64_t> counts;
    for (auto &node : kernel.nodes)
      if (auto found = occurrences.find(node); found != occurrences.end())
        for (auto &[part, count] : found->second) {
          computed.insert(part);
          counts[part] += std::exchange(count, 0); // another kernel of the same node is the same operator
        }
    std::string what = kernel.name.substr(0, kernel.name.find_last_not_of("0123456789_") + 1);
    Line &line = computed.empty() ? others[what] : lines[computed];
    for (auto &[part, count] : counts) {
      line.counts[part] += count;
      left[part] -= count;
    }
    line.seconds += kernel.seconds;
    ++line.kernels;
  }

  /// The lines with the longest time in the network first; lines without a problem last.
  std::vector<AccountLine> take() {
    for (size_t part = 0; part < parts.size(); ++part)
      if (left[part] > 0) // not in a kernel of the profile
        lines[{part}].counts[part] += left[part];
    std::vector<AccountLine> result, besides;
    for (auto &[computed, line] : lines)
      result.push_back(lineOf(line));
    for (auto &[what, line] : others) {
      besides.push_back(lineOf(line));
      besides.back().what = what;
      besides.back().count = int64_t(line.kernels);
    }
    auto longest = [](auto &a, auto &b) { return a.inNetwork > b.inNetwork; };
    std::stable_sort(result.begin(), result.end(), longest);
    std::stable_sort(besides.begin(), besides.end(), longest);
    result.insert(result.end(), besides.begin(), besides.end());
    return result;
  }

private:
  struct Line {
    std::map<size_t, int64_t> counts; // by part
    double seconds = 0;
    size_t kernels = 0;
  };
  const std::vector<Part> &parts;
  std::vector<Alone> alone;
  CacheState network;
  std::map<std::string, std::map<size_t, int64_t>> occurrences; // node -> part -> unassigned operators
  std::vector<int64_t> left;                                    // by part
  std::map<std::set<size_t>, Line> lines;
  std::map<std::string, Line> others; // by description

  AccountLine lineOf(const Line &line) const {
    AccountLine result;
    result.inNetwork = line.seconds;
    result.kernels = line.kernels;
    std::map<CacheState, std::pair<size_t, double>> sums; // how many operators have the state; their seconds
    for (auto &[part, count] : line.counts) {
      AccountLine::Operator one{parts[part].problem, count, std::nullopt};
      for (auto &[state, seconds] : alone[part]) {
        ++sums[state].first;
        sums[state].second += double(count) * seconds;
      }
      CacheState wanted = operatorState(one.problem, network);
      if (auto found = alone[part].find(wanted); found != alone[part].end()) {
        one.state = wanted;
        result.estimated += double(count) * found->second;
      }
      result.count = std::max(result.count, count);
      result.operators.push_back(std::move(one));
    }
    for (auto &[state, sum] : sums)
      if (sum.first == line.counts.size())
        result.alone[state] = sum.second / double(result.count);
    return result;
  }
};

} // namespace

std::vector<Account> accounts(const std::vector<Row> &rows, const std::vector<Part> &parts, const std::string &provider,
                              const AccountSources &sources) {
  // By everything except the state of the caches.
  std::map<std::string, std::map<std::string, std::map<CacheState, std::vector<const Row *>>>> contexts;
  std::map<std::string, const Row *> any;
  for (const Row &row : rows) {
    // Profiles and times of networks are those of the whole machine.
    bool limited = !lab::resourcesText(row.setting).empty();
    if (!row.counts() || !row.shape || !row.verifiedHere() || row.provider != provider || limited || row.inCompany())
      continue;
    Row bare = row;
    bare.setting.type.clear();
    bare.setting.cache = CacheState::hot;
    std::string context = contextText(bare);
    contexts[context][row.problem][row.setting.cache].push_back(&row);
    any[context] = &row;
  }
  std::vector<Account> result;
  for (auto &[context, problems] : contexts) {
    const std::string &platform = any[context]->platform;
    int threads = any[context]->setting.threads;
    auto profile = sources.profile(platform, threads);
    auto measured = sources.measured(platform, threads);
    bool measuresAny =
        std::any_of(parts.begin(), parts.end(), [&](auto &part) { return problems.count(part.problem); });
    if (!profile || !measured || !measuresAny)
      continue;
    Account account;
    account.context = context;
    account.constants = constantBytes(parts);
    account.last = sources.lastLevelBytes(platform);
    account.state = networkState(account.constants, account.last);
    std::vector<Alone> alone;
    for (const Part &part : parts) {
      alone.emplace_back();
      for (auto &[state, measuredRows] : problems[part.problem])
        alone.back()[state] = fastest(measuredRows)->median;
    }
    Accounting accounting(parts, std::move(alone), account.state);
    for (const ProfiledKernel &kernel : profile->kernels)
      accounting.add(kernel);
    account.lines = accounting.take();
    account.overhead = profile->overhead;
    account.profiled = profile->seconds;
    account.measured = *measured;
    result.push_back(std::move(account));
  }
  return result;
}

json toJson(const Account &account) {
  json lines = json::array();
  for (const AccountLine &line : account.lines) {
    json alone = json::object();
    for (auto &[state, seconds] : line.alone)
      alone[std::string(name(state))] = seconds * 1e3;
    json document = {{"count", line.count},
                     {"alone_ms", alone},
                     {"estimate_ms", line.estimated * 1e3},
                     {"in_network_ms", line.inNetwork * 1e3},
                     {"kernels", line.kernels},
                     {"difference_ms", line.difference() * 1e3}};
    if (line.operators.empty())
      document["in_no_problem"] = line.what;
    else
      document["state"] = line.states();
    if (line.operators.size() == 1)
      document["problem"] = line.operators[0].problem;
    else
      for (auto &one : line.operators)
        document["problems"].push_back({{"problem", one.problem}, {"count", one.count}});
    lines.push_back(std::move(document));
  }
  return {{"context", account.context},
          {"state", name(account.state)},
          {"constant_bytes", account.constants},
          {"last_level_cache_bytes", account.last},
          {"lines", lines},
          {"overhead_ms", account.overhead * 1e3},
          {"profiled_ms", account.profiled * 1e3},
          {"measured_ms", account.measured * 1e3},
          {"estimate_ms", account.estimated() * 1e3}};
}

} // namespace lathe::report
