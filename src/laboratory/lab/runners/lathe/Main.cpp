// Runs Lathe's packages as a runner (docs/runner-protocol.md), with the runtime only and no compiler.
#include "Corun.h"
#include "lab/runners/ServeRunner.h"
#include "runtime/Context.h"
#include "runtime/References.h"

#include <iostream>
#include <memory>

using nlohmann::json;
using namespace lathe;

namespace {

json portsJson(std::span<const runtime::Port> ports) {
  json list = json::array();
  for (auto &port : ports) {
    require(port.tensor(), "'{}' is not a tensor: runners only exchange tensors", port.name);
    json dims = json::array();
    for (auto &dim : port.dims)
      dims.push_back(dim.isConstant() ? json(dim.constant()) : json(dim.str()));
    list.push_back({{"name", port.name}, {"type", std::string(name(port.type))}, {"dims", dims}});
  }
  return list;
}

class PackageRunner : public lab::ServedRunner {
public:
  explicit PackageRunner(std::string name) : name(std::move(name)) {}

  json hello() override {
    return {{"name", name}, {"version", LATHE_VERSION}, {"formats", {"lathe"}}, {"settings", json::object()}};
  }

  void load(const std::string &path, int threads) override {
    context.reset();
    inputs.clear();
    context = std::make_unique<runtime::Context>(runtime::Model::load(path), runtime::ContextOptions{threads});
  }

  json describe() override {
    const runtime::Model &model = context->model();
    return {{"inputs", portsJson(model.inputs())},
            {"outputs", portsJson(model.outputs())},
            {"target", model.target()},
            {"options", model.options()}};
  }

  void setThreads(int threads) override {
    auto model = runtime::Model::load(context->model().file());
    context = std::make_unique<runtime::Context>(model, runtime::ContextOptions{threads});
    for (auto &[index, tensor] : inputs)
      context->setInput(index, tensor);
  }

  void bind(const std::string &input, Tensor tensor) override {
    auto index = context->model().findInput(input);
    require(index.has_value(), "{}: no input '{}'", context->model().file(), input);
    context->setInput(*index, tensor);
    inputs.emplace_back(*index, tensor);
  }

  void run() override { context->run(); }

  std::vector<lab::NamedTensor> outputs() override {
    std::vector<lab::NamedTensor> list;
    for (auto &port : context->model().outputs())
      list.push_back({port.name, context->output(list.size()).tensor()});
    return list;
  }

private:
  std::string name;
  std::unique_ptr<runtime::Context> context;
  std::vector<std::pair<size_t, Tensor>> inputs;
};

} // namespace

int main(int argc, char **argv) {
  std::string name = "lathe";
  if (argc == 2 && std::string_view(argv[1]) == "--corun") {
    runtime::registerReferences();
    return serveCorun();
  }
  if (argc == 3 && std::string_view(argv[1]) == "--name")
    name = argv[2];
  else if (argc != 1) {
    std::cerr << "usage: lathe-runner [--name NAME]\nAnswers the requests of docs/runner-protocol.md on standard "
                 "input, or with "
                 "--corun those of `lathe corun`.\n";
    return 2;
  }
  runtime::registerReferences();
  PackageRunner runner(name);
  return lab::serveRunner(runner);
}
