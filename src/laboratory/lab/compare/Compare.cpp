#include "lab/compare/Compare.h"

#include "lab/compare/Outputs.h"
#include "lab/compare/Ports.h"
#include "lab/compare/SideInputs.h"
#include "lab/machine/DeclaredPeak.h"
#include "lab/machine/Disturbance.h"
#include "process/TemporaryDirectory.h"
#include "runtime/Context.h"
#include "runtime/NpyTensor.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

namespace lathe::lab {

namespace {

namespace fs = std::filesystem;

// Seconds from which on a run hardly suffers from caches that other sides have emptied.
constexpr double shortRun = 0.05;

/// One runner during the comparison.
struct Running {
  std::optional<Runner> runner;
  RunnerModel model;
  std::map<std::string, std::string> inputs, outputs; // name -> file
  double secondsPerRun = 0;
  double cpuOfEnded = 0; // processor seconds of earlier starts
  SideResult *result = nullptr;
  std::string called; // name of the model in messages
  bool real = false;  // compared as real numbers: the first side has other types

  bool alive() const { return runner && !result->failure; }
  /// Returns the value, or records the failure.
  template <class T> std::optional<T> take(process::Result<T> outcome) {
    if (outcome)
      return std::move(*outcome);
    result->failure = outcome.failure();
    return std::nullopt;
  }
};

class Comparing {
public:
  Comparing(const std::vector<CompareSide> &sides, const CompareOptions &given)
      : sides(sides), options(given), fullSpeed(given.threads) {
    comparison.threads = options.threads;
    comparison.seed = options.seed;
    comparison.timed = !options.checkOnly;
    comparison.sides.resize(sides.size());
    running.resize(sides.size());
    for (size_t i = 0; i < sides.size(); ++i) {
      running[i].result = &comparison.sides[i];
      comparison.sides[i].name = sides[i].runner.name;
      comparison.sides[i].model = sides[i].model;
      comparison.sides[i].content = sides[i].content;
      comparison.sides[i].notes = sides[i].notes;
      running[i].called = sides[i].called.empty() ? sides[i].model : sides[i].called;
    }
  }

  Comparison compare() {
    double began = steadySeconds();
    for (size_t i = 0; i < sides.size(); ++i) {
      begin(i);
      // From now on a side runs only in its turn: its spinning threads would slow down the others.
      if (running[i].alive())
        running[i].runner->pause();
    }
    makeInputs();
    for (auto &side : running)
      inTurn(side, [&] { bindInputs(side); });
    for (auto &side : running)
      inTurn(side, [&] { answer(side); });
    double started = steadySeconds() - began;
    for (size_t peer = 1; peer < sides.size(); ++peer) {
      comparison.peers.push_back(agreementWith(peer));
      noteMissing(comparison.peers.back());
    }
    if (!options.checkOnly) {
      for (size_t i = 0; i < sides.size(); ++i)
        measureOverhead(sides[i], running[i]);
      timeStarts(started);
    }
    for (auto &side : running)
      end(side);
    return std::move(comparison);
  }

private:
  void say(const std::string &what) {
    if (options.progress && !timing)
      options.progress(what, std::nullopt);
  }

  template <class Work> void inTurn(Running &side, Work work) {
    if (!side.alive())
      return;
    side.runner->resume();
    work();
    if (side.alive())
      side.runner->pause();
  }

  process::Result<Runner> start(const CompareSide &side) const {
    RunnerSpec spec = side.runner;
    spec.command = directory.keepingFilesHere(spec.command);
    return Runner::start(spec, options.limits, options.timeouts);
  }

  /// The file that a start of the side loads: for a package, a copy.
  std::string fileForStart(const CompareSide &side) const {
    bool package = side.runner.reads("lathe") && fs::exists(side.model);
    return package ? copiedPackage(side.model, directory.path / "start") : side.model;
  }

  /// Starts the side's runner, which loads the model.
  void begin(size_t index) {
    const CompareSide &side = sides[index];
    Running &run = running[index];
    say("starting " + side.runner.name);
    auto started = start(side);
    if (!started) {
      run.result->failure = started.failure();
      return;
    }
    run.runner.emplace(std::move(*started));
    run.result->version = run.runner->version();
    run.result->settings = run.runner->settings();
    run.result->uncounted = run.runner->uncounted();
    say(side.runner.name + " loads " + fs::path(side.model).filename().string());
    std::string file = fileForStart(side);
    auto outcome = run.runner->load(file, options.threads, side.part);
    if (file != side.model)
      fs::remove(file); // mapped until the runner ends
    if (auto loaded = run.take(std::move(outcome))) {
      run.model = std::move(*loaded);
      if (run.result->loadSeconds == 0) // from the first start, which every comparison has
        run.result->loadSeconds = run.model.loadSeconds;
    }
  }

