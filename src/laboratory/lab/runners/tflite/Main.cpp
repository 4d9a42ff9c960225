// A native TensorFlow Lite as a runner (docs/runner-protocol.md), through the C API of a library chosen by the user.
#include "lab/runners/ServeRunner.h"
#include "lab/runners/tflite/Names.h"
#include "lab/runners/tflite/TfliteApi.h"
#include "support/Text.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <optional>

using nlohmann::json;
using namespace lathe;
using namespace lathe::tflite_native;

namespace {

/// A loaded model. Messages of the library become part of the Error.
class Network {
public:
  Network(const Api &api, const std::string &path, int threads)
      : api(api), path(path), names(portNames(path)), model(api.modelCreateFromFile(path.c_str()), api.modelDelete),
        options(api.optionsCreate(), api.optionsDelete), interpreter(nullptr, api.interpreterDelete) {
    require(model != nullptr, "{}: TensorFlow Lite does not read it", path);
    require(options != nullptr, "{}: TensorFlow Lite gives no options", path);
    api.optionsSetNumThreads(options.get(), threads);
    api.optionsSetErrorReporter(options.get(), report, this);
    interpreter.reset(api.interpreterCreate(model.get(), options.get()));
    require(interpreter != nullptr, "{}: TensorFlow Lite makes no interpreter{}", path, takeSaid());
    check(api.allocateTensors(interpreter.get()), "allocates no tensors");
    require(size_t(api.inputCount(interpreter.get())) == names.inputs.size() &&
                size_t(api.outputCount(interpreter.get())) == names.outputs.size(),
            "{}: TensorFlow Lite has {} inputs and {} outputs, the file has {} and {}", path,
            api.inputCount(interpreter.get()), api.outputCount(interpreter.get()), names.inputs.size(),
            names.outputs.size());
    given.resize(names.inputs.size());
  }
  Network(const Network &) = delete;
  Network &operator=(const Network &) = delete;

  json inputs() const {
    json list = json::array();
    for (size_t i = 0; i < names.inputs.size(); ++i)
      list.push_back(portJson(api.input(interpreter.get(), int32_t(i)), names.inputs[i]));
    return list;
  }
  json outputs() const {
    json list = json::array();
    for (size_t i = 0; i < names.outputs.size(); ++i)
      list.push_back(portJson(api.output(interpreter.get(), int32_t(i)), names.outputs[i]));
    return list;
  }

  void bind(const std::string &input, Tensor tensor) {
    auto found = std::find(names.inputs.begin(), names.inputs.end(), input);
    require(found != names.inputs.end(), "no input '{}'", printable(input));
    auto index = size_t(found - names.inputs.begin());
    const NativeTensor *native = api.input(interpreter.get(), int32_t(index));
    ElementType type = typeOf(native, input);
    require(tensor.type() == type, "input '{}': an array of {}, expected {}", printable(input), name(tensor.type()),
            name(type));
    if (tensor.dims() != dimsOf(native)) {
      std::vector<int> dims(tensor.dims().begin(), tensor.dims().end());
      check(api.resizeInput(interpreter.get(), int32_t(index), dims.data(), int32_t(dims.size())),
            fmt::format("does not resize input '{}'", printable(input)));
      check(api.allocateTensors(interpreter.get()), "allocates no tensors");
    }
    given[index] = std::move(tensor);
  }

  /// Copies the inputs before each run, because the interpreter may overwrite them; a program that uses it does the
  /// same.
  void run() {
    for (size_t i = 0; i < given.size(); ++i) {
      require(given[i].defined(), "input '{}' has no array", printable(names.inputs[i]));
      NativeTensor *native = api.input(interpreter.get(), int32_t(i));
      require(api.tensorBytes(native) == size_t(given[i].bytes()), "input '{}' has {} bytes, expected {}",
              printable(names.inputs[i]), given[i].bytes(), api.tensorBytes(native));
      if (given[i].bytes())
        std::memcpy(api.tensorData(native), given[i].data(), size_t(given[i].bytes()));
    }
    check(api.invoke(interpreter.get()), "fails");
  }

