#include "lab/ops/OpsLab.h"

#include "lab/TemporaryDirectory.h"
#include "lab/machine/DeclaredPeak.h"
#include "lab/machine/Disturbance.h"
#include "lab/ops/CallCost.h"
#include "lab/problems/Operands.h"
#include "runtime/NpyTensor.h"

#include <algorithm>
#include <list>

namespace lathe::lab {

namespace fs = std::filesystem;

/// The process of a column. It serves one row after the other.
struct Contender {
  OpsColumn column;
  std::optional<ProviderWorker> worker; // started when it is needed; away after a failure that ended it
  double cpuOfEnded = 0;                // processor seconds of workers that are gone

  /// What the worker was last asked to prepare, and did; none after any failure.
  struct Ready {
    std::string problem;
    store::CacheState cache;
    ProviderRequest request;
    ProviderPreparation preparation;
  };
  std::optional<Ready> ready;

  double cpuOfWorker() const { return worker ? worker->usage().cpuSeconds : 0; }
  double cpuSeconds() const { return cpuOfEnded + cpuOfWorker(); }
  void quit() {
    if (worker)
      worker->quit();
    forget();
  }
  /// A worker that has ended.
  void forget() {
    cpuOfEnded += cpuOfWorker();
    worker.reset();
    ready.reset();
  }
};

/// A problem with its operands in files, and what its results must be. Rows that differ in their setting share it.
struct Case {
  std::string key;
  fs::path folder;
  ProviderOperands operands;
  std::vector<Tensor> references; // by result
  std::vector<std::string> names; // of results
  Tolerance tolerance;
  std::string aboutFailures; // what a wrong answer to it may come from
  double bytes = 0;          // of operands and references

  ~Case() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
};

struct RowInTurns;

struct OpsLab::State {
  ColumnsOf columnsOf;
  OpsLabOptions options;
  TemporaryDirectory directory{"ops"};
  const std::vector<OpsColumn> *columns = nullptr; // of the contenders
  std::deque<Contender> contenders;
  std::map<std::string, std::weak_ptr<const Case>> cases;                   // by problem
  std::shared_ptr<const Case> last;                                         // another number of threads finds it ready
  size_t folders = 0;                                                       // of cases
  std::map<std::pair<std::string, int>, std::optional<double>> callSeconds; // by provider and threads
  std::map<int, FullSpeed> speeds;                                          // by threads
  std::list<RowInTurns> begun;

  void say(const RowInTurns &row, const std::string &what) const;

  void quitAll() {
    for (Contender &contender : contenders)
      contender.quit();
  }

  /// Makes these columns the contenders. The processes of others end.
  void choose(const std::vector<OpsColumn> &wanted) {
    if (columns == &wanted)
      return;
    quitAll();
    contenders.clear();
    for (const OpsColumn &column : wanted)
      contenders.push_back({column});
    columns = &wanted;
  }

  std::shared_ptr<const Case> knownCase(const Problem &problem) { return last = cases[problem.str()].lock(); }

  std::shared_ptr<const Case> newCase(const Problem &problem) {
    std::string key = problem.str();
    auto made = std::make_shared<Case>();
    made->key = key;
    made->folder = directory.path / std::to_string(folders++);
    fs::create_directory(made->folder);
    auto values = makeOperands(problem, options.seed);
    made->operands.seed = options.seed;
    auto specs = problem.inputs();
    for (size_t i = 0; i < specs.size(); ++i) {
      if (!specs[i])
        continue;
      const std::string &name = specs[i]->name;
      std::string &file = made->operands.files[name];
      file = (made->folder / (name + ".in.npy")).string();
      writeNpy(file, npyView(values[i]));
      made->bytes += double(values[i].bytes());
    }
    made->tolerance = toleranceOf(problem);
    made->aboutFailures = problem.op.ends_with("_integer")
                              ? "; without VNNI libraries add pairs of 8-bit products in 16 bits, which saturates"
                              : "";
    // Rounded once, so that an output can be held against it element by element.
    auto types = problem.results();
    auto results = referenceResults(problem, values);
    for (size_t i = 0; i < results.size(); ++i) {
      made->references.push_back(results[i].convertedTo(types[i].type));
      made->bytes += double(made->references.back().bytes());
      made->names.push_back(types[i].name);
    }
    cases[key] = made;
    return last = made;
  }

