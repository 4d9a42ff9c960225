#include "lab/compare/Compare.h"

#include "lab/TemporaryDirectory.h"
#include "lab/machine/Disturbance.h"
#include "runtime/NpyTensor.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

namespace lathe::lab {

namespace {

namespace fs = std::filesystem;

// Seconds. A run that takes longer hardly notices that other sides have emptied the caches.
constexpr double shortRun = 0.05;

/// One runner during the comparison.
struct Running {
  std::optional<Runner> runner;
  RunnerModel model;
  std::map<std::string, std::string> outputs; // name -> file
  double secondsPerRun = 0;
  double cpuOfEnded = 0; // processor seconds of earlier starts
  SideResult *result = nullptr;

  bool alive() const { return runner && !result->failure; }
  /// Notes a failure, or hands the value out.
  template <class T> std::optional<T> take(process::Result<T> outcome) {
    if (outcome)
      return std::move(*outcome);
    result->failure = outcome.failure();
    return std::nullopt;
  }
};

Tensor randomInput(const RunnerPort &port, const CompareOptions &options, uint64_t number) {
  auto type = elementTypeFromName(port.type);
  require(type.has_value() && (isFloat(*type) || isInteger(*type) || *type == ElementType::boolean) &&
              bitWidth(*type) >= 8,
          "input '{}': cannot make random values of type {}", port.name, port.type);
  std::vector<int64_t> dims;
  for (auto &dim : port.dims) {
    char *end = nullptr;
    int64_t extent = std::strtoll(dim.c_str(), &end, 10);
    if (dim.empty() || *end != 0 || extent < 0) {
      auto given = options.dims.find(dim);
      extent = given == options.dims.end() ? 1 : given->second;
    }
    dims.push_back(extent);
  }
  // Floats uniform in [-1, 1), integers in [0, 10): indices into small tables stay legal. From the generator's bits,
  // which are the same everywhere.
  std::mt19937_64 random(options.seed * 1000003 + number);
  Tensor values(ElementType::f32, dims);
  bool fraction = isFloat(*type);
  for (int64_t i = 0; i < values.elements(); ++i)
    values.as<float>()[i] = fraction ? float(double(random() >> 11) * 0x1p-52 - 1)
                                     : float(random() % (*type == ElementType::boolean ? 2 : 10));
  return *type == ElementType::f32 ? values : values.convertedTo(*type);
}

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
    }
  }

  Comparison compare() {
    double began = steadySeconds();
    for (size_t i = 0; i < sides.size(); ++i) {
      begin(i);
      // From here on a side only moves in its turn: its spinning threads would slow down the others.
      if (running[i].alive())
        running[i].runner->pause();
    }
    checkPorts();
    makeInputs();
    for (auto &side : running)
      inTurn(side, [&] { bindInputs(side); });
    for (auto &side : running)
      inTurn(side, [&] { answer(side); });
    double started = steadySeconds() - began;
    for (size_t peer = 1; peer < sides.size(); ++peer)
      comparison.peers.push_back(agreementWith(peer));
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

  /// The file that a start of the side loads. A package is mapped in place, and where the page cache holds its pages changes
  /// its times by a few percent for as long as they stay there, through every start. So each start gets a copy, in other
  /// pages.
  std::string fileForStart(const CompareSide &side) const {
    if (side.runner.format != "lathe" || !fs::exists(side.model))
      return side.model;
    fs::path folder = directory.path / "start", copy = folder / fs::path(side.model).filename();
    std::error_code error;
    fs::create_directories(folder, error);
    fs::copy_file(side.model, copy, fs::copy_options::overwrite_existing, error);
    require(!error, "{}: cannot copy to {}: {}", side.model, folder.string(), error.message());
    return copy.string();
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
    auto outcome = run.runner->load(file, options.threads);
    if (file != side.model)
      fs::remove(file); // mapped until the runner ends
    if (auto loaded = run.take(std::move(outcome))) {
      run.model = std::move(*loaded);
      if (run.result->loadSeconds == 0) // of the first start, which every comparison has
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

  /// All that loaded must have the same inputs; outputs are matched by name later.
  void checkPorts() {
    const Running *first = nullptr;
    for (auto &side : running) {
      if (!side.alive())
        continue;
      if (!first) {
        first = &side;
        continue;
      }
      std::set<std::string> mine, theirs;
      for (auto &port : first->model.inputs)
        theirs.insert(port.name + ": " + port.type);
      for (auto &port : side.model.inputs)
        mine.insert(port.name + ": " + port.type);
      require(mine == theirs, "{} has inputs {}, {} has {}: not the same network", first->result->model,
              fmt::join(theirs, ", "), side.result->model, fmt::join(mine, ", "));
    }
    for (auto &[name, tensor] : options.inputs)
      require(!first || std::any_of(first->model.inputs.begin(), first->model.inputs.end(),
                                    [&](auto &port) { return port.name == name; }),
              "{} has no input '{}'", first->result->model, name);
  }

  /// Of the first side that loaded its model.
  void makeInputs() {
    auto first = std::find_if(running.begin(), running.end(), [](auto &side) { return side.alive(); });
    if (first == running.end())
      return;
    for (size_t i = 0; i < first->model.inputs.size(); ++i) {
      auto &port = first->model.inputs[i];
      auto given = options.inputs.find(port.name);
      std::string file = (directory.path / fmt::format("input{}.npy", i)).string();
      Tensor values = given != options.inputs.end() ? given->second : randomInput(port, options, i);
      writeNpy(file, npyView(values));
      inputs.push_back({values.type(), values.dims()});
      inputFiles.push_back(file);
      filesByInput[port.name] = file;
    }
  }

  void bindInputs(Running &side) { side.take(side.runner->setInputs(filesByInput)); }

  /// In a process of its own: the side's keeps its model, and its memory is that of its model. A runner that cannot
  /// be called so has no overhead, and that is all.
  void measureOverhead(const CompareSide &side, Running &run) {
    if (!run.alive() || (!side.call && side.runner.format != "onnx"))
      return;
    say(side.runner.name + " is called with such inputs");
    std::string call = side.call ? side.call(inputs) : (directory.path / "call.onnx").string();
    if (!side.call)
      std::ofstream(call, std::ios::binary) << callOnnx(inputs);
    auto runner = start(side);
    if (!runner || !runner->load(call, options.threads))
      return;
    std::string one = (directory.path / "one.npy").string();
    writeNpy(one, npyView(Tensor::of<float>({1}, {1.0f})));
    std::map<std::string, std::string> files{{"one", one}};
    for (size_t i = 0; i < inputFiles.size(); ++i)
      files[fmt::format("x{}", i)] = inputFiles[i];
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

  PeerResult agreementWith(size_t peer) {
    PeerResult result;
    result.peer = peer;
    Running &ours = running[0], &theirs = running[peer];
    if (!ours.alive() || !theirs.alive())
      return result;
    result.agrees = !ours.outputs.empty();
    for (auto &[name, file] : theirs.outputs) {
      Agreement agreement;
      agreement.output = name;
      auto mine = ours.outputs.find(name);
      if (mine == ours.outputs.end())
        agreement.reason = "not an output of " + ours.result->name;
      else
        try {
          agreement = agreementOf(name, toTensor(readNpy(mine->second)), toTensor(readNpy(file)), options.tolerance);
        } catch (const Error &error) {
          agreement.reason = error.what();
        }
      result.agrees = result.agrees && agreement.agrees;
      result.outputs.push_back(agreement);
    }
    return result;
  }

  /// No timing without an answer.
  bool isTimed(const Running &side) const {
    auto index = size_t(&side - running.data());
    auto alive = [&](const PeerResult &peer) {
      return peer.agrees && running[0].alive() && running[peer.peer].alive();
    };
    return std::any_of(comparison.peers.begin(), comparison.peers.end(),
                       [&](auto &peer) { return (index == 0 || peer.peer == index) && alive(peer); });
  }

  /// A new process; its answer must agree as the first one's did.
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

  /// A runner as the engine sees it.
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
    conclude(meter);
    timing = false;
  }

  /// What the rounds so far say.
  void conclude(const DisturbanceMeter &meter) {
    auto [others, stolen] = meter.read();
    comparison.otherProcessors = others;
    comparison.stolenProcessors = stolen;
    comparison.slowRounds = fullSpeed.slow();
    comparison.waitedSeconds = fullSpeed.waitedSeconds();
    judge();
    for (auto &side : comparison.sides) {
      std::vector<double> pooled;
      for (auto &round : side.rounds)
        pooled.insert(pooled.end(), round.begin(), round.end());
      side.time = summarize(pooled);
    }
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
    if (side.secondsPerRun < shortRun) // warm now: once more
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
      if (peer.agrees && !ours.rounds.empty() && !theirs.rounds.empty() && !theirs.failure && !ours.failure)
        peer.judged = judgePair({theirs.rounds, theirs.overheadSeconds}, {ours.rounds, ours.overheadSeconds},
                                comparison.starts, options, before);
    }
  }

  const std::vector<CompareSide> &sides;
  CompareOptions options;
  FullSpeed fullSpeed;
  TemporaryDirectory directory{"compare"};
  std::vector<CallInput> inputs; // as bound, and the files they are in
  std::vector<std::string> inputFiles;
  std::map<std::string, std::string> filesByInput;
  Comparison comparison;
  std::vector<Running> running;
  bool timing = false;
};

/// Why the agreement with `expected` says little, or "".
std::string mistrustOf(const Tensor &expected, const Difference &found) {
  int64_t finite = expected.elements() - found.nan - found.infinite, saturated = 0;
  if (expected.type() == ElementType::string || expected.elements() < 2)
    return "";
  if (finite == 0)
    return "not finite in any element";
  double low = INFINITY, high = -INFINITY;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    double value = expected.asDouble(i);
    if (!std::isfinite(value))
      continue;
    saturated += std::abs(value) < 1e-6 || std::abs(value - 1) < 1e-6;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (high == low)
    return high == 0 ? "all zero" : "constant";
  // A saturated softmax hides what came before it.
  return isFloat(expected.type()) && saturated == finite ? "only zeros and ones" : "";
}

} // namespace

