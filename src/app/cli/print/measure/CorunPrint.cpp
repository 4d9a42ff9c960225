#include "cli/print/measure/CorunPrint.h"

#include "lab/machine/Disturbance.h"
#include "support/Text.h"

namespace lathe::cli {
namespace {

using nlohmann::json;

/// "A", "B", ...: what tables call the models.
std::string letter(size_t model) {
  return model < 26 ? std::string(1, char('A' + model)) : fmt::format("M{}", model + 1);
}

// The chosen combination.

std::string slowDownText(const lab::CorunResult::Member &member) {
  if (!member.slowDown)
    return "";
  return ratioText(member.slowDown->ratio);
}

std::string chosenTable(const Corun &corun, const TableStyle &style) {
  Table table({textColumn("model"), textColumn("move").shrink(12), numberColumn("runs").drop(3),
               numberColumn("alone", "ms"), numberColumn("p99", "ms").drop(2), numberColumn("together", "ms"),
               numberColumn("p99", "ms").drop(2), numberColumn("alone", "1/s").drop(1), numberColumn("together", "1/s"),
               textColumn("slow-down")});
  for (size_t i = 0; i < corun.result.members.size(); ++i) {
    const lab::CorunResult::Member &member = corun.result.members[i];
    auto rate = [&](const lab::CorunRuns &runs) {
      return fmt::format("{:.1f}", inputsPerSecond(runs, corun.moves[i]));
    };
    table.row({letter(i), corun.moves[i].text(), std::to_string(member.together.runs()),
               millisecondsText(member.alone.time.median), millisecondsText(member.alone.time.p99),
               millisecondsText(member.together.time.median), millisecondsText(member.together.time.p99),
               rate(member.alone), rate(member.together), slowDownText(member)});
  }
  return table.str(style);
}

std::string chosenText(const Corun &corun, const TableStyle &style) {
  if (corun.result.starts.empty())
    return "";
  std::string text = chosenTable(corun, style);
  const auto &slowDown = corun.result.members[0].slowDown;
  text += startsText(corun.result, "slow-down: time together / time alone with the same slots",
                     slowDown ? slowDown->ratio : lab::RatioEstimate());
  for (size_t i = 0; i < corun.wrong.size(); ++i)
    if (!corun.wrong[i].empty())
      text += fmt::format("{} is not to be trusted: {}\n", letter(i), corun.wrong[i]);
  return text + disturbanceText(corun.result.disturbance);
}

// The search.

/// One combination in tables: its moves, payoffs and welfare.
class CombinationTable {
public:
  CombinationTable(const CorunSearch &search, const std::string &welfare)
      : search(search), table(columns(search, welfare)) {}

  void row(const std::string &what, const lab::Combination &at, const std::string &says = "") {
    std::vector<TableCell> cells{what};
    for (size_t i = 0; i < at.size(); ++i)
      cells.emplace_back(search.moves[i][at[i]].text());
    auto payoffs = search.payoffs.find(at);
    for (size_t i = 0; i < at.size(); ++i)
      cells.emplace_back(payoffs == search.payoffs.end() ? "" : fmt::format("{:.3f}", payoffs->second[i]));
    std::optional<double> welfare = search.welfareAt(at);
    cells.emplace_back(welfare ? fmt::format("{:.3f}", *welfare) : "");
    cells.emplace_back(says);
    table.row(cells);
  }
  std::string str(const TableStyle &style) const { return table.str(style); }

private:
  const CorunSearch &search;
  Table table;

