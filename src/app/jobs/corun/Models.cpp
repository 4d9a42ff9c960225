#include "jobs/corun/Models.h"

#include "jobs/Packages.h"
#include "jobs/Recording.h"
#include "jobs/UsedRecords.h"
#include "lab/corun/OutputsHash.h"
#include "runtime/NpyTensor.h"
#include "runtime/plan/Program.h"

#include <algorithm>
#include <filesystem>

namespace lathe::jobs {
namespace {

std::string portsText(const runtime::Model &model) {
  std::string text;
  for (const runtime::Port &port : model.inputs()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", port.name, name(port.type));
    for (const Dim &dim : port.dims)
      text += fmt::format(" {}", dim.str());
  }
  return text;
}

bool hasOpenBatch(const runtime::Model &model) {
  return std::any_of(model.inputs().begin(), model.inputs().end(),
                     [](const runtime::Port &port) { return !port.dims.empty() && !port.dims.front().isConstant(); });
}

bool hasStreams(const runtime::Model &model) {
  const auto &plans = model.program().plans;
  return std::any_of(plans.begin(), plans.end(), [](const runtime::Plan &plan) { return !plan.phases.empty(); });
}

} // namespace

CorunModels::CorunModels(const std::vector<std::string> &given, const ModelOptions &loading, InputOptions inputs)
    : loading(loading), inputs(std::move(inputs)) {
  for (const std::string &text : given) {
    CorunModel &model = all.emplace_back();
    model.name = text;
    model.packages = wordsOf(text);
    auto &packages = loaded.emplace_back();
    for (const std::string &path : model.packages) {
      require(isPackage(path), "{}: expected a package, which lathe compile writes", path);
      packages.push_back(openPackage(path, loading).model);
      model.choices.streams.push_back(hasStreams(*packages.back()));
      require(portsText(*packages.back()) == portsText(*packages.front()), "{}: its inputs are {}, those of {} are {}",
              path, portsText(*packages.back()), model.packages.front(), portsText(*packages.front()));
    }
    model.choices.openBatch = hasOpenBatch(*packages.front());
    ModelOptions first = loading;
    first.model = model.packages.front();
    model.verification = verificationOf(first, *packages.front());
  }
}

std::vector<CorunChoices> CorunModels::choices() const {
  std::vector<CorunChoices> choices;
  for (const CorunModel &model : all)
    choices.push_back(model.choices);
  return choices;
}

const CorunModels::Run &CorunModels::runOf(size_t model, const CorunMove &move) {
  auto [found, isNew] = runs.try_emplace({model, move.package, move.batch});
  Run &run = found->second;
  if (!isNew)
    return run;
  Prepared prepared;
  prepared.package = all[model].packages[move.package];
  prepared.model = loaded[model][move.package];
  prepared.context = std::make_unique<runtime::Context>(prepared.model, runtime::ContextOptions{.streams = false});
  InputOptions options = inputs;
  options.batch = move.batch;
  options.variables = variablesOf(prepared.model->inputs(), prepared.model->outputs());
  bindAndRun(prepared, options, {});
  run.inputText = prepared.inputText;
  run.outputs = lab::outputsHash(*prepared.context);
  run.mistrust = jobs::mistrusted(prepared);
  std::vector<Value> values = gatherInputs(prepared.model->inputs(), options, {});
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string &input = prepared.model->inputs()[i].name;
    require(values[i].isTensor(), "{}: input '{}' is not a tensor", prepared.package, input);
    std::string file = (folder.path / fmt::format("{}-{}-{}-{}.npy", model, move.package, move.batch, i)).string();
    writeNpy(file, npyView(values[i].tensor()));
    run.files[input] = file;
  }
  return run;
}

lab::CorunMember CorunModels::member(size_t model, const CorunMove &move, const NumberList &cpus) {
  const Run &run = runOf(model, move);
  lab::CorunMember member;
  member.name = all[model].name;
  member.package = all[model].packages[move.package];
  member.inputs = run.files;
  member.outputs = run.outputs;
  member.instances = instancesOf(move);
  for (NumberList &instance : member.instances)
    for (int &slot : instance)
      slot = cpus.at(size_t(slot));
  member.streams = move.streams;
  member.items = std::max<int64_t>(move.batch, 1);
  return member;
}

void CorunModels::addTo(store::Company &company, size_t model, const CorunMove &move) {
  int threads = company.empty() ? 0 : company.threads;
  company.problem +=
      fmt::format("{}{}, {}", company.empty() ? "" : " and ", point(model, move).problem.text, move.text());
  company.provider = "lathe";
  company.threads = threads + move.threads();
}

store::Point CorunModels::point(size_t model, const CorunMove &move) {
  const Run &run = runOf(model, move);
  const runtime::Model &package = *loaded[model][move.package];
  ModelOptions options = loading;
  options.model = all[model].packages[move.package];
  options.threads = move.threads();
  store::Point point;
  point.problem = modelProblem(options, package.source(), run.inputText);
  point.provider = "lathe";
  for (size_t before = 0; before < model; ++before)
    if (all[before].packages == all[model].packages) // a package beside itself has two points
      point.variant = fmt::format("model {}", model + 1);
  point.providerVersion = LATHE_VERSION;
  point.setting = modelSetting(options, move.batch, recordUse(package));
  point.setting.extra = {{"slots", numberListText(move.slots)}, {"instances", move.instances}};
  if (!move.streams)
    point.setting.extra["streams"] = "off";
  point.implementation = package.target();
  return point;
}

} // namespace lathe::jobs
