#include "jobs/sweep/Runtimes.h"

#include "jobs/compare/SideParts.h"
#include "lab/compare/Outputs.h"
#include "runtime/Context.h"
#include "runtime/NpyTensor.h"
#include "runtime/QuantizedTensor.h"

#include <algorithm>
#include <filesystem>

namespace lathe::jobs {
namespace {

namespace fs = std::filesystem;

/// Ends the row with a reason.
void failRow(SweepRow &row, const std::string &what) {
  row.failed = true;
  row.reason = "not timed: " + what;
}

/// The runner with the model of the row; on failure nothing, and the row gets the reason.
std::optional<lab::Runner> startRow(SweepRow &row, double *loadSeconds = nullptr) {
  lab::RunnerSpec spec = withSignature(lab::runnerNamed(row.runtime, "--against " + row.runtime), row.model);
  auto started = lab::Runner::start(spec);
  if (!started) {
    failRow(row, started.failure().message());
    return std::nullopt;
  }
  auto loaded = started->load(fs::absolute(row.model.model).string(), row.model.threads);
  if (!loaded) {
    failRow(row, loaded.failure().message());
    return std::nullopt;
  }
  if (loadSeconds)
    *loadSeconds = loaded->loadSeconds;
  const nlohmann::json &settings = started->settings();
  row.foreignBuild = settings.contains("caution");
  std::string build = settings.value("build", "");
  row.title = fmt::format("{} {}{}", started->name(), started->version(), build.empty() ? "" : ", " + build);
  return std::move(*started);
}

/// Real numbers of a quantised output, so that steps of the quantiser count as errors of numbers.
Tensor realNumbers(const runtime::Port &port, const Tensor &tensor) {
  return port.quantization ? dequantized(*port.quantization, tensor) : tensor;
}

/// The outputs of the package of `ours` for its inputs, and the bounds for another runtime's outputs.
std::vector<Tensor> outputsOf(const SweepRow &ours, lab::Tolerance &tolerance,
                              std::shared_ptr<const runtime::Model> &model) {
  runtime::LoadOptions loading = ours.model.loadOptions();
  loading.name = ours.model.model;
  model = runtime::Model::load(ours.package, loading);
  runtime::Context context(model, {.threads = ours.model.threads});
  std::vector<Value> values;
  for (size_t i = 0; i < model->inputs().size(); ++i) {
    values.emplace_back(toTensor(readNpy(ours.inputs.at(model->inputs()[i].name))));
    context.setInput(i, values.back());
  }
  context.run();
  tolerance =
      lab::toleranceOf(lab::roundingsOf(*model, lab::boundSymbols(model->inputs(), values)), lab::Against::peer);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < model->outputs().size(); ++i)
    outputs.push_back(realNumbers(model->outputs()[i], context.output(i).tensor().clone()));
  return outputs;
}

/// Bounds for quantised outputs of runtimes with other roundings, as stated in docs/numerics.md.
lab::Tolerance ofSteps(lab::Tolerance tolerance) {
  lab::Roundings bytes;
  bytes.add(ElementType::f32);
  bytes.bytes = true;
  lab::Tolerance steps = lab::toleranceOf(bytes, lab::Against::peer);
  return {std::max(tolerance.relative, steps.relative), std::max(tolerance.maximum, steps.maximum)};
}

/// A hint for quantised outputs that differ.
std::string roundingHint(const SweepRow &row) {
  return row.runtime == "tflite" && row.model.requantizeRounding == "reference"
             ? "; TensorFlow Lite's optimised kernels round as --requantize-rounding optimised"
             : "";
}

/// Compares the outputs of a run with those of `ours`; a difference becomes the reason of the row.
void judgeRow(SweepRow &row, const SweepRow &ours, const std::map<std::string, std::string> &files) {
  lab::Tolerance tolerance;
  std::shared_ptr<const runtime::Model> model;
  std::vector<Tensor> expected = outputsOf(ours, tolerance, model);
  lab::Agreement worst;
  for (size_t i = 0; i < expected.size(); ++i) {
    const runtime::Port &port = model->outputs()[i];
    auto file = files.find(port.name);
    if (file == files.end())
      return failRow(row, fmt::format("{} has no output '{}'", row.title, port.name));
    lab::Agreement agreement =
        lab::agreementOf(port.name, expected[i], realNumbers(port, toTensor(readNpy(file->second))),
                         port.quantization ? ofSteps(tolerance) : tolerance);
    if (!agreement.agrees)
      return failRow(row, fmt::format("output '{}' of {} differs from Lathe's: {}{}", port.name, row.title,
                                      agreement.reason, port.quantization ? roundingHint(row) : ""));
    if (agreement.relativeL2 >= worst.relativeL2)
      worst = agreement;
  }
  row.verification = fmt::format("agrees with Lathe's outputs: relative L2 {:.2g}", worst.relativeL2);
  row.point->relativeL2 = worst.relativeL2;
  row.point->maxDifference = worst.maxDifference;
}

} // namespace

void prepareRuntimeRow(SweepRow &row, const std::string &stem, const SweepRow &ours) {
  row.done = true;
  row.inputs = ours.inputs;
  row.picture = ours.picture;
  double loadSeconds = 0;
  std::optional<lab::Runner> runner = startRow(row, &loadSeconds);
  if (!runner)
    return;
  row.point = *ours.point;
  row.point->provider = row.runtime;
  row.point->variant.clear();
  row.point->figures.clear();
  row.point->setting.schedule.clear();
  row.point->setting.layout.clear();
  row.point->setting.extra = {};
  row.point->implementation = row.title;
  row.point->providerVersion = runner->version();
  row.point->prepareSeconds = loadSeconds;
  if (auto bound = runner->setInputs(row.inputs); !bound)
    return failRow(row, bound.failure().message());
  fs::create_directories(stem);
  auto files = runner->run(stem);
  if (!files)
    return failRow(row, files.failure().message());
  judgeRow(row, ours, *files);
}

std::function<Tensor(const Tensor &input)> scoresOfRuntime(SweepRow &row) {
  std::optional<lab::Runner> started = startRow(row);
  if (!started)
    return {};
  auto runner = std::make_shared<lab::Runner>(std::move(*started));
  auto folder = std::make_shared<process::TemporaryDirectory>("sweep-runtime");
  std::string what = "--against " + row.runtime;
  auto take = [what](auto result) {
    require(static_cast<bool>(result), "{}: {}", what, result ? "" : result.failure().message());
    return std::move(*result);
  };
  runtime::Port port = *row.picture;
  return [=](const Tensor &input) {
    std::string file = (folder->path / "input.npy").string();
    writeNpy(file, npyView(input));
    take(runner->setInputs({{port.name, file}}));
    auto outputs = take(runner->run(folder->path.string()));
    require(!outputs.empty(), "{}: gives no output", what);
    return toTensor(readNpy(outputs.begin()->second));
  };
}

} // namespace lathe::jobs