  /// Of this process and the contenders.
  double cpuSeconds() const {
    double seconds = ownCpuSeconds();
    for (auto &contender : contenders)
      seconds += contender.cpuSeconds();
    return seconds;
  }
};

/// A column in a row.
struct Side : TimedSide {
  Side(OpsLab::State &state, RowInTurns &row, size_t index) : state(state), row(row), index(index) {}

  bool running() const override { return passed() && !usedUp(); }
  void startAgain() override;
  void estimate() override {
    inTurn([&] { estimateNow(); });
  }
  void takeTurn() override {
    inTurn([&] { takeTurnNow(); });
  }
  const std::vector<std::vector<double>> &rounds() const override { return point().rounds; }

  bool usedUp() const;
  void answer(std::span<const OpsPoint> earlier);
  OpsPoint &point() const;

private:
  bool passed() const { return point().status == PointStatus::passed; }
  Contender &contender() const { return state.contenders[index]; }
  template <class T> std::optional<T> take(process::Result<T> outcome);
  bool chooseSchedule(ProviderRequest &request);
  std::optional<ProviderPreparation> prepare(const ProviderRequest &request);
  bool start();
  void measureCall();
  void judge(const std::map<std::string, Tensor> &outputs);
  void estimateNow();
  void takeTurnNow();
  template <class Work> void inTurn(Work work);

  OpsLab::State &state;
  RowInTurns &row;
  size_t index; // of the column, and of the point
  double secondsPerRun = 0;
  double spentSeconds = 0; // in turns and starts
};

/// A row that is being measured.
struct RowInTurns {
  RowInTurns(OpsLab::State &state, OpsRequest request);
  /// Makes one more start of all sides; false: it was the last one.
  bool step();
  /// Completes what is known of the row.
  OpsRow finish();

  size_t starts() const { return turns ? turns->starts().size() : 0; }
  const Problem &problem() const { return row.listed.problem; }
  const OpsSetting &setting() const { return row.setting; }

  OpsLab::State &state;
  const std::vector<OpsColumn> &columns;
  OpsRow row;
  std::shared_ptr<const Case> given;
  std::deque<Side> sides;

private:
  double peakOf(const OpsColumn &column) const;
  void mistrustUnreachable();
  void decide();

