#include "jobs/corun/Corun.h"

#include "jobs/KeptWhenInterrupted.h"
#include "jobs/Progress.h"
#include "jobs/Sizes.h"
#include "jobs/Terminal.h"
#include "lab/StoreRecords.h"
#include "lab/machine/CpusOfBoth.h"
#include "lab/machine/Disturbance.h"
#include "lab/resources/HeldResources.h"
#include "lab/resources/Placement.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>

namespace lathe::jobs {
namespace {

std::vector<double> weightsOf(const CorunJob &job) {
  std::vector<double> weights(job.models.size(), 1);
  if (job.weights.empty())
    return weights;
  std::vector<std::string> words = wordsOf(job.weights);
  require(words.size() == weights.size(), "--weights {}: expected {} numbers, one for each model, got {}", job.weights,
          weights.size(), words.size());
  for (size_t i = 0; i < words.size(); ++i) {
    const char *end = words[i].data() + words[i].size();
    auto [read, error] = std::from_chars(words[i].data(), end, weights[i]);
    require(error == std::errc() && read == end && weights[i] > 0 && weights[i] < 1e9,
            "--weights {}: expected positive numbers, got '{}'", job.weights, words[i]);
  }
  return weights;
}

CorunSpace spaceOf(const CorunJob &job, size_t slots) {
  return {int(slots), job.batches.empty() ? std::vector<int64_t>{1} : parseCounts("--batch", job.batches),
          parseCounts("--instances", job.instances)};
}

/// What all models have together: the weighted mean of relative throughputs, or the worst relative latency.
lab::Welfare welfareOf(const CorunJob &job) {
  if (job.payoff == "latency")
    return [](const std::vector<double> &payoffs) { return *std::min_element(payoffs.begin(), payoffs.end()); };
  return [weights = weightsOf(job)](const std::vector<double> &payoffs) {
    return std::inner_product(payoffs.begin(), payoffs.end(), weights.begin(), 0.0) /
           std::accumulate(weights.begin(), weights.end(), 0.0);
  };
}

/// One run of the job.
class CorunRun {
public:
  CorunRun(const CorunJob &job, const CorunReport &report)
      : job(job), report(report), models(job.models, job.loading, job.inputs),
        resources(job.resources.attempted().front()),
        cpus(resources.cpus.empty() ? lab::CpuAffinity::read() : resources.cpus), space(spaceOf(job, cpus.size())),
        topology(readTopology()), welfare(welfareOf(job)),
        recording(job.record, store::ExperimentKind::corun, "corun", job.command, job.settings()), progress("corun"),
        kept([this](const Corun &soFar) { interrupted(soFar); }) {
    corun.models = &models;
    corun.cpus = cpus;
    corun.resources = resources.text();
    std::vector<CorunChoices> choices = models.choices();
    bool isOpen = std::any_of(choices.begin(), choices.end(), [](const CorunChoices &one) { return one.openBatch; });
    require(job.batches.empty() || isOpen, "--batch {}: no package has a symbolic first dimension", job.batches);
    if (!job.searches())
      corun.moves = job.policy == "equal" ? equalMoves(choices, space) : movesFromFile(job.policy, choices, space);
    for (size_t i = 0; i < models.models().size(); ++i) // before anything is measured
      if (std::string reason = models.mistrusted(i, wholeMoves(choices, space)[i]); !reason.empty())
        fail("{}: not timed, the outputs are mistrusted: {}", models.models()[i].name, reason);
  }

  bool run() {
    held.hold(resources);
    corun.held = held.readBack();
    if (job.searches())
      searchMoves();
    bool right = true;
    if (!corun.moves.empty()) {
      if (!job.searches())
        recording.plan(2 * corun.moves.size()); // of a search nobody knows the number
      measureChosen();
      right =
          std::all_of(corun.wrong.begin(), corun.wrong.end(), [](const std::string &wrong) { return wrong.empty(); });
    }
    kept.forget();
    recording.finish(corun.result.disturbance);
    corun.kept = recording.line();
    report(corun, true);
    return right;
  }

private:
  const CorunJob &job;
  const CorunReport &report;
  CorunModels models;
  lab::Resources resources;
  NumberList cpus; // of the slots
  CorunSpace space;
  Topology topology;
  lab::Welfare welfare;
  std::vector<CorunMove> whole; // all slots for each model: what payoffs compare with
  Recording recording;
  lab::HeldResources held;
  Progress progress;
  Corun corun;
  std::map<std::string, store::Point> known; // points of the interrupted experiment, by key
  KeptWhenInterrupted<Corun> kept;           // declared last: its clean-up uses the other members

