#include "report/Rows.h"

#include "lab/StoreRecords.h"
#include "lab/judging/Turns.h"
#include "lab/ops/OpsLab.h"
#include "report/PlatformNames.h"
#include "report/RowMaker.h"
#include "store/Archive.h"
#include "store/Fields.h"
#include "support/JsonError.h"
#include "support/Text.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace lathe::report {

using nlohmann::json;

bool tookTurns(const store::Experiment &experiment) {
  using store::ExperimentKind;
  switch (experiment.kind) {
  case ExperimentKind::ops:
  case ExperimentKind::compare:
  case ExperimentKind::segments:
  case ExperimentKind::corun:
    return true;
  case ExperimentKind::bench:
    return experiment.settings.is_object() && experiment.settings.contains("starts");
  default:
    return false;
  }
}

std::vector<Row> rowsOf(store::Store &store, const store::Filter &filter) {
  std::map<std::string, store::Experiment> experiments;
  for (auto &summary : store.experiments(filter))
    experiments[summary.experiment.uuid] = summary.experiment;
  std::vector<Row> rows;
  RowMaker maker;
  store.points(filter, true, [&](const store::Point &point) {
    rows.push_back(maker.rowOf(point, experiments.at(point.experiment)));
  });
  std::map<std::string, store::Platform> platforms;
  for (const Row &row : rows)
    platforms.try_emplace(row.platform);
  if (platforms.size() < 2)
    return rows;
  for (auto &[key, platform] : platforms)
    platform = store.platform(key);
  std::map<std::string, std::string> names =
      platformNames(platforms, indexOf(store.labels(), store::LabelTarget::platform));
  for (Row &row : rows)
    row.platformName = names.at(row.platform);
  return rows;
}

std::vector<Row> rowsOfArchive(const std::string &path) {
  std::map<std::string, store::Experiment> experiments;
  std::vector<Row> rows;
  RowMaker maker;
  store::readArchive(path, [&](const store::Record &record) {
    if (auto *experiment = std::get_if<store::Experiment>(&record))
      experiments[experiment->uuid] = *experiment;
    else if (auto *point = std::get_if<store::Point>(&record))
      rows.push_back(maker.rowOf(*point, experiments.at(point->experiment))); // the experiment comes first
  });
  return rows;
}

/// The points of one row of results, the same as lab::pointsOf makes from the row.
static std::vector<store::Point> pointsOfResult(const json &row, const std::string &where) {
  std::vector<store::Point> points;
  lab::Problem problem = lab::problemFromJson(row.at("problem"));
  for (const json &result : row.at("points")) {
    store::Point &point = points.emplace_back();
    point.experiment = where;
    point.problem = {problem.op, problem.str(), row.at("problem")};
    result.at("provider").get_to(point.provider);
    result.at("variant").get_to(point.variant);
    row.at("threads").get_to(point.setting.threads);
    point.setting.cache = store::cacheState(row.value("cache", "hot"));
    if (std::string layout = row.value("layout", "any"); layout != "any")
      point.setting.layout = layout;
    point.setting.schedule = result.value("schedule", "");
    store::read(result.value("company", json::object()), "company", point.setting.company);
    if (!problem.operands.empty())
      point.setting.type = lathe::name(problem.operands.front().type);
    lab::setResources(point, row.value("resources", ""), row.value("held", point.held));
    point.status = store::pointStatus(result.at("status").get<std::string>());
    point.reason = result.value("reason", "");
    if (result.contains("call_us"))
      point.callSeconds = result.at("call_us").get<double>() * 1e-6;
    point.implementation = result.value("implementation", "");
    point.repro = row.value("repro", "");
    auto rounds = result.value("rounds_ns", std::vector<std::vector<double>>());
    for (auto &round : rounds)
      for (double &sample : round)
        sample *= 1e-9;
    std::vector<lab::Counts> counts;
    for (const json &round : result.value("counts", json::array()))
      counts.push_back(lab::countsFromJson(round));
    if (counts.size() != rounds.size()) // somebody has removed rounds from the document
      counts.clear();
    point.rounds = lab::samplesOf(rounds, counts);
    if (row.contains("other_processors"))
      point.disturbance.otherProcessors = row.at("other_processors").get<double>();
    auto starts = row.value("starts", std::vector<size_t>());
    if (starts.size() > 1)
      point.starts = lab::startsWithin(starts, point.rounds.size());
  }
  return points;
}

std::vector<Row> rowsOfResults(const json &document, const std::string &where) {
  std::vector<Row> rows;
  try {
    for (const json &row : document.at("rows"))
      for (const store::Point &point : pointsOfResult(row, where))
        rows.push_back(rowOf(point, store::Experiment()));
  } catch (const json::exception &error) {
    fail("{}: expected what `lathe store export` or `lathe ops bench --json` writes: {}", where, messageOf(error));
  }
  return rows;
}

std::string cellOf(const Row &row) {
  store::Setting setting = row.setting;
  setting.schedule.clear();
  return fmt::format("{}\n{}\n{}\n{}\n{}", row.platform, name(row.kind), row.op, row.problem, setting.key());
}