Agreement agreementOf(const std::string &name, const Tensor &ours, const Tensor &peers, const Tolerance &tolerance) {
  Agreement result;
  result.output = name;
  if (ours.type() != peers.type()) {
    result.reason = fmt::format("{} {} against {} {}", lathe::name(ours.type()), fmt::join(ours.dims(), "x"),
                                lathe::name(peers.type()), fmt::join(peers.dims(), "x"));
    return result;
  }
  Difference found = difference(ours, peers);
  result.relativeL2 = found.relative;
  result.maxDifference = found.maximum;
  result.agrees = found.within(tolerance);
  if (!result.agrees) {
    result.reason = !found.broken.empty()
                        ? found.broken
                        : fmt::format("relative L2 {:.2g} (limit {:.2g}), largest difference {:.2g} of the largest "
                                      "value (limit {:.2g})",
                                      found.relative, tolerance.relative, found.maximum, tolerance.maximum);
    return result;
  }
  result.mistrust = mistrustOf(peers, found);
  return result;
}

bool Comparison::agrees() const {
  return std::all_of(peers.begin(), peers.end(), [](auto &peer) { return peer.agrees; }) &&
         std::none_of(sides.begin(), sides.end(), [](auto &side) { return side.failure.has_value(); });
}

Comparison compare(const std::vector<CompareSide> &sides, const CompareOptions &options) {
  require(sides.size() >= 2, "a comparison needs two sides, got {}", sides.size());
  return Comparing(sides, options).compare();
}

} // namespace lathe::lab
