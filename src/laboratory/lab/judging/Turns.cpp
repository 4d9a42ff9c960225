#include "lab/judging/Turns.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace lathe::lab {

double steadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

/// True if the last `rounds` rounds give the ratio of each side's time to the first side's time with a standard error
/// of at most a quarter of the relevant difference.
bool settled(const std::vector<TimedSide *> &sides, size_t rounds) {
  auto logarithm = [](const TimedSide &side, size_t back) {
    return std::log(median(side.rounds().rbegin()[std::ptrdiff_t(back)]));
  };
  for (size_t side = sides.size() > 1 ? 1 : 0; side < sides.size(); ++side) {
    std::vector<double> ratios;
    for (size_t back = 0; back < rounds; ++back)
      ratios.push_back(logarithm(*sides[side], back) - (side > 0 ? logarithm(*sides[0], back) : 0));
    if (summarize(ratios).standardDeviation / std::sqrt(double(rounds)) > indifference / 4)
      return false;
  }
  return true;
}

} // namespace

Turns::Turns(std::vector<TimedSide *> sides, TurnOptions given, TurnWatch watch)
    : sides(std::move(sides)), options(std::move(given)), watch(std::move(watch)) {
  if (!options.clock)
    options.clock = steadySeconds;
  options.minStarts = std::max(1, std::min(options.minStarts, options.roundsInAll));
  options.maxStarts = std::max(options.minStarts, options.maxStarts);
  starting = options.startSeconds;
  look = options.minStarts;
}

bool Turns::step() {
  int number = int(made.size()) + 1;
  if (number > options.maxStarts || rounds >= options.roundsInAll || running().empty())
    return false;
  double start = options.clock();
  if (!began)
    began = start;
  if (number > 1) {
    if (start + starting - *began >= options.limitSeconds)
      return false;
    for (TimedSide *side : inOrderOf(number))
      side->startAgain();
  }
  double ready = options.clock(), waitedBefore = waited;
  if (number > 1)
    starting = ready - start;
  // Timing may take as long as starting.
  made.push_back(timeStart(number, options.maxSeconds / options.maxStarts, ready - start));
  rounds += int(made.back());
  double now = options.clock();
  timed += now - ready - (waited - waitedBefore);
  if (watch.afterStart)
    watch.afterStart(made);
  if (now - *began >= options.limitSeconds || (number >= options.minStarts && timed >= options.maxSeconds))
    return false;
  if (number >= look) {
    look = std::max(look + 1, look * 4 / 3);
    if (watch.decided && watch.decided(made))
      return false;
  }
  return number < options.maxStarts && rounds < options.roundsInAll && !running().empty();
}

std::vector<TimedSide *> Turns::running() const {
  std::vector<TimedSide *> found;
  std::copy_if(sides.begin(), sides.end(), std::back_inserter(found), [](auto *side) { return side->running(); });
  return found;
}

/// The running sides in the order for start `number`. The memory of a process depends on the processes before it, so
/// every side is first equally often.
std::vector<TimedSide *> Turns::inOrderOf(int number) const {
  auto order = running();
  if (!order.empty())
    std::rotate(order.begin(), order.begin() + (number - 1) % std::ssize(order), order.end());
  return order;
}

/// The time when start `number` must end, so that each remaining start of minStarts has as much time as this one.
double Turns::deadline(int number) const {
  double now = options.clock(), left = options.limitSeconds - (now - *began);
  int toCome = std::max(0, options.minStarts - number);
  return now + std::max(0.0, left - toCome * starting) / (toCome + 1);
}

/// The largest number of rounds for start `number`.
int Turns::mostRounds(int number, int usual) const {
  int left = options.roundsInAll - rounds, shared = std::max(1, options.minStarts - number + 1);
  return std::min(usual, (left - 1) / shared + 1); // rounded up
}

void Turns::awaitFullSpeed(double until) {
  if (!options.fullSpeed)
    return;
  double begin = options.clock();
  options.fullSpeed->await(std::max(0.0, until - begin));
  waited += options.clock() - begin;
}