  void end(Running &run) {
    if (!run.runner)
      return;
    process::Usage usage = run.runner->usage();
    run.result->peakResidentBytes = std::max(run.result->peakResidentBytes, usage.peakResidentBytes);
    run.cpuOfEnded += usage.cpuSeconds;
    run.runner->quit();
    run.runner.reset();
  }

  /// Makes inputs for the first side that loaded its model.
  void makeInputs() {
    auto first = std::find_if(running.begin(), running.end(), [](auto &side) { return side.alive(); });
    if (first == running.end())
      return;
    for (auto &[name, tensor] : options.inputs)
      require(std::any_of(first->model.inputs.begin(), first->model.inputs.end(),
                          [&](auto &port) { return port.name == name; }),
              "{} has no input '{}'", first->called, name);
    for (size_t i = 0; i < first->model.inputs.size(); ++i) {
      auto &port = first->model.inputs[i];
      auto given = options.inputs.find(port.name);
      Tensor values = given != options.inputs.end() ? given->second : randomInput(port, options, i);
      std::string file = (directory.path / fmt::format("input{}.npy", i)).string();
      writeNpy(file, npyView(values));
      inputs.push_back({portOf(port.name, values), std::move(values), file});
    }
    for (Running &side : running)
      if (side.alive())
        matchInputs(*first, side);
  }

  /// Finds the file for every input of a side; throws Error if the side is another network.
  void matchInputs(const Running &first, Running &side) {
    auto loaded = [&](const Running &run) { return LoadedSide{run.called, run.model, scalesOf(run)}; };
    std::string stem = (directory.path / fmt::format("side{}-input", &side - running.data())).string();
    SideInputs matched = inputsOfSide(inputs, loaded(first), loaded(side), options, stem);
    side.inputs = std::move(matched.files);
    side.real = matched.real;
    std::move(matched.notes.begin(), matched.notes.end(), std::back_inserter(side.result->notes));
  }

  const Scales &scalesOf(const Running &side) const { return sides[size_t(&side - running.data())].scales; }

  void bindInputs(Running &side) { side.take(side.runner->setInputs(side.inputs)); }

  /// Measured in a separate process: the side's process keeps its model, and only the model may count as its memory. A
  /// runner that cannot be called like this has no overhead.
  void measureOverhead(const CompareSide &side, Running &run) {
    if (!run.alive() || (!side.call && !side.runner.reads("onnx")))
      return;
    say(side.runner.name + " is called with such inputs");
    std::vector<CallInput> such;
    for (const BoundInput &input : inputs)
      such.push_back({input.tensor.type(), input.tensor.dims()});
    std::string call = side.call ? side.call(such) : (directory.path / "call.onnx").string();
    if (!side.call)
      std::ofstream(call, std::ios::binary) << callOnnx(such);
    auto runner = start(side);
    if (!runner || !runner->load(call, options.threads))
      return;
    std::string one = (directory.path / "one.npy").string();
    writeNpy(one, npyView(Tensor::of<float>({1}, {1.0f})));
    std::map<std::string, std::string> files{{"one", one}};
    for (size_t i = 0; i < inputs.size(); ++i)
      files[fmt::format("x{}", i)] = inputs[i].file;
    if (!runner->setInputs(files))
      return;
    auto first = runner->time(1, 3);
    if (!first)
      return;
    double once = *std::min_element(first->seconds.begin(), first->seconds.end());
    if (auto timing = runner->time(5, int(std::clamp(0.05 / once, 9.0, 201.0))))
      run.result->overheadSeconds = median(timing->seconds);
    runner->quit();
  }

  void answer(Running &side) {
    say(side.result->name + " runs once");
    auto folder = directory.path / fmt::format("outputs{}", &side - running.data());
    fs::create_directories(folder);
    if (auto files = side.take(side.runner->run(folder.string())))
      side.outputs = std::move(*files);
  }

  /// Outputs in the order of the model.
  std::vector<NamedOutput> outputsOf(const Running &side, bool real) const {
    std::vector<NamedOutput> outputs;
    for (const RunnerPort &port : side.model.outputs)
      if (auto file = side.outputs.find(port.name); file != side.outputs.end()) {
        Tensor tensor = toTensor(readNpy(file->second));
        outputs.push_back({port.name, real ? realNumbers(scalesOf(side), port.name, tensor) : tensor});
      }
    return outputs;
  }

