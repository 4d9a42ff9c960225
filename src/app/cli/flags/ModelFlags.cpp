#include "cli/flags/ModelFlags.h"

#include "cli/flags/Describe.h"
#include "cli/flags/StoreFlags.h"
#include "import/Foreign.h"
#include "jobs/Packages.h"
#include "jobs/Progress.h"
#include "jobs/Terminal.h"
#include "runtime/Cpu.h"
#include "support/Text.h"

namespace lathe::cli {

using Scope = Options::Scope;

namespace {

CLI::Option *addChoice(Options &options, const CompileOption &option, std::string &field) {
  return options.add_option(option.flag(), field, option.help)->capture_default_str();
}

CLI::Option *addChoice(Options &options, const CompileOption &option, int &field) {
  return options.add_option(option.flag(), field, option.help)
      ->check(CLI::Range(option.least, option.most))
      ->capture_default_str();
}

CLI::Option *addChoice(Options &options, const CompileOption &option, NamedText &field) {
  return options.add_option(option.flag(), field.name, option.help);
}

CLI::Option *addChoice(Options &options, const CompileOption &option, std::vector<std::string> &field) {
  return repeatable(options.add_option(option.flag(), field, option.help));
}

/// Adds a switch, or an option with a choice of words.
template <class T> CLI::Option *addChoice(Options &options, const CompileOption &option, T &field) {
  if constexpr (std::is_same_v<T, bool>)
    if (option.words.empty())
      return options.add_flag(option.flag(), field, option.help);
  std::vector<std::string> words(option.words.begin(), option.words.end());
  auto take = [&field, words](const std::string &word) {
    field = static_cast<T>(std::find(words.begin(), words.end(), word) - words.begin());
  };
  return options.add_option_function<std::string>(option.flag(), take, option.help)
      ->check(CLI::IsMember(words))
      ->default_str(words[static_cast<size_t>(field)]);
}

} // namespace

static void addChoices(Options &options, ModelOptions &model,
                       const std::function<bool(std::string_view name)> &offered) {
  HelpSection section(options, "Compiling");
  visitOptions(static_cast<CompileChoices &>(model), [&](const CompileOption &option, auto &field) {
    if (!offered(option.name))
      return;
    CLI::Option *added = addChoice(options, option, field);
    if (option.type)
      added->type_name(option.type);
    if (std::string_view(option.name) != "threads") // which verbs that run a package take, too
      options.modelFlags.push_back({added, Scope::compile});
    if (option.ofCode)
      options.afterParse([&model, &options, flag = option.flag()] {
        if (model.referencesOnly)
          options.refuse({flag.c_str()}, "--references-only makes no code, so there is nothing to choose");
      });
  });
}

static void addCompileFlags(Options &options, ModelOptions &model, ModelUse use) {
  HelpSection section(options, "Compiling");
  bool sweeps = use == ModelUse::sweep, choosesSchedules = use != ModelUse::tune && !sweeps;
  addChoices(options, model, [&](std::string_view name) {
    if (name == "specialize" || name == "range")
      return use == ModelUse::run;
    if (name == "references-only" && use == ModelUse::predict) // then there is nothing to predict
      return false;
    if (name == "references-only" || name == "schedule" || name == "optimize-for")
      return choosesSchedules;
    return !sweeps || name == "exact-math" || name == "memory" || name == "precision";
  });
  if (!sweeps) {
    CLI::Option *targetOption = options.get_option("--target")->check(offers({"native", "machine"}));
    options.afterParse([&model, targetOption] {
      if (!model.machine.name.empty() && !targetOption->count())
        model.target = "machine";
    });
  }
  auto add = [&](CLI::Option *option) { options.modelFlags.push_back({option, Scope::compile}); };
  if (model.makesCode && !sweeps && use != ModelUse::predict)
    add(options.add_flag("--no-cache", model.noCache, "Compile everything again and cache nothing"));
  if (model.makesCode && use != ModelUse::tune)
    add(options.add_flag("--no-records", model.noRecords, "Use no schedules of tuning records (docs/records.md)"));
  options.afterParse([&model, &options] {
    if (model.referencesOnly && model.makesCode)
      options.refuse({"--no-records"}, "--references-only makes no code, so there is nothing to choose");
  });
}

void addVariants(Options &options, ModelOptions &model) {
  addChoices(options, model, [](std::string_view name) { return name == "specialize" || name == "range"; });
}

static void requireHonoured(const Options &options, const ModelOptions &model, ModelUse use, bool takesPackages) {
  if (model.model.empty()) // of a verb that does without
    return;
  bool isOne = !model.isZoo() && isPackage(model.model); // a file that cannot be read is an Error
  require(takesPackages || !isOne, "{}: is a compiled package, expected a model: {}", model.model, readFormats());
  const std::string &compiled = isOne ? model.model : model.package;
  for (const Options::ModelFlag &flag : options.modelFlags) {
    if (!flag.option->count())
      continue;
    std::string text = spelled(*flag.option);
    auto requireSource = [&](const std::string &package) {
      require(package.empty(),
              "{}: {} is a compiled package, used as `lathe compile` made it; compile the model again with this flag",
              text, package);
    };
    switch (flag.scope) {
    case Scope::zoo:
      require(model.isZoo(), "{}: {} is a file; only zoo:NAME is built with it", text, model.model);
      break;
    case Scope::shape:
      require(!model.isZoo(), "{}: {} has no symbolic extents; choose with --zoo-batch or --zoo-sequence", text,
              model.model);
      require(!isOne || use == ModelUse::run,
              "{}: {} is a compiled package, its symbolic extents are bound when it runs", text, model.model);
      break;
    case Scope::import:
    case Scope::custom: // --package leaves a model that is imported: the one that judges
      require(!model.isZoo(), "{}: {} is built in; only files are imported with it", text, model.model);
      requireSource(isOne ? model.model : "");
      break;
    case Scope::compile:
      requireSource(compiled);
      break;
    }
  }
}

void addModel(Options &options, ModelOptions &model, ModelUse use, bool takesPackages) {
  HelpSection section(options, "Model");
  takesPackages |= use == ModelUse::run;
  options.reads([&model] { return filesOf(model); });
  options
      .add_option("MODEL", model.model,
                  takesPackages ? "ONNX, TFLite, TensorFlow or Keras file, SavedModel, textual IR, zoo:NAME or package "
                                  "(F.lathe)"
                                : "ONNX, TFLite, TensorFlow or Keras file, SavedModel, textual IR or zoo:NAME")
      ->required();
  auto add = [&](Scope scope, CLI::Option *option) {
    options.modelFlags.push_back({option, scope});
    return option;
  };
  add(Scope::shape,
      options.add_option("--shape", model.shapes,
                         "Set the extents of an input, as NAME=1x3x224x224: symbolic ones, and fixed ones "
                         "where the model allows it (-1: as the model states)"))
      ->type_name("NAME=DIMS");
  add(Scope::import,
      repeatable(options.add_option("--override", model.overrides,
                                    "Make this input an input although the ONNX file has a default value for it, "
                                    "which is a constant otherwise")))
      ->type_name("NAME");
  add(Scope::import,
      options.add_option("--requantize-rounding", model.requantizeRounding,
                         "Round quantised TFLite models as TensorFlow Lite's reference or optimised kernels"))
      ->check(CLI::IsMember({"reference", "optimised"}))
      ->capture_default_str();
  add(Scope::import,
      options.add_option("--signature", model.signature,
                         "Import this signature of a SavedModel (default: serving_default) or of a TFLite "
                         "file (default: its first subgraph)"))
      ->type_name("NAME");
  add(Scope::custom,
      repeatable(options.add_option("--custom", model.custom,
                                    "Define a Keras layer by its class: textual IR whose @main takes the layer's "
                                    "inputs, then its weights (docs/keras.md)")))
      ->type_name("CLASS=FILE");
  model.makesCode = use != ModelUse::graph && use != ModelUse::kernels;
  if (use != ModelUse::graph)
    addCompileFlags(options, model, use);
  add(Scope::zoo, options.add_option("--zoo-seed", model.zooSeed, "Set the seed of a zoo model's weights"))
      ->capture_default_str();
  auto addExtent = [&](const char *name, int64_t &value, const char *type, const char *help) {
    add(Scope::zoo, options.add_option(name, value, help))
        ->check(CLI::Range(int64_t(1), int64_t(1) << 20))
        ->type_name(type);
  };
  addExtent("--zoo-batch", model.zooBatch, "N", "Build a zoo model for this batch size (default: 1)");
  addExtent("--zoo-sequence", model.zooSequence, "T",
            "Build a zoo model that reads sequences for this number of steps or tokens (default: the model's own)");
  options.afterParse([&options, &model, use, takesPackages] {
    requireHonoured(options, model, use, takesPackages);
    sayIfCrowded(use == ModelUse::run ? model.threads : 1);
  });
}

void refuseCompileFlags(const Options &options, const std::string &reason) {
  for (const Options::ModelFlag &flag : options.modelFlags)
    require(flag.scope != Scope::compile || !flag.option->count(), "{}: {}", spelled(*flag.option), reason);
}

void addStore(Options &options, ModelOptions &model) {
  HelpSection section(options, "Compiling");
  CLI::Option *option =
      options.add_option("--store", model.store,
                         "Use the tuning records in this file or on this server, postgresql://HOST/DATABASE (default: "
                         "~/.local/share/lathe/lathe.db)");
  option->type_name("FILE|URL")->excludes(options.get_option("--no-records"));
  options.modelFlags.push_back({option, Scope::compile});
  options.reads([&model] { return model.store.empty() ? std::vector<std::string>{} : storeFiles(model.store); });
  options.afterParse([&model, &options] {
    if (model.referencesOnly)
      options.refuse({"--store"}, "--references-only makes no code, so there is nothing to choose");
  });
}

void addLoading(Options &app, ModelOptions &model) {
  HelpSection section(app, "Model");
  app.add_option("--check-constants", model.checkConstants,
                 "Check a package's weights against their hash: once per version of the file, always or never")
      ->check(CLI::IsMember({"once", "always", "never"}))
      ->capture_default_str();
}

} // namespace lathe::cli
