#include "jobs/tune/TuneAll.h"

#include "cache/ModelFiles.h"
#include "import/Foreign.h"
#include "jobs/Self.h"
#include "jobs/Source.h"
#include "jobs/Terminal.h"
#include "lab/StoreRecords.h"
#include "lab/compare/Runner.h"
#include "lab/judging/Turns.h"
#include "store/ContentKey.h"
#include "support/Interrupt.h"
#include "support/Text.h"
#include "zoo/Zoo.h"

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

namespace lathe::jobs {

using nlohmann::json;

static std::vector<std::string> modelList(const std::string &list) {
  std::vector<std::string> models;
  size_t begin = 0;
  for (size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = list.find(',', begin);
    models.push_back(list.substr(begin, end - begin));
    require(!models.back().empty(), "--all {}: expected models separated by commas, got an empty name", list);
    require(std::count(models.begin(), models.end(), models.back()) == 1, "--all {}: {} is there twice", list,
            models.back());
  }
  return models;
}

namespace {

/// Throws Error unless `flags.model` can be read. Returns a key of its content; the program is part of a zoo network's.
std::string contentOf(const ModelOptions &flags) {
  if (flags.isZoo()) {
    std::vector<std::string> names;
    for (const ZooEntry &entry : zooEntries())
      names.push_back(entry.name);
    require(std::find(names.begin(), names.end(), flags.zooName()) != names.end(),
            "--all: {}: no such network{}; `lathe zoo --list` lists all", flags.model,
            suggestion(flags.zooName(), names));
    return flags.model;
  }
  require(!isPackage(flags.model), "--all: {}: is a compiled package, expected a model: {}", flags.model,
          readFormats());
  loadSource(flags);
  return fmt::format("{:016x}", cache::modelHash(flags.model));
}

json documentIn(const std::filesystem::path &path) {
  std::ifstream file(path);
  return json::parse(file, nullptr, false);
}

/// Adds the time since construction to TunedModel::tuningSeconds and stores it in the model's file every two seconds,
/// because a killed run has used its time, too.
class SpentTime {
public:
  SpentTime(TunedModel &model, std::function<void(const TunedModel &)> write)
      : model(model), before(model.tuningSeconds), began(lab::steadySeconds()),
        writer([this, write, partial = model](std::stop_token stop) mutable {
          std::unique_lock lock(mutex);
          while (!waiting.wait_for(lock, stop, std::chrono::seconds(2), [&] { return stop.stop_requested(); })) {
            partial.tuningSeconds = now();
            try {
              write(partial);
            } catch (const Error &) { // writing the report will fail with the same message
            }
          }
        }) {}
  ~SpentTime() { model.tuningSeconds = now(); }
  double now() const { return before + lab::steadySeconds() - began; }

private:
  TunedModel &model;
  double before, began;
  std::mutex mutex;
  std::condition_variable_any waiting;
  std::jthread writer; // declared last, because it uses the other members
};

class TuningAll {
public:
  TuningAll(const TuneAllOptions &all, TuneAllWatch watch)
      : all(all), watch(std::move(watch)), store(all.store.empty() ? store::defaultStorePath() : all.store),
        names(modelList(all.list)), contents(contentsOf(names)),
        states(store::Location(store).filesAt(store::storeFolder()) + ".tuned", identity()) {
    if (Outcome<lab::RunnerSpec> peer = lab::findRunner("onnxruntime"); !peer)
      noPeer = peer.reason();
  }

  TunedAll run() {
    for (size_t i = 0; i < names.size(); ++i) {
      models.push_back(all.again ? TunedModel() : states.read(names[i], contents[i]));
      models.back().model = names[i];
    }
    Cleanup interrupted([this] {
      say(fmt::format("lathe tune: {} of {} are done; the same command goes on", done.load(),
                      counted(int64_t(models.size()), "model")));
    });
    for (size_t i = 0; i < models.size(); ++i) {
      bool kept = models[i].tuned();
      if (kept)
        watch(i, names.size(), models[i], true, {});
      Progress::beginStep(i + 1, models.size(), secondsLeft(i));
      double began = lab::steadySeconds();
      if (!kept)
        tune(i);
      compareBoth(i);
      if (!kept) {
        spent += lab::steadySeconds() - began;
        ++measured;
        watch(i, names.size(), models[i], false, secondsLeft(i + 1));
      }
      ++done;
    }
    Progress::endSteps();
    bool fails = std::any_of(models.begin(), models.end(), [&](const TunedModel &model) { return failed(model); });
    return {std::move(models), noPeer, store, states.folder().string(), build, fails};
  }

private:
  const TuneAllOptions &all;
  TuneAllWatch watch;
  std::string store;
  std::vector<std::string> names, contents; // by model
  ProgramBuild build = programBuild();
  TunedModels states;
  std::string noPeer; // why ONNX Runtime cannot run
  std::vector<TunedModel> models;
  std::atomic<size_t> done = 0;
  double spent = 0; // seconds spent on models of this run
  size_t measured = 0;

