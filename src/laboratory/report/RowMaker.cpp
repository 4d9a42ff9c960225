#include "report/RowMaker.h"

#include "lab/StoreRecords.h"
#include "lab/judging/Statistics.h"
#include "lab/machine/Disturbance.h"
#include "schedule/Algorithms.h"

namespace lathe::report {

using nlohmann::json;

/// Sets the means of the counters.
static void count(Row &row, const store::Point &point) {
  using store::Sample;
  row.cycles = meanOf(point.rounds, &Sample::cycles);
  row.instructions = meanOf(point.rounds, &Sample::instructions);
  row.cacheMisses = meanOf(point.rounds, &Sample::cacheMisses);
  if (auto kilohertz = meanOf(point.rounds, &Sample::frequencyKhz))
    row.gigahertz = *kilohertz * 1e-6;
  if (auto nanoseconds = meanOf(point.rounds, &Sample::cpuNs))
    row.cpuSeconds = *nanoseconds * 1e-9;
  double wall = 0, cpu = 0;
  for (auto &round : point.rounds)
    for (const Sample &sample : round)
      if (sample.cpuNs) {
        wall += double(sample.wallNs);
        cpu += double(*sample.cpuNs);
      }
  if (wall > 0)
    row.processors = cpu / wall;
}

const RowMaker::Work &RowMaker::parsed(const std::string &text) {
  constexpr size_t most = 10000; // then the cache is cleared, so that memory stays small
  if (auto known = byText.find(text); known != byText.end())
    return known->second;
  if (byText.size() == most)
    byText.clear();
  Work work;
  try {
    work.shape = lab::Problem::parse(text);
    work.flops = work.shape->flops();
    work.bytes = work.shape->bytes();
  } catch (const Error &) { // a version with other operators wrote it: its times are still valid
    work.shape.reset();
  }
  return byText.emplace(text, std::move(work)).first->second;
}

RowMaker::Work RowMaker::workOf(const store::Point &point) {
  const json &detail = point.problem.detail;
  if (point.problem.op == "kernel" && detail.is_object()) // a point of a profile: the plan states operations and bytes
    return {std::nullopt, detail.value("flops", 0.0), detail.value("bytes", 0.0)};
  return findOp(point.problem.op) ? parsed(point.problem.text) : Work();
}

Row RowMaker::rowOf(const store::Point &point, const store::Experiment &experiment) {
  Row row;
  row.kind = experiment.kind;
  row.experiment = point.experiment;
  row.platform = experiment.platform;
  row.tookTurns = tookTurns(experiment);
  row.disturbed = point.disturbance.otherProcessors.value_or(0) > lab::disturbingProcessors;
  row.op = point.problem.op;
  row.problem = point.problem.text;
  row.provider = point.provider;
  row.variant = point.variant;
  row.setting = point.setting;
  row.setting.schedule = canonicalSchedule(point.setting.schedule); // earlier versions wrote defaults, too
  row.measured = point.measured;
  row.status = point.status;
  row.reason = point.reason;
  row.implementation = point.implementation;
  row.repro = point.repro;
  if (auto cycles = point.figures.find("predicted_cycles"); cycles != point.figures.end())
    row.predictedCycles = cycles->second;
  row.rounds = lab::secondsOf(point.rounds);
  count(row, point);
  row.starts = point.starts;
  row.callSeconds = point.callSeconds;
  std::vector<double> samples;
  samples.reserve(point.sampleCount());
  for (auto &round : row.rounds)
    samples.insert(samples.end(), round.begin(), round.end());
  row.median = lab::median(samples);
  Work work = workOf(point);
  row.shape = std::move(work.shape);
  row.flops = work.flops;
  row.bytes = work.bytes;
  return row;
}

Row rowOf(const store::Point &point, const store::Experiment &experiment) {
  return RowMaker().rowOf(point, experiment);
}

} // namespace lathe::report
