#include "store/ContentKey.h"
#include "store/Fields.h"
#include "support/Error.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>
#include <span>

namespace lathe::store {

using nlohmann::json;

// Enumerations and their names, in the order of the enumerators.
static constexpr std::array<std::string_view, 10> kinds = {"ops",  "bench",    "compare",  "profile", "segments",
                                                           "tune", "evaluate", "quantize", "corun",   "imported"};
static constexpr std::array<std::string_view, 9> statuses = {"passed",        "failed",          "mistrusted",
                                                             "unimplemented", "same_as",         "crashed",
                                                             "timed_out",     "memory_exceeded", "not_verified"};
static constexpr std::array<std::string_view, 3> verdicts = {"open", "faster", "no_gain"};
static constexpr std::array<std::string_view, 3> cacheStates = {"hot", "cold", "cold-constants"};

static_assert(kinds.size() == size_t(ExperimentKind::imported) + 1);

std::string_view name(ExperimentKind kind) { return kinds[size_t(kind)]; }
std::span<const std::string_view> experimentKindNames() { return kinds; }
std::string_view name(PointStatus status) { return statuses[size_t(status)]; }

std::string_view shownName(PointStatus status) {
  return status == PointStatus::notVerified ? "not verified here" : name(status);
}

bool mayHaveTime(PointStatus status) {
  return status == PointStatus::passed || status == PointStatus::mistrusted || status == PointStatus::notVerified;
}

std::string countsText(const std::map<PointStatus, size_t> &counts) {
  std::string text;
  for (const auto &[status, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, shownName(status));
  return text;
}
std::string_view name(TuningVerdict verdict) { return verdicts[size_t(verdict)]; }
std::string_view name(CacheState state) { return cacheStates[size_t(state)]; }

static size_t indexOf(std::span<const std::string_view> names, std::string_view text, const char *what) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == text)
      return i;
  fail("no {} is called '{}', expected {}", what, text, fmt::join(names, ", "));
}

ExperimentKind experimentKind(std::string_view text) {
  return ExperimentKind(indexOf(kinds, text, "kind of experiment"));
}
PointStatus pointStatus(std::string_view text) { return PointStatus(indexOf(statuses, text, "status")); }
TuningVerdict tuningVerdict(std::string_view text) {
  return TuningVerdict(indexOf(verdicts, text, "verdict on a schedule"));
}
CacheState cacheState(std::string_view text) { return CacheState(indexOf(cacheStates, text, "state of caches")); }

// Keys. The schema's version fixes their content: a changed key would make equal objects differ.

std::string Platform::key() const { return documentKey(toJson(*this)); }

std::string Experiment::identity() const {
  return documentKey(
      json::array({name(kind), settings.is_null() ? json::object() : settings, platform, version, build}));
}

std::string Problem::key() const { return documentKey(json::array({op, text})); }

std::string Company::str() const {
  return empty() ? ""
                 : fmt::format("beside {} by {} on {} thread{}, same {}, at least {} runs a start", problem, provider,
                               threads, threads == 1 ? "" : "s", place, leastRuns);
}

std::string taskInCompany(const std::string &task, const Company &company) {
  return taskInCompany(task, company.str());
}
std::string taskInCompany(const std::string &task, const std::string &company) {
  return company.empty() ? task : task + " | " + company;
}
bool isInCompany(const std::string &text) { return text.find(" | beside ") != std::string::npos; }
std::optional<std::string> taskWithoutCompany(const std::string &text, const std::string &company) {
  if (company.empty())
    return isInCompany(text) ? std::nullopt : std::optional(text);
  std::string end = taskInCompany("", company);
  return text.ends_with(end) ? std::optional(text.substr(0, text.size() - end.size())) : std::nullopt;
}

std::string Setting::key() const { return documentKey(toJson(*this)); }

std::string Point::key() const {
  return documentKey(json::array({experiment, problem.op, problem.text, provider, variant, toJson(setting)}));
}

std::optional<double> meanOf(std::span<const std::vector<Sample>> rounds, std::optional<int64_t> Sample::*counter) {
  double sum = 0;
  size_t counted = 0;
  for (auto &round : rounds)
    for (const Sample &sample : round)
      if (sample.*counter) {
        sum += double(*(sample.*counter));
        ++counted;
      }
  return counted ? std::optional(sum / double(counted)) : std::nullopt;
}

size_t Point::sampleCount() const {
  size_t count = 0;
  for (auto &round : rounds)
    count += round.size();
  return count;
}

static void checkObject(const json &document, const char *what) {
  require(document.is_object() || document.is_null(), "{} is {}, expected an object", what, document.type_name());
}

static void checkTime(const std::string &text, const char *what) {
  require(isTime(text), "{} is '{}', expected a time like 2026-11-22T00:31:04.000000Z", what, text);
}

