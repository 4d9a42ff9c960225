#include "cli/samples/Classifiers.h"

#include "cli/models/SideParts.h"
#include "runtime/NpyTensor.h"
#include "runtime/QuantizedTensor.h"

#include <chrono>
#include <filesystem>

namespace lathe::cli {
namespace {

template <class T> T take(process::Result<T> result, const std::string &name) {
  require(static_cast<bool>(result), "--against {}: {}", name, result ? "" : result.failure().message());
  return std::move(*result);
}

} // namespace

PackageClassifier::PackageClassifier(const ModelFlags &flags) : PackageClassifier(packageFor(flags), flags) {}

PackageClassifier::PackageClassifier(Package package, const ModelFlags &flags)
    : path(package.path), model(std::move(package.model)), context(model, {.threads = flags.threads}) {
  require(model->inputs().size() == 1 && model->inputs()[0].tensor(), "{}: has {} inputs, expected one picture",
          flags.model, model->inputs().size());
}

Tensor PackageClassifier::scores(const evaluate::Picture &picture) {
  using Clock = std::chrono::steady_clock;
  last = evaluate::preprocess(picture, how);
  context.setInput(0, last);
  auto begin = Clock::now();
  context.run();
  times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  const auto &quantization = model->outputs()[0].quantization;
  const Tensor &output = context.output(0).tensor();
  return quantization ? dequantized(*quantization, output) : output;
}

RunnerClassifier::RunnerClassifier(const std::string &name, const ModelFlags &flags, const PackageClassifier &ours)
    : runner(take(lab::Runner::start(withSignature(lab::runnerNamed(name, "--against " + name), flags)), name)),
      name(name), ours(ours) {
  lab::RunnerSpec spec = lab::runnerNamed(name, "--against " + name);
  require(!flags.isZoo() && spec.reads(modelFormat(flags.model)), "--against {}: reads {}, {} is another model", name,
          fmt::join(spec.formats, ", "), flags.model);
  lab::RunnerModel loaded = take(runner.load(std::filesystem::absolute(flags.model).string(), flags.threads), name);
  output = loaded.outputs.at(0).name;
}

Tensor RunnerClassifier::scores(const evaluate::Picture &) {
  std::string file = (directory.path / "input.npy").string();
  writeNpy(file, npyView(ours.lastInput()));
  take(runner.setInputs({{ours.input().name, file}}), name);
  auto outputs = take(runner.run(directory.path.string()), name);
  return toTensor(readNpy(outputs.at(output)));
}

} // namespace lathe::cli
