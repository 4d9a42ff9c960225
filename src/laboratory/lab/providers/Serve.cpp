#include "lab/InjectSlowdown.h"
#include "lab/ServeLines.h"
#include "lab/providers/Provider.h"

#include "lab/machine/Counters.h"
#include "lab/machine/PlatformFacts.h"
#include "lab/ops/SharedRuns.h"
#include "lab/problems/Operands.h"
#include "lab/providers/ColdCaches.h"
#include "lab/providers/HugePages.h"
#include "runtime/NpyTensor.h"
#include "support/Base64.h"

#include <chrono>
#include <cmath>
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
  explicit Serving(Provider &provider) : provider(provider) {
    if (!provider.computesHere())
      return;
    allocateInHugePages();
    counters.emplace();
  }

  json answer(const json &request) {
    auto what = request.at("do").get<std::string>();
    if (what == "hello")
      return {{"protocol", providerProtocolVersion},
              {"name", provider.name()},
              {"version", provider.version()},
              {"operators", provider.variants()},
              {"settings", provider.settings()},
              {"layouts", layouts()},
              {"schedules", provider.takesSchedules()},
              {"platform", platformFacts()},
              {"seeds", true},
              {"cold", provider.computesHere()},
              {"cold_constants", provider.computesHere()},
              {"company", provider.computesHere()},
              {"uncounted", counters ? counters->uncounted() : provider.uncounted()}};
    if (what == "task")
      return task(request);
    if (what == "prepare")
      return prepare(request);
    require(prepared, "'{}' before 'prepare'", what);
    if (what == "run") {
      provider.run();
      return {
          {"outputs", request.value("inline", false) ? inlined() : write(request.at("directory").get<std::string>())}};
    }
    if (what == "time")
      return time(request, flushOf(request));
    if (what == "accompany")
      return accompany(request.at("runs").get<std::string>(), request.at("directory").get<std::string>());
    fail("unknown request '{}'", what);
  }