static void checkUuid(const std::string &uuid) {
  require(std::all_of(uuid.begin(), uuid.end(), [](unsigned char c) { return std::isalnum(c) || c == '-'; }),
          "uuid is '{}', expected letters, digits and '-'", uuid);
}

void check(const Experiment &experiment) {
  require(!experiment.uuid.empty(), "experiment without uuid");
  checkUuid(experiment.uuid);
  checkObject(experiment.settings, "settings");
  checkObject(experiment.detail, "detail of the experiment");
  checkTime(experiment.started, "started");
  if (!experiment.finished.empty())
    checkTime(experiment.finished, "finished");
}

std::optional<size_t> Experiment::plannedPoints() const {
  if (!detail.is_object())
    return std::nullopt;
  auto planned = detail.find("planned_points");
  return planned != detail.end() && planned->is_number_unsigned() ? std::optional(planned->get<size_t>())
                                                                  : std::nullopt;
}

void Experiment::planPoints(size_t count) { detail["planned_points"] = count; }

void moveGraph(Experiment &experiment) {
  nlohmann::json &settings = experiment.settings;
  if (experiment.kind != ExperimentKind::profile || !settings.is_object() || !settings.contains("graph"))
    return;
  if (experiment.detail.is_null() || experiment.detail.empty())
    experiment.detail = {{"graph", std::move(settings["graph"])}};
  settings.erase("graph");
}

/// Values that are not finite count as unknown. `what` is the figure with its unit.
static void checkFigure(const std::optional<double> &value, const char *what) {
  require(!value || !(*value < 0), "{} is {}, expected 0 or more", what, value.value_or(0));
}

static void checkSamples(const Point &point) {
  require(mayHaveTime(point.status) || point.rounds.empty(), "a point that is {} has {} samples, expected none",
          name(point.status), point.sampleCount());
  size_t started = std::accumulate(point.starts.begin(), point.starts.end(), size_t(0));
  require(point.starts.empty() || started == point.rounds.size(), "{} rounds by start, {} rounds", started,
          point.rounds.size());
  for (auto &round : point.rounds) {
    require(!round.empty(), "a round without samples");
    for (auto &sample : round) {
      require(sample.wallNs >= 0, "a sample has {}, expected 0 or more", sample.wallNs);
      for (auto [key, counter] : sampleCounters)
        require((sample.*counter).value_or(0) >= 0, "a sample has {}, expected 0 or more", *(sample.*counter));
    }
  }
}

void check(const Point &point, bool withSamples) {
  require(!point.experiment.empty(), "point without experiment");
  require(!point.problem.op.empty() && !point.problem.text.empty(), "point without operator or problem");
  require(!point.provider.empty(), "point without provider");
  require(point.setting.threads >= 1, "{} threads, expected at least 1", point.setting.threads);
  require(point.setting.batch >= 0, "batch {}, expected at least 0", point.setting.batch);
  checkObject(point.problem.detail, "detail of the problem");
  checkObject(point.setting.extra, "extra settings");
  checkTime(point.measured, "measured");
  checkFigure(point.relativeL2, "relative_l2");
  checkFigure(point.maxDifference, "max_difference");
  checkFigure(point.prepareSeconds, "prepare_seconds");
  checkFigure(point.callSeconds, "call_seconds");
  for (const auto &[name, figure] : point.figures)
    require(std::isfinite(figure), "figure {} of a point is {}, expected a finite number", name, figure);
  if (withSamples)
    checkSamples(point);
}

void check(const TuningTask &task) { require(!task.text.empty(), "task without a text"); }

static void checkOutcome(const TuningOutcome &outcome) {
  require(!outcome.seconds || ((outcome.status == PointStatus::passed || outcome.status == PointStatus::notVerified) &&
                               *outcome.seconds > 0 && std::isfinite(*outcome.seconds)),
          "tuning record that is {} with {} s", name(outcome.status), outcome.seconds.value_or(0));
  require(outcome.seconds || outcome.samples.empty(), "tuning record without a time with {} samples",
          outcome.samples.size());
  for (int64_t sample : outcome.samples)
    require(sample >= 0, "a sample has {}, expected 0 or more", sample);
  require(outcome.seconds || outcome.verdict == TuningVerdict::open, "tuning record without a time is {}",
          name(outcome.verdict));
  checkFigure(outcome.buildSeconds, "build_seconds");
  checkFigure(outcome.runSeconds, "run_seconds");
  checkUuid(outcome.experiment);
  checkTime(outcome.measured, "measured");
}

void check(const TuningRecord &record) {
  require(!record.platform.empty() && !record.task.empty() && !record.schedule.empty(),
          "tuning record without platform, task or schedule");
  checkOutcome(record);
  for (const TuningOutcome &outcome : record.outcomes)
    checkOutcome(outcome);
}

} // namespace lathe::store
