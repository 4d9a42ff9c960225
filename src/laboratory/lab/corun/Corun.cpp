#include "lab/corun/Corun.h"

#include "lab/compare/Runner.h"
#include "lab/corun/SharedWindow.h"
#include "lab/machine/Disturbance.h"
#include "process/TemporaryDirectory.h"
#include "support/Interrupt.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <set>
#include <thread>

namespace lathe::lab {
namespace {

/// Length of the longest window, in seconds.
constexpr double longestWindow = 60;
/// For slow models a window is longer than TurnOptions::roundSeconds, up to this many times.
constexpr double longerRounds = 20;

/// The processes of one measurement, which are started anew for every start.
class Processes {
public:
  Processes(const std::vector<CorunMember> &members, const CorunOptions &options)
      : members(members), options(options), shares(shareCpus(members)) {
    for (CorunMember &one : this->members)
      one.apart |= !options.together;
    for (CorunMember one : options.references) {
      one.apart = true;
      this->members.push_back(std::move(one));
    }
  }

  /// Number of times that the processes were started.
  size_t starts() const { return started; }
  double cpuSeconds() const {
    double sum = cpuOfEnded;
    for (const Hosted &each : hosts)
      sum += each.process.usage().cpuSeconds;
    return sum;
  }

  void start() {
    for (Hosted &each : hosts) {
      each.process.quit();
      cpuOfEnded += each.process.usage().cpuSeconds;
    }
    hosts.clear();
    ++started;
    std::vector<CorunMember> copies = members;
    for (size_t i = 0; i < copies.size(); ++i) // see copiedPackage
      copies[i].package = copiedPackage(members[i].package, directory.path / fmt::format("{}-{}", started, i));
    for (size_t i = 0; i < members.size(); i = hosts.back().last) {
      auto process = CorunProcess::start();
      if (!process)
        failed(process.failure());
      hosts.push_back({std::move(*process), i, options.processEach ? i + 1 : members.size()});
      Hosted &host = hosts.back();
      if (auto loaded =
              host.process.load({copies.begin() + int64_t(host.first), copies.begin() + int64_t(host.last)}, shares);
          !loaded)
        failed(loaded.failure());
    }
    for (const CorunMember &copy : copies) { // the processes have mapped them
      std::error_code ignored;
      std::filesystem::remove(copy.package, ignored);
    }
  }

  /// Runs the members `chosen`, which are in ascending order, in a window of `seconds`.
  std::vector<WindowRuns> run(const std::vector<size_t> &chosen, double seconds) {
    window.reset();
    size_t instances = 0;
    for (size_t member : chosen)
      instances += members[member].instances.size();
    std::vector<Hosted *> running;
    for (Hosted &host : hosts) {
      std::vector<size_t> own;
      for (size_t member : chosen)
        if (host.first <= member && member < host.last)
          own.push_back(member - host.first);
      if (own.empty())
        continue;
      running.push_back(&host);
      if (auto failure = host.process.begin(own, window.path(), instances, seconds))
        failed(*failure);
    }
    awaitEnd(seconds);
    return collect(running);
  }

private:
  /// A process with the members [first, last).
  struct Hosted {
    CorunProcess process;
    size_t first, last;
  };
  static constexpr double runTimeout = 120; // seconds before and after the window for the runs at its ends

  std::vector<CorunMember> members; // and behind them the references
  const CorunOptions &options;
  bool shares;
  process::TemporaryDirectory directory{"corun"};
  SharedWindow window;
  std::vector<Hosted> hosts;
  size_t started = 0;
  double cpuOfEnded = 0;

  /// A process that waits for one that has failed is ended with this object.
  [[noreturn]] void failed(const process::Failure &failure) {
    window.stop();
    haltIfInterrupted(); // the signal ends the processes first, which would look like a failure of theirs
    fail("corun: {}", failure.message());
  }