  PeerResult agreementWith(size_t peer) {
    PeerResult result;
    result.peer = peer;
    Running &ours = running[0], &theirs = running[peer];
    if (!ours.alive() || !theirs.alive())
      return result;
    try {
      result.outputs =
          agreementsOf(ours.result->name, outputsOf(ours, theirs.real), outputsOf(theirs, theirs.real), options);
    } catch (const Error &error) { // a file that cannot be read
      result.outputs.push_back({.output = theirs.result->name, .ours = "", .reason = error.what(), .mistrust = ""});
    }
    result.agrees = !result.outputs.empty() && std::all_of(result.outputs.begin(), result.outputs.end(),
                                                           [](const Agreement &output) { return output.agrees; });
    return result;
  }

  /// Adds notes about outputs of Lathe that the peer does not have, which cannot be compared.
  void noteMissing(const PeerResult &peer) {
    if (peer.outputs.empty()) // a side failed
      return;
    for (const RunnerPort &port : running[0].model.outputs)
      if (std::none_of(peer.outputs.begin(), peer.outputs.end(), [&](const Agreement &output) {
            return (output.ours.empty() ? output.output : output.ours) == port.name;
          }))
        running[peer.peer].result->notes.push_back(fmt::format("has no output like '{}'", port.name));
  }

  /// True if the side can be timed: its outputs must be right.
  bool isTimed(const Running &side) const {
    auto index = size_t(&side - running.data());
    auto alive = [&](const PeerResult &peer) {
      return peer.agrees && running[0].alive() && running[peer.peer].alive();
    };
    return std::any_of(comparison.peers.begin(), comparison.peers.end(),
                       [&](auto &peer) { return (index == 0 || peer.peer == index) && alive(peer); });
  }

  /// Starts a new process, whose outputs must agree like those of the first process.
  void startAgain(Running &side) {
    end(side);
    begin(size_t(&side - running.data()));
    if (side.alive())
      bindInputs(side);
    if (side.alive())
      answer(side);
    if (side.alive())
      side.runner->pause();
    for (PeerResult &peer : comparison.peers) {
      bool concerns = &side == running.data() || peer.peer == size_t(&side - running.data());
      if (!concerns || !peer.agrees || !running[0].alive() || !running[peer.peer].alive())
        continue;
      PeerResult now = agreementWith(peer.peer);
      if (now.agrees)
        continue;
      peer.agrees = false;
      peer.outputs = now.outputs;
    }
  }

  /// A runner as a side for the timing engine.
  struct Side : TimedSide {
    Side(Comparing &all, Running &run) : all(all), run(run) {}
    bool running() const override { return all.isTimed(run); }
    void startAgain() override { all.startAgain(run); }
    void estimate() override {
      all.inTurn(run, [&] { all.estimate(run); });
    }
    void takeTurn() override {
      all.inTurn(run, [&] { all.takeTurn(run); });
    }
    const std::vector<std::vector<double>> &rounds() const override { return run.result->rounds; }

    Comparing &all;
    Running &run;
  };

  /// `started`: seconds that the first start took.
  void timeStarts(double started) {
    std::vector<Side> timed;
    for (Running &run : running)
      if (isTimed(run))
        timed.emplace_back(*this, run);
    if (timed.empty())
      return;
    std::vector<TimedSide *> pointers;
    for (Side &side : timed)
      pointers.push_back(&side);
    timing = true;
    operations = options.operations ? *options.operations : operationsOfPackage();
    DisturbanceMeter meter([this] { return ownSeconds(); });
    TurnWatch watch;
    watch.decided = [&](const std::vector<size_t> &) {
      return std::all_of(comparison.peers.begin(), comparison.peers.end(),
                         [](auto &peer) { return !peer.judged || peer.judged->decidedAfter > 0; });
    };
    watch.afterStart = [&](const std::vector<size_t> &starts) {
      comparison.starts = starts;
      conclude(meter);
      if (options.afterStart)
        options.afterStart(comparison);
    };
    watch.afterRound = [&](int start, int round, double left) {
      if (options.progress)
        options.progress(fmt::format("start {}, round {}", start, round), left);
    };
    TurnOptions turns = options;
    turns.limitSeconds = options.maxSeconds;
    turns.startSeconds = started;
    turns.fullSpeed = &fullSpeed;
    comparison.starts = takeTurns(pointers, turns, watch);
    comparison.roundsSpent = std::accumulate(comparison.starts.begin(), comparison.starts.end(), size_t(0)) >=
                             static_cast<size_t>(options.roundsInAll);
    conclude(meter);
    timing = false;
  }

