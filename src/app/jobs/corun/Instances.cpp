#include "jobs/corun/Instances.h"

#include "jobs/Prepared.h"
#include "lab/StoreRecords.h"
#include "lab/corun/OutputsHash.h"
#include "runtime/NpyTensor.h"

#include <algorithm>

namespace lathe::jobs {

ExpectedRun expectedRun(const std::string &package, const std::shared_ptr<const runtime::Model> &model,
                        const InputOptions &inputs, const std::vector<std::string> &shapes,
                        const std::filesystem::path &stem) {
  Prepared prepared;
  prepared.package = package;
  prepared.model = model;
  prepared.context = std::make_unique<runtime::Context>(model, runtime::ContextOptions{.streams = false});
  bindAndRun(prepared, inputs, shapes);
  ExpectedRun run;
  run.inputText = prepared.inputText;
  run.outputs = lab::outputsHash(*prepared.context);
  run.mistrust = mistrusted(prepared);
  std::vector<Value> values = gatherInputs(model->inputs(), inputs, shapes);
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string &input = model->inputs()[i].name;
    require(values[i].isTensor(), "{}: input '{}' is not a tensor", package, input);
    std::string file = fmt::format("{}-{}.npy", stem.string(), i);
    writeNpy(file, npyView(values[i].tensor()));
    run.files[input] = file;
  }
  return run;
}

lab::CorunMember memberOf(const std::string &package, const ExpectedRun &run, const CorunMove &move,
                          const NumberList &cpus) {
  lab::CorunMember member;
  member.package = package;
  member.inputs = run.files;
  member.outputs = run.outputs;
  member.instances = instancesOf(move);
  for (NumberList &instance : member.instances)
    for (int &slot : instance)
      slot = cpus.at(size_t(slot));
  member.streams = move.streams;
  return member;
}

void setMove(store::Point &point, const CorunMove &move) {
  point.setting.threads = move.threads();
  point.setting.extra["slots"] = numberListText(move.slots);
  point.setting.extra["instances"] = move.instances;
  if (!move.streams)
    point.setting.extra["streams"] = "off";
}

void setRuns(store::Point &point, const lab::CorunRuns &runs, const CorunMove &move,
             const std::vector<size_t> &starts) {
  point.figures = {{"runs", double(runs.runs())},
                   {"window_seconds", runs.seconds},
                   {"inputs_per_second", inputsPerSecond(runs, move)}};
  if (point.status != store::PointStatus::failed) // no time without a verdict
    point.rounds = lab::samplesOf(runs.rounds, {});
  if (starts.size() > 1 && !point.rounds.empty())
    point.starts = starts;
}

nlohmann::json timingSettings(const lab::CorunOptions &timing) {
  return {{"starts", timing.minStarts},
          {"max_seconds", timing.maxSeconds},
          {"window_seconds", timing.roundSeconds},
          {"least_runs", timing.leastRuns}};
}

double inputsPerSecond(const lab::CorunRuns &runs, const CorunMove &move) {
  return runs.perSecond() * double(std::max<int64_t>(move.batch, 1));
}

} // namespace lathe::jobs