private:
  /// Memory that is evicted from the caches before a run.
  enum class Flush { nothing, everything, constants };
  static Flush flushOf(const json &request) {
    auto cold = request.find("cold");
    if (cold == request.end() || *cold == false)
      return Flush::nothing;
    require(*cold == true || *cold == "constants", "\"cold\" is {}, expected true, false or \"constants\"",
            cold->dump());
    return *cold == true ? Flush::everything : Flush::constants;
  }

  /// Why this cannot be flushed before a run; "" if it can.
  std::string unflushable(Flush flush) const {
    if (flush != Flush::nothing && !provider.computesHere())
      return provider.name() + " computes in another process, whose caches it cannot empty before a run";
    if (flush == Flush::constants && hasConstants && !provider.constants())
      return provider.name() + " does not know where the constants lie that it computes this with";
    return "";
  }

  void empty(Flush flush) const {
    if (flush == Flush::nothing || (flush == Flush::constants && !hasConstants))
      return;
    auto flushed = flush == Flush::everything ? flushCaches() : flushCaches(*provider.constants());
    if (!flushed)
      fail("{}", flushed.reason());
  }

  std::vector<std::string> layouts() const {
    std::vector<std::string> names;
    for (ActivationLayout layout : provider.layouts())
      names.emplace_back(name(layout));
    return names;
  }

  /// The common part of `prepare` and `task`; declines an operator that the provider does not have.
  Outcome<ProviderRequest> asked(const Problem &problem, const json &request) const {
    ProviderRequest result{request.at("variant").get<std::string>(), request.at("threads").get<int>(),
                           activationLayout(request.value("layout", "any")), request.value("schedule", ""),
                           request.value("task", "")};
    auto variants = provider.variants();
    auto names = variants.find(problem.op);
    if (names == variants.end())
      return NotApplicable{fmt::format("{} has no {}", provider.name(), problem.op)};
    require(std::find(names->second.begin(), names->second.end(), result.variant) != names->second.end(),
            "no variant '{}' of {}, there are {}", result.variant, problem.op, fmt::join(names->second, ", "));
    return result;
  }

  json task(const json &request) {
    Problem problem = problemFromJson(request.at("problem"));
    auto wanted = asked(problem, request);
    if (!wanted)
      return {{"declined", wanted.reason()}};
    auto task = provider.task(problem, *wanted);
    return task ? json{{"task", *task}} : json{{"declined", task.reason()}};
  }

  json prepare(const json &request) {
    prepared = false;
    Problem problem = problemFromJson(request.at("problem"));
    auto wanted = asked(problem, request);
    if (!wanted)
      return {{"declined", wanted.reason()}};
    results = problem.results();
    ProblemInputs inputs = request.contains("seed") ? makeOperands(problem, request.at("seed").get<uint64_t>())
                                                    : readOperands(problem, request.at("inputs"));
    auto begin = Clock::now();
    auto implementation = provider.prepare(problem, *wanted, inputs);
    if (!implementation)
      return {{"declined", implementation.reason()}};
    hasConstants = problem.constantBytes() > 0;
    if (std::string reason = unflushable(flushOf(request)); !reason.empty())
      return {{"declined", reason}};
    prepared = true;
    collapsed = false;
    json answer = {{"prepare_ns", nanosecondsSince(begin)}, {"implementation", *implementation}};
    if (auto scheduled = provider.scheduled()) {
      answer["task"] = scheduled->task;
      answer["schedule"] = scheduled->schedule;
      if (scheduled->predictedCycles > 0)
        answer["predicted_cycles"] = scheduled->predictedCycles;
    }
    return answer;
  }

  static ProblemInputs readOperands(const Problem &problem, const json &files) {
    ProblemInputs inputs;
    for (const auto &operand : problem.inputs()) {
      inputs.emplace_back();
      if (!operand)
        continue;
      const std::string &name = operand->name;
      Tensor tensor = toTensor(readNpy(files.at(name).get<std::string>()));
      require(tensor.type() == operand->type && tensor.dims() == operand->dims, "input '{}' is {} {}, expected {} {}",
              name, lathe::name(tensor.type()), fmt::join(tensor.dims(), "x"), lathe::name(operand->type),
              fmt::join(operand->dims, "x"));
      inputs.back() = tensor;
    }
    return inputs;
  }

  /// Runs without end, until the laboratory sets the mark in the shared memory.
  json accompany(const std::string &path, const std::string &directory) {
    SharedRuns shared(path);
    uint64_t runs = 0;
    do {
      provider.run();
      shared.add();
      ++runs;
    } while (!shared.mustStop());
    return {{"runs", runs}, {"outputs", write(directory)}};
  }

  json time(const json &request, Flush flush) {
    int warmup = request.value("warmup", 0), repetitions = request.at("repetitions").get<int>();
    std::string path = request.value("beside", "");
    std::optional<SharedRuns> beside;
    if (!path.empty())
      beside.emplace(path);
    std::string reason = unflushable(flush);
    require(reason.empty(), "{}", reason);
    bool cold = flush == Flush::everything || (flush == Flush::constants && hasConstants);
    if (auto timing = provider.time(warmup, repetitions)) {
      std::vector<int64_t> samples;
      for (double seconds : timing->seconds)
        samples.push_back(std::llround(seconds * 1e9));
      return {{"samples_ns", samples}, {"counts", toJson(timing->counts)}};
    }
    if (!collapsed) { // after the first run, in which some libraries allocate scratch
      provider.run();
      collapseMappings();
      collapsed = true;
    }
    for (int i = 0; i < warmup; ++i)
      provider.run();
    std::vector<int64_t> samples(static_cast<size_t>(repetitions));
    // A reading takes longer than a short run and disturbs the caches, so counters are read before the first run and
    // after the last. Flushing must not be counted; it takes so long that further readings do no harm.
    std::optional<Counts> counts;
    CounterReading before = counters->read();
    auto count = [&] {
      Counts more = between(before, counters->read());
      if (counts)
        *counts += more;
      else
        counts = more;
    };
    uint64_t besideRuns = 0, runsBefore = 0;
    for (int64_t &sample : samples) {
      if (cold) {
        empty(flush);
        before = counters->read();
      }
      if (beside)
        runsBefore = beside->runs();
      auto begin = Clock::now();
      provider.run();
      prolong(begin, slowdown);
      sample = nanosecondsSince(begin);
      if (beside)
        besideRuns += beside->runs() - runsBefore;
      if (cold)
        count();
    }
    if (!cold)
      count();
    json answer = {{"samples_ns", samples}, {"counts", toJson(counts.value_or(Counts()))}};
    if (beside)
      answer["beside_runs"] = besideRuns;
    return answer;
  }

  /// Results inside the answer, for a laboratory that shares no files with this machine.
  json inlined() {
    json answer = json::object();
    auto outputs = provider.outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::span<const char> bytes(static_cast<const char *>(outputs[i].data()), size_t(outputs[i].bytes()));
      answer[results.at(i).name] = {
          {"type", lathe::name(outputs[i].type())}, {"dims", outputs[i].dims()}, {"base64", toBase64(bytes)}};
    }
    return answer;
  }

  json write(const std::string &directory) {
    json files = json::object();
    auto outputs = provider.outputs();
    require(outputs.size() == results.size(), "{} results, expected {}", outputs.size(), results.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      auto path = fmt::format("{}/{}.npy", directory, results[i].name);
      writeNpy(path, npyView(outputs[i]));
      files[results[i].name] = path;
    }
    return files;
  }

  Provider &provider;
  std::optional<Counters> counters;    // if it computes here; created before it starts threads
  std::vector<ProblemOperand> results; // of the prepared problem
  double slowdown = injectedSlowdown("");
  bool prepared = false, hasConstants = false;
  bool collapsed = false; // after the last preparation
};

} // namespace

std::vector<std::span<const char>> constantInputs(const Problem &problem, const ProblemInputs &inputs) {
  std::vector<std::span<const char>> ranges;
  auto known = problem.inputs();
  for (size_t i = 0; i < known.size(); ++i)
    if (known[i] && known[i]->constant)
      ranges.emplace_back(static_cast<const char *>(inputs[i].data()), size_t(inputs[i].bytes()));
  return ranges;
}

int serveProvider(Provider &provider) {
  Serving serving(provider);
  return serveLines([&](const json &request) { return serving.answer(request); });
}

} // namespace lathe::lab
