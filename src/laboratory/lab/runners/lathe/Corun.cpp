#include "Corun.h"

#include "lab/ServeLines.h"
#include "lab/corun/OutputsHash.h"
#include "lab/corun/SharedWindow.h"
#include "lab/ops/SharedRuns.h"
#include "machine/NumberList.h"
#include "runtime/Context.h"
#include "runtime/Cpu.h"
#include "runtime/NpyTensor.h"
#include "runtime/ThreadPool.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <set>
#include <thread>

namespace lathe {
namespace {

using nlohmann::json;

/// The largest number of times of a member that an answer has for one window.
constexpr size_t mostSamples = 400;

/// Begin and end of a run on the clock of sharedNanoseconds.
struct Run {
  int64_t begin, end;
};

struct Instance {
  std::unique_ptr<runtime::Context> context;
  int cpu = 0;            // CPU of its calling thread
  std::vector<Run> runs;  // of the last window
  std::string wrong = {}; // hash of the outputs of the window's last run if it is not the expected one
};

struct Member {
  std::vector<Instance> instances;
  std::string outputs; // expected hash
};

/// Calls work(i) for 0 <= i < count at the same time, each on a thread of its own. Rethrows the first exception.
template <class Work> void onThreads(size_t count, Work work) {
  std::vector<std::exception_ptr> errors(count);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::exception_ptr &error : errors)
    if (error)
      std::rethrow_exception(error);
}

class Corun {
public:
  json answer(const json &request) {
    auto what = request.at("do").get<std::string>();
    if (what == "hello")
      return {{"name", "lathe"}, {"version", LATHE_VERSION}, {"protocol", 1}};
    if (what == "load")
      return load(request);
    if (what == "run")
      return run(request);
    if (what == "accompany")
      return accompany(request);
    fail("unknown request '{}'", what);
  }

private:
  std::vector<Member> members;

  json load(const json &request) {
    members.clear();
    NumberList together; // CPUs of the slots of members that run beside each other
    for (const json &member : request.at("members"))
      if (NumberList own = slotsOf(member); !isApart(member))
        together.insert(together.end(), own.begin(), own.end());
    std::shared_ptr<runtime::ThreadPool> pool;
    if (!together.empty())
      pool =
          std::make_shared<runtime::ThreadPool>(int(together.size()), together, request.at("shares_cpus").get<bool>());
    int slot = 0;
    for (const json &member : request.at("members")) {
      NumberList own = slotsOf(member);
      if (isApart(member)) {
        bool shares = std::set<int>(own.begin(), own.end()).size() < own.size();
        members.push_back(loaded(member, std::make_shared<runtime::ThreadPool>(int(own.size()), own, shares), 0));
        continue;
      }
      members.push_back(loaded(member, pool, slot));
      slot += int(own.size());
    }
    return json::object();
  }

  static bool isApart(const json &member) { return member.at("apart").get<bool>(); }
  /// The CPUs of the slots of all instances.
  static NumberList slotsOf(const json &member) {
    NumberList cpus;
    for (const NumberList &instance : member.at("instances").get<std::vector<NumberList>>())
      cpus.insert(cpus.end(), instance.begin(), instance.end());
    return cpus;
  }

  /// Loads a member whose first slot of the pool is `slot`.
  static Member loaded(const json &request, const std::shared_ptr<runtime::ThreadPool> &pool, int slot) {
    // Who asks has checked the constants of the file of which this is a copy.
    auto model = runtime::Model::load(request.at("package").get<std::string>(), {.checkConstants = false});
    std::vector<std::pair<size_t, Tensor>> inputs;
    for (auto &[input, file] : request.at("inputs").items()) {
      auto index = model->findInput(input);
      require(index.has_value(), "{}: no input '{}'", model->file(), input);
      inputs.emplace_back(*index, toTensor(readNpy(file.get<std::string>())));
    }
    Member member;
    member.outputs = request.at("outputs").get<std::string>();
    auto instances = request.at("instances").get<std::vector<NumberList>>();
    member.instances.resize(instances.size());
    for (size_t i = 0; i < instances.size(); slot += int(instances[i++].size()))
      onThreads(1, [&](size_t) { // the instance's memory is first touched where it runs
        Instance &instance = member.instances[i];
        instance.cpu = instances[i].front();
        runtime::bindToCpu(pthread_self(), instance.cpu);
        instance.context = std::make_unique<runtime::Context>(
            model, runtime::ContextOptions{.threads = int(instances[i].size()),
                                           .pool = pool,
                                           .firstSlot = slot,
                                           .streams = request.at("streams").get<bool>()});
        for (auto &[index, tensor] : inputs)
          instance.context->setInput(index, tensor);
        instance.context->run();
        check(member, instance);
        require(instance.wrong.empty(), "{}: its outputs on {} have the hash {}, expected {}", model->file(),
                numberListText(instances[i]), instance.wrong, member.outputs);
      });
    return member;
  }