  static std::vector<TableColumn> columns(const CorunSearch &search, const std::string &welfare) {
    std::vector<TableColumn> columns{textColumn("")};
    for (size_t i = 0; i < search.moves.size(); ++i)
      columns.push_back(textColumn(letter(i)).shrink(10));
    for (size_t i = 0; i < search.moves.size(); ++i)
      columns.push_back(numberColumn(letter(i)).drop(1));
    columns.push_back(numberColumn(welfare));
    columns.push_back(textColumn(""));
    return columns;
  }
};

std::string_view endingText(lab::Ending ending) {
  return ending == lab::Ending::equilibrium ? "equilibrium" : ending == lab::Ending::cycle ? "cycle" : "unfinished";
}

std::string welfareName(const CorunJob &job) { return job.payoff == "latency" ? "worst" : "mean"; }

std::string payoffText(const CorunJob &job) {
  return job.payoff == "latency"
             ? "payoff: time of a run alone on all slots / time of a run together; worst: the lowest payoff"
             : fmt::format("payoff: throughput together / throughput alone on all slots; mean: their mean{}",
                           job.weights.empty() ? "" : " with the weights " + job.weights);
}

std::string walksText(const CorunSearch &search, const CorunJob &job, const TableStyle &style) {
  if (search.walks.empty())
    return "";
  CombinationTable table(search, welfareName(job));
  for (size_t i = 0; i < search.walks.size(); ++i) {
    const lab::Walk &walk = search.walks[i];
    for (size_t step = 0; step < walk.path.size(); ++step) {
      bool isLast = step + 1 == walk.path.size();
      table.row(fmt::format("walk {}.{}", i + 1, step), walk.path[step],
                !isLast                             ? ""
                : walk.ending == lab::Ending::cycle ? fmt::format("cycle: as step {}", walk.cycle)
                                                    : std::string(endingText(walk.ending)));
    }
  }
  return "Best responses:\n" + table.str(style);
}

/// What kind of outcome the game has.
std::string kindText(const CorunSearch &search, double margin) {
  bool cycle = std::any_of(search.walks.begin(), search.walks.end(),
                           [](auto &walk) { return walk.ending == lab::Ending::cycle; });
  std::string others = search.allEquilibria ? "all combinations were measured" : "there may be others";
  std::string text =
      search.equilibria.empty()
          ? fmt::format("no equilibrium{}: {}", cycle ? ", best responses go in a cycle" : " was found", others)
          : fmt::format("{} ({}){}: in each, every other move of every model was tried and gains at most {:.0f} %",
                        search.equilibria.size() == 1 ? "one equilibrium"
                                                      : fmt::format("{} equilibria", search.equilibria.size()),
                        others, cycle ? ", and a cycle" : "", margin * 100);
  return text + "\n";
}

std::string outcomesText(const CorunSearch &search, const CorunJob &job, const TableStyle &style) {
  CombinationTable table(search, welfareName(job));
  table.row("equal", search.equal);
  for (const lab::Equilibrium &one : search.equilibria)
    table.row("equilibrium", one.combination, one.strict ? "strict" : "another move is as good");
  if (search.optimum)
    table.row("cooperative", search.optimum->combination,
              search.optimum->exhaustive ? "best of all combinations" : "best of those measured");
  return "Outcomes:\n" + table.str(style);
}

std::string searchText(const Corun &corun, const CorunJob &job, bool finished, const TableStyle &style) {
  const CorunSearch &search = *corun.search;
  std::string text =
      fmt::format("{} of {} combinations measured{}{}\n", search.payoffs.size(), search.combinations,
                  corun.known ? fmt::format(", {} of them by the interrupted command", corun.known) : "",
                  search.spent ? fmt::format(" (at most {}: --max-measurements)", job.maxMeasurements) : "");
  if (!finished && !search.optimum)
    return text + "the search is not finished: the same command goes on with it\n";
  text += payoffText(job) + "\n" + walksText(search, job, style) + outcomesText(search, job, style);
  if (job.policy == "nash")
    text += kindText(search, job.margin);
  if (std::optional<double> price = search.priceOfAnarchy())
    text += fmt::format("price of anarchy: {:.3f} (cooperative / worst equilibrium{})\n", *price,
                        search.optimum->exhaustive && search.allEquilibria ? "" : ", of those found");
  if (corun.disturbed)
    text += fmt::format("warning: other programs ran during {}\n", counted(int64_t(corun.disturbed), "combination"));
  if (corun.doubted)
    text += fmt::format("{} had fewer than {} runs of some model\n", counted(int64_t(corun.doubted), "combination"),
                        job.timing.leastRuns);
  return text;
}

// JSON.

json combinationJson(const CorunSearch &search, const lab::Combination &at) {
  json document = {{"moves", json::array()}};
  for (const CorunMove &move : search.movesAt(at))
    document["moves"].push_back(move.json());
  if (auto payoffs = search.payoffs.find(at); payoffs != search.payoffs.end())
    document.update({{"payoffs", payoffs->second}, {"welfare", search.welfare(payoffs->second)}});
  return document;
}

json searchJson(const Corun &corun, const CorunJob &job) {
  const CorunSearch &search = *corun.search;
  json document = {{"payoff", job.payoff},
                   {"margin", job.margin},
                   {"combinations", search.combinations},
                   {"from_interrupted", corun.known},
                   {"too_few_runs", corun.doubted},
                   {"disturbed", corun.disturbed},
                   {"spent", search.spent},
                   {"measured", json::array()},
                   {"walks", json::array()},
                   {"equilibria", json::array()},
                   {"all_equilibria", search.allEquilibria},
                   {"equal", combinationJson(search, search.equal)},
                   {"cooperative", nullptr},
                   {"price_of_anarchy", nullptr}};
  for (const auto &[at, payoffs] : search.payoffs)
    document["measured"].push_back(combinationJson(search, at));
  for (const lab::Walk &walk : search.walks) {
    json path = json::array();
    for (const lab::Combination &at : walk.path)
      path.push_back(combinationJson(search, at));
    document["walks"].push_back({{"path", path}, {"ending", endingText(walk.ending)}});
    if (walk.ending == lab::Ending::cycle)
      document["walks"].back()["cycle_from"] = walk.cycle;
  }
  for (const lab::Equilibrium &one : search.equilibria) {
    document["equilibria"].push_back(combinationJson(search, one.combination));
    document["equilibria"].back()["strict"] = one.strict;
  }
  if (search.optimum) {
    document["cooperative"] = combinationJson(search, search.optimum->combination);
    document["cooperative"]["exhaustive"] = search.optimum->exhaustive;
  }
  if (std::optional<double> price = search.priceOfAnarchy())
    document["price_of_anarchy"] = *price;
  return document;
}

} // namespace

json runsJson(const lab::CorunRuns &runs, const CorunMove &move) {
  json document = lab::toJson(runs.time);
  document.erase("count");
  document.update({{"runs", runs.runs()},
                   {"window_s", runs.seconds},
                   {"runs_per_s", runs.perSecond()},
                   {"inputs_per_s", inputsPerSecond(runs, move)}});
  return document;
}

std::string ratioText(const lab::RatioEstimate &ratio) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", ratio.ratio, ratio.interval.low, ratio.interval.high);
}

