#include "ScheduleTimer.h"

#include "codegen/space/ContractionFormat.h"
#include "lab/judging/Turns.h"

#include <algorithm>

namespace lathe::study {

using lab::steadySeconds;

void Operands::use(KernelUnderTest &under, const TimedKernel &kernel) {
  if (text == kernel.text)
    return;
  text = kernel.text;
  inputs = under.randomInputs(kernel.low, kernel.high);
  expected = under.expected(inputs);
}

ScheduleTimer::ScheduleTimer(TimedKernel &kernel, const Target &target, Operands &operands)
    : kernel(kernel), under(kernel.text, target, 1, kernel.threads), operands(operands), pool(kernel.threads) {
  operands.use(under, kernel);
}

bool ScheduleTimer::agrees(const std::vector<Tensor> &got, const std::string &schedule) const {
  double tolerance = allows(Precision::fp32, readSchedule(schedule)) ? 1e-3 : 3e-2;
  for (size_t i = 0; i < operands.expected.size(); ++i)
    if (!difference(got[i], operands.expected[i], tolerance).empty())
      return false;
  return true;
}

void ScheduleTimer::add(const std::string &schedule) {
  Running next;
  next.trial = under.trial(operands.inputs, schedule, running.empty() ? nullptr : running.front().trial.get());
  next.timed.schedule = schedule;
  GuardedBuffer scratch(next.trial->scratchBytes(pool), true);
  next.trial->spoilResults();
  next.trial->call(pool, scratch.data());
  double start = steadySeconds();
  next.trial->call(pool, scratch.data());
  next.timed.seconds = steadySeconds() - start;
  if (agrees(next.trial->results(), schedule)) {
    running.push_back(std::move(next));
    return;
  }
  fmt::print(stderr, "{}: {}: wrong result\n", kernel.label, schedule);
  ++kernel.wrong;
}

void ScheduleTimer::time(double until) {
  int64_t scratchBytes = 64;
  for (const Running &one : running)
    scratchBytes = std::max(scratchBytes, one.trial->scratchBytes(pool));
  GuardedBuffer scratch(scratchBytes, true);
  constexpr int rounds = 30, calls = 3;
  for (int round = 0; round < rounds && (round < 2 || steadySeconds() < until); ++round)
    for (Running &one : running) {
      TimedSchedule &timed = one.timed;
      if (round > 5 && timed.seconds > 0.05) // slow ones need fewer
        continue;
      for (int call = 0; call < calls; ++call) {
        one.trial->evictPacked();
        double start = steadySeconds();
        one.trial->call(pool, scratch.data());
        double seconds = steadySeconds() - start;
        double &least = timed.halves[round % 2];
        least = round < 2 && call == 0 ? seconds : std::min(least, seconds);
      }
      timed.seconds = round ? std::min(timed.halves[0], timed.halves[1]) : timed.halves[0];
    }
  for (const Running &one : running)
    kernel.schedules.push_back(one.timed);
}

} // namespace lathe::study
