#include "cli/ModelFlags.h"

#include "cache/CheckedPackages.h"
#include "cli/Packages.h"
#include "cli/StoreFlags.h"
#include "cli/print/Describe.h"
#include "cli/print/Progress.h"
#include "cli/print/Terminal.h"
#include "import/Foreign.h"
#include "runtime/Cpu.h"
#include "support/Text.h"

namespace lathe::cli {

void ModelFlags::add(Options &options, ModelUse use, bool takesPackages) {
  HelpSection section(options, "Model");
  takesPackages |= use == ModelUse::run;
  options.reads([this] { return filesOf(*this); });
  options
      .add_option("MODEL", model,
                  takesPackages ? "ONNX, TFLite, TensorFlow or Keras file, SavedModel, textual IR, zoo:NAME or package "
                                  "(F.lathe)"
                                : "ONNX, TFLite, TensorFlow or Keras file, SavedModel, textual IR or zoo:NAME")
      ->required();
  auto add = [&](Scope scope, CLI::Option *option) {
    flags.push_back({option, scope});
    return option;
  };
  add(Scope::shape,
      options.add_option("--shape", shapes,
                         "Set the extents of an input, as NAME=1x3x224x224: symbolic ones, and fixed ones "
                         "where the model allows it (-1: as the model states)"))
      ->type_name("NAME=DIMS");
  add(Scope::import, options.add_option("--override", overrides,
                                        "Make this input an input although the ONNX file has a default value for it, "
                                        "which is a constant otherwise"))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAME");
  add(Scope::import,
      options.add_option("--requantize-rounding", requantizeRounding,
                         "Round quantised TFLite models as TensorFlow Lite's reference or optimised kernels"))
      ->check(CLI::IsMember({"reference", "optimised"}))
      ->capture_default_str();
  add(Scope::import,
      options.add_option("--signature", signature,
                         "Import this signature of a SavedModel (default: serving_default) or of a TFLite "
                         "file (default: its first subgraph)"))
      ->type_name("NAME");
  add(Scope::custom, options.add_option("--custom", custom,
                                        "Define a Keras layer by its class: textual IR whose @main takes the layer's "
                                        "inputs, then its weights (docs/keras.md)"))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("CLASS=FILE");
  makesCode = use == ModelUse::compile || use == ModelUse::run || use == ModelUse::tune || use == ModelUse::sweep;
  if (use != ModelUse::graph)
    addCompileFlags(options, use);
  add(Scope::zoo, options.add_option("--zoo-seed", zooSeed, "Set the seed of a zoo model's weights"))
      ->capture_default_str();
  auto addExtent = [&](const char *name, int64_t &value, const char *type, const char *help) {
    add(Scope::zoo, options.add_option(name, value, help))
        ->check(CLI::Range(int64_t(1), int64_t(1) << 20))
        ->type_name(type);
  };
  addExtent("--zoo-batch", zooBatch, "N", "Build a zoo model for this batch size (default: 1)");
  addExtent("--zoo-sequence", zooSequence, "T",
            "Build a zoo model that reads sequences for this number of steps or tokens (default: the model's own)");
  options.afterParse([this, use, takesPackages] {
    requireHonoured(use, takesPackages);
    sayIfCrowded(use == ModelUse::run ? threads : 1);
  });
}

void sayIfCrowded(int64_t threads) {
  if (int processors = runtime::availableCpus(); threads > processors && !Progress::isSilent())
    sayOnce("LATHE_CROWDED_SAID",
            fmt::format("lathe {}: --threads {}: this process may use {}, so that threads wait for "
                        "each other",
                        shownVerb(""), threads, counted(processors, "processor")));
}

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
  return options.add_option(option.flag(), field, option.help)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

/// A switch, or a choice of words.
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

void ModelFlags::addChoices(Options &options, const std::function<bool(std::string_view name)> &offered) {
  HelpSection section(options, "Compiling");
  visitOptions(static_cast<CompileChoices &>(*this), [&](const CompileOption &option, auto &field) {
    if (!offered(option.name))
      return;
    CLI::Option *added = addChoice(options, option, field);
    if (option.type)
      added->type_name(option.type);
    if (std::string_view(option.name) != "threads") // which verbs that run a package take, too
      flags.push_back({added, Scope::compile});
    if (option.ofCode)
      options.afterParse([this, &options, flag = option.flag()] {
        if (referencesOnly)
          options.refuse({flag.c_str()}, "--references-only makes no code, so there is nothing to choose");
      });
  });
}

void ModelFlags::addCompileFlags(Options &options, ModelUse use) {
  HelpSection section(options, "Compiling");
  bool sweeps = use == ModelUse::sweep, choosesSchedules = use != ModelUse::tune && !sweeps;
  addChoices(options, [&](std::string_view name) {
    if (name == "specialize" || name == "range")
      return use == ModelUse::run;
    if (name == "references-only" || name == "schedule" || name == "optimize-for")
      return choosesSchedules;
    return !sweeps || name == "exact-math" || name == "memory" || name == "precision";
  });
  if (!sweeps) {
    CLI::Option *targetOption = options.get_option("--target")->check(offers({"native", "machine"}));
    options.afterParse([this, targetOption] {
      if (!machine.name.empty() && !targetOption->count())
        target = "machine";
    });
  }
  auto add = [&](CLI::Option *option) { flags.push_back({option, Scope::compile}); };
  if (makesCode && !sweeps)
    add(options.add_flag("--no-cache", noCache, "Compile everything again and cache nothing"));
  if (makesCode && use != ModelUse::tune)
    add(options.add_flag("--no-records", noRecords, "Use no schedules of tuning records (docs/records.md)"));
  options.afterParse([this, &options] {
    if (referencesOnly && makesCode)
      options.refuse({"--no-records"}, "--references-only makes no code, so there is nothing to choose");
  });
}

void ModelFlags::addVariants(Options &options) {
  addChoices(options, [](std::string_view name) { return name == "specialize" || name == "range"; });
}

void ModelFlags::requireHonoured(ModelUse use, bool takesPackages) const {
  if (model.empty()) // of a verb that does without
    return;
  bool isOne = !isZoo() && isPackage(model); // a file that cannot be read is an Error
  require(takesPackages || !isOne, "{}: is a compiled package, expected a model: {}", model, readFormats());
  const std::string &compiled = isOne ? model : package;
  for (const Flag &flag : flags) {
    if (!flag.option->count())
      continue;
    std::string text = spelled(*flag.option);
    switch (flag.scope) {
    case Scope::zoo:
      require(isZoo(), "{}: {} is a file; only zoo:NAME is built with it", text, model);
      break;
    case Scope::shape:
      require(!isZoo(), "{}: {} has no symbolic extents; choose with --zoo-batch or --zoo-sequence", text, model);
      require(!isOne || use == ModelUse::run,
              "{}: {} is a compiled package, its symbolic extents are bound when it runs", text, model);
      break;
    case Scope::import:
    case Scope::custom: // --package leaves a model that is imported: the one that judges
      require(!isZoo(), "{}: {} is built in; only files are imported with it", text, model);
      require(!isOne,
              "{}: {} is a compiled package, used as `lathe compile` made it; compile the model again with this flag",
              text, model);
      break;
    case Scope::compile:
      require(compiled.empty(),
              "{}: {} is a compiled package, used as `lathe compile` made it; compile the model again with this flag",
              text, compiled);
      break;
    }
  }
}

void ModelFlags::refuseCompileFlags(const std::string &reason) const {
  for (const Flag &flag : flags)
    require(flag.scope != Scope::compile || !flag.option->count(), "{}: {}", spelled(*flag.option), reason);
}

void ModelFlags::addStore(Options &options) {
  HelpSection section(options, "Compiling");
  CLI::Option *option =
      options.add_option("--store", store,
                         "Use the tuning records in this file or on this server, postgresql://HOST/DATABASE (default: "
                         "~/.local/share/lathe/lathe.db)");
  option->type_name("FILE|URL")->excludes(options.get_option("--no-records"));
  flags.push_back({option, Scope::compile});
  options.reads([this] { return store.empty() ? std::vector<std::string>{} : storeFiles(store); });
  options.afterParse([this, &options] {
    if (referencesOnly)
      options.refuse({"--store"}, "--references-only makes no code, so there is nothing to choose");
  });
}

void ModelFlags::addLoading(Options &app) {
  HelpSection section(app, "Model");
  app.add_option("--check-constants", checkConstants,
                 "Check a package's weights against their hash: once per version of the file, always or never")
      ->check(CLI::IsMember({"once", "always", "never"}))
      ->capture_default_str();
}

runtime::LoadOptions ModelFlags::loadOptions() const {
  static cache::CheckedPackages checked;
  runtime::LoadOptions options;
  options.checkConstants = checkConstants != "never";
  options.checkedFiles = checkConstants == "once" ? &checked : nullptr;
  return options;
}

Arguments ModelFlags::compileArguments() const {
  Arguments result = argumentsOf(*this), graph = graphArguments();
  result.insert(result.end(), graph.begin(), graph.end());
  return result;
}

Arguments ModelFlags::recordArguments() const {
  if (!takesRecords())
    return referencesOnly ? Arguments{} : Arguments{"--no-records"};
  return store.empty() ? Arguments{} : Arguments{"--store", store};
}

Arguments ModelFlags::graphArguments() const {
  Arguments result;
  for (const std::string &shape : shapes)
    result.insert(result.end(), {"--shape", shape});
  for (const std::string &name : overrides)
    result.insert(result.end(), {"--override", name});
  if (requantizeRounding != "reference")
    result.insert(result.end(), {"--requantize-rounding", requantizeRounding});
  if (!signature.empty())
    result.insert(result.end(), {"--signature", signature});
  for (const std::string &text : custom)
    result.insert(result.end(), {"--custom", text});
  if (!isZoo())
    return result;
  result.insert(result.end(), {"--zoo-seed", std::to_string(zooSeed)});
  if (zooBatch)
    result.insert(result.end(), {"--zoo-batch", std::to_string(zooBatch)});
  if (zooSequence)
    result.insert(result.end(), {"--zoo-sequence", std::to_string(zooSequence)});
  return result;
}

std::map<std::string, std::string> customDefinitions(const std::vector<std::string> &texts) {
  std::map<std::string, std::string> result;
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    require(equals != 0 && equals != std::string::npos && equals + 1 < text.size(),
            "--custom {}: expected the name of a class and a file, as Scale=scale.mlir", text);
    require(result.emplace(text.substr(0, equals), text.substr(equals + 1)).second, "--custom {}: given twice for '{}'",
            text, text.substr(0, equals));
  }
  return result;
}

} // namespace lathe::cli