  /// Waits until the window of `seconds` is over, or an instance has failed. A process that ends is an error at once:
  /// others may wait for it.
  void awaitEnd(double seconds) {
    double until = steadySeconds() + runTimeout + seconds;
    auto isOver = [&] {
      int64_t begin = window.begin();
      return begin && sharedNanoseconds() > begin + int64_t(seconds * 1e9);
    };
    while (!isOver() && !window.mustStop()) {
      for (Hosted &host : hosts)
        if (host.process.hasEnded())
          if (auto runs = host.process.end(1); !runs)
            failed(runs.failure());
      if (steadySeconds() > until)
        window.stop();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::vector<WindowRuns> collect(const std::vector<Hosted *> &running) {
    std::vector<WindowRuns> all;
    for (Hosted *host : running) {
      auto runs = host->process.end(runTimeout);
      if (!runs)
        failed(runs.failure());
      all.insert(all.end(), runs->begin(), runs->end());
    }
    return all;
  }
};

/// One member alone, or all members together.
class Side : public TimedSide {
public:
  Side(Processes &processes, const CorunOptions &options, std::vector<size_t> members)
      : members(std::move(members)), measured(this->members.size()), wrong(this->members.size()), processes(processes),
        options(options) {}

  const std::vector<size_t> members;
  std::vector<CorunRuns> measured; // by position in `members`
  std::vector<std::string> wrong;

  bool running() const override { return true; }
  void startAgain() override { // the first side of a start restarts the processes of all
    if (processes.starts() == start)
      processes.start();
    start = processes.starts();
  }
  void estimate() override {
    start = processes.starts();
    constexpr double brief = 0.01;
    seconds = brief;
    double slowest = 0;
    for (const WindowRuns &runs : window())
      slowest = std::max(slowest, runs.slowest);
    double perRound = double(options.leastRuns) / 3; // a start has at least three rounds
    seconds = std::clamp(slowest * (perRound + 2), options.roundSeconds, options.roundSeconds * longerRounds);
  }
  void takeTurn() override {
    std::vector<WindowRuns> all = window();
    for (size_t i = 0; i < members.size(); ++i) {
      CorunRuns &into = measured[i];
      into.rounds.push_back(all[i].seconds);
      into.counts.push_back(all[i].runs);
      into.seconds += seconds;
      into.periods.push_back({seconds / all[i].share});
      into.share += all[i].share;
      if (!all[i].wrong.empty())
        wrong[i] = all[i].wrong;
    }
  }
  const std::vector<std::vector<double>> &rounds() const override { return measured.front().rounds; }

private:
  Processes &processes;
  const CorunOptions &options;
  size_t start = 1;
  double seconds = 0; // of a window

  /// Runs in a window that holds a complete run of every member.
  std::vector<WindowRuns> window() {
    while (true) {
      std::vector<WindowRuns> all = processes.run(members, seconds);
      if (std::all_of(all.begin(), all.end(), [](const WindowRuns &runs) { return runs.runs > 0; }))
        return all;
      require(seconds < longestWindow, "corun: no run of some model ended within {} s", longestWindow);
      for (const WindowRuns &runs : all)
        seconds = std::max(seconds, runs.slowest * 2);
      seconds = std::min(seconds * 2, longestWindow);
    }
  }
};

/// All sides of one measurement.
class Measurement {
public:
  Measurement(const std::vector<CorunMember> &members, const CorunOptions &options)
      : members(members), options(options), processes(members, options), meter([this] {
          return ownCpuSeconds() + processes.cpuSeconds() +
                 (this->options.otherSeconds ? this->options.otherSeconds() : 0);
        }) {
    if (options.together) {
      std::vector<size_t> all(members.size());
      std::iota(all.begin(), all.end(), size_t(0));
      together = std::make_unique<Side>(processes, options, all);
    }
    for (size_t i = 0; options.alone && i < members.size(); ++i)
      alone.push_back(std::make_unique<Side>(processes, options, std::vector<size_t>{i}));
    for (size_t i = 0; i < options.references.size(); ++i)
      references.push_back(std::make_unique<Side>(processes, options, std::vector<size_t>{members.size() + i}));
    result.members.resize(members.size());
  }

  CorunResult run() {
    std::vector<TimedSide *> timed;
    if (together)
      timed.push_back(together.get());
    for (auto *sides : {&alone, &references})
      for (auto &side : *sides)
        timed.push_back(side.get());
    TurnWatch watch;
    watch.decided = [this](const std::vector<size_t> &starts) { return conclude(starts); };
    watch.afterStart = [this](const std::vector<size_t> &starts) {
      conclude(starts);
      if (options.afterStart)
        options.afterStart(result);
    };
    watch.afterRound = [this](int start, int round, double) {
      if (options.progress)
        options.progress(start, round);
    };
    processes.start();
    takeTurns(timed, options, watch);
    return result;
  }

private:
  const std::vector<CorunMember> &members;
  const CorunOptions &options;
  Processes processes;
  DisturbanceMeter meter;
  std::unique_ptr<Side> together;                       // all members; null: nothing runs together
  std::vector<std::unique_ptr<Side>> alone, references; // one member each
  CorunResult result;

  /// Computes the figures of all starts so far. Returns true if every ratio is decided.
  bool conclude(const std::vector<size_t> &starts) {
    bool decided = true;
    result.starts = starts;
    for (size_t i = 0; i < members.size(); ++i) {
      CorunResult::Member &member = result.members[i];
      if (together) {
        member.together = summarized(together->measured[i]);
        say(member, together->wrong[i], "in company");
      }
      if (!alone.empty()) {
        member.alone = summarized(alone[i]->measured[0]);
        say(member, alone[i]->wrong[0], "alone");
      }
      member.mistrust = tooFew(together ? member.together : member.alone, starts);
      if (together && !alone.empty())
        decided &= judge(member.slowDown, member.together.rounds, member.alone.rounds);
      else if (!together && i > 0) // fewer seconds for a run are a gain
        decided &= judge(member.gain, result.members[0].alone.periods, member.alone.periods);
    }
    result.references.clear();
    for (auto &side : references) {
      require(side->wrong[0].empty(), "corun: the outputs of a reference changed");
      result.references.push_back(summarized(side->measured[0]));
    }
    result.disturbance = meter.read();
    return decided;
  }

  /// Judges a ratio anew. Returns true if it is decided.
  bool judge(std::optional<JudgedPair> &pair, const std::vector<std::vector<double>> &numerator,
             const std::vector<std::vector<double>> &denominator) const {
    pair = judgePair({numerator, {}}, {denominator, {}}, result.starts, options, pair.value_or(JudgedPair()));
    return pair->decidedAfter != 0;
  }

  static CorunRuns summarized(CorunRuns runs) {
    std::vector<double> all;
    for (const std::vector<double> &round : runs.rounds)
      all.insert(all.end(), round.begin(), round.end());
    runs.time = summarize(all);
    return runs;
  }

  static void say(CorunResult::Member &member, const std::string &wrong, const char *when) {
    if (!wrong.empty())
      member.wrong = fmt::format("outputs {} differ from those of the package alone", when);
  }

  std::string tooFew(const CorunRuns &runs, const std::vector<size_t> &starts) const {
    size_t round = 0;
    for (size_t rounds : starts) {
      size_t count = std::accumulate(runs.counts.begin() + int64_t(round),
                                     runs.counts.begin() + int64_t(round + rounds), size_t(0));
      if (count < options.leastRuns)
        return fmt::format("{} runs were complete in the windows of a start, expected at least {}", count,
                           options.leastRuns);
      round += rounds;
    }
    return "";
  }
};

} // namespace

size_t CorunRuns::runs() const { return std::accumulate(counts.begin(), counts.end(), size_t(0)); }

bool shareCpus(const std::vector<CorunMember> &members) {
  std::set<int> seen;
  for (const CorunMember &member : members)
    for (const NumberList &instance : member.instances)
      for (int cpu : instance)
        if (!seen.insert(cpu).second)
          return true;
  return false;
}

CorunResult corun(const std::vector<CorunMember> &members, const CorunOptions &options) {
  return Measurement(members, options).run();
}

} // namespace lathe::lab
