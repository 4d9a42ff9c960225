#include "jobs/tune/TunedPackage.h"

#include "jobs/Self.h"
#include "lab/judging/Turns.h"
#include "lab/judging/Verdict.h"
#include "lab/resources/Placement.h"
#include "tune/GainingChanges.h"

#include <algorithm>
#include <fstream>
#include <limits>

namespace lathe::jobs {

static constexpr double leastComparison = 2; // seconds

/// Runs of the companion that must end during a comparison.
static int leastRuns(const Beside &beside) { return lab::TurnOptions().minStarts * beside.companion()->leastRuns(); }

/// Seconds that a comparison in company needs at least; 0 without company.
static double leastSeconds(const Beside *beside) {
  constexpr double slower = 2; // runs of the companion than so far
  return beside ? slower * leastRuns(*beside) * beside->companion()->secondsPerRun() : 0;
}

/// The document of `lathe compare`.
static nlohmann::json compared(const ModelOptions &model, const std::string &tuned, const std::string &untuned,
                               double seconds, int starts) {
  std::filesystem::path times = temporaryFolder() / "times.json";
  std::filesystem::remove(times);
  std::optional<std::string> failure =
      trySelf({"compare", tuned, "--with", untuned, "--threads", std::to_string(model.threads), "--starts",
               std::to_string(starts), "--max-seconds", fmt::format("{:.1f}", seconds), "--no-store", "--json",
               times.string(), quietFlag()});
  std::ifstream file(times);
  nlohmann::json document = nlohmann::json::parse(file, nullptr, false);
  require(document.is_object() && !document.at("peers").empty(), "{}: cannot compare packages: {}", model.model,
          failure.value_or("there is no result"));
  return document;
}

/// The same while the companion runs. Starts more often if the first starts end before it has done enough runs.
static nlohmann::json comparedInCompany(const ModelOptions &model, const std::string &tuned, const std::string &untuned,
                                        double seconds, const Beside &beside) {
  lab::PackageCompanion &companion = *beside.companion();
  int starts = lab::TurnOptions().minStarts;
  seconds = std::max(seconds, leastSeconds(&beside));
  lab::CpuAffinity bound(beside.measuredCpus());
  constexpr int tries = 4;
  for (int i = 0; i < tries; ++i, starts *= 2) {
    nlohmann::json document = companion.during([&] { return compared(model, tuned, untuned, seconds, starts); });
    if (companion.runs() < uint64_t(leastRuns(beside)))
      continue;
    document["company"] = beside.company().str();
    document["companion_runs"] = companion.runs();
    for (const char *ofOthers : {"other_processors", "stolen_processors"}) // the companion is one of them
      document.erase(ofOthers);
    return document;
  }
  fail(
      "the comparison is mistrusted: {} runs of the companion ended meanwhile, expected at least {} (--beside-runs for "
      "each of {} starts)",
      companion.runs(), leastRuns(beside), lab::TurnOptions().minStarts);
}

TunedComparison compareTuned(const ModelOptions &model, const std::string &tuned, const std::string &untuned,
                             double seconds, const Beside *beside) {
  TunedComparison result;
  result.comparison = beside ? comparedInCompany(model, tuned, untuned, seconds, *beside)
                             : compared(model, tuned, untuned, seconds, lab::TurnOptions().minStarts);
  const nlohmann::json &peer = result.comparison.at("peers").at(0);
  result.slower = peer.value("verdict", "") == name(lab::Verdict::slower);
  result.faster = peer.value("verdict", "") == name(lab::Verdict::faster);
  result.seconds = result.comparison.at("sides").at(0).at("time").at("median_ms").get<double>() * 1e-3;
  result.ratio = peer.value("ratio", 0.0);
  result.interval = peer.value("ratio_high", 0.0) - peer.value("ratio_low", 0.0);
  return result;
}

TunedPackage::TunedPackage(const ModelOptions &model, CompileOptions options, double budget, const Beside *beside)
    : model(model), options(std::move(options)), budget(budget), beside(beside) {}

CompileOptions withSchedules(CompileOptions options, const TaskSchedule &schedules) {
  auto lookUp = [schedules](const std::string &task) -> std::optional<TaskSchedules::Entry> {
    auto found = std::find_if(schedules.begin(), schedules.end(), [&](auto &entry) { return entry.first == task; });
    if (found == schedules.end())
      return std::nullopt;
    return TaskSchedules::Entry{found->second, "lathe tune"};
  };
  options.schedules = {std::make_shared<TaskSchedules>("lathe tune", lookUp)};
  return options;
}

std::string TunedPackage::compileWith(CompileOptions compiling, const TaskSchedule &schedules, const char *name) const {
  std::string path = (temporaryFolder() / name).string();
  compile(*loadSource(model).module, withSchedules(std::move(compiling), schedules), path);
  return path;
}

void TunedPackage::compileUntuned() {
  if (!untuned.empty())
    return;
  double began = lab::steadySeconds();
  untuned = compileWith(options, {}, "untuned.lathe");
  compileSeconds = lab::steadySeconds() - began;
}

void TunedPackage::prepare(Progress &progress) {
  double limit = budget > 0 ? budget / 2 : std::numeric_limits<double>::infinity();
  progress.update("compiling the untuned model", 0, 0);
  compileUntuned();
  progress.update("computing the outputs by the references", 0, 0);
  reference = std::make_unique<ReferenceOutputs>(model, limit - compileSeconds);
  require(
      reference->complete(),
      "--budget {:.0f}s: compiling the model and computing its outputs by the references take more than half of it: "
      "give more time, or no --budget",
      budget);
}

double TunedPackage::reservedSeconds() const {
  constexpr double share = 0.1, least = 5, most = 25; // of the comparison
  constexpr double margin = 1.5;                      // compilations with other schedules may take longer
  return margin * compileSeconds + std::max(std::clamp(share * budget, least, most), leastSeconds(beside));
}

TunedOutcome TunedPackage::judge(double checkSeconds, double seconds, Progress &progress) {
  progress.update("verifying the tuned model", 0, 0);
  TunedOutcome result;
  result.check = reference->check(tuned, checkSeconds);
  if (!result.check.passed)
    return result;
  progress.updateUntil("comparing the model untuned and tuned", seconds);
  try {
    result.comparison = compareTuned(model, tuned, untuned, seconds, beside);
  } catch (const Error &error) {
    result.check = {false, true, error.what()};
  }
  return result;
}

std::set<std::string> TunedPackage::dropLosing(const CompileOptions &tunedOptions, const TaskSchedule &schedules,
                                               double end, Progress &progress) {
  auto some = [&](const std::vector<size_t> &which) {
    TaskSchedule result;
    for (size_t i : which)
      result.push_back(schedules[i]);
    return result;
  };
  constexpr double most = 8; // for one comparison
  size_t comparisons = tune::usualJudgements(schedules.size()), done = 0;
  std::string kept = tunedOptions.measured ? compileWith(tunedOptions, {}, "kept.lathe") : untuned;
  auto judgeMore = [&](const std::vector<size_t> &before, const std::vector<size_t> &added) -> std::optional<bool> {
    double share =
        (end - lab::steadySeconds()) / double(std::max<size_t>(1, comparisons - std::min(comparisons, done)));
    double seconds = std::clamp(share - compileSeconds, leastComparison, most);
    if (lab::steadySeconds() + compileSeconds + seconds > end)
      return std::nullopt;
    std::vector<size_t> all = before;
    all.insert(all.end(), added.begin(), added.end());
    progress.update("comparing packages with fewer schedules", ++done, std::max(done, comparisons));
    std::string more = compileWith(tunedOptions, some(all), "more.lathe");
    TunedComparison comparison = compareTuned(model, more, kept, seconds, beside);
    if (comparison.slower || comparison.ratio < 1)
      return false;
    kept = (temporaryFolder() / "kept.lathe").string();
    std::filesystem::rename(more, kept);
    return true;
  };
  std::vector<size_t> gaining = tune::gainingChanges(schedules.size(), judgeMore);
  std::set<std::string> dropped;
  for (auto &[task, schedule] : schedules)
    dropped.insert(task);
  for (size_t i : gaining)
    dropped.erase(schedules[i].first);
  tuned = kept;
  return dropped;
}

TunedOutcome TunedPackage::finish(const CompileOptions &tunedOptions, const TaskSchedule &schedules, double left,
                                  Progress &progress) {
  constexpr double leastCheck = 10;     // seconds, if the budget is spent
  constexpr double withoutBudget = 120; // seconds for comparing packages with fewer schedules
  double end = lab::steadySeconds() + left;
  auto untilEnd = [&] { return end - lab::steadySeconds(); };
  if (!reference)
    prepare(progress);
  progress.update("compiling the tuned model", 0, 0);
  tuned = compileWith(tunedOptions, schedules, "tuned.lathe");
  // Half of the time remains for packages with fewer schedules.
  auto judgeAll = [&] {
    double seconds = budget > 0 ? untilEnd() / 2 : left;
    return judge(std::max(untilEnd(), leastCheck), std::max(seconds, leastComparison), progress);
  };
  TunedOutcome all = judgeAll();
  if (all.gainsNothing() && all.isVague())
    all = judgeAll();
  if (!all.gainsNothing() || schedules.size() < 2)
    return all;
  if (budget == 0)
    end = lab::steadySeconds() + withoutBudget;
  double whole = std::max(untilEnd() / 4, leastComparison); // seconds of the last comparison
  std::string withAll = std::exchange(tuned, "");
  std::set<std::string> dropped = dropLosing(tunedOptions, schedules, end - whole, progress);
  if (dropped.size() == schedules.size() && !tunedOptions.measured) {
    tuned = withAll;
    return all;
  }
  TunedOutcome fewer = judge(std::max(untilEnd(), leastCheck), budget > 0 ? whole : left, progress);
  fewer.withAll = std::move(all.comparison);
  fewer.dropped = std::move(dropped);
  return fewer;
}

std::string TunedPackage::path(bool isTuned) {
  compileUntuned();
  return isTuned ? tuned : untuned;
}

} // namespace lathe::jobs
