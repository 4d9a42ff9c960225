#include "jobs/Recording.h"

#include "cache/ModelFiles.h"
#include "jobs/Self.h"
#include "jobs/store/Labels.h"
#include "lab/StoreRecords.h"
#include "lab/machine/Machine.h"
#include "process/ShellWords.h"
#include "schedule/Algorithms.h"
#include "store/ContentKey.h"
#include "support/Interrupt.h"
#include "support/Text.h"

#include <filesystem>
#include <fstream>

namespace lathe::jobs {

using nlohmann::json;

ProgramBuild programBuild() {
  store::ContentHasher hasher;
  std::string program = ownProgram();
  std::string provider = (std::filesystem::path(program).parent_path() / "lathe-provider-lathe").string();
  std::vector<char> piece(1 << 20);
  for (const std::string &file : {program, compilerLibrary(), provider}) {
    std::ifstream stream(file, std::ios::binary);
    while (stream.read(piece.data(), std::streamsize(piece.size())) || stream.gcount())
      hasher.update({piece.data(), size_t(stream.gcount())});
  }
  std::string revision;
  std::ifstream(shippedFolder("revision")) >> revision;
  return {LATHE_VERSION, hasher.digest().substr(0, 16), revision};
}

store::Experiment experimentHere(store::ExperimentKind kind, const std::string &verb, const Arguments &arguments,
                                 json settings) {
  store::Experiment experiment;
  experiment.kind = kind;
  experiment.command = "lathe " + verb + " " + process::shellCommand(arguments);
  ProgramBuild build = programBuild();
  experiment.version = build.version;
  experiment.build = build.key;
  experiment.revision = build.revision;
  experiment.settings = std::move(settings);
  experiment.started = store::timeNow();
  experiment.platform = lab::platformHere().key();
  return experiment;
}

Recording::Recording(const RecordOptions &flags, store::ExperimentKind kind, const std::string &verb,
                     const Arguments &arguments, json settings)
    : flags(flags) {
  if (flags.off)
    return;
  try {
    opened.emplace(flags.file.empty() ? store::defaultStorePath() : flags.file);
  } catch (const Error &error) {
    fail("{}; --no-store measures without keeping", error.what());
  }
  experiment = experimentHere(kind, verb, arguments, std::move(settings));
  platform = lab::platformHere();
}

void Recording::elsewhere(const std::string &command, const json &facts) {
  isElsewhere = true;
  platform = {};
  platform.cpu = "unknown, via " + command;
  if (!facts.is_null())
    try {
      platform = store::platformFromJson(facts);
    } catch (const Error &error) {
      fail("--via {}: the provider's platform: {}", command, error.what());
    }
  experiment.platform = platform.key();
}

void Recording::addDetail(const std::string &name, json value) {
  if (opened)
    experiment.detail[name] = std::move(value);
}

void Recording::plan(size_t missing) {
  experiment.planPoints(kept.size() + missing);
  if (opened && !experiment.uuid.empty())
    opened->setDetail(experiment.uuid, experiment.detail);
}

void Recording::begin() {
  if (!experiment.uuid.empty())
    return;
  if (!isElsewhere) // clocks vary between days, and the platform does not state them
    experiment.detail["clock_ghz"] = lab::measureClock();
  experiment.uuid = opened->addExperiment(experiment, platform);
  label();
}

void Recording::label() { opened->addLabels(labelsOf(experiment.uuid, flags.tags, flags.note, flags.name)); }

void Recording::add(const store::TuningTask &task, std::vector<store::TuningRecord> records) {
  add(std::vector{store::TunedTask{task, std::move(records)}});
}

void Recording::add(std::vector<store::TunedTask> tasks) {
  haltIfInterrupted();
  std::erase_if(tasks, [](const store::TunedTask &task) { return task.records.empty(); });
  if (!opened || tasks.empty())
    return;
  bool tunes = experiment.kind == store::ExperimentKind::tune;
  if (tunes)
    begin();
  for (store::TunedTask &task : tasks)
    for (store::TuningRecord &record : task.records) {
      record.version = experiment.version;
      record.build = experiment.build;
      if (tunes)
        record.experiment = experiment.uuid;
    }
  opened->addTuning(std::move(tasks), platform);
}

void Recording::add(const std::vector<store::TuningRecord> &records) {
  for (const store::TuningRecord &record : records)
    add({record.task, familyOf(record.schedule), ""}, {record});
}

std::string familyOf(const std::string &schedule) {
  try {
    Schedule parsed = Schedule::parse(schedule);
    const Algorithm *algorithm = findAlgorithm(parsed.algorithm, parsed.version);
    return algorithm ? algorithm->family : "";
  } catch (const Error &) {
    return "";
  }
}

std::optional<std::string> Recording::bestSchedule(const std::string &task) {
  if (!opened)
    return std::nullopt;
  auto best = opened->bestTuning(task, platform.key());
  if (!best) // the task names CPU and features, so a schedule of an equal machine is legal here
    best = opened->bestTuning(task);
  return best ? std::optional(best->schedule) : std::nullopt;
}

void Recording::add(std::vector<store::Point> points) {
  haltIfInterrupted();
  if (!opened || points.empty())
    return;
  begin();
  for (store::Point &point : points) {
    point.experiment = experiment.uuid;
    if (point.repro.empty())
      point.repro = experiment.command;
  }
  opened->addPoints(std::move(points));
}

void Recording::finish(const store::Disturbance &disturbance) {
  if (!experiment.uuid.empty())
    opened->finishExperiment(experiment.uuid, disturbance);
}

std::string Recording::resume() {
  if (!opened)
    return "";
  store::Unfinished found = opened->takeOver(experiment.identity());
  experiment.uuid = found.experiment;
  if (!experiment.uuid.empty()) {
    label();
    experiment.detail = opened->experiment(experiment.uuid).detail;
    opened->points({.experiments = {experiment.uuid}}, false,
                   [&](const store::Point &point) { kept.insert(point.key()); });
    return fmt::format("going on with an experiment that was interrupted; it has {} (--fresh begins anew)\n",
                       counted(int64_t(kept.size()), "point"));
  }
  if (found.busy)
    return fmt::format("process {} on {} is measuring the same: this is an experiment of its own\n", found.busy->pid,
                       found.busy->host);
  return "";
}

bool Recording::has(const store::Point &point) const {
  store::Point mine = point;
  mine.experiment = experiment.uuid;
  return kept.count(mine.key()) != 0;
}

std::string Recording::line() const {
  return experiment.uuid.empty()
             ? ""
             : fmt::format("kept in {}, experiment {}\n", opened->path(), experiment.uuid.substr(0, 8));
}

store::Problem modelProblem(const ModelOptions &model, const std::string &source, const std::string &inputs) {
  json detail = {{"model", model.model}, {"inputs", inputs}};
  std::string text = model.model;
  if (model.isZoo()) {
    text = source;
    detail["hash"] = source.substr(source.find('@') + 1);
    for (auto &[word, value] : {std::pair{"batch", model.zooBatch}, std::pair{"sequence", model.zooSequence},
                                std::pair{"seed", int64_t(model.zooSeed)}})
      if (value)
        text += fmt::format(" {}={}", word, value);
  } else {
    std::string hash = fmt::format("{:016x}", cache::modelHash(model.model));
    text = std::filesystem::path(model.model).filename().string() + "@" + hash;
    detail["hash"] = hash;
  }
  return {"model", text + " " + inputs, detail};
}

store::Setting modelSetting(const ModelOptions &model, int64_t batch, const RecordUse &use) {
  store::Setting setting;
  setting.threads = model.threads;
  setting.batch = batch;
  setting.type = ""; // the model may have several types
  bool package = !model.isZoo() && isPackage(model.model);
  if (!package) // otherwise it was compiled earlier, with unknown options
    setting.extra = {{"compile", fmt::format("{}", fmt::join(model.compileArguments(), " "))}};
  if (!use.digest.empty())
    setting.extra["records"] = use.digest;
  return setting;
}

store::Point modelPoint(const ModelOptions &model, const InputOptions &inputs, const Prepared &prepared,
                        const Verification &verification) {
  store::Point point;
  point.problem = modelProblem(model, prepared.model->source(), prepared.inputText);
  point.provider = "lathe";
  point.providerVersion = LATHE_VERSION;
  point.setting = modelSetting(model, inputs.batch, recordUse(*prepared.model));
  point.implementation = prepared.model->target();
  point.status = verification.verified                             ? store::PointStatus::passed
                 : verification.judged && !verification.mistrusted ? store::PointStatus::failed
                                                                   : store::PointStatus::mistrusted;
  if (!verification.verified)
    point.reason = verification.text;
  return point;
}

} // namespace lathe::jobs