std::string keyOf(const Row &row) {
  return fmt::format("{}\n{}\n{}\n{}", cellOf(row), row.provider, row.variant, row.setting.schedule);
}

std::vector<Row> latest(std::vector<Row> rows) {
  std::map<std::string, size_t> places;
  std::vector<Row> kept;
  for (Row &row : rows) {
    auto [place, isNew] = places.try_emplace(keyOf(row), kept.size());
    if (isNew)
      kept.push_back(std::move(row));
    else if (row.measured >= kept[place->second].measured)
      kept[place->second] = std::move(row);
  }
  return kept;
}

std::vector<std::vector<const Row *>> byCell(const std::vector<Row> &rows, bool acrossPlatforms) {
  std::map<std::string, size_t> places;
  std::vector<std::vector<const Row *>> cells;
  for (const Row &row : rows) {
    std::string key = cellOf(row);
    if (acrossPlatforms) // the key begins with the platform
      key.erase(0, row.platform.size());
    auto [place, isNew] = places.try_emplace(key, cells.size());
    if (isNew)
      cells.emplace_back();
    cells[place->second].push_back(&row);
  }
  return cells;
}

/// The column's name with `rest`, and the mark of rows that are not verified here.
static std::string columnWith(const Row &row, const std::string &rest) {
  return row.provider + (row.variant.empty() ? "" : ":" + row.variant) + rest +
         (row.verifiedHere() ? "" : fmt::format(" ({})", shownName(row.status)));
}

std::string columnOf(const Row &row) { return columnWith(row, ""); }

std::string scheduledColumnOf(const Row &row) {
  return columnWith(row, row.setting.schedule.empty() ? "" : ":" + row.setting.schedule);
}

std::string unverifiedNote(const std::vector<Row> &rows) {
  auto count = std::count_if(rows.begin(), rows.end(), [](const Row &row) { return !row.verifiedHere(); });
  return count == 0 ? ""
                    : fmt::format("{} of {} not verified here: imported, measured by another program\n", count,
                                  counted(int64_t(rows.size()), "point"));
}

std::string settingText(const store::Setting &setting) {
  std::string text;
  // Files of other programs may not state the threads; then `extra` tells.
  bool stated = !setting.extra.is_object() || !setting.extra.contains("threads");
  if (setting.threads && stated)
    text = ", " + counted(setting.threads, "thread");
  if (setting.batch)
    text += fmt::format(", batch {}", setting.batch);
  if (!setting.type.empty() && setting.type != "f32")
    text += ", " + setting.type;
  if (!setting.layout.empty())
    text += ", " + setting.layout;
  if (setting.cache != store::CacheState::hot)
    text += fmt::format(", {}", name(setting.cache));
  if (setting.extra.is_object())
    for (auto &[word, value] : setting.extra.items())
      if (value != "" && !value.is_null())
        text += fmt::format(", {} {}", word, value.is_string() ? value.get<std::string>() : value.dump());
  if (!setting.company.empty())
    text += ", " + setting.company.str();
  return text.empty() ? text : text.substr(2);
}

std::string contextText(const Row &row) {
  std::string text{name(row.kind)};
  for (const std::string &part : {settingText(row.setting), row.platformName})
    text += part.empty() ? "" : ", " + part;
  return text;
}

const std::string &scheduleOf(const Row &row) {
  bool text = !row.setting.schedule.empty() && row.setting.schedule != lab::recordedSchedule;
  return text ? row.setting.schedule : row.implementation;
}

lab::Starts startsOf(const Row &row) { return lab::byStart(row.rounds, row.starts, row.rounds.size()); }

lab::JudgedRatio judgeTimes(const Timing &numerator, const lab::SideTimes &top, const Timing &denominator,
                            const lab::SideTimes &bottom, double band) {
  bool inTurns = numerator.tookTurns && numerator.experiment == denominator.experiment &&
                 numerator.starts == denominator.starts && top.rounds.size() == bottom.rounds.size();
  lab::JudgedRatio judged =
      lab::besideOverhead(inTurns ? lab::judgeInTurns(top, bottom, band) : lab::judgeApart(top, bottom, band),
                          {top.median, numerator.callSeconds}, {bottom.median, denominator.callSeconds});
  // Without turns, what other programs did is in the ratio.
  if (!inTurns && (numerator.disturbed || denominator.disturbed))
    judged.verdict = lab::Verdict::ambiguous;
  return judged;
}

lab::JudgedRatio judgeTimes(const Row &numerator, const Row &denominator, double band) {
  return judgeTimes(numerator, startsOf(numerator), denominator, startsOf(denominator), band);
}

json identityJson(const Row &row) {
  json document = {{"operator", row.op},
                   {"problem", row.problem},
                   {"provider", row.provider},
                   {"variant", row.variant},
                   {"platform", row.platform},
                   {"kind", name(row.kind)},
                   {"setting", store::toJson(row.setting)}};
  if (!row.verifiedHere())
    document["verified_here"] = false;
  return document;
}

} // namespace lathe::report
