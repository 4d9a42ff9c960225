// Lathe's packages as a runner (docs/runner-protocol.md): the runtime alone, no compiler.
#include "lab/Counters.h"
#include "runtime/Context.h"
#include "runtime/NpyTensor.h"
#include "runtime/References.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>
#include <memory>

using nlohmann::json;
using namespace lathe;

namespace {

using Clock = std::chrono::steady_clock;

int64_t nanosecondsSince(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
}

json describe(std::span<const runtime::Port> ports) {
  json list = json::array();
  for (auto &port : ports) {
    require(port.tensor, "'{}' is no tensor: runners only exchange tensors", port.name);
    json dims = json::array();
    for (auto &dim : port.dims)
      dims.push_back(dim.isConstant() ? json(dim.constant()) : json(dim.str()));
    list.push_back({{"name", port.name}, {"type", std::string(name(port.type))}, {"dims", dims}});
  }
  return list;
}

class PackageRunner {
public:
  explicit PackageRunner(std::string name) : name(std::move(name)) {}

  json answer(const json &request) {
    auto what = request.at("do").get<std::string>();
    if (what == "hello")
      return {{"ok", true},
              {"protocol", 1},
              {"name", name},
              {"version", LATHE_VERSION},
              {"formats", {"lathe"}},
              {"settings", json::object()},
              {"uncounted", counters.uncounted()}};
    if (what == "load")
      return load(request);
    require(context != nullptr, "'{}' before 'load'", what);
    if (what == "threads")
      return setThreads(request.at("count").get<int>());
    if (what == "inputs")
      return bind(request.at("files"));
    if (what == "run")
      return run(request.at("directory").get<std::string>());
    if (what == "time")
      return time(request.value("warmup", 0), request.at("repetitions").get<int>());
    fail("unknown request '{}'", what);
  }

private:
  json load(const json &request) {
    context.reset();
    inputs.clear();
    threads = request.value("threads", 1);
    auto begin = Clock::now();
    auto model = runtime::Model::load(request.at("path").get<std::string>());
    context = std::make_unique<runtime::Context>(model, runtime::ContextOptions{threads});
    int64_t loading = nanosecondsSince(begin);
    return {{"ok", true},
            {"load_ns", loading},
            {"inputs", describe(model->inputs())},
            {"outputs", describe(model->outputs())},
            {"target", model->target()},
            {"options", model->options()}};
  }

  json setThreads(int count) {
    threads = count;
    auto model = runtime::Model::load(context->model().file());
    context = std::make_unique<runtime::Context>(model, runtime::ContextOptions{threads});
    for (auto &[index, tensor] : inputs)
      context->setInput(index, tensor);
    return {{"ok", true}};
  }

  json bind(const json &files) {
    for (auto &[port, file] : files.items()) {
      auto index = context->model().findInput(port);
      require(index.has_value(), "{}: no input '{}'", context->model().file(), port);
      Tensor tensor = toTensor(readNpy(file.get<std::string>()));
      context->setInput(*index, tensor);
      inputs.emplace_back(*index, tensor);
    }
    return {{"ok", true}};
  }

  json run(const std::string &directory) {
    context->run();
    json outputs = json::object();
    auto ports = context->model().outputs();
    for (size_t i = 0; i < ports.size(); ++i) {
      std::string file = fmt::format("{}/{}.npy", directory, i);
      writeNpy(file, npyView(context->output(i).tensor()));
      outputs[ports[i].name] = file;
    }
    return {{"ok", true}, {"outputs", outputs}};
  }

  json time(int warmup, int repetitions) {
    for (int i = 0; i < warmup; ++i)
      context->run();
    std::vector<int64_t> samples;
    lab::CounterReading before = counters.read();
    for (int i = 0; i < repetitions; ++i) {
      auto begin = Clock::now();
      context->run();
      samples.push_back(nanosecondsSince(begin));
    }
    return {{"ok", true}, {"samples_ns", samples}, {"counts", toJson(lab::between(before, counters.read()))}};
  }

  std::string name;
  lab::Counters counters; // before there are threads
  int threads = 1;
  std::unique_ptr<runtime::Context> context;
  std::vector<std::pair<size_t, Tensor>> inputs;
};

} // namespace

int main(int argc, char **argv) {
  std::string name = "lathe";
  if (argc == 3 && std::string_view(argv[1]) == "--name")
    name = argv[2];
  else if (argc != 1) {
    std::cerr
        << "usage: lathe-runner [--name NAME]\nAnswers the requests of docs/runner-protocol.md on standard input.\n";
    return 2;
  }
  runtime::registerReferences();
  PackageRunner runner(name);
  for (std::string line; std::getline(std::cin, line);) {
    json answer;
    try {
      json request = json::parse(line);
      if (request.at("do") == "quit")
        return 0;
      answer = runner.answer(request);
    } catch (const std::exception &exception) {
      answer = {{"ok", false}, {"error", exception.what()}};
    }
    std::cout << answer.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  }
  return 0;
}