  /// Makes the result from the rounds so far.
  void conclude(const DisturbanceMeter &meter) {
    auto [others, stolen] = meter.read();
    comparison.otherProcessors = others;
    comparison.stolenProcessors = stolen;
    comparison.slowRounds = fullSpeed.slow();
    comparison.waitedSeconds = fullSpeed.waitedSeconds();
    for (auto &side : comparison.sides) {
      std::vector<double> pooled;
      for (auto &round : side.rounds)
        pooled.insert(pooled.end(), round.begin(), round.end());
      side.time = summarize(pooled);
      side.unreachable = beyondReach(operations, side.time.median, declaredPeak({}, options.threads));
    }
    judge();
  }

  /// Processor time of this program and its runners.
  double ownSeconds() {
    double seconds = ownCpuSeconds();
    for (auto &side : running)
      seconds += side.cpuOfEnded + (side.runner ? side.runner->usage().cpuSeconds : 0);
    return seconds;
  }

  void estimate(Running &side) {
    auto once = side.take(side.runner->time(0, 1));
    if (!once)
      return;
    side.secondsPerRun = once->seconds.front();
    if (side.secondsPerRun < shortRun) // caches are warm now: runs once more
      if (auto more = side.take(side.runner->time(1, 3)))
        side.secondsPerRun = *std::min_element(more->seconds.begin(), more->seconds.end());
  }

  void takeTurn(Running &side) {
    double runs = options.roundSeconds / std::max(side.secondsPerRun, 1e-7);
    int repetitions = int(std::clamp(runs, 1.0, 1000.0));
    bool warmsUp = options.roundSeconds > 0 && side.secondsPerRun < shortRun;
    if (auto timing = side.take(side.runner->time(warmsUp ? 1 : 0, repetitions))) {
      side.result->rounds.push_back(std::move(timing->seconds));
      side.result->counts.push_back(timing->counts);
    }
  }

  void judge() {
    const SideResult &ours = comparison.sides[0];
    for (PeerResult &peer : comparison.peers) {
      const SideResult &theirs = comparison.sides[peer.peer];
      JudgedPair before = peer.judged.value_or(JudgedPair());
      peer.judged.reset();
      bool believed = ours.unreachable.empty() && theirs.unreachable.empty();
      if (peer.agrees && believed && !ours.rounds.empty() && !theirs.rounds.empty() && !theirs.failure && !ours.failure)
        peer.judged = judgePair({theirs.rounds, theirs.overheadSeconds}, {ours.rounds, ours.overheadSeconds},
                                comparison.starts, options, before);
    }
  }

  /// Operations of one run, if the first side is a package; 0: unknown.
  double operationsOfPackage() const {
    if (!sides[0].runner.reads("lathe"))
      return 0;
    try {
      runtime::Context context(runtime::Model::load(sides[0].model));
      for (const BoundInput &input : inputs)
        if (auto index = context.model().findInput(input.port.name))
          context.setInput(*index, input.tensor);
      if (!context.model().outputs().empty())
        (void)context.outputDims(0); // binds the extents
      double sum = 0;
      for (size_t i = 0; i < context.instructionCount(); ++i)
        sum += context.instruction(i).flops;
      return sum;
    } catch (const Error &) { // the runner reports errors, and extents may depend on data
      return 0;
    }
  }

  const std::vector<CompareSide> &sides;
  CompareOptions options;
  double operations = 0; // of one run
  FullSpeed fullSpeed;
  process::TemporaryDirectory directory{"compare"};
  std::vector<BoundInput> inputs;
  Comparison comparison;
  std::vector<Running> running;
  bool timing = false;
};

} // namespace

bool Comparison::agrees() const {
  return std::all_of(peers.begin(), peers.end(), [](auto &peer) { return peer.agrees; }) &&
         std::none_of(sides.begin(), sides.end(),
                      [](auto &side) { return side.failure.has_value() || !side.unreachable.empty(); });
}

Comparison compare(const std::vector<CompareSide> &sides, const CompareOptions &options) {
  require(sides.size() >= 2, "a comparison needs two sides, got {}", sides.size());
  return Comparing(sides, options).compare();
}

} // namespace lathe::lab