  static void check(const Member &member, Instance &instance) {
    std::string found = lab::outputsHash(*instance.context);
    instance.wrong = found == member.outputs ? "" : found;
  }

  /// Runs an instance until the window is over.
  static void runWithin(lab::SharedWindow &window, Instance &instance, uint32_t expected, int64_t length) {
    runtime::bindToCpu(pthread_self(), instance.cpu);
    instance.runs.clear();
    instance.context->run();
    window.enter(expected);
    while (!window.mustStop()) {
      int64_t before = lab::sharedNanoseconds();
      instance.context->run();
      int64_t after = lab::sharedNanoseconds(), begin = window.begin();
      if (!begin)
        continue;
      instance.runs.push_back({before, after});
      if (after >= begin + length)
        return;
    }
  }

  json run(const json &request) {
    lab::SharedWindow window(request.at("window").get<std::string>());
    auto expected = request.at("instances").get<uint32_t>();
    auto length = int64_t(request.at("seconds").get<double>() * 1e9);
    auto chosen = request.at("members").get<std::vector<size_t>>();
    std::vector<Instance *> instances;
    for (size_t index : chosen)
      for (Instance &instance : members.at(index).instances)
        instances.push_back(&instance);
    onThreads(instances.size(), [&](size_t i) {
      try {
        runWithin(window, *instances[i], expected, length);
      } catch (...) {
        window.stop();
        throw;
      }
    });
    json answers = json::array();
    for (size_t index : chosen)
      answers.push_back(countedIn(members[index], window.begin(), length));
    return {{"members", answers}};
  }

  /// Runs all instances until the shared memory says stop. Counts every complete run.
  json accompany(const json &request) {
    lab::SharedRuns runs(request.at("runs").get<std::string>());
    std::vector<std::pair<const Member *, Instance *>> all;
    for (Member &member : members)
      for (Instance &instance : member.instances)
        all.emplace_back(&member, &instance);
    onThreads(all.size(), [&](size_t i) {
      auto [member, instance] = all[i];
      runtime::bindToCpu(pthread_self(), instance->cpu);
      do {
        instance->context->run();
        runs.add();
      } while (!runs.mustStop());
      check(*member, *instance);
    });
    bool right = std::all_of(all.begin(), all.end(), [](auto &one) { return one.second->wrong.empty(); });
    return {{"right", right}};
  }

  /// What a member did in the window of `length` nanoseconds.
  static json countedIn(Member &member, int64_t begin, int64_t length) {
    std::vector<int64_t> samples;
    double share = 0;
    int64_t slowest = 0;
    std::string wrong;
    for (Instance &instance : member.instances) {
      check(member, instance);
      if (!instance.wrong.empty())
        wrong = instance.wrong;
      for (const Run &run : instance.runs) {
        int64_t took = std::max<int64_t>(run.end - run.begin, 1);
        slowest = std::max(slowest, took);
        share +=
            double(std::max<int64_t>(0, std::min(run.end, begin + length) - std::max(run.begin, begin))) / double(took);
        if (run.begin >= begin && run.end <= begin + length)
          samples.push_back(took);
      }
    }
    size_t runs = samples.size();
    if (size_t step = runs / mostSamples; step > 0 && runs > mostSamples) {
      step += runs % mostSamples != 0;
      for (size_t i = 0; i * step < runs; ++i)
        samples[i] = samples[i * step];
      samples.resize((runs - 1) / step + 1);
    }
    return {{"runs", runs}, {"share", share}, {"slowest_ns", slowest}, {"samples_ns", samples}, {"wrong", wrong}};
  }
};

} // namespace

int serveCorun() {
  Corun corun;
  return lab::serveLines([&](const json &request) { return corun.answer(request); });
}

} // namespace lathe