  void interrupted(const Corun &soFar) {
    Corun shown = soFar;
    if (!shown.result.starts.empty())
      recording.add(pointsOf(shown.moves, shown.result, Role::chosen));
    shown.kept = recording.line();
    report(shown, false);
  }

  lab::CorunResult measure(const std::vector<CorunMove> &moves, lab::CorunOptions options) {
    std::vector<lab::CorunMember> members;
    for (size_t i = 0; i < moves.size(); ++i)
      members.push_back(models.member(i, moves[i], cpus));
    options.otherSeconds = [this] { return held.cpuSeconds(); };
    lab::CorunResult result = lab::corun(members, options);
    held.readBack(); // an error if a companion has ended
    return result;
  }

  /// What a combination is measured for. Only of the chosen one the models are measured alone with the same moves.
  enum class Role { chosen, searched };

  store::Point pointOf(size_t model, const CorunMove &move, Role role) {
    store::Point point = models.point(model, move);
    if (role == Role::searched)
      point.setting.extra["role"] = "search";
    if (job.timing.processEach)
      point.setting.extra["processes"] = "each";
    lab::setResources(point, corun.resources, corun.held);
    return point;
  }

  /// What runs beside model `model`.
  store::Company companyOf(size_t model, const std::vector<CorunMove> &moves) {
    store::Company company;
    company.leastRuns = int(job.timing.leastRuns);
    NumberList theirs;
    for (size_t i = 0; i < moves.size(); ++i)
      if (i != model) {
        models.addTo(company, i, moves[i]);
        NumberList used = models.member(i, moves[i], cpus).cpus();
        theirs.insert(theirs.end(), used.begin(), used.end());
      }
    company.place = lab::closestPlace(topology, models.member(model, moves[model], cpus).cpus(), theirs);
    return company;
  }

  store::Point measured(store::Point point, size_t model, const lab::CorunRuns &runs,
                        const lab::CorunResult::Member &member, const lab::CorunResult &result, const CorunMove &move) {
    const Verification &verification = models.models()[model].verification;
    bool isVerified = verification.verified && move.package == 0;
    std::string doubt = point.setting.company.empty() ? "" : member.mistrust;
    point.status = !member.wrong.empty()           ? store::PointStatus::failed
                   : !isVerified || !doubt.empty() ? store::PointStatus::mistrusted
                                                   : store::PointStatus::passed;
    point.reason = !member.wrong.empty() ? member.wrong
                   : !doubt.empty()      ? doubt
                   : isVerified          ? ""
                   : move.package        ? "only the first package of a model is looked up"
                                         : verification.text;
    point.disturbance = result.disturbance;
    setRuns(point, runs, move, result.starts);
    return point;
  }

  /// The points of a combination; of the chosen one those of each model alone, too.
  std::vector<store::Point> pointsOf(const std::vector<CorunMove> &moves, const lab::CorunResult &result, Role role) {
    std::vector<store::Point> points;
    for (size_t i = 0; i < moves.size(); ++i) {
      const lab::CorunResult::Member &member = result.members[i];
      store::Point point = pointOf(i, moves[i], role);
      if (role == Role::chosen)
        points.push_back(measured(point, i, member.alone, member, result, moves[i]));
      point.setting.company = companyOf(i, moves);
      points.push_back(measured(point, i, member.together, member, result, moves[i]));
      if (role == Role::searched) {
        const lab::CorunRuns &reference = result.references[i];
        points.back().figures["alone_ms"] = reference.time.median * 1e3;
        points.back().figures["alone_inputs_per_second"] = inputsPerSecond(reference, whole[i]);
      }
    }
    return points;
  }

  // The search.

  void searchMoves() {
    if (!job.fresh)
      resume();
    SearchRequest request;
    for (const CorunModel &model : models.models())
      request.moves.push_back(movesOf(model.choices, space));
    request.equal = equalMoves(models.choices(), space);
    request.whole = wholeMoves(models.choices(), space);
    request.welfare = welfare;
    request.nash = job.policy == "nash";
    request.margin = job.margin;
    request.most = job.maxMeasurements;
    whole = request.whole;
    request.payoffs = [&](const lab::Combination &at) { return payoffsOf(corun.search->movesAt(at)); };
    corun.search = search(std::move(request), [this](const CorunSearch &soFar) {
      corun.search = soFar;
      kept.update(corun);
      size_t most = std::min(soFar.combinations, job.maxMeasurements);
      progress.update("combination of moves", std::min(soFar.payoffs.size(), most), most);
    });
    choose();
  }