  std::optional<Turns> turns;
  double seconds = 0; // of all steps
  std::optional<double> otherSeconds, stolenSeconds;
};

void OpsLab::State::say(const RowInTurns &row, const std::string &what) const {
  if (!options.progress)
    return;
  double share = 0;
  for (const RowInTurns &other : begun)
    share += std::min(1.0, double(other.starts()) / options.minStarts);
  options.progress(row.row.listed.text + ": " + what, share);
}

OpsPoint &Side::point() const { return row.row.points[index]; }

/// Notes a failure, or hands the value out.
template <class T> std::optional<T> Side::take(process::Result<T> outcome) {
  if (outcome)
    return std::move(*outcome);
  point().status = statusOf(outcome.failure());
  point().reason = outcome.failure().message();
  point().rounds.clear();
  point().counts.clear();
  contender().ready.reset();
  if (contender().worker && !contender().worker->alive())
    contender().forget();
  return std::nullopt;
}

/// Fills in the request's schedule, the same in every start, and the point's task; false: the point says why not.
bool Side::chooseSchedule(ProviderRequest &request) {
  OpsPoint &point = this->point();
  bool recorded = point.schedule == recordedSchedule;
  if (point.scheduleRun.empty()) {
    auto task = take(contender().worker->task(row.problem(), request));
    if (!task)
      return false;
    auto decline = [&](const std::string &reason) {
      point.status = PointStatus::unimplemented;
      point.reason = reason;
      return false;
    };
    if (!*task)
      return decline(task->reason());
    point.task = **task;
    std::optional<std::string> chosen = point.schedule;
    if (recorded)
      chosen = state.options.recordedSchedules ? state.options.recordedSchedules(point.task) : std::nullopt;
    if (!chosen)
      return decline("no tuning record of the task " + point.task);
    point.scheduleRun = *chosen;
  }
  request.schedule = point.scheduleRun;
  if (recorded)
    request.task = point.task;
  return true;
}

/// The worker's preparation. What it has prepared for a row that differs in the caches only serves where they are
/// hot; whether it can be timed otherwise a provider says while preparing.
std::optional<ProviderPreparation> Side::prepare(const ProviderRequest &request) {
  auto &ready = contender().ready;
  store::CacheState cache = row.setting().cache;
  bool timeable = ready && (cache == store::CacheState::hot || cache == ready->cache);
  if (timeable && ready->problem == row.given->key && ready->request == request)
    return ready->preparation;
  ready.reset();
  auto prepared = take(contender().worker->prepare(row.problem(), request, row.given->operands, cache));
  if (prepared && prepared->declined.empty())
    ready = {row.given->key, cache, request, *prepared};
  return prepared;
}

/// Starts the worker where there is none; false: the point says why not.
bool Side::start() {
  if (contender().worker)
    return true;
  ProviderSpec spec = contender().column.provider;
  spec.command = state.directory.keepingFilesHere(spec.command);
  auto started = take(ProviderWorker::start(spec, state.options.limits, state.options.timeouts));
  if (started)
    contender().worker.emplace(std::move(*started));
  return started.has_value();
}

/// Fills in what a call of the provider costs; measured once for each number of threads.
void Side::measureCall() {
  int threads = row.setting().threads;
  auto [known, isNew] = state.callSeconds.try_emplace({point().provider, threads});
  if (isNew && !state.options.checkOnly) {
    known->second = secondsOfCall(*contender().worker, threads, state.options.seed, state.directory.path.string());
    contender().ready.reset();
    if (!contender().worker->alive())
      contender().forget();
  }
  point().callSeconds = known->second;
}

/// From a problem to a checked answer. `earlier`: the points of columns before this one.
void Side::answer(std::span<const OpsPoint> earlier) {
  OpsPoint &point = this->point();
  const OpsColumn &column = contender().column;
  const OpsSetting &setting = row.setting();
  bool able = column.caches.contains(setting.cache);
  if (!column.lacks.empty() || !able) {
    point.status = PointStatus::unimplemented;
    point.version = column.version;
    point.reason = column.lacks.empty() ? cannotEmptyCaches(point.provider) : column.lacks;
    return;
  }
  if (!start())
    return;
  contender().worker->resume();
  measureCall();
  if (!start()) // where the least problem broke it
    return;
  point.version = contender().worker->version();
  point.uncounted = contender().worker->uncounted();
  ProviderRequest request{point.variant, setting.threads, setting.layout, ""};
  if (!point.schedule.empty() && !chooseSchedule(request))
    return;
  auto prepared = prepare(request);
  if (!prepared)
    return;
  point.implementation = prepared->implementation;
  if (!prepared->schedule.empty()) { // else what it was asked for
    point.task = prepared->task;
    point.scheduleRun = prepared->schedule;
  }
  point.prepareSeconds = prepared->seconds;
  if (!prepared->declined.empty()) {
    point.status = PointStatus::unimplemented;
    point.reason = prepared->declined;
    return;
  }
  auto outputs = take(contender().worker->run(row.given->folder.string()));
  if (!outputs)
    return;
  judge(*outputs);
  if (point.status != PointStatus::passed)
    return;
  for (auto &other : earlier)
    if (other.provider == point.provider && other.implementation == point.implementation &&
        other.status == PointStatus::passed) {
      point.status = PointStatus::sameAs;
      point.reason = other.provider + ":" + other.variant + (other.schedule.empty() ? "" : ":" + other.schedule);
      return;
    }
}

/// The point's status from its outputs: the worst of them.
void Side::judge(const std::map<std::string, Tensor> &outputs) {
  OpsPoint &point = this->point();
  const auto &[names, references, tolerance] = std::tie(row.given->names, row.given->references, row.given->tolerance);
  point.status = PointStatus::passed;
  for (size_t i = 0; i < names.size(); ++i) {
    Agreement agreement;
    if (auto output = outputs.find(names[i]); output != outputs.end())
      agreement = agreementOf(names[i], output->second, references[i], tolerance);
    else
      agreement.reason = fmt::format("no output '{}'", names[i]);
    point.relativeL2 = std::max(point.relativeL2, agreement.relativeL2);
    point.maxDifference = std::max(point.maxDifference, agreement.maxDifference);
    if (!agreement.agrees && point.status != PointStatus::failed) {
      point.status = PointStatus::failed;
      point.reason = agreement.reason + row.given->aboutFailures;
    } else if (point.status == PointStatus::passed && !agreement.mistrust.empty() && references[i].elements() > 1) {
      point.status = PointStatus::mistrusted;
      point.reason = "the right output is " + agreement.mistrust;
    }
  }
}

void Side::estimateNow() {
  store::CacheState cache = row.setting().cache;
  auto once = take(contender().worker->time(0, 1, cache));
  if (!once)
    return;
  secondsPerRun = once->seconds.front();
  if (secondsPerRun < state.options.roundSeconds)
    if (auto more = take(contender().worker->time(1, 3, cache)))
      secondsPerRun = *std::min_element(more->seconds.begin(), more->seconds.end());
}

void Side::takeTurnNow() {
  store::CacheState cache = row.setting().cache;
  // Of flushing, about: a process's memory, or the lines of what is constant.
  double flushSeconds = cache == store::CacheState::cold            ? 5e-3
                        : cache == store::CacheState::coldConstants ? row.problem().constantBytes() / 64 * 2e-8
                                                                    : 0;
  double runs = state.options.roundSeconds / std::max(secondsPerRun + flushSeconds, 1e-7);
  // The other columns have emptied the caches: warm again before the clock runs.
  int warmup = runs < 1 || cache == store::CacheState::cold ? 0 : 1;
  if (auto timing = take(contender().worker->time(warmup, int(std::clamp(runs, 1.0, 1000.0)), cache))) {
    point().rounds.push_back(std::move(timing->seconds));
    point().counts.push_back(timing->counts);
  }
}

template <class Work> void Side::inTurn(Work work) {
  if (!running())
    return;
  double began = steadySeconds();
  contender().worker->resume();
  work();
  if (contender().worker)
    contender().worker->pause();
  spentSeconds += steadySeconds() - began;
}

/// Whether the column gets no further turns in this row (OpsLabOptions).
bool Side::usedUp() const {
  if (point().rounds.empty() || spentSeconds <= state.options.maxSeconds / double(row.sides.size()))
    return false;
  return std::any_of(row.sides.begin(), row.sides.end(), [&](const Side &other) {
    return other.point().provider == point().provider && other.passed() && other.secondsPerRun > 0 &&
           other.secondsPerRun < secondsPerRun;
  });
}

/// The column's process anew: where its memory lies is chance, and a part of the time.
void Side::startAgain() {
  double began = steadySeconds();
  contender().quit();
  answer({});
  if (contender().worker)
    contender().worker->pause();
  spentSeconds += steadySeconds() - began;
}

RowInTurns::RowInTurns(OpsLab::State &state, OpsRequest request)
    : state(state), columns(state.columnsOf(request.listed.problem.op)) {
  row.listed = std::move(request.listed);
  row.setting = request.setting;
  state.choose(columns);
  given = state.knownCase(problem());
  if (!given) {
    state.say(*this, "reference");
    given = state.newCase(problem());
  }
  row.points.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    row.points[i].provider = columns[i].provider.name;
    row.points[i].variant = columns[i].variant;
    row.points[i].schedule = columns[i].schedule;
    sides.emplace_back(state, *this, i);
    state.say(*this, columns[i].name());
    sides[i].answer(std::span(row.points).first(i));
    // From here on it only moves in its turn: spinning threads would slow down the others.
    if (auto &worker = state.contenders[i].worker)
      worker->pause();
  }
  if (state.options.checkOnly)
    return;
  TurnWatch watch;
  watch.decided = [this](const std::vector<size_t> &starts) {
    row.starts = starts;
    decide();
    return std::all_of(row.verdicts.begin(), row.verdicts.end(),
                       [](auto &verdict) { return verdict.decidedAfter > 0; });
  };
  TurnOptions options = state.options;
  options.fullSpeed = &state.speeds.try_emplace(setting().threads, setting().threads).first->second;
  std::vector<TimedSide *> pointers;
  for (Side &side : sides)
    pointers.push_back(&side);
  turns.emplace(std::move(pointers), std::move(options), std::move(watch));
}

