// lathe-tune-runner: runs candidates, checks their results and times them, one at a time. It answers one JSON message
// per line (docs/notes/tuning-measurement.md), contains no part of the compiler and needs no files of the tuning
// machine.
#include "lab/ServeLines.h"
#include "lab/judging/FullSpeed.h"
#include "lab/ops/SharedRuns.h"
#include "support/Base64.h"
#include "tune/measure/Protocol.h"
#include "tune/measure/runner/Trial.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

namespace lathe::tune {

using nlohmann::json;

namespace {

json toJson(const TrialFailure &failure) { return {{"status", failure.status}, {"reason", failure.reason}}; }

json samplesJson(const std::vector<double> &seconds) {
  json samples = json::array();
  for (double sample : seconds)
    samples.push_back(std::llround(sample * 1e9));
  return samples;
}

class Runner {
public:
  json answer(const json &request) {
    auto what = request.at("do").get<std::string>();
    if (what == "hello") {
      files.onlyReceived = !request.at("files").get<bool>();
      return {{"protocol", measureProtocolVersion}};
    }
    if (what == "put") {
      files.append(request.at("name"), fromBase64(request.at("base64").get_ref<const std::string &>()));
      return json::object();
    }
    if (what == "forget") {
      files.forget();
      return json::object();
    }
    if (what == "task") {
      side.clear();
      task.emplace(request, files);
      return json::object();
    }
    require(task.has_value(), "'{}' before 'task'", what);
    company.reset();
    if (request.contains("beside"))
      company.emplace(request["beside"]);
    if (what == "measure")
      return measure(request);
    if (what == "open")
      return open(request);
    if (what == "turn")
      return turn(request);
    if (what == "close") {
      side.clear();
      return json::object();
    }
    fail("unknown request '{}'", what);
  }

private:
  Files files;
  std::optional<RunTask> task;
  std::map<int, std::unique_ptr<Trial>> side; // open candidates, by number
  std::map<int, lab::FullSpeed> speeds;       // by threads

  /// What runs beside the candidates of a request.
  struct Company {
    lab::SharedRuns shared;
    uint64_t least, runs = 0; // that must end, and that have ended, within timed runs
    double seconds;           // limit for all timed runs
    explicit Company(const json &request)
        : shared(request.at("runs").get<std::string>()), least(request.at("least")), seconds(request.at("seconds")) {}
  };
  std::optional<Company> company; // of the request; nothing: candidates run alone

  /// Calls `timing` when the processors run at full speed.
  template <class Timing> std::optional<TrialFailure> atFullSpeed(const Timing &timing) {
    // Limits for waiting, in seconds: for one candidate and for all. The first candidates are the default schedules,
    // with which all others are compared.
    constexpr double patience = 2, allowance = 10;
    lab::FullSpeed &speed = speeds.try_emplace(task->threads, task->threads, allowance).first->second;
    speed.await(patience);
    double begin = monotonicSeconds();
    std::optional<TrialFailure> failure = timing();
    speed.measured(monotonicSeconds() - begin);
    return failure;
  }

  static double monotonicSeconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  json measure(const json &request) {
    Trial trial(*task, files, request.at("candidate"));
    if (auto failure = trial.check())
      return toJson(*failure);
    std::vector<double> seconds;
    auto timing = [&] {
      return company ? sampleInCompany(trial, request.at("seconds"), request.at("min_samples"), seconds)
                     : sample(trial, request, seconds);
    };
    if (auto failure = atFullSpeed(timing))
      return toJson(*failure);
    if (auto failure = trial.checkAgain())
      return toJson(*failure);
    return samplesOf(request.at("max_samples"), seconds);
  }

  /// The samples, or `most` equally spaced ones of them. Not to be trusted if the companion did too few runs.
  json samplesOf(size_t most, const std::vector<double> &seconds) const {
    if (company && company->runs < company->least)
      return toJson(
          {"mistrusted", fmt::format("{} runs of the companion ended within the timed runs, expected at least "
                                     "{} (--beside-runs)",
                                     company->runs, company->least)});
    size_t step = (seconds.size() + most - 1) / most;
    std::vector<double> spaced;
    for (size_t i = 0; i < seconds.size(); i += step)
      spaced.push_back(seconds[i]);
    return {{"status", "passed"}, {"samples_ns", samplesJson(spaced)}};
  }

