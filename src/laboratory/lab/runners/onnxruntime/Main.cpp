// ONNX Runtime as a runner (docs/runner-protocol.md), through the C API of the library that npm fetches.
#include "lab/compare/OnnxRuntimePlace.h"
#include "lab/providers/HugePages.h"
#include "lab/runners/ServeRunner.h"
#include "lab/runners/onnxruntime/Network.h"

#include <iostream>
#include <optional>

using nlohmann::json;
using namespace lathe;

namespace {

json portsJson(const std::vector<ort::Port> &ports) {
  json list = json::array();
  for (const ort::Port &port : ports) {
    json dims = json::array();
    for (size_t i = 0; i < port.dims.size(); ++i)
      dims.push_back(port.dims[i] >= 0 ? json(port.dims[i]) : json(port.names[i]));
    list.push_back({{"name", port.name}, {"type", std::string(name(port.type))}, {"dims", dims}});
  }
  return list;
}

class OnnxRuntimeRunner : public lab::ServedRunner {
public:
  OnnxRuntimeRunner(bool hugePages, ort::ExecutionMode mode) : hugePages(hugePages), mode(mode) {}

  json hello() override {
    open();
    return {{"name", "onnxruntime"},
            {"version", library.version},
            {"formats", {"onnx"}},
            {"settings",
             {{"execution", mode == ort::parallel ? "parallel" : "sequential"},
              {"graph_optimization", "all"},
              {"provider", "cpu"},
              {"api", "c, bound"}}}};
  }

  void load(const std::string &file, int threads) override {
    open();
    network.reset(); // first, so that the old model does not count as memory of the new one
    network.emplace(*library.api, *env, file, threads, mode);
    path = file;
  }

  json describe() override {
    return {{"inputs", portsJson(network->inputs())}, {"outputs", portsJson(network->outputs())}};
  }

  void setThreads(int threads) override {
    auto bound = network->bound();
    load(path, threads);
    for (auto &[input, tensor] : bound)
      network->bind(input, tensor);
  }

  void bind(const std::string &input, Tensor tensor) override { network->bind(input, std::move(tensor)); }

  bool prepare() override {
    bool ran = network->prepare();
    if (ran && hugePages)
      lab::collapseMappings();
    return ran;
  }

  void run() override { network->run(); }

  std::vector<lab::NamedTensor> outputs() override {
    std::vector<lab::NamedTensor> list;
    for (Tensor tensor : network->results())
      list.push_back({network->outputs()[list.size()].name, std::move(tensor)});
    return list;
  }

private:
  /// Called at the first request: if the library is missing or wrong, the answer to the request reports it.
  void open() {
    if (library.api)
      return;
    auto place = lab::onnxRuntimeLibrary();
    require(place.has_value(), "{}", lab::notInstalled("ONNX Runtime"));
    ort::Library opened = ort::openOnnxRuntime(place->string());
    env = ort::make(*opened.api, opened.api->releaseEnv, opened.api->createEnv, ort::errorLevel, "lathe");
    library = opened;
  }

  bool hugePages;
  ort::ExecutionMode mode;
  ort::Library library;
  ort::Owned<ort::Env> env{nullptr, nullptr};
  std::string path;
  std::optional<ort::Network> network;
};

} // namespace

int main(int argc, char **argv) {
  const std::string_view flag = argc == 2 ? argv[1] : "";
  const bool hugePages = flag == "--huge-pages", inParallel = flag == "--parallel";
  if (argc != 1 && !hugePages && !inParallel) {
    std::cerr << "usage: lathe-runner-onnxruntime [--huge-pages | --parallel]\n"
                 "Answers the requests of docs/runner-protocol.md on standard input.\n"
                 "--huge-pages: keep operands in huge pages, as providers do\n"
                 "--parallel: run independent nodes at the same time (ORT_PARALLEL)\n";
    return 2;
  }
  if (hugePages)
    lab::allocateInHugePages();
  OnnxRuntimeRunner runner(hugePages, inParallel ? ort::parallel : ort::sequential);
  return lab::serveRunner(runner);
}
