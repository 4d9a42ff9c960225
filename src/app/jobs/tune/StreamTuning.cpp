#include "jobs/tune/StreamTuning.h"

#include "jobs/tune/ProcessTrials.h"
#include "jobs/tune/TaskList.h"
#include "jobs/tune/TrialRecords.h"
#include "lab/judging/Turns.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

namespace lathe::jobs {

/// The searcher that records of this search name.
static constexpr const char *searcherName = "streams";

StreamTuning::StreamTuning(const ModelOptions &model, CompileOptions options, std::string package,
                           const tune::MeasureOptions &measuring, Recording &recording)
    : model(model), options(std::move(options)), package(std::move(package)), measuring(measuring),
      recording(recording) {
  if (recording.store())
    known = teamRecords(*recording.store(), recording.platformKey());
}

StreamsReport StreamTuning::choose(const std::string &streams, const MeasuredStreams &measured) const {
  CompileOptions choosing = options;
  choosing.streams = streams;
  choosing.measuredStreams = measured;
  return checkCompiled(*loadSource(model).module, choosing).streams;
}

/// Collects the kernels whose times can decide.
void StreamTuning::ask() {
  std::set<Key> asked;
  MeasuredStreams asking;
  asking.times = [&](const ScheduleTask &kernel, const Schedule &schedule, BatchOrder order) -> std::optional<double> {
    Key key(teamTask(kernel.text()), schedule.str());
    if (!asked.insert(key).second)
      return std::nullopt;
    if (auto record = known.find(key); record != known.end()) {
      if (record->second.seconds)
        times[key] = *record->second.seconds;
    } else {
      questions[key] = {taskOf(kernel, order), key.second, kernel.problem.threads};
    }
    return std::nullopt;
  };
  choose("auto", asking);
  outcome.kernels = asked.size();
}

/// Measures the kernels, those with the same number of threads after each other.
void StreamTuning::measure(double deadline, Progress &progress) {
  std::map<int, std::vector<std::pair<Key, const Question *>>> byThreads;
  for (auto &[key, question] : questions)
    byThreads[question.threads].emplace_back(key, &question);
  TrialRecords records(recording, searcherName, "");
  for (auto &[threads, list] : byThreads) {
    tune::MeasureOptions here = measuring;
    nlohmann::json compiling = nlohmann::json::parse(measuring.compiling);
    compiling["threads"] = threads;
    here.compiling = compiling.dump();
    ProcessTrials runner(here);
    for (auto &[key, question] : list) {
      if (lab::steadySeconds() > deadline) {
        outcome.complete = false;
        return;
      }
      progress.update("measuring kernels on teams of threads", ++outcome.measured, questions.size());
      tune::Measurement measurement = measured(runner, question->task, question->schedule);
      if (measurement.passed())
        times[key] = measurement.best();
      tune::Task task = question->task;
      task.key = key.first;
      task.family.clear(); // no search has an equal task
      task.kernel.clear();
      recording.add(std::vector{records.of(task, measurement, store::TuningVerdict::open)});
    }
  }
}

/// Adds the choices that differ from a sequence and from each other.
void StreamTuning::propose() {
  auto add = [&](const std::string &from, const std::string &streams, const MeasuredStreams &measured) {
    StreamsReport report = choose(streams, measured);
    auto same = [&](const StreamCandidate &other) { return other.choice == report.choice; };
    if (report.instructions + report.alone > 0 &&
        std::none_of(outcome.candidates.begin(), outcome.candidates.end(), same))
      outcome.candidates.push_back({.from = from, .choice = report.choice, .report = report});
  };
  MeasuredStreams measured, predicted;
  measured.times = [this](const ScheduleTask &kernel, const Schedule &schedule, BatchOrder) -> std::optional<double> {
    auto found = times.find({teamTask(kernel.text()), schedule.str()});
    return found == times.end() ? std::nullopt : std::optional(found->second);
  };
  if (!times.empty()) {
    measured.margin = 0; // what seems to gain is compared
    add("measured times", "auto", measured);
  }
  add("predictions", "auto", predicted);
  add("2 teams", "2", predicted);
}

/// The text of the task under which choices for this plan are recorded.
std::string StreamTuning::task() const {
  return streamTask(outcome.candidates.front().report.plan, options.threads, targetOf(options).key());
}

/// Takes over what earlier runs have compared.
void StreamTuning::recall() {
  if (!recording.store() || outcome.candidates.empty())
    return;
  store::TuningFilter filter;
  filter.task = task();
  filter.platform = recording.platformKey();
  for (const store::TuningRecord &record : recording.store()->tuning(filter))
    for (StreamCandidate &candidate : outcome.candidates)
      if (candidate.choice == record.schedule)
        candidate.verdict = record.verdict;
}

std::string StreamTuning::packageOf(const StreamCandidate &candidate) const {
  CompileOptions compiling = options;
  compiling.streams = "auto";
  compiling.measuredStreams = {};
  compiling.measuredStreams.decision = [&](const std::string &) {
    return std::optional(std::pair(candidate.choice, std::string("lathe tune")));
  };
  std::string path = (temporaryFolder() / fmt::format("streams{}.lathe", &candidate - &outcome.candidates[0])).string();
  compile(*loadSource(model).module, compiling, path);
  return path;
}

void StreamTuning::record(const StreamCandidate &candidate, const TunedComparison &comparison) {
  tune::Measurement measurement;
  measurement.schedule = candidate.choice;
  if (comparison.ratio > 0) {
    measurement.status = store::PointStatus::passed;
    measurement.seconds = {comparison.seconds};
  } else {
    measurement.reason = fmt::format("the outputs do not agree with those of {}", candidate.against);
  }
  tune::Task task;
  task.key = this->task();
  recording.add(std::vector{TrialRecords(recording, searcherName, "").of(task, measurement, candidate.verdict)});
}

/// Compares the package of the candidate with the best package so far, and records the verdicts: one choice at most
/// stays `faster`.
void StreamTuning::compare(StreamCandidate &candidate, const std::string &path, double seconds, Progress &progress) {
  candidate.against = outcome.kept ? "the choice of " + outcome.candidates[*outcome.kept].from : "a sequence";
  progress.updateUntil(fmt::format("comparing streams that {} choose with {}", candidate.from, candidate.against),
                       seconds);
  candidate.comparison = compareTuned(model, path, outcome.package, seconds, nullptr);
  candidate.verdict = candidate.comparison->faster ? store::TuningVerdict::faster : store::TuningVerdict::noGain;
  record(candidate, *candidate.comparison);
  if (!candidate.comparison->faster || !outcome.kept)
    return;
  StreamCandidate &beaten = outcome.candidates[*outcome.kept];
  beaten.verdict = store::TuningVerdict::noGain;
  TunedComparison other = *candidate.comparison;
  other.seconds = other.comparison.at("sides").at(1).at("time").at("median_ms").get<double>() * 1e-3;
  record(beaten, other);
}

StreamOutcome StreamTuning::run(double deadline, double seconds, Progress &progress) {
  outcome.complete = true;
  outcome.package = package;
  progress.update("searching streams", 0, 0);
  ask();
  const double toCompare = 3 * seconds;
  measure(deadline - toCompare, progress);
  propose();
  recall();
  auto keep = [&](size_t candidate, std::string path) {
    outcome.kept = candidate;
    outcome.package = std::move(path);
  };
  for (size_t i = 0; i < outcome.candidates.size(); ++i)
    if (outcome.candidates[i].verdict == store::TuningVerdict::faster)
      keep(i, packageOf(outcome.candidates[i]));
  for (size_t i = 0; i < outcome.candidates.size(); ++i) {
    StreamCandidate &candidate = outcome.candidates[i];
    if (candidate.verdict != store::TuningVerdict::open)
      continue;
    if (lab::steadySeconds() + seconds > deadline) {
      outcome.complete = false;
      break;
    }
    progress.update("compiling a package with streams", 0, 0);
    std::string path = packageOf(candidate);
    compare(candidate, path, seconds, progress);
    if (candidate.verdict == store::TuningVerdict::faster)
      keep(i, path);
  }
  return std::move(outcome);
}

} // namespace lathe::jobs
