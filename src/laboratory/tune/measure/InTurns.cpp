#include "tune/measure/InTurns.h"

#include "lab/judging/Turns.h"

#include <memory>

namespace lathe::tune {

using nlohmann::json;

namespace {

class Side : public lab::TimedSide {
public:
  Side(RunnerProcess &runner, int number, const json *candidate)
      : runner(runner), number(number), candidate(candidate) {
    if (candidate)
      startAgain();
  }

  bool running() const override { return candidate && !failure; }
  void startAgain() override { note(runner.open(number, *candidate)); }
  void estimate() override { note(runner.turn(number, 0, 1)); }
  void takeTurn() override {
    constexpr int most = 1000; // runs
    RunOutcome outcome = runner.turn(number, lab::TurnOptions().roundSeconds, most);
    note(outcome);
    if (running())
      made.push_back(outcome.seconds);
  }
  const std::vector<std::vector<double>> &rounds() const override { return made; }

  RunOutcome outcome() const {
    if (failure)
      return *failure;
    RunOutcome whole;
    whole.status = store::PointStatus::passed;
    for (const std::vector<double> &round : made)
      whole.seconds.insert(whole.seconds.end(), round.begin(), round.end());
    return whole;
  }

private:
  void note(const RunOutcome &outcome) {
    if (outcome.status != store::PointStatus::passed)
      failure = outcome;
  }

  RunnerProcess &runner;
  int number;
  const json *candidate;
  std::optional<RunOutcome> failure;
  std::vector<std::vector<double>> made;
};

} // namespace

std::vector<TurnOutcome> timeInTurns(RunnerProcess &runner, const std::vector<const json *> &candidates,
                                     double seconds) {
  std::vector<std::unique_ptr<Side>> sides;
  std::vector<lab::TimedSide *> timed;
  for (const json *candidate : candidates) {
    sides.push_back(std::make_unique<Side>(runner, int(sides.size()), candidate));
    timed.push_back(sides.back().get());
  }
  lab::TurnOptions options;
  options.limitSeconds = options.maxSeconds = seconds;
  std::vector<lab::JudgedPair> pairs(sides.size());
  auto judge = [&](const std::vector<size_t> &starts) {
    for (size_t i = 1; i < sides.size(); ++i)
      if (sides[0]->running() && sides[i]->running() && !sides[i]->rounds().empty())
        pairs[i] = lab::judgePair({sides[0]->rounds(), {}}, {sides[i]->rounds(), {}}, starts, options, pairs[i]);
  };
  lab::TurnWatch watch;
  watch.decided = [&](const std::vector<size_t> &starts) {
    judge(starts);
    for (size_t i = 1; i < sides.size(); ++i)
      if (sides[0]->running() && sides[i]->running() && pairs[i].decidedAfter == 0)
        return false;
    return true;
  };
  judge(lab::takeTurns(timed, options, watch));
  runner.closeAll();
  std::vector<TurnOutcome> outcomes;
  for (size_t i = 0; i < sides.size(); ++i)
    outcomes.push_back({candidates[i] ? sides[i]->outcome() : RunOutcome(), pairs[i]});
  return outcomes;
}

} // namespace lathe::tune
