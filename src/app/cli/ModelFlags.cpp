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
  if (use == ModelUse::run)
    addVariants(options);
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

void ModelFlags::addTargetFlags(Options &options) {
  auto add = [&](CLI::Option *option) {
    flags.push_back({option, Scope::compile});
    return option;
  };
  CLI::Option *targetOption = add(options.add_option(
      "--target", target, "Compile for native, machine (see --machine), an LLVM CPU name, or LLVM/TVM target text"));
  targetOption->check(offers({"native", "machine"}))->capture_default_str();
  add(options.add_option(
          "--machine", machineFile,
          "Choose schedules for the machine that FILE describes (lathe machine --json); without --target, "
          "compile for its CPU too"))
      ->type_name("FILE");
  options
      .add_option("--threads", threads, "Plan kernels for this number of threads; verbs that run a model use as many")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add(options.add_option(
          "-O", level,
          "Optimise: 0 one kernel per operator, 1 folding, 2 fusion, 3 layout and algorithms, 4 shorter functions "
          "(errors up to 2^-12)"))
      ->check(CLI::Range(0, 4))
      ->capture_default_str();
  add(options.add_option("--layout", layout,
                         "Keep activations in planes (nchw), with the channels last (nhwc) or in blocks of channels; "
                         "auto: what is fastest (docs/layouts.md)"))
      ->check(CLI::IsMember({"auto", "nchw", "nhwc", "blocked"}))
      ->capture_default_str();
  options.afterParse([this, targetOption] {
    if (!machineFile.empty() && !targetOption->count())
      target = "machine";
  });
}

void ModelFlags::addCompileFlags(Options &options, ModelUse use) {
  auto add = [&](CLI::Option *option) {
    flags.push_back({option, Scope::compile});
    return option;
  };
  bool sweeps = use == ModelUse::sweep;
  bool choosesSchedules = use != ModelUse::tune && !sweeps;
  if (!sweeps)
    addTargetFlags(options);
  add(options.add_flag("--exact-math", exactMath,
                       "Forbid algorithms that reassociate sums (Winograd), and scale factors moved into weights"));
  if (choosesSchedules)
    add(options.add_flag("--references-only", referencesOnly,
                         "Generate no kernels: the package computes every operator with its reference"));
  add(options.add_option("--memory", memory,
                         "Limit memory: small forbids algorithms that enlarge the weights (Winograd)"))
      ->check(CLI::IsMember({"any", "small"}))
      ->capture_default_str();
  add(options.add_option("--precision", precision,
                         "Set the precision: bf16 rounds operands of contractions and attention, sums stay fp32"))
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->capture_default_str();
  if (makesCode && !sweeps)
    add(options.add_flag("--no-cache", noCache, "Compile everything again and cache nothing"));
  if (makesCode && use != ModelUse::tune)
    add(options.add_flag("--no-records", noRecords, "Use no schedules of tuning records (docs/records.md)"));
  if (choosesSchedules)
    add(options.add_option("--schedule", scheduleFile,
                           "Read schedules (lathe help schedules) from FILE, one 'KERNEL-OR-NODE: SCHEDULE' a line"))
        ->type_name("FILE");
  if (choosesSchedules)
    addExtents(options, "--optimize-for", optimizeFor,
               "Choose schedules of symbolic extents for these values, as N=8 or \"N=8 T=128\" (default: 1)")
        ->type_name("SYMBOL=EXTENT");
  options.afterParse([this, &options] {
    if (referencesOnly && makesCode)
      options.refuse({"--no-records"}, "--references-only makes no code, so there is nothing to choose");
    if (referencesOnly)
      options.refuse(
          {"-O", "--layout", "--exact-math", "--machine", "--memory", "--precision", "--schedule", "--optimize-for"},
          "--references-only makes no code, so there is nothing to choose");
  });
}

CLI::Option *ModelFlags::addExtents(Options &options, const char *name, std::vector<std::string> &values,
                                    const char *help) {
  CLI::Option *option = options.add_option(name, values, help);
  option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  flags.push_back({option, Scope::compile});
  return option;
}

void ModelFlags::addVariants(Options &options) {
  addExtents(
      options, "--specialize", specialize,
      "Add a variant to the package for every combination of these extents, as N=1,8 or \"H=224,320 W=224,320\"; "
      "the runtime chooses when inputs are bound")
      ->type_name("SYMBOL=EXTENTS");
  addExtents(options, "--range", ranges, "Refuse inputs with extents outside a range, as N=1..64")
      ->type_name("SYMBOL=FIRST..LAST");
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
  Arguments result{"--target", target, "--threads", std::to_string(threads)};
  if (!machineFile.empty())
    result.insert(result.end(), {"--machine", machineFile});
  if (referencesOnly) { // of code that is not made nothing is chosen
    result.push_back("--references-only");
  } else {
    result.insert(result.end(), {"-O", std::to_string(level)});
    if (layout != "auto")
      result.insert(result.end(), {"--layout", layout});
    if (exactMath)
      result.push_back("--exact-math");
    if (memory != "any")
      result.insert(result.end(), {"--memory", memory});
    if (precision != "fp32")
      result.insert(result.end(), {"--precision", precision});
    if (!scheduleFile.empty())
      result.insert(result.end(), {"--schedule", scheduleFile});
  }
  for (const std::string &text : specialize)
    result.insert(result.end(), {"--specialize", text});
  for (const std::string &text : ranges)
    result.insert(result.end(), {"--range", text});
  for (const std::string &text : optimizeFor)
    result.insert(result.end(), {"--optimize-for", text});
  Arguments graph = graphArguments();
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