/// Runs the rounds of one start and returns their number: its share of minRounds; more rounds until `least` seconds;
/// and more up to `most` seconds if rounds differ so much that they say little about the start. Its share of maxSeconds
/// ends the start after at least three rounds, its deadline after at least one.
size_t Turns::timeStart(int number, double least, double most) {
  auto chosen = inOrderOf(number);
  double until = deadline(number);
  for (TimedSide *side : chosen)
    side->estimate();
  std::erase_if(chosen, [](auto *side) { return !side->running(); });
  double first = options.clock(), waitedBefore = waited;
  constexpr int always = 3;
  int fewest = std::max((options.minRounds + options.minStarts - 1) / options.minStarts, always);
  int limit = mostRounds(number, std::max(options.maxRounds / options.minStarts, fewest));
  double share = options.maxSeconds / options.minStarts;
  int round = 0;
  while (round < limit && !chosen.empty()) {
    std::rotate(chosen.begin(), chosen.begin() + 1, chosen.end()); // every side is first equally often
    awaitFullSpeed(until);
    double turns = options.clock();
    for (TimedSide *side : chosen)
      if (side->running())
        side->takeTurn();
    std::erase_if(chosen, [](auto *side) { return !side->running(); });
    ++round;
    double now = options.clock(), elapsed = now - first - (waited - waitedBefore);
    if (options.fullSpeed)
      options.fullSpeed->measured(now - turns);
    if (watch.afterRound)
      watch.afterRound(number, round, *began + options.limitSeconds - now);
    bool enough = round >= fewest && elapsed >= least && (elapsed >= most || settled(chosen, size_t(round)));
    if (enough || now >= until || (round >= always && elapsed >= share))
      break;
  }
  return size_t(round);
}

std::vector<size_t> takeTurns(const std::vector<TimedSide *> &sides, TurnOptions options, const TurnWatch &watch) {
  Turns turns(sides, std::move(options), watch);
  while (turns.step())
    ;
  return turns.starts();
}

std::vector<size_t> startsWithin(const std::vector<size_t> &starts, size_t rounds) {
  std::vector<size_t> own;
  for (size_t count : starts) {
    size_t here = std::min(count, rounds);
    if (here)
      own.push_back(here);
    rounds -= here;
  }
  return own;
}

Starts byStart(const std::vector<std::vector<double>> &rounds, const std::vector<size_t> &starts, size_t count) {
  Starts result;
  if (starts.empty() && count > 0)
    result.emplace_back(rounds.begin(), rounds.begin() + int64_t(count));
  size_t begin = 0;
  for (size_t here : starts) {
    size_t end = std::min(begin + here, count);
    if (begin < end)
      result.emplace_back(rounds.begin() + int64_t(begin), rounds.begin() + int64_t(end));
    begin = end;
  }
  return result;
}

JudgedPair judgePair(const SideRounds &numerator, const SideRounds &denominator, const std::vector<size_t> &starts,
                     const TurnOptions &options, const JudgedPair &before, double band) {
  size_t common = std::min(numerator.rounds.size(), denominator.rounds.size());
  auto timeOf = [&](const SideRounds &side) {
    std::vector<double> pooled;
    for (size_t i = 0; i < common; ++i)
      pooled.insert(pooled.end(), side.rounds[i].begin(), side.rounds[i].end());
    return SideTime{median(pooled), side.callSeconds};
  };
  Starts above = byStart(numerator.rounds, starts, common), below = byStart(denominator.rounds, starts, common);
  JudgedPair pair{besideOverhead(judgeInTurns(above, below, band), timeOf(numerator), timeOf(denominator))};
  size_t made = above.size();
  pair.alone = pair.verdict;
  auto [low, high] = pair.ratio.interval;
  bool precise = !pair.ratio.isRange && (high - low) / 2 <= options.precision * pair.ratio.ratio;
  bool enough = pair.verdict != Verdict::ambiguous || pair.withinOverhead || precise;
  if (enough && made >= size_t(options.minStarts))
    pair.decidedAfter = made;
  if (before.decidedAfter) {
    pair.decidedAfter = before.decidedAfter;
    pair.alone = before.alone;
  }
  return pair;
}

} // namespace lathe::lab
