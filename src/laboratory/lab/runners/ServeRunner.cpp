#include "lab/runners/ServeRunner.h"
#include "lab/InjectSlowdown.h"
#include "lab/ServeLines.h"

#include "lab/machine/Counters.h"
#include "runtime/NpyTensor.h"

#include <algorithm>
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
  explicit Serving(ServedRunner &runner) : runner(runner) {}

  json answer(const json &request) {
    auto what = request.at("do").get<std::string>();
    if (what == "hello") {
      json greeting = runner.hello();
      greeting.update({{"protocol", 1}, {"uncounted", counters.uncounted()}});
      return greeting;
    }
    if (what == "load")
      return load(request);
    require(loaded, "'{}' before 'load'", what);
    if (what == "threads")
      return setThreads(threadsOf(request.at("count")));
    if (what == "inputs")
      return bind(request.at("files"));
    if (what == "run")
      return run(request.at("directory").get<std::string>());
    if (what == "time")
      return time(request.value("warmup", 0), request.at("repetitions").get<int>());
    fail("unknown request '{}'", what);
  }

private:
  static int threadsOf(const json &count) {
    int threads = count.get<int>();
    require(threads >= 1, "{} threads, expected at least 1", threads);
    return threads;
  }

  json load(const json &request) {
    int threads = threadsOf(request.value("threads", json(1)));
    loaded = false;
    auto begin = Clock::now();
    std::string path = request.at("path").get<std::string>();
    runner.load(path, threads);
    slowdown = injectedSlowdown(path.substr(path.rfind('/') + 1));
    int64_t loading = nanosecondsSince(begin);
    json answer = runner.describe();
    loaded = true;
    answer["load_ns"] = loading;
    return answer;
  }

  json setThreads(int threads) {
    loaded = false; // unless it succeeds
    runner.setThreads(threads);
    loaded = true;
    return json::object();
  }

  json bind(const json &files) {
    for (auto &[input, file] : files.items())
      runner.bind(input, toTensor(readNpy(file.get<std::string>())));
    return json::object();
  }

  json run(const std::string &directory) {
    if (!runner.prepare())
      runner.run();
    json files = json::object();
    size_t count = 0;
    for (const NamedTensor &output : runner.outputs()) {
      std::string file = fmt::format("{}/{}.npy", directory, count++);
      writeNpy(file, npyView(output.tensor));
      files[output.name] = file;
    }
    return {{"outputs", files}};
  }

  json time(int warmup, int repetitions) {
    runner.prepare();
    for (int i = 0; i < warmup; ++i)
      runner.run();
    std::vector<int64_t> samples;
    samples.reserve(size_t(std::max(repetitions, 0)));
    CounterReading before = counters.read();
    for (int i = 0; i < repetitions; ++i) {
      auto begin = Clock::now();
      runner.run();
      prolong(begin, slowdown);
      samples.push_back(nanosecondsSince(begin));
    }
    return {{"samples_ns", samples}, {"counts", toJson(between(before, counters.read()))}};
  }

  ServedRunner &runner;
  Counters counters; // created before threads are started
  bool loaded = false;
  double slowdown = 0; // share that is added to a run's time
};

} // namespace

int serveRunner(ServedRunner &runner) {
  Serving serving(runner);
  return serveLines([&](const json &request) { return serving.answer(request); });
}

} // namespace lathe::lab
