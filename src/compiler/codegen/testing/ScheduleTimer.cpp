#include "codegen/testing/ScheduleTimer.h"

#include "ir/Context.h"

#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <chrono>

namespace lathe {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct ScheduleTimer::Running {
  std::unique_ptr<KernelUnderTest::Trial> trial;
  TimedSchedule timed;
};

ScheduleTimer::ScheduleTimer(KernelUnderTest &kernel, std::span<const Tensor> inputs, std::vector<Tensor> expected)
    : kernel(kernel), inputs(inputs), expected(std::move(expected)), pool(kernel.problem().threads) {}
ScheduleTimer::~ScheduleTimer() = default;

bool ScheduleTimer::agrees(const std::vector<Tensor> &got, const std::string &schedule) const {
  double tolerance = roundsOperands(readSchedule(schedule)) ? 3e-2 : 1e-3;
  for (size_t i = 0; i < expected.size(); ++i)
    if (!difference(got[i], expected[i], tolerance).empty())
      return false;
  return true;
}

bool ScheduleTimer::add(const std::string &schedule) {
  Running next;
  next.trial = kernel.trial(inputs, schedule, running.empty() ? nullptr : running.front().trial.get());
  next.timed.schedule = schedule;
  GuardedBuffer scratch(next.trial->scratchBytes(pool), true);
  next.trial->spoilResults();
  next.trial->call(pool, scratch.data());
  double start = now();
  next.trial->call(pool, scratch.data());
  next.timed.seconds = now() - start;
  if (!agrees(next.trial->results(), schedule))
    return false;
  running.push_back(std::move(next));
  return true;
}

std::vector<TimedSchedule> ScheduleTimer::time(double until) {
  int64_t scratchBytes = 64;
  for (const Running &one : running)
    scratchBytes = std::max(scratchBytes, one.trial->scratchBytes(pool));
  GuardedBuffer scratch(scratchBytes, true);
  constexpr int rounds = 30, calls = 3;
  for (int round = 0; round < rounds && (round < 2 || now() < until); ++round)
    for (Running &one : running) {
      TimedSchedule &timed = one.timed;
      if (round > 5 && timed.seconds > 0.05) // slow ones need fewer
        continue;
      for (int call = 0; call < calls; ++call) {
        one.trial->evictPacked();
        double start = now();
        one.trial->call(pool, scratch.data());
        double seconds = now() - start;
        double &least = timed.halves[round % 2];
        least = round < 2 && call == 0 ? seconds : std::min(least, seconds);
      }
      timed.seconds = round ? std::min(timed.halves[0], timed.halves[1]) : timed.halves[0];
    }
  std::vector<TimedSchedule> timed;
  for (const Running &one : running)
    timed.push_back(one.timed);
  return timed;
}

void predict(std::vector<TimedSchedule> &schedules, const KernelFacts &facts) {
  for (TimedSchedule &one : schedules)
    one.prediction = facts.predict(readSchedule(one.schedule));
}

nlohmann::json toJson(const std::vector<TimedSchedule> &schedules) {
  nlohmann::json list = nlohmann::json::array();
  for (const TimedSchedule &one : schedules)
    list.push_back({{"schedule", one.schedule},
                    {"seconds", one.seconds},
                    {"halves", {one.halves[0], one.halves[1]}},
                    {"cycles", one.prediction.total()},
                    {"compute", one.prediction.compute},
                    {"levels", one.prediction.levels},
                    {"start", one.prediction.start}});
  return list;
}

std::vector<TimedSchedule> timesFrom(const nlohmann::json &schedules) {
  std::vector<TimedSchedule> list;
  for (const nlohmann::json &one : schedules) {
    TimedSchedule timed;
    timed.schedule = one.at("schedule");
    timed.seconds = one.at("seconds");
    for (int half = 0; half < 2; ++half)
      timed.halves[half] = one.contains("halves") ? double(one["halves"][half]) : timed.seconds;
    list.push_back(std::move(timed));
  }
  return list;
}

} // namespace lathe
