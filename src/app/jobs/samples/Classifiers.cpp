#include "jobs/samples/Classifiers.h"

#include "jobs/Inputs.h"
#include "jobs/compare/SideParts.h"
#include "runtime/NpyTensor.h"
#include "runtime/QuantizedTensor.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

namespace lathe::jobs {
namespace {

template <class T> T take(process::Result<T> result, const std::string &name) {
  require(static_cast<bool>(result), "--against {}: {}", name, result ? "" : result.failure().message());
  return std::move(*result);
}

/// The array for an input. `only`: it is the only input, which takes the only array of any name.
Tensor inputOf(const runtime::Port &port, const evaluate::SampleArrays &arrays, bool only, const std::string &file) {
  auto found = std::find_if(arrays.begin(), arrays.end(), [&](const auto &each) { return each.first == port.name; });
  if (found == arrays.end() && only && arrays.size() == 1)
    found = arrays.begin();
  require(found != arrays.end(), "{}: has no array '{}', expected one for each input", file, port.name);
  Tensor tensor = found->second;
  if (tensor.rank() + 1 == port.dims.size()) { // a sample without batch axis
    std::vector<int64_t> dims = tensor.dims();
    dims.insert(dims.begin(), 1);
    tensor = Tensor::borrow(tensor.type(), dims, tensor.data()).clone();
  }
  if (port.quantization && isFloat(tensor.type()))
    tensor = quantized(*port.quantization, tensor, port.type);
  bool fits = tensor.rank() == port.dims.size();
  for (size_t i = 0; fits && i < port.dims.size(); ++i)
    fits = !port.dims[i].isConstant() || tensor.dim(i) == port.dims[i].constant();
  require(fits && tensor.type() == port.type, "{}: is {} {}, input '{}' expects {} {}", file, name(tensor.type()),
          dimsText(tensor.dims()), port.name, name(port.type), str(port.dims));
  return tensor;
}

} // namespace

PackageClassifier::PackageClassifier(const ModelOptions &flags) : PackageClassifier(packageFor(flags), flags) {}

PackageClassifier::PackageClassifier(Package package, const ModelOptions &flags)
    : path(package.path), model(std::move(package.model)), context(model, {.threads = flags.threads}),
      called(flags.model) {}

void PackageClassifier::requireOneInput() const {
  require(model->inputs().size() == 1 && model->inputs()[0].tensor(), "{}: has {} inputs, expected one picture", called,
          model->inputs().size());
}

Tensor PackageClassifier::run() {
  using Clock = std::chrono::steady_clock;
  for (size_t i = 0; i < last.size(); ++i)
    context.setInput(i, last[i]);
  auto begin = Clock::now();
  context.run();
  times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  const auto &quantization = model->outputs()[0].quantization;
  const Tensor &output = context.output(0).tensor();
  return quantization ? dequantized(*quantization, output) : output;
}

Tensor PackageClassifier::scores(const evaluate::Picture &picture) {
  last = {evaluate::preprocess(picture, how)};
  return run();
}

Tensor PackageClassifier::scores(const evaluate::SampleArrays &arrays, const std::string &file) {
  last.clear();
  for (const runtime::Port &port : model->inputs())
    last.push_back(inputOf(port, arrays, model->inputs().size() == 1, file));
  return run();
}

RunnerClassifier::RunnerClassifier(const std::string &name, const ModelOptions &flags, const PackageClassifier &ours)
    : runner(take(lab::Runner::start(withSignature(lab::runnerNamed(name, "--against " + name), flags)), name)),
      name(name), ours(ours) {
  lab::RunnerSpec spec = lab::runnerNamed(name, "--against " + name);
  require(!flags.isZoo() && spec.reads(modelFormat(flags.model)), "--against {}: reads {}, {} is another model", name,
          fmt::join(spec.formats, ", "), flags.model);
  lab::RunnerModel loaded = take(runner.load(std::filesystem::absolute(flags.model).string(), flags.threads), name);
  output = loaded.outputs.at(0).name;
}

Tensor RunnerClassifier::scores(const evaluate::Picture &) { return scores({}, ""); }

Tensor RunnerClassifier::scores(const evaluate::SampleArrays &, const std::string &) {
  std::map<std::string, std::string> files;
  for (size_t i = 0; i < ours.lastInputs().size(); ++i) {
    std::string file = (directory.path / fmt::format("input{}.npy", i)).string();
    writeNpy(file, npyView(ours.lastInputs()[i]));
    files[ours.loaded().inputs()[i].name] = file;
  }
  take(runner.setInputs(files), name);
  auto outputs = take(runner.run(directory.path.string()), name);
  return toTensor(readNpy(outputs.at(output)));
}

} // namespace lathe::jobs
