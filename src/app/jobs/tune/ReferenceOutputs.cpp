#include "jobs/tune/ReferenceOutputs.h"

#include "jobs/Inputs.h"
#include "jobs/Packages.h"
#include "jobs/Self.h"
#include "lab/compare/Runner.h"
#include "lab/judging/Difference.h"
#include "lab/judging/OutputSummary.h"
#include "lab/judging/Turns.h"
#include "passes/interpret/Evaluate.h"
#include "passes/interpret/EvaluationBytes.h"
#include "passes/interpret/Ports.h"
#include "runtime/NpyTensor.h"
#include "support/Memory.h"
#include "verify/Verification.h"

#include <thread>

namespace lathe::jobs {

namespace {
struct TimeIsOver {};
} // namespace

ReferenceOutputs::ReferenceOutputs(const ModelOptions &model, double limitSeconds) : model(model) {
  double end = lab::steadySeconds() + limitSeconds;
  Source source = loadSource(model);
  types = verify::valueTypes(*source.module);
  ports = inputPorts(*source.module);
  names = outputNames(mainFunction(*source.module));
  InputOptions random;
  random.fill = "random";
  inputs = gatherInputs(ports, random, model.shapes);
  EvaluateOptions judging;
  judging.judge = true;
  judging.threads = int(std::max(1u, std::thread::hardware_concurrency()));
  judging.observe = [&](mlir::Operation *, std::span<const Value>) {
    if (lab::steadySeconds() > end)
      throw TimeIsOver();
  };
  requireMemory(evaluationBytes(*source.module, inputs, judging), model.model + ": the reference in float64");
  try {
    expected = evaluate(*source.module, inputs, judging);
    isComplete = true;
  } catch (const TimeIsOver &) {
  }
}

PackageCheck ReferenceOutputs::check(const std::string &package, double seconds) const {
  std::filesystem::path folder = temporaryFolder() / "check";
  std::filesystem::create_directories(folder);
  std::map<std::string, std::string> files;
  for (size_t i = 0; i < inputs.size(); ++i) {
    require(inputs[i].isTensor(), "input '{}' is not a tensor", ports[i].name);
    std::string file = (folder / fmt::format("input{}.npy", i)).string();
    writeNpy(file, npyView(inputs[i].tensor()));
    files[ports[i].name] = file;
  }
  auto failed = [&](const process::Failure &failure) -> PackageCheck {
    bool late = failure.kind == process::FailureKind::timedOut;
    return {false, !late,
            late ? fmt::format("not verified: the package did not run within {:.0f} s", seconds)
                 : "wrong: " + failure.message()};
  };
  auto runner = lab::Runner::start(lab::runnerNamed("lathe", "lathe tune"), {}, {seconds, seconds, seconds});
  if (!runner)
    return failed(runner.failure());
  if (auto loaded = runner->load(package, model.threads); !loaded)
    return failed(loaded.failure());
  if (auto bound = runner->setInputs(files); !bound)
    return failed(bound.failure());
  auto outputs = runner->run(folder.string());
  if (!outputs)
    return failed(outputs.failure());
  runner->quit();
  auto loaded = openPackage(package, model).model;
  return compared(*outputs, verify::toleranceOf(*loaded, types, inputs));
}

PackageCheck ReferenceOutputs::compared(const std::map<std::string, std::string> &files,
                                        const lab::Tolerance &tolerance) const {
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    auto file = files.find(names[i]);
    if (file == files.end() || !expected[i].isTensor())
      return {false, true, fmt::format("wrong: output '{}' is not a tensor of the package", names[i])};
    lab::Difference found = lab::difference(toTensor(readNpy(file->second)), expected[i].tensor());
    if (!found.within(tolerance))
      return {false, true, fmt::format("wrong: output '{}': {}", names[i], found.str())};
    std::string mistrust = lab::summarizeOutput(expected[i].tensor()).mistrust;
    if (!mistrust.empty())
      return {
          false, true,
          fmt::format("not verified: output '{}' of the reference is {}, which proves nothing", names[i], mistrust)};
    worst = std::max(worst, found.relative);
  }
  return {true, false, fmt::format("verified: relative error {:.1e}", worst)};
}

} // namespace lathe::jobs