std::string startsText(const lab::CorunResult &result, const std::string &what, const lab::RatioEstimate &ratio) {
  return fmt::format("{}; {}, with its {}\n", counted(int64_t(result.starts.size()), "start"), what,
                     ratio.isRange ? "range (too few starts for an interval)" : "95 % interval");
}

std::string disturbanceText(const store::Disturbance &disturbance) {
  if (disturbance.otherProcessors.value_or(0) <= lab::disturbingProcessors)
    return "";
  return fmt::format("warning: other programs used {:.2f} processors\n", *disturbance.otherProcessors);
}

std::string corunText(const Corun &corun, const CorunJob &job, bool finished, const TableStyle &style) {
  std::string text = fmt::format("{}, policy {}, {} (CPUs {}), {}\n", counted(int64_t(job.models.size()), "model"),
                                 printable(job.policy), counted(int64_t(corun.cpus.size()), "slot"),
                                 numberListText(corun.cpus), job.timing.processEach ? "a process each" : "one process");
  for (size_t i = 0; i < corun.models->models().size(); ++i) {
    const CorunModel &model = corun.models->models()[i];
    text += fmt::format("{}: {}", letter(i), printable(model.name));
    if (corun.search)
      text += fmt::format(", {}", counted(int64_t(corun.search->moves[i].size()), "move"));
    text += fmt::format("; outputs: {}\n", model.verification.text);
  }
  if (corun.search)
    text += searchText(corun, job, finished, style);
  text += chosenText(corun, style);
  if (!corun.resources.empty())
    text += "resources: " + corun.resources + "\n";
  return text + corun.kept;
}

json corunJson(const Corun &corun, const CorunJob &job, bool finished) {
  json document = {{"policy", job.policy},       {"cpus", numberListText(corun.cpus)},
                   {"slots", corun.cpus.size()}, {"processes", job.timing.processEach ? "each" : "shared"},
                   {"models", json::array()},    {"finished", finished}};
  for (size_t i = 0; i < corun.models->models().size(); ++i) {
    const CorunModel &model = corun.models->models()[i];
    json one = {{"packages", model.packages},
                {"verified", model.verification.verified},
                {"verification", model.verification.text}};
    if (!corun.result.starts.empty()) {
      const lab::CorunResult::Member &member = corun.result.members[i];
      one.update({{"move", corun.moves[i].json()},
                  {"alone", runsJson(member.alone, corun.moves[i])},
                  {"together", runsJson(member.together, corun.moves[i])},
                  {"mistrusted", corun.wrong[i]}});
      if (member.slowDown)
        one["slow_down"] = lab::toJson(member.slowDown->ratio);
    }
    document["models"].push_back(one);
  }
  document["starts"] = corun.result.starts.size();
  if (corun.search)
    document["search"] = searchJson(corun, job);
  if (!corun.resources.empty())
    document.update({{"resources", corun.resources}, {"held", corun.held}});
  return document;
}

} // namespace lathe::cli