bool RowInTurns::step() {
  if (!turns)
    return false;
  state.choose(columns);
  if (starts() > 0)
    state.say(*this, fmt::format("start {}", starts() + 1));
  const FullSpeed &speed = state.speeds.at(setting().threads);
  size_t slow = speed.slow();
  double began = steadySeconds();
  DisturbanceMeter meter([this] { return state.cpuSeconds(); });
  bool more = turns->step();
  row.slowRounds += speed.slow() - slow;
  auto [others, stolen] = meter.read();
  double took = steadySeconds() - began;
  seconds += took;
  auto add = [&](std::optional<double> &sum, std::optional<double> processors) {
    if (processors)
      sum = sum.value_or(0) + *processors * took;
  };
  add(otherSeconds, others);
  add(stolenSeconds, stolen);
  return more;
}

OpsRow RowInTurns::finish() {
  if (turns) {
    row.starts = turns->starts();
    for (size_t i = 0; i < sides.size(); ++i)
      row.points[i].leftOut = sides[i].usedUp();
    decide();
    if (otherSeconds)
      row.otherProcessors = *otherSeconds / seconds;
    if (stolenSeconds)
      row.stolenProcessors = *stolenSeconds / seconds;
  }
  return std::move(row);
}

/// Operations per second that the column's machine can do at most; another machine's are not known.
double RowInTurns::peakOf(const OpsColumn &column) const {
  std::optional<ElementType> type;
  if (!problem().operands.empty())
    type = problem().operands.front().type;
  return column.provider.remote ? declaredPeakAnywhere(setting().threads) : declaredPeak(type, setting().threads);
}

