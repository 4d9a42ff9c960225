#include "jobs/profile/ProfilePoints.h"

#include "lab/StoreRecords.h"
#include "report/PageData.h"
#include "store/ContentKey.h"

#include <fmt/format.h>

#include <cmath>

namespace lathe::jobs {

static store::Point kernelPoint(store::Point point, const runtime::InstructionInfo &info, size_t index, double clock) {
  std::string model = point.problem.text;
  point.problem.op = "kernel";
  point.problem.text = fmt::format("{} #{} {}", model, index, info.name);
  point.problem.detail["index"] = index;
  point.problem.detail["kind"] = info.kind;
  point.problem.detail["name"] = info.name;
  point.problem.detail["family"] = info.family;
  point.problem.detail["nodes"] = info.nodes;
  point.problem.detail["shapes"] = info.shapes;
  point.problem.detail["flops"] = info.flops;
  point.problem.detail["bytes"] = info.bytes;
  point.implementation = info.family;
  if (clock > 0 && info.predictedCycles > 0) {
    point.figures["predicted_cycles"] = info.predictedCycles;
    point.figures["constant_bytes"] = info.constantBytes;
    point.figures["predicted_us"] = info.predictedCycles / clock * 1e-3;
  }
  point.setting.schedule = info.schedule;
  return point;
}

std::vector<store::Point> profilePoints(const store::Point &model, const runtime::Context &context, size_t count,
                                        const std::vector<ProfiledRun> &runs, const store::Disturbance &disturbance,
                                        double clock) {
  std::vector<store::Point> points;
  auto add = [&](store::Point point, auto &&secondsOf) {
    point.disturbance = disturbance;
    std::vector<store::Sample> times(runs.size());
    for (size_t i = 0; i < runs.size(); ++i)
      times[i].wallNs = std::llround(secondsOf(runs[i]) * 1e9);
    if (point.status != store::PointStatus::failed) // no time without a verdict
      point.rounds.push_back(std::move(times));
    points.push_back(std::move(point));
  };
  add(model, [](const ProfiledRun &run) { return run.whole; });
  for (size_t i = 0; i < count; ++i)
    add(kernelPoint(model, context.instruction(i), i, clock), [i](const ProfiledRun &run) { return run.rows[i]; });
  return points;
}

nlohmann::json profilePage(store::Experiment experiment, std::vector<store::Point> points,
                           const lab::MachineCeilings &ceilings, const std::string &title) {
  if (experiment.uuid.empty())
    experiment.uuid = "not stored";
  report::PageData data({.title = title,
                         .command = experiment.command,
                         .version = experiment.version,
                         .build = experiment.build,
                         .created = store::timeNow()});
  data.addPlatform(lab::platformHere(), &ceilings);
  data.addExperiment(experiment);
  for (store::Point &point : points) {
    point.experiment = experiment.uuid;
    point.measured = store::timeNow();
    point.repro = experiment.command;
    data.addPoint(point);
  }
  return data.document();
}

} // namespace lathe::jobs
