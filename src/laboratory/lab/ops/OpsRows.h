// Parts of OpsLab: processes, problems with their references, and the rows in progress.
#pragma once

#include "lab/machine/Disturbance.h"
#include "lab/ops/OpsLab.h"
#include "lab/ops/SharedRuns.h"
#include "lab/problems/Operands.h"
#include "process/TemporaryDirectory.h"
#include "runtime/NpyTensor.h"

#include <deque>
#include <filesystem>
#include <list>
#include <tuple>

namespace lathe::lab {

/// The process of a column in OpsLab. It computes all rows, one after the other.
struct Contender {
  OpsColumn column;
  std::optional<ProviderWorker> worker; // process, started on demand; empty after a failure that ended it
  std::vector<int> cpus;                // CPUs to which the process is bound; empty: not bound
  size_t start = 0;                     // start (State::start) in which the process was started
  double cpuOfEnded = 0;                // processor seconds used by workers that have ended

  /// The problem and setting that the worker has prepared last; nothing after a failure.
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
  /// Forgets the worker process if it has ended.
  void forget() {
    cpuOfEnded += cpuOfWorker();
    worker.reset();
    ready.reset();
  }
};

/// A problem with its operands in files, and its expected results. Rows with different settings share a case.
struct Case {
  std::string key;
  std::filesystem::path folder;
  ProviderOperands operands;
  std::vector<Tensor> references; // expected results of the problem
  std::vector<std::string> names; // names of the results
  Tolerance tolerance;
  std::string aboutFailures; // possible cause of a wrong result, for the message
  double bytes = 0;          // size of the case's operands and references

  ~Case() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
};

/// Compares the output with the name of result `i` with the reference.
Agreement agreementWith(const Case &given, size_t i, const std::map<std::string, Tensor> &outputs);

struct RowInTurns;

/// The process that runs a problem without end while columns are measured. It is stopped otherwise.
///
/// Functions that return a text return "" or the reason why the companion cannot be used any more.
class Companion {
public:
  Companion(OpsLab::State &state, const OpsBeside &what, std::shared_ptr<const Case> given);
  /// Starts a new process on `cpus`, once in each start of a row; prepares the problem, checks its outputs and measures
  /// how long a run takes.
  std::string start(const std::vector<int> &cpus);
  /// Runs without end from now on. Returns after the first run.
  std::string enter();
  /// Ends the runs, and checks the outputs of the last one.
  std::string leave();
  std::string path() const { return runs.path(); } // of the shared memory with the number of runs
  double secondsPerRun() const { return seconds; }
  double cpuSeconds() const { return contender.cpuSeconds(); }
  void quit() { contender.quit(); }

private:
  std::string startNow(const std::vector<int> &cpus);
  std::string failed(const std::string &reason);
  std::string checked(const process::Result<std::map<std::string, Tensor>> &outputs);

  OpsLab::State &state;
  OpsBeside what;
  std::shared_ptr<const Case> given;
  Contender contender;
  SharedRuns runs;
  double seconds = 0;
  std::string reason; // of the last start
};

struct OpsLab::State {
  ColumnsOf columnsOf;
  OpsLabOptions options;
  process::TemporaryDirectory directory{"ops"};
  const std::vector<OpsColumn> *columns = nullptr; // columns of the current contenders
  std::deque<Contender> contenders;
  std::map<std::string, std::weak_ptr<const Case>> cases; // cases in use, by the text of their problem
  std::shared_ptr<const Case> last; // the last case, kept because the next row may differ only in the number of threads
  size_t folders = 0;               // number of folders created for cases
  HeldResources held;
  /// Seconds of a call that computes one element, by provider, number of threads and text of the resources.
  std::map<std::tuple<std::string, int, std::string>, std::optional<double>> callSeconds;
  /// Wait for full speed, for each number of threads and text of the resources.
  std::map<std::pair<int, std::string>, FullSpeed> speeds;
  std::list<RowInTurns> begun;
  std::map<std::string, Companion> companions; // by Company::str
  size_t start = 0;                            // number of the present start of a row, counted over all rows

  void say(const RowInTurns &row, const std::string &what) const;

