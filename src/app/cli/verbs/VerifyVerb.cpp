// `lathe verify`: compares a package with the reference operators.
#include "cache/Verdicts.h"
#include "cli/CompilerVerbs.h"
#include "import/Import.h"
#include "jobs/Packages.h"
#include "jobs/Variants.h"
#include "passes/interpret/EvaluationBytes.h"
#include "passes/interpret/Ports.h"
#include "process/ShellWords.h"
#include "support/Memory.h"
#include "support/Text.h"
#include "verify/Verification.h"

#include <ctime>
#include <iostream>
#include <map>
#include <utility>

namespace lathe::cli {

namespace {

std::string today() {
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

/// The `lathe extract` that cuts the kernel of `divergence` out of the model, with the inputs of this run; "" where the
/// source has no such part.
std::string extractCommand(const ModelOptions &model, const InputOptions &inputs, mlir::ModuleOp module,
                           const verify::Divergence &divergence) {
  std::optional<CutOptions> cut = verify::cutAround(
      module, divergence, model.isZoo() ? TensorOrigins() : tensorOrigins(model.model, importOptions(model)));
  if (!cut)
    return "";
  Arguments words{"lathe", "extract", model.model};
  if (cut->from == cut->to) {
    words.insert(words.end(), {"--node", divergence.value});
  } else {
    words.push_back("--from");
    words.insert(words.end(), cut->from.begin(), cut->from.end());
    words.insert(words.end(), {"--to", divergence.value});
  }
  words.insert(words.end(), {"-o", "diverging.onnx", "--inputs"});
  for (const Arguments &flags : {model.graphArguments(), inputs.arguments(fillsInputs(inputPorts(module), inputs))})
    words.insert(words.end(), flags.begin(), flags.end());
  return process::shellCommand(words);
}

/// The model to judge `package` by when none is named: the zoo network that it says it was compiled from.
std::string modelOfPackage(const std::string &package, const ModelOptions &flags) {
  std::string source = openPackage(package, flags).model->source();
  require(source.starts_with("zoo:"),
          "{}: a package holds no references to be judged by; give the model it was compiled from: --model {}", package,
          source.empty() ? "MODEL" : source);
  return source.substr(0, source.find('@'));
}

/// A zoo package that names its network by name only is judged by the very same weights and extents.
void requireSameZoo(const ModelOptions &model, const Source &source, const runtime::Model &package, bool named) {
  if (!named || !model.isZoo() || model.package.empty())
    return;
  require(sourceText(model, source) == package.source(),
          "{}: was compiled from {}, this is {}; give the --zoo-seed, --zoo-batch and --zoo-sequence it was built with",
          package.file(), package.source(), sourceText(model, source));
}

/// The flags of `lathe verify`.
struct VerifyFlags {
  ModelOptions model;
  InputOptions inputs;
  verify::Options verification;
  StepOptions stepping;
  std::string judgedBy; // --model
  int seeds = 2;

  void add(Options &options);

private:
  void addComparison(Options &options);
  void choosePackage();
};

/// If MODEL is a package, it is judged by the model of --model.
void VerifyFlags::choosePackage() {
  bool isOne = !model.isZoo() && isPackage(model.model);
  require(isOne || judgedBy.empty(), "--model {}: {} is a model and judges itself; --model is only for packages",
          judgedBy, model.model);
  require(!isOne || model.package.empty(), "--package {}: {} is a package, too; give one package", model.package,
          model.model);
  if (!isOne)
    return;
  model.package = model.model;
  model.model = judgedBy.empty() ? modelOfPackage(model.package, model) : judgedBy;
}

void VerifyFlags::addComparison(Options &options) {
  options.add_option("--seeds", seeds, "Use this many sets of random inputs")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  options.add_option("--output", verification.nodes, "Compare the result of the kernel that computes this node, too")
      ->type_name("NODE");
  options.add_flag(
      "--all", verification.all,
      "Compare the result of every kernel, too, whatever its layout is; list the kernels without a value of "
      "the model");
  options.add_option("--relative", verification.relative,
                     "Set the limit of the relative L2 error (default: docs/numerics.md; 2e-05 for fp32)");
  options.add_option("--maximum", verification.maximum,
                     "Set the limit of the largest |difference| divided by the largest |reference| (default: "
                     "docs/numerics.md; 0.0001 for fp32)");
}

void VerifyFlags::add(Options &options) {
  options.afterParse([this] { choosePackage(); });
  addModel(options, model, ModelUse::run);
  addStore(options, model);
  addLoading(options, model);
  addInputs(options, inputs, "random");
  addSteps(options, stepping);
  options.add_option("--package", model.package, "Judge this package (default: the model compiled with these flags)")
      ->type_name("F.lathe");
  options.reads([this] { return std::vector<std::string>{model.package}; });
  options.add_option("--model", judgedBy, "Judge the package by this model (default: the zoo network that it names)")
      ->type_name("F.onnx");
  addComparison(options);
  options.addQuiet();
  options.addJson();
  options.afterParse([this, &options] {
    if (stepping.given())
      options.refuse({"--output", "--all"}, "--steps compares the outputs alone");
    if (inputs.fill == "random")
      return;
    options.refuse({"--seeds"}, fmt::format("--fill {} draws no random numbers", inputs.fill));
    seeds = inputs.given.empty() ? 1 : 0;
  });
}

/// One set of inputs: how they are made, and their name in messages.
struct InputSet {
  InputOptions flags;
  std::string title;
  std::vector<std::string> shapes; // as ModelOptions::shapes
};

/// Adds a random set for each variant of the package, because each variant has kernels of its own.
void addVariantSets(std::vector<InputSet> &sets, const VerifyFlags &flags, const runtime::Model &package) {
  if (flags.seeds == 0 || flags.inputs.fill != "random")
    return;
  const runtime::Program &program = package.program();
  for (const runtime::Plan &plan : program.plans) {
    std::map<std::string, int64_t> extents = variantExtents(program, plan);
    if (extents.empty())
      continue;
    InputSet set{flags.inputs, fmt::format("variant {}", variantText(program, plan)), {}};
    set.flags.given.clear();
    set.flags.batch = 0;
    for (const runtime::Port &port : package.inputs()) {
      std::vector<int64_t> dims;
      for (const Dim &dim : port.dims)
        dims.push_back(dim.evaluate([&](const std::string &symbol) {
          auto found = extents.find(symbol);
          return found == extents.end() ? int64_t(1) : found->second;
        }));
      if (port.tensor() && !dims.empty())
        set.shapes.push_back(fmt::format("{}={}", port.name, fmt::join(dims, "x")));
    }
    sets.push_back(std::move(set));
  }
}

/// The given inputs, if any, then sets that are filled.
std::vector<InputSet> inputSets(const VerifyFlags &flags) {
  std::vector<InputSet> sets;
  bool anyGiven = !flags.inputs.given.empty();
  size_t count = static_cast<size_t>(flags.seeds) + anyGiven;
  for (size_t i = 0; i < count; ++i) {
    InputOptions inputs = flags.inputs;
    bool given = anyGiven && i == 0;
    if (!given)
      inputs.like = std::exchange(inputs.given, {});
    else if (flags.seeds > 0) // --fill and --seed belong to the other sets
      inputs.fillAsked = inputs.seedAsked = false;
    inputs.seed = flags.inputs.seed + i;
    std::string title = given                     ? "given inputs"
                        : inputs.fill == "random" ? fmt::format("random, seed {}", inputs.seed)
                                                  : inputs.fill;
    sets.push_back({std::move(inputs), std::move(title), flags.model.shapes});
  }
  require(!sets.empty(), "nothing to run: give -i, or --seeds 1 or more");
  return sets;
}

/// Prints the comparisons of one set (if `print`), and adds them to json["runs"].
void printComparisons(const std::string &title, const verify::SetResult &result, nlohmann::json &json, bool print) {
  json["relative_tolerance"] = result.tolerance.relative;
  json["maximum_tolerance"] = result.tolerance.maximum;
  for (const verify::Comparison &one : result.comparisons) {
    if (print)
      std::cout << fmt::format("{}  {} ({}): {}\n", one.passed ? "ok      " : "MISMATCH", printable(one.value), title,
                               one.difference.str());
    json["runs"].push_back({{"inputs", title},
                            {"value", one.value},
                            {"relative_error", one.difference.relative},
                            {"maximum_error", one.difference.maximum},
                            {"broken", one.difference.broken},
                            {"nan_count", one.difference.nan},
                            {"infinite_count", one.difference.infinite},
                            {"passed", one.passed}});
  }
}

/// With --all: prints the number of compared kernels, and the others with their reasons.
void printCoverage(const std::string &title, const verify::SetResult &result, nlohmann::json &json, bool print) {
  size_t compared = result.kernels - result.leftOut.size();
  std::map<std::string, size_t> reasons;
  for (const verify::LeftOut &left : result.leftOut)
    ++reasons[left.reason];
  std::string others;
  for (const auto &[reason, count] : reasons)
    others += fmt::format("{}{} ({})", others.empty() ? "; left out: " : ", ", count, reason);
  if (print)
    std::cout << fmt::format("compared {} of {} kernels ({}){}\n", compared, result.kernels, title, others);
  json["kernels"] = result.kernels;
  json["compared_kernels"] = compared;
  json["left_out_reasons"] = reasons;
  json["left_out"] = nlohmann::json::array();
  for (const verify::LeftOut &left : result.leftOut) {
    if (print)
      std::cout << fmt::format("left out  {} (kernel {}): {}\n", printable(left.value), left.kernel, left.reason);
    json["left_out"].push_back({{"kernel", left.kernel}, {"value", left.value}, {"reason", left.reason}});
  }
}

void printDivergence(const verify::Divergence &divergence, const std::string &command, nlohmann::json &json,
                     bool print) {
  if (print)
    std::cout << divergence.str() << "\n" << (command.empty() ? "" : "to cut it out: " + command + "\n");
  json["extract_command"] = command;
  json["first_diverging_node"] = divergence.value;
  json["first_diverging_kernel"] = divergence.kernel;
  json["place"] = divergence.str();
}

/// Prints everything about one set of inputs.
void printSet(const VerifyFlags &flags, const InputSet &inputs, mlir::ModuleOp module, const verify::SetResult &result,
              nlohmann::json &json, bool print) {
  printComparisons(inputs.title, result, json, print);
  if (flags.verification.all)
    printCoverage(inputs.title, result, json, print);
  if (const auto &found = result.divergence)
    printDivergence(*found, extractCommand(flags.model, inputs.flags, module, *found), json, print);
}

void requireJudgeMemory(mlir::ModuleOp module, std::span<const Value> inputs, const std::string &model) {
  EvaluateOptions judging;
  judging.judge = true;
  requireMemory(evaluationBytes(module, inputs, judging), model + ": the reference in float64");
}

/// Keeps only verdicts by the default bounds, which other verbs rely on.
void keep(const VerifyFlags &flags, const Source &source, const runtime::Model &package,
          const cache::KeptVerdict &verdict) {
  const verify::Options &given = flags.verification;
  std::optional<uint64_t> model = given.relative || given.maximum ? std::nullopt : modelKey(flags.model);
  auto text = [&](const char *name) {
    auto attribute = (*source.module)->getAttrOfType<mlir::StringAttr>(name);
    return attribute ? attribute.str() : "";
  };
  std::string content = text("nn.content");
  if (model)
    cache::keepVerdict(package, {*model, text("nn.source") + (content.empty() ? "" : "@" + content)}, verdict);
}

/// Verifies all steps of a set, until one differs.
void verifySteps(const VerifyFlags &flags, verify::Verification &verification, const InputSet &set,
                 verify::Verdict &verdict, nlohmann::json &json, bool print) {
  const runtime::Model &package = verification.program().model();
  std::vector<StatePair> pairs = statePairs(package.inputs(), package.outputs(), flags.stepping.states);
  for (const StatePair &pair : pairs)
    verification.keepState(pair.input, pair.output, pair.max);
  StepInputs inputs(package.inputs(), pairs, set.flags, set.shapes, flags.stepping.steps);
  for (int64_t step = 0; step < flags.stepping.steps && verdict.failure.empty(); ++step) {
    inputs.set(verification.program(), step);
    verify::SetResult result = verification.runStep();
    std::string title = fmt::format("{}, step {}", set.title, step);
    verdict.add(title, result);
    printComparisons(title, result, json, print);
  }
}

} // namespace

int verifyVerb(const Arguments &arguments) {
  VerifyFlags flags;
  Options options(
      "verify",
      "Run the compiled model beside the float64 reference and compare the outputs. On a mismatch, name the first "
      "node\n"
      "whose value diverges. NaN and infinities must be in the same places. Outputs that are constant, all zero or "
      "nowhere\n"
      "finite are mistrusted: their agreement proves nothing. Exit code 1 when a value differs or is mistrusted.",
      "  lathe verify resnet50.onnx\n"
      "  lathe verify model.onnx -i input=cat.npy --seeds 0     only this input\n"
      "  lathe verify model.onnx --output conv3_1              an intermediate value, too\n"
      "  lathe verify model.onnx --package other.lathe         judges a package by this model\n"
      "  lathe verify other.lathe --model model.onnx           likewise\n");
  flags.add(options);
  options.parseAll(arguments);
  const ModelOptions &model = flags.model;
  std::vector<InputSet> sets = inputSets(flags);

  Progress progress("verify " + model.model);
  auto [package, loaded] = model.package.empty() ? packageFor(model) : openPackage(model.package, model);
  addVariantSets(sets, flags, *loaded);
  Precision precision = lab::precisionOfPackage(loaded->options());
  Source source = loadSource(model);
  size_t set = 0;
  flags.verification.threads = model.threads;
  flags.verification.onMismatch = [&] { progress.update("looking for the first divergence", set, sets.size()); };
  verify::Verification verification(loaded, *source.module, flags.verification);
  requireSameZoo(model, source, *loaded, flags.judgedBy.empty() && !options.given("--package"));

  nlohmann::json json{
      {"model", model.model}, {"package", package}, {"precision", name(precision)}, {"runs", nlohmann::json::array()}};
  verify::Verdict verdict;
  for (; set < sets.size() && verdict.failure.empty(); ++set) {
    progress.update("input set", set, sets.size());
    const InputSet &inputs = sets[set];
    if (flags.stepping.given()) {
      verify::Verification steps(loaded, *source.module, flags.verification);
      verifySteps(flags, steps, inputs, verdict, json, options.printsText());
      continue;
    }
    std::vector<Value> values = gatherInputs(loaded->inputs(), inputs.flags, inputs.shapes);
    requireJudgeMemory(*source.module, values, model.model);
    verify::SetResult result = verification.run(values);
    verdict.add(inputs.title, result);
    printSet(flags, inputs, *source.module, result, json, options.printsText());
  }

  const std::string summary = verdict.summary(precision);
  json.update({{"relative_error", verdict.worst.relative}, {"maximum_error", verdict.worst.maximum}});
  cache::KeptVerdict kept{verdict.passed(), today(), verdict.summary(precision), verdict.mistrust};
  if (options.printsText())
    std::cout << (kept.passed ? "verified: " : "not verified: ") << kept.summary << "\n";
  json.update(cache::toJson(kept));
  keep(flags, source, *loaded, kept);
  options.writeJson(json);
  return verdict.passed() ? success : failedVerdict;
}

} // namespace lathe::cli