  /// Times the trial for `atLeast` seconds and `least` runs, and until enough runs of the companion have ended.
  std::optional<TrialFailure> sampleInCompany(Trial &trial, double atLeast, size_t least,
                                              std::vector<double> &seconds) {
    constexpr double piece = 0.01; // seconds of runs between checks
    constexpr int most = 1 << 16;  // runs in a piece
    double begin = monotonicSeconds();
    auto past = [&] { return monotonicSeconds() - begin; };
    while ((past() < atLeast || seconds.size() < least || company->runs < company->least) &&
           past() < company->seconds) {
      uint64_t before = company->shared.runs();
      if (auto failure = trial.time(piece, 1, most, seconds))
        return failure;
      company->runs += company->shared.runs() - before;
    }
    return std::nullopt;
  }

  /// True if two more samples are close to the least one, so that it is not an outlier.
  static bool settled(std::vector<double> seconds, double precision) {
    constexpr size_t agreeing = 3;
    if (seconds.size() < agreeing)
      return false;
    std::partial_sort(seconds.begin(), seconds.begin() + agreeing, seconds.end());
    return seconds[agreeing - 1] <= seconds[0] * (1 + precision);
  }

  /// Times the trial until the least sample is certain, or the trial is known to be slow.
  static std::optional<TrialFailure> sample(Trial &trial, const json &request, std::vector<double> &seconds) {
    size_t least = request.at("min_samples"), most = request.at("max_samples");
    double limit = request.at("seconds"), precision = request.at("precision");
    double slow = request.at("slow"); // seconds of a run from which on repeating is not worthwhile; 0: none
    constexpr double hopeless = 20;   // factor that includes the page faults of a first run
    // Seconds of runs before a candidate is given up: because of caches, page tables, branch predictors and sleeping
    // threads, the first runs of a kernel below a millisecond take up to five times as long.
    constexpr double warm = 3e-3;
    constexpr int firstRuns = 32; // limit
    bool once = slow > 0 && trial.checkedRun() > hopeless * slow && trial.checkedRun() > warm;
    double begin = monotonicSeconds();
    if (auto failure = once ? trial.time(0, 1, 1, seconds)
                            : trial.time(warm, 2, std::min(firstRuns, static_cast<int>(most)), seconds))
      return failure;
    if (slow > 0 && *std::min_element(seconds.begin(), seconds.end()) > slow)
      return std::nullopt;
    auto enough = [&] {
      return seconds.size() >= most || monotonicSeconds() - begin >= limit ||
             (seconds.size() >= least && settled(seconds, precision));
    };
    while (!enough()) {
      constexpr double atOnce = 0.01; // seconds between checks
      if (auto failure = trial.time(atOnce, 1, int(most - seconds.size()), seconds))
        return failure;
    }
    return std::nullopt;
  }

  json open(const json &request) {
    auto trial = std::make_unique<Trial>(*task, files, request.at("candidate"));
    if (auto failure = trial->check())
      return toJson(*failure);
    side[request.at("side").get<int>()] = std::move(trial);
    return {{"status", "passed"}};
  }

  json turn(const json &request) {
    auto found = side.find(request.at("side").get<int>());
    require(found != side.end(), "'turn' of side {}, which is not open", request.at("side").dump());
    Trial &trial = *found->second;
    std::vector<double> seconds;
    auto failure = atFullSpeed([&] {
      return company ? sampleInCompany(trial, request.at("seconds"), 1, seconds)
                     : trial.time(request.at("seconds"), 1, request.at("most"), seconds);
    });
    if (!failure)
      failure = trial.checkAgain();
    if (!failure)
      return samplesOf(request.at("most"), seconds);
    side.erase(found);
    return toJson(*failure);
  }
};

} // namespace
} // namespace lathe::tune

int main() {
  lathe::tune::Runner runner;
  return lathe::lab::serveLines([&](const nlohmann::json &request) { return runner.answer(request); });
}
