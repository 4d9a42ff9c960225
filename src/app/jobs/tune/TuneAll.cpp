#include "cli/tuning/TuneAll.h"

#include "cache/ModelFiles.h"
#include "cli/CompilerVerbs.h"
#include "cli/Recording.h"
#include "cli/Self.h"
#include "cli/print/Terminal.h"
#include "cli/print/TunedModelsPrint.h"
#include "import/Foreign.h"
#include "lab/StoreRecords.h"
#include "lab/compare/Runner.h"
#include "lab/judging/Turns.h"
#include "lab/machine/Machine.h"
#include "store/ContentKey.h"
#include "support/Interrupt.h"
#include "support/Text.h"
#include "zoo/Zoo.h"

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>

namespace lathe::cli {

using nlohmann::json;

void TuneAllOptions::add(Options &options) {
  options
      .add_option(
          "--all", list,
          "Tune these models one after another instead of one model, separated by commas (zoo:resnet50,m.onnx), "
          "and compare each with ONNX Runtime before and after")
      ->type_name("LIST");
  options
      .add_option("--max-seconds", maxSeconds,
                  "With --all, time each package beside ONNX Runtime for at most this long, in seconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  options.reads([this] {
    std::vector<std::string> files = CLI::detail::split(list, ',');
    std::erase_if(files, [](const std::string &name) { return name.starts_with("zoo:"); });
    return files;
  });
  options.add_flag("--again", again, "With --all, tune models that an earlier run of the command has finished, too");
}

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
std::string contentOf(const ModelFlags &flags) {
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

/// Adds the time since construction to TunedModel::tuningSeconds and keeps that in the model's file every two seconds: a
/// killed run has used up its time, too.
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
            } catch (const Error &) { // the report will not be written either, and says so
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
  TuningAll(const TuneAllOptions &all, const Options &options)
      : all(all), options(options), store(all.store.empty() ? store::defaultStorePath() : all.store),
        names(modelList(all.list)), contents(contentsOf(names)),
        states(store::Location(store).filesAt(store::storeFolder()) + ".tuned", identity()) {
    if (Outcome<lab::RunnerSpec> peer = lab::findRunner("onnxruntime"); !peer)
      noPeer = peer.reason();
  }

  int run() {
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
        tell(i, fmt::format("tuned before, {} UTC (--again tunes it again)", minuteText(models[i].finished)));
      Progress::beginStep(i + 1, models.size(), secondsLeft(i));
      double began = lab::steadySeconds();
      if (!kept)
        tune(i);
      compareBoth(i);
      if (!kept) {
        spent += lab::steadySeconds() - began;
        ++measured;
        tell(i, outcomeText(models[i]) + leftText(i + 1));
      }
      ++done;
    }
    Progress::endSteps();
    report();
    return std::any_of(models.begin(), models.end(), [&](const TunedModel &model) { return failed(model); })
               ? failedVerdict
               : success;
  }

private:
  const TuneAllOptions &all;
  const Options &options;
  std::string store;
  std::vector<std::string> names, contents; // by model
  ProgramBuild build = programBuild();
  TunedModels states;
  std::string noPeer; // why ONNX Runtime does not run
  std::vector<TunedModel> models;
  std::atomic<size_t> done = 0;
  double spent = 0; // seconds for models of this run
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

  ModelFlags modelFlags(const std::string &name) const {
    ModelFlags flags = all.common;
    flags.model = name;
    return flags;
  }

  /// Of a model without a report of an earlier run: tuning and both comparisons, where that is known.
  std::optional<double> expectedSeconds() const {
    if (measured)
      return spent / double(measured);
    if (all.budget > 0)
      return all.budget + (noPeer.empty() ? 2 * all.maxSeconds : 0);
    return std::nullopt;
  }
  /// From the model `next` on.
  std::optional<double> secondsLeft(size_t next) const {
    std::optional<double> one = expectedSeconds();
    auto missing = std::count_if(models.begin() + std::ptrdiff_t(next), models.end(),
                                 [](const TunedModel &model) { return !model.tuned(); });
    return one ? std::optional(*one * double(missing)) : std::nullopt;
  }
  std::string leftText(size_t next) const {
    std::optional<double> left = secondsLeft(next);
    return left && *left > 0 ? fmt::format("; about {} left", waitText(*left)) : "";
  }

  void tell(size_t i, const std::string &text) {
    if (options.printsText())
      std::cout << fmt::format("[{}/{}] {}: {}\n", i + 1, models.size(), printable(models[i].model), printable(text))
                << std::flush;
  }

  void tune(size_t i) {
    TunedModel &model = models[i];
    std::filesystem::path file = temporaryFolder() / "report.json";
    std::filesystem::remove(file);
    Arguments arguments = modelArguments("tune", model.model);
    arguments.insert(arguments.end(), all.tuneFlags.begin(), all.tuneFlags.end());
    arguments.insert(arguments.end(), {"--compare", "--store", store, "--json", file.string(), quietFlag()});
    if (all.budget > 0) {
      constexpr double least = 30; // seconds for a model that was interrupted at its end
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

  /// Compares the packages without and with tuning with ONNX Runtime, where that was not done.
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

  TunedModelsFacts facts() const {
    const lab::MachineCeilings &machine = lab::machineCeilings();
    TunedModelsFacts facts;
    facts.machine = fmt::format("{}, {}, {}; measured peak {:.0f} GFLOPS fp32 on one thread",
                                machine.cpu.empty() ? "unknown processor" : machine.cpu,
                                counted(machine.hardwareThreads, "hardware thread"), machine.kernel,
                                machine.gflops(ElementType::f32, 1));
    facts.program = fmt::format("Lathe {}, build {}", build.version, build.key);
    facts.command = all.command;
    facts.threads = all.common.threads;
    facts.budget = all.budget;
    facts.maxSeconds = all.maxSeconds;
    facts.noPeer = noPeer;
    return facts;
  }

  void report() const {
    if (options.printsText()) {
      std::cout << tunedModels(models).str(options.tableStyle());
      if (std::optional<double> mean = meanSpeedup(models))
        std::cout << fmt::format("geometric mean of the speedups: {:.3f}; 1 where nothing is kept\n", *mean);
      for (const std::string &note : tunedModelsNotes(models, noPeer))
        std::cout << printable(note) << "\n";
      std::cout << fmt::format("kept in {}, and finished models in {}\n", printable(store),
                               printable(states.folder().string()))
                << std::flush;
    }
    json list = json::array();
    for (const TunedModel &model : models)
      list.push_back(toJson(model));
    std::optional<double> mean = meanSpeedup(models);
    options.writeJson({{"models", list},
                       {"mean_speedup", mean ? json(*mean) : json()},
                       {"threads", all.common.threads},
                       {"budget_s", all.budget},
                       {"max_seconds", all.maxSeconds},
                       {"no_onnxruntime", noPeer},
                       {"build", build.key},
                       {"store", store}});
    if (!all.page.empty())
      writeFile(all.page, tunedModelsPage(models, facts()));
  }
};

} // namespace

int tuneAll(const TuneAllOptions &all, const Options &options) { return TuningAll(all, options).run(); }

} // namespace lathe::cli
