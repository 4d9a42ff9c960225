#include "lab/providers/Provider.h"

#include "runtime/NpyTensor.h"

#include <chrono>
#include <iostream>

namespace lathe::lab {

using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

int64_t nanosecondsSince(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
}

class Serving {
public:
  explicit Serving(Provider &provider) : provider(provider) {}

  json answer(const json &request) {
    auto what = request.at("do").get<std::string>();
    if (what == "hello")
      return {{"protocol", 1},
              {"name", provider.name()},
              {"version", provider.version()},
              {"operators", provider.variants()},
              {"settings", provider.settings()}};
    if (what == "prepare")
      return prepare(request);
    require(prepared, "'{}' before 'prepare'", what);
    if (what == "run") {
      provider.run();
      auto path = request.at("directory").get<std::string>() + "/y.npy";
      Tensor y = provider.output();
      writeNpy(path, npyView(y));
      return {{"outputs", {{"y", path}}}};
    }
    if (what == "time")
      return time(request.value("warmup", 0), request.at("repetitions").get<int>());
    fail("unknown request '{}'", what);
  }

private:
  json prepare(const json &request) {
    prepared = false;
    auto op = request.at("operator").get<std::string>();
    auto variant = request.at("variant").get<std::string>();
    auto variants = provider.variants();
    if (!variants.count(op))
      return {{"declined", "no operator " + op}};
    auto &names = variants[op];
    require(std::find(names.begin(), names.end(), variant) != names.end(), "no variant '{}' of {}, there are {}",
            variant, op, fmt::join(names, ", "));
    ConvProblem problem = convProblemFromJson(request.at("problem"));
    ProblemInputs inputs;
    auto read = [&](const char *name, const std::vector<int64_t> &dims) {
      Tensor tensor = toTensor(readNpy(request.at("inputs").at(name).get<std::string>()));
      require(tensor.type() == ElementType::f32 && tensor.dims() == dims, "input '{}' is {} {}, expected f32 {}", name,
              lathe::name(tensor.type()), fmt::join(tensor.dims(), "x"), fmt::join(dims, "x"));
      return tensor;
    };
    inputs.x = read("x", problem.inputDims());
    inputs.w = read("w", problem.weightDims());
    if (problem.bias)
      inputs.b = read("b", {problem.outChannels});
    auto begin = Clock::now();
    auto implementation = provider.prepare(problem, variant, request.at("threads").get<int>(), inputs);
    if (!implementation)
      return {{"declined", implementation.reason()}};
    prepared = true;
    return {{"prepare_ns", nanosecondsSince(begin)}, {"implementation", *implementation}};
  }

  json time(int warmup, int repetitions) {
    for (int i = 0; i < warmup; ++i)
      provider.run();
    std::vector<int64_t> samples(static_cast<size_t>(repetitions));
    for (int64_t &sample : samples) {
      auto begin = Clock::now();
      provider.run();
      sample = nanosecondsSince(begin);
    }
    return {{"samples_ns", samples}};
  }

  Provider &provider;
  bool prepared = false;
};

} // namespace

int serveProvider(Provider &provider) {
  Serving serving(provider);
  for (std::string line; std::getline(std::cin, line);) {
    json answer;
    try {
      json request = json::parse(line);
      if (request.at("do") == "quit")
        return 0;
      answer = serving.answer(request);
      answer["ok"] = true;
    } catch (const std::exception &exception) {
      answer = {{"ok", false}, {"error", exception.what()}};
    }
    std::cout << answer.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  }
  return 0;
}

} // namespace lathe::lab