  /// The combination to measure alone and in company.
  void choose() {
    const CorunSearch &found = *corun.search;
    if (job.policy == "cooperative" && found.optimum)
      corun.moves = found.movesAt(found.optimum->combination);
    if (const lab::Equilibrium *best = found.equilibrium(true); job.policy == "nash" && best)
      corun.moves = found.movesAt(best->combination);
  }

  void resume() {
    if (std::string line = recording.resume(); !line.empty()) {
      line.pop_back();
      say("lathe corun: " + line);
    }
    if (const std::string &uuid = recording.described().uuid; !uuid.empty())
      recording.store()->points({.experiments = {uuid}}, true,
                                [&](const store::Point &point) { known[point.key()] = point; });
  }

  lab::CorunOptions brief() const {
    lab::CorunOptions options = job.timing;
    options.alone = false;
    options.minStarts = options.maxStarts = 1;
    options.minRounds = options.maxRounds = 3;
    return options;
  }

  /// The points of a combination, from the interrupted experiment if it has all of them; otherwise measured and stored.
  std::vector<store::Point> searched(const std::vector<CorunMove> &moves) {
    std::vector<store::Point> found;
    for (size_t i = 0; i < moves.size(); ++i) {
      store::Point point = pointOf(i, moves[i], Role::searched);
      point.setting.company = companyOf(i, moves);
      point.experiment = recording.described().uuid;
      if (auto stored = known.find(point.key()); stored != known.end() && stored->second.figures.contains("alone_ms"))
        found.push_back(stored->second);
    }
    if (found.size() == moves.size()) {
      ++corun.known;
      return found;
    }
    lab::CorunOptions options = brief();
    for (size_t i = 0; i < whole.size(); ++i)
      options.references.push_back(models.member(i, whole[i], cpus));
    found = pointsOf(moves, measure(moves, options), Role::searched);
    recording.add(found);
    return found;
  }

  std::vector<double> payoffsOf(const std::vector<CorunMove> &moves) {
    std::vector<store::Point> points = searched(moves);
    corun.doubted += std::any_of(points.begin(), points.end(), [this](const store::Point &point) {
      return point.figures.at("runs") < double(job.timing.leastRuns); // one start
    });
    corun.disturbed += points.front().disturbance.otherProcessors.value_or(0) > lab::disturbingProcessors;
    std::vector<double> payoffs;
    for (const store::Point &point : points) {
      require(point.status != store::PointStatus::failed, "{}: {}", point.problem.text, point.reason);
      const auto &figures = point.figures;
      payoffs.push_back(job.payoff == "latency"
                            ? figures.at("alone_ms") * 1e-3 / lab::median(lab::secondsOf(point))
                            : figures.at("inputs_per_second") / figures.at("alone_inputs_per_second"));
    }
    return payoffs;
  }

  // The chosen combination.

  void measureChosen() {
    lab::CorunOptions options = job.timing;
    options.progress = [this](int start, int round) {
      progress.update(fmt::format("alone and together: start {}, round {}", start, round), 0, 0);
    };
    options.afterStart = [this](const lab::CorunResult &soFar) {
      take(soFar);
      kept.update(corun);
    };
    take(measure(corun.moves, options));
    recording.add(pointsOf(corun.moves, corun.result, Role::chosen));
  }

  void take(const lab::CorunResult &result) {
    corun.result = result;
    corun.wrong.clear();
    for (const lab::CorunResult::Member &member : result.members)
      corun.wrong.push_back(member.doubt());
  }
};

} // namespace

nlohmann::json CorunJob::settings() const {
  nlohmann::json settings = timingSettings(timing);
  settings.update({{"processes", timing.processEach ? "each" : "shared"},
                   {"batch", batches}, // the first one is that of the models alone on all slots
                   {"seed", inputs.seed}});
  return settings;
}

bool corun(const CorunJob &job, const CorunReport &report) {
  require(job.models.size() >= 2, "corun: expected at least two models, got {}", job.models.size());
  bool isFile = job.policy != "equal" && !job.searches();
  require(!isFile || std::filesystem::exists(job.policy),
          "--policy {}: expected equal, nash, cooperative or a JSON file with the move of each model", job.policy);
  weightsOf(job);
  return CorunRun(job, report).run();
}

} // namespace lathe::jobs
