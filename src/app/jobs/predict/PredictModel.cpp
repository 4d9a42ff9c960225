#include "jobs/predict/PredictModel.h"

#include "jobs/Self.h"
#include "jobs/ShippedRecords.h"
#include "jobs/Source.h"
#include "jobs/predict/StoreNetworks.h"
#include "lab/StoreRecords.h"
#include "store/Location.h"
#include "store/ReadOnly.h"
#include "support/Text.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

namespace lathe::jobs {
namespace {

/// The archives of measured networks that come with lathe, sorted.
std::vector<predict::MachinePoints> shippedPoints() {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(shippedFolder("predictions"), ignored))
    if (entry.path().extension() == ".gz")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<predict::MachinePoints> result;
  for (const std::string &file : files)
    result.push_back(predict::readPoints(file));
  return result;
}

std::string pointsName(const std::string &key) { return archiveName(key) + ".gz"; }

/// The networks that `lathe profile` has measured on this machine; nothing if they are too few to learn from.
std::optional<predict::MachinePoints> profiledPoints(const ModelOptions &model, const Target &target) {
  constexpr size_t fewestFamilies = 5; // models, as each is a family of its own
  if (!model.takesRecords() || isSet(noRecordsVariable) || target.key() != Target::parse("native").key())
    return std::nullopt;
  std::string path = model.store.empty() ? store::defaultStorePath() : model.store;
  if (!store::Location(path).mayExist())
    return std::nullopt;
  store::Store store = store::openForReading(path);
  predict::MachinePoints points{
      .machine = target.key(), .facts = target.machine, .vectorBits = int(target.vectorBits), .source = path};
  std::string own = model.isZoo() ? model.model : std::filesystem::path(model.model).filename().string();
  points.networks = profiledNetworks(store, lab::platformHere().key(), own);
  std::set<std::string> families;
  for (const predict::MeasuredNetwork &network : points.networks)
    families.insert(network.family);
  return points.clockHz(1) > 0 && families.size() >= fewestFamilies ? std::optional(std::move(points)) : std::nullopt;
}

/// The points of the kind of machine of `target`; nothing if there are none.
std::optional<predict::MachinePoints> pointsOf(const PredictJob &job, const Target &target) {
  const std::string key = target.key();
  if (!job.points.empty()) {
    predict::MachinePoints points = predict::readPoints(job.points);
    require(points.machine == key, "--points {}: has points of the machine '{}', expected '{}'", job.points,
            points.machine, key);
    return points;
  }
  std::string archive = (std::filesystem::path(shippedFolder("predictions")) / pointsName(key)).string();
  return std::filesystem::exists(archive) ? std::optional(predict::readPoints(archive))
                                          : profiledPoints(job.model, target);
}

std::vector<predict::KernelCost> costsOf(const PredictedModel &model) {
  std::vector<predict::KernelCost> costs;
  for (size_t index : model.kernels) {
    const PredictedInstruction &one = model.plan.instructions[index];
    costs.push_back({predict::algorithmOf(one.schedule), one.flops, one.bytes, one.cycles, one.constantBytes});
  }
  return costs;
}

/// Sorts the instructions into those that are predicted and others.
void sortInstructions(PredictedModel &model) {
  std::map<std::string, int64_t> others;
  for (size_t i = 0; i < model.plan.instructions.size(); ++i) {
    const PredictedInstruction &one = model.plan.instructions[i];
    if (one.cycles > 0 && !one.repeats)
      model.kernels.push_back(i);
    else
      ++others[one.repeats ? "instructions of branches and loops" : one.family.empty() ? one.name : one.family];
  }
  for (const auto &[what, count] : others)
    model.unpredicted.push_back(fmt::format("{} {}", count, what));
}

void predictAlone(PredictedModel &model, const std::vector<predict::KernelCost> &costs) {
  model.latency.seconds = model.costModelSeconds;
  for (const predict::KernelCost &cost : costs)
    model.latency.kernelSeconds.push_back(cost.cycles / model.clockHz);
  double spread = predict::costModelSpread(shippedPoints());
  model.basis = "machine unknown: from facts alone, coverage not tried";
  if (!std::isfinite(spread)) {
    model.basis += "; no interval, because there are no measured points of any machine";
    return;
  }
  model.latency.low = model.latency.seconds * std::exp(-spread);
  model.latency.high = model.latency.seconds * std::exp(spread);
}

std::string basisOf(const predict::MachinePoints &points) {
  int64_t runs = 0;
  std::set<std::string> families;
  for (const predict::MeasuredNetwork &network : points.networks)
    if (!network.heldOut) {
      ++runs;
      families.insert(network.family);
    }
  return fmt::format("learned from {} of {} on this kind of machine ({})", counted(runs, "measured run"),
                     counted(static_cast<int64_t>(families.size()), "family", "families"),
                     std::filesystem::path(points.source).filename().string());
}

} // namespace

double PredictedModel::cycles() const {
  double sum = -plan.besideOthers;
  for (size_t index : kernels)
    sum += plan.instructions[index].cycles;
  return sum;
}

PredictedModel predictModel(const PredictJob &job) {
  PredictedModel result;
  {
    Progress progress("predict " + job.model.model);
    CompileOptions options = compileOptions(job.model, &progress);
    Source source = loadSource(job.model);
    result.plan = predictPlan(*source.module, options);
  }
  sortInstructions(result);
  const Target &target = result.plan.target;
  result.pointsFile = pointsName(target.key());
  const int threads = job.model.threads;
  std::optional<predict::MachinePoints> points = pointsOf(job, target);
  // What the machine states of itself counts more than what another one of its kind states.
  result.clockHz = target.machine.clockGhz(threads, int(target.vectorBits)) * 1e9;
  if (result.clockHz == 0 && points)
    result.clockHz = points->clockHz(threads);
  if (result.clockHz == 0)
    return result;
  result.costModelSeconds = result.cycles() / result.clockHz;
  double flops = 0;
  for (const PredictedInstruction &one : result.plan.instructions)
    flops += one.flops;
  result.peakSeconds = predict::peakSeconds(flops, target.machine, int(target.vectorBits), threads, result.clockHz);
  std::vector<predict::KernelCost> costs = costsOf(result);
  if (costs.empty())
    return result;
  if (!points) {
    predictAlone(result, costs);
    return result;
  }
  predict::Predictor predictor(*points);
  result.latency = predictor.predict(costs, threads, target.machine, result.clockHz, result.plan.besideOthers);
  result.machineKnown = true;
  result.basis = basisOf(*points);
  return result;
}

} // namespace lathe::jobs