  std::vector<lab::NamedTensor> results() const {
    std::vector<lab::NamedTensor> list;
    for (size_t i = 0; i < names.outputs.size(); ++i) {
      const NativeTensor *native = api.output(interpreter.get(), int32_t(i));
      Tensor tensor(typeOf(native, names.outputs[i]), dimsOf(native));
      require(api.tensorBytes(native) == size_t(tensor.bytes()), "output '{}' has {} bytes, expected {}",
              printable(names.outputs[i]), api.tensorBytes(native), tensor.bytes());
      if (tensor.bytes())
        std::memcpy(tensor.data(), api.tensorData(native), size_t(tensor.bytes()));
      list.push_back({names.outputs[i], std::move(tensor)});
    }
    return list;
  }

  const std::vector<Tensor> &bound() const { return given; }
  const std::vector<std::string> &inputNames() const { return names.inputs; }

private:
  const Api &api;
  std::string path, said; // messages of the library since the last call
  PortNames names;
  Owned<Model> model;
  Owned<Options> options;
  Owned<Interpreter> interpreter;
  std::vector<Tensor> given;

  static void report(void *data, const char *format, va_list arguments) {
    char line[512];
    std::vsnprintf(line, sizeof line, format, arguments);
    auto &said = static_cast<Network *>(data)->said;
    said += (said.empty() ? "" : "; ") + std::string(line);
  }
  std::string takeSaid() {
    std::string text = said.empty() ? "" : ": " + printable(said);
    said.clear();
    return text;
  }
  void check(int status, const std::string &what) {
    require(status == 0, "{}: TensorFlow Lite {}{}", path, what, takeSaid());
    said.clear();
  }
  ElementType typeOf(const NativeTensor *tensor, const std::string &port) const {
    return elementTypeOf(api.tensorType(tensor), "'" + printable(port) + "'");
  }
  std::vector<int64_t> dimsOf(const NativeTensor *tensor) const {
    std::vector<int64_t> dims;
    for (int32_t axis = 0; axis < api.tensorRank(tensor); ++axis)
      dims.push_back(api.tensorDim(tensor, axis));
    return dims;
  }
  json portJson(const NativeTensor *tensor, const std::string &port) const {
    return {{"name", port}, {"type", std::string(name(typeOf(tensor, port)))}, {"dims", dimsOf(tensor)}};
  }
};

class TfliteRunner : public lab::ServedRunner {
public:
  explicit TfliteRunner(std::string library) : libraryPath(std::move(library)) {}

  json hello() override {
    open();
    return {{"name", "tflite"},
            {"version", api->version()},
            {"formats", {"tflite"}},
            {"settings", {{"build", "native"}, {"library", libraryPath}, {"api", "c, inputs copied in"}}}};
  }
  void load(const std::string &path, int threads) override {
    open();
    network.reset(); // first, so that the old model does not count as memory of the new one
    network.emplace(*api, path, threads);
    file = path;
  }
  json describe() override { return {{"inputs", network->inputs()}, {"outputs", network->outputs()}}; }
  void setThreads(int threads) override {
    std::vector<Tensor> bound = network->bound();
    load(file, threads);
    for (size_t i = 0; i < bound.size(); ++i)
      if (bound[i].defined())
        network->bind(network->inputNames()[i], bound[i]);
  }
  void bind(const std::string &input, Tensor tensor) override { network->bind(input, std::move(tensor)); }
  void run() override { network->run(); }
  std::vector<lab::NamedTensor> outputs() override { return network->results(); }

private:
  std::string libraryPath, file;
  std::optional<Api> api;
  std::optional<Network> network;

  /// Called at the first request: if the library is wrong, the answer to the request reports it.
  void open() {
    if (!api)
      api = openTflite(libraryPath);
  }
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: lathe-runner-tflite LIBRARY\n"
                 "Answers the requests of docs/runner-protocol.md on standard input.\n"
                 "LIBRARY: TensorFlow Lite's C library, libtensorflowlite_c.so\n";
    return 2;
  }
  TfliteRunner runner(argv[1]);
  return lab::serveRunner(runner);
}