  json identity() const {
    json settings = {{"compile", all.common.compileArguments()},
                     {"tune", all.tuneFlags},
                     {"budget", all.budget},
                     {"max_seconds", all.maxSeconds}};
    return {{"settings", settings}, {"build", build.key}, {"platform", lab::platformHere().key()}};
  }

  std::vector<std::string> contentsOf(const std::vector<std::string> &names) const {
    std::vector<std::string> result;
    for (const std::string &name : names)
      result.push_back(contentOf(modelFlags(name)));
    return result;
  }

  ModelOptions modelFlags(const std::string &name) const {
    ModelOptions flags = all.common;
    flags.model = name;
    return flags;
  }

  /// Expected seconds of a model without an earlier report, for tuning and both comparisons, if they are known.
  std::optional<double> expectedSeconds() const {
    if (measured)
      return spent / double(measured);
    if (all.budget > 0)
      return all.budget + (noPeer.empty() ? 2 * all.maxSeconds : 0);
    return std::nullopt;
  }
  /// Expected seconds for the models from `next` on.
  std::optional<double> secondsLeft(size_t next) const {
    std::optional<double> one = expectedSeconds();
    auto missing = std::count_if(models.begin() + std::ptrdiff_t(next), models.end(),
                                 [](const TunedModel &model) { return !model.tuned(); });
    return one ? std::optional(*one * double(missing)) : std::nullopt;
  }
  void tune(size_t i) {
    TunedModel &model = models[i];
    std::filesystem::path file = temporaryFolder() / "report.json";
    std::filesystem::remove(file);
    Arguments arguments = modelArguments("tune", model.model);
    arguments.insert(arguments.end(), all.tuneFlags.begin(), all.tuneFlags.end());
    arguments.insert(arguments.end(), {"--compare", "--store", store, "--json", file.string(), quietFlag()});
    if (all.budget > 0) {
      constexpr double least = 30; // seconds for a model whose run was interrupted near its end
      double left = std::max(all.budget - model.tuningSeconds, std::min(least, all.budget));
      arguments.insert(arguments.end(), {"--budget", fmt::format("{:.1f}s", left)});
    }
    double began = lab::steadySeconds();
    {
      SpentTime time(model, [this, i](const TunedModel &partial) { states.write(partial, contents[i]); });
      if (std::optional<std::string> reason = trySelf(arguments))
        model.failure = *reason;
    }
    model.seconds += lab::steadySeconds() - began;
    if (!model.failure.empty()) {
      states.remove(model.model);
      return;
    }
    model.report = documentIn(file);
    model.finished = store::timeNow();
    states.write(model, contents[i]);
  }

  /// Compares the untuned and the tuned package with ONNX Runtime, if this was not done before.
  void compareBoth(size_t i) {
    TunedModel &model = models[i];
    if (!model.tuned() || !noPeer.empty())
      return;
    double began = lab::steadySeconds();
    compare(model, {"--no-records"}, model.before, model.beforeReason);
    if (model.kept())
      compare(model, {}, model.after, model.afterReason);
    model.seconds += lab::steadySeconds() - began;
    states.write(model, contents[i]);
  }

  void compare(const TunedModel &model, const Arguments &records, json &result, std::string &reason) {
    if (!result.is_null())
      return;
    if (!isComparable(model)) {
      reason = "it reads ONNX only";
      return;
    }
    std::filesystem::path file = temporaryFolder() / "beside.json";
    std::filesystem::remove(file);
    Arguments arguments = modelArguments("compare", model.model);
    arguments.insert(arguments.end(), records.begin(), records.end());
    arguments.insert(arguments.end(), {"--with", "onnxruntime", "--max-seconds", fmt::format("{}", all.maxSeconds),
                                       "--store", store, "--json", file.string(), quietFlag()});
    std::optional<std::string> failure = trySelf(arguments);
    json document = documentIn(file);
    if (!failure && document.at("peers").at(0).contains("ratio")) {
      result = std::move(document);
      return;
    }
    reason = failure.value_or("it has no ratio");
    if (!document.is_object())
      return;
    for (const json &output : document.at("peers").at(0).value("outputs", json::array()))
      if (!output.value("agrees", true))
        reason = fmt::format("output '{}' differs: {}", output.value("name", ""), output.value("reason", ""));
    for (const json &side : document.at("sides"))
      if (side.contains("failure"))
        reason = side.at("failure").value("message", "it failed");
  }

  bool isComparable(const TunedModel &model) const {
    return modelFlags(model.model).isZoo() || modelFormat(model.model) == "onnx";
  }
  bool failed(const TunedModel &model) const {
    return !model.tuned() || (isComparable(model) && (!model.beforeReason.empty() || !model.afterReason.empty()));
  }

  Arguments modelArguments(const std::string &verb, const std::string &name) const {
    Arguments arguments{verb, name};
    Arguments flags = modelFlags(name).compileArguments();
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    if (all.common.noCache)
      arguments.push_back("--no-cache");
    return arguments;
  }
};

} // namespace

TunedAll tuneAll(const TuneAllOptions &all, TuneAllWatch watch) { return TuningAll(all, std::move(watch)).run(); }

} // namespace lathe::jobs