/// A time that the machine cannot reach is not believed, and is compared with nothing.
void RowInTurns::mistrustUnreachable() {
  for (size_t i = 0; i < columns.size(); ++i) {
    OpsPoint &point = row.points[i];
    if (!point.timed() || point.status != PointStatus::passed)
      continue;
    std::string reason = beyondReach(problem().flops(), point.time.median, peakOf(columns[i]));
    if (reason.empty())
      continue;
    point.status = PointStatus::mistrusted;
    point.reason = reason;
  }
}

/// Summaries of what was timed, and best against best.
void RowInTurns::decide() {
  std::map<std::string, size_t> best; // by provider
  for (size_t i = 0; i < row.points.size(); ++i) {
    OpsPoint &point = row.points[i];
    std::vector<double> pooled;
    for (auto &round : point.rounds)
      pooled.insert(pooled.end(), round.begin(), round.end());
    point.time = summarize(pooled);
  }
  mistrustUnreachable();
  for (size_t i = 0; i < row.points.size(); ++i) {
    const OpsPoint &point = row.points[i];
    if (!point.timed() || point.status != PointStatus::passed)
      continue;
    auto [found, isNew] = best.emplace(point.provider, i);
    if (!isNew && point.time.median < row.points[found->second].time.median)
      found->second = i;
  }
  auto earlier = std::move(row.verdicts);
  row.verdicts.clear();
  const std::string &us = row.points.front().provider;
  for (auto &[provider, index] : best) {
    if (provider == us || !best.count(us))
      continue;
    auto &mine = row.points[best[us]], &theirs = row.points[index];
    auto before = std::find_if(earlier.begin(), earlier.end(), [&](auto &one) { return one.peer == provider; });
    JudgedPair judged = judgePair({theirs.rounds, theirs.callSeconds}, {mine.rounds, mine.callSeconds}, row.starts,
                                  state.options, before == earlier.end() ? JudgedPair() : *before);
    row.verdicts.push_back({judged, provider, best[us], index});
  }
}

OpsLab::OpsLab(ColumnsOf columnsOf, OpsLabOptions options) : state(std::make_unique<State>()) {
  state->columnsOf = std::move(columnsOf);
  state->options = std::move(options);
}

OpsLab::OpsLab(std::vector<OpsColumn> columns, OpsLabOptions options)
    : OpsLab([columns = std::move(columns)](const std::string &) -> const std::vector<OpsColumn> & { return columns; },
             std::move(options)) {
  require(!state->columnsOf("").empty(), "no provider is given");
}

OpsLab::~OpsLab() { state->quitAll(); }

void OpsLab::measure(const std::function<std::optional<OpsRequest>()> &next, const std::function<void(OpsRow)> &done) {
  std::list<RowInTurns> &begun = state->begun;
  bool anyNext = true;
  auto room = [&] {
    double bytes = 0;
    for (const RowInTurns &row : begun)
      bytes += row.given->bytes;
    return begun.size() < rowsAtATime && bytes < bytesAtATime;
  };
  auto finish = [&](std::list<RowInTurns>::iterator row) {
    OpsRow finished = row->finish();
    begun.erase(row);
    done(std::move(finished));
  };
  while (true) {
    std::optional<OpsRequest> request;
    if (anyNext && room())
      anyNext = bool(request = next());
    if (request)
      begun.emplace_back(*state, std::move(*request));
    else if (begun.empty())
      return;
    else
      begun.splice(begun.end(), begun, begun.begin());
    auto row = std::prev(begun.end());
    bool late = state->options.late && row->starts() >= size_t(state->options.minStarts) && state->options.late();
    if (late || !row->step())
      finish(row);
  }
}

OpsRow OpsLab::measure(const ListedProblem &problem, const OpsSetting &setting) {
  std::optional<OpsRequest> request = OpsRequest{problem, setting};
  OpsRow measured;
  measure([&] { return std::exchange(request, std::nullopt); }, [&](OpsRow row) { measured = std::move(row); });
  return measured;
}

} // namespace lathe::lab