  void quitAll() {
    for (Contender &contender : contenders)
      contender.quit();
    for (auto &[company, companion] : companions)
      companion.quit();
  }

  /// Makes the columns `wanted` the contenders. If other columns were the contenders, ends their processes.
  void choose(const std::vector<OpsColumn> &wanted) {
    if (columns == &wanted)
      return;
    quitAll();
    contenders.clear();
    for (const OpsColumn &column : wanted)
      contenders.emplace_back().column = column;
    columns = &wanted;
  }

  /// Holds the resources of a row. Processes that were started with other resources end.
  void hold(const Resources &wanted) {
    if (held.holds(wanted))
      return;
    quitAll();
    held.hold(wanted);
  }

  FullSpeed &speedOf(const OpsSetting &setting) {
    return speeds.try_emplace({setting.threads, setting.resources.text()}, setting.threads).first->second;
  }
  /// The companion of this description, which is made at first use.
  Companion &companionOf(const OpsBeside &what);

  std::shared_ptr<const Case> knownCase(const Problem &problem) { return last = cases[problem.str()].lock(); }

  std::shared_ptr<const Case> newCase(const Problem &problem) {
    std::string key = problem.str();
    auto made = std::make_shared<Case>();
    made->key = key;
    made->folder = directory.path / std::to_string(folders++);
    std::filesystem::create_directory(made->folder);
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
    // References are rounded to the types of the results here, once, so that outputs can be compared element by
    // element.
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

  /// Processor seconds that this process, the contenders and companions have used together.
  double cpuSeconds() const {
    double seconds = ownCpuSeconds() + held.cpuSeconds();
    for (auto &contender : contenders)
      seconds += contender.cpuSeconds();
    for (auto &[company, companion] : companions)
      seconds += companion.cpuSeconds();
    return seconds;
  }
};

/// One column in a row that is being measured: a side that takes turns.
struct Side : TimedSide {
  /// `companion`: runs while the column runs; null: the column runs alone.
  Side(OpsLab::State &state, RowInTurns &row, size_t index, Companion *companion)
      : state(state), row(row), index(index), companion(companion) {}

  bool running() const override { return passed() && !over; }
  void startAgain() override;
  void estimate() override;
  void takeTurn() override;
  const std::vector<std::vector<double>> &rounds() const override { return point().rounds; }

  /// True if the side has used its share of the row's time and gets no further turns. All rounds of the side are then
  /// from the first starts.
  bool usedUp() const { return over; }
  void answer(std::span<const OpsPoint> earlier);
  OpsPoint &point() const;

private:
  bool passed() const { return point().status == PointStatus::passed; }
  size_t column() const { return index % state.contenders.size(); }
  Contender &contender() const { return state.contenders[column()]; }
  void fail(PointStatus status, const std::string &reason);
  template <class T> std::optional<T> take(process::Result<T> outcome);
  template <class Work> auto inCompany(Work work) -> std::optional<std::remove_reference_t<decltype(*work())>>;
  bool isWorthIt();
  bool chooseSchedule(ProviderRequest &request);
  std::optional<ProviderPreparation> prepare(const ProviderRequest &request);
  bool start();
  void measureCall();
  void judge(const std::map<std::string, Tensor> &outputs);
  void estimateNow();
  void takeTurnNow();
  template <class Work> void inTurn(Work work);
  void spend(double seconds);

  OpsLab::State &state;
  RowInTurns &row;
  size_t index;         // index of the side's point
  Companion *companion; // runs while the column runs; null: the column runs alone
  double secondsPerRun = 0;
  double spentSeconds = 0; // seconds spent in the side's turns and starts
  bool over = false;       // result of usedUp
};

/// A row that is being measured: its sides take turns.
struct RowInTurns {
  RowInTurns(OpsLab::State &state, OpsRequest request);
  /// Makes one more process start of all sides; returns false if it was the last one.
  bool step();
  /// Completes the row: judges its columns.
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
  void mistrustLonely();
  void decide();
  void compareWithCompany();

  std::optional<Turns> turns;
  double seconds = 0; // seconds spent in all calls of step()
  std::optional<double> otherSeconds, stolenSeconds;
};

} // namespace lathe::lab
