#include "cli/Cache.h"
#include "cli/CompilerVerbs.h"
#include "cli/Mistrust.h"
#include "import/Import.h"
#include "lab/judging/Difference.h"
#include "passes/interpret/EvaluationBytes.h"
#include "passes/interpret/Extract.h"
#include "process/ShellWords.h"
#include "runtime/Context.h"
#include "runtime/plan/Program.h"
#include "support/CacheFolder.h"
#include "support/Memory.h"
#include "support/Text.h"

#include <ctime>
#include <filesystem>
#include <iostream>
#include <thread>

namespace lathe::cli {

using lab::Difference, lab::Tolerance, lab::difference;

namespace {

/// The reference's values of one run, by the names plan values have: source node, or output.
class Judge {
public:
  Judge(mlir::ModuleOp module, int threads) : module(module), threads(threads), names(outputNames(module)) {
    mlir::Operation *end = mainOf(module).getBody().front().getTerminator();
    for (auto [i, operand] : llvm::enumerate(end->getOperands()))
      returned[operand] = names[i];
  }

  const std::vector<std::string> &outputs() const { return names; }

  /// Outputs in float64. With `intermediates` every operator's results are kept, too.
  std::vector<Value> run(std::span<const Value> inputs, std::map<std::string, Tensor> *intermediates) {
    EvaluateOptions options;
    options.judge = true;
    options.threads = threads;
    if (intermediates)
      options.observe = [&](mlir::Operation *op, std::span<const Value> results) {
        std::vector<std::string> nodes = nn::nodeNames(op->getLoc());
        for (size_t i = 0; i < results.size(); ++i) {
          if (!results[i].isTensor())
            continue;
          if (auto found = returned.find(op->getResult(i)); found != returned.end())
            (*intermediates)[found->second] = results[i].tensor();
          else if (!nodes.empty())
            (*intermediates)[i ? fmt::format("{}:{}", nodes.back(), i) : nodes.back()] = results[i].tensor();
        }
      };
    return evaluate(module, inputs, options);
  }

private:
  mlir::ModuleOp module;
  int threads;
  std::vector<std::string> names;
  llvm::DenseMap<mlir::Value, std::string> returned;
};

/// One compared value of the plan.
struct Finding {
  std::string value, kernel;
  std::vector<std::string> nodes; // of the kernel
  Difference difference;
};

/// Runs the package once more and compares what every instruction writes with the reference's values of the same name.
std::vector<Finding> compareInside(runtime::Context &context, const std::map<std::string, Tensor> &expected) {
  std::vector<Finding> findings;
  runtime::RunOptions run;
  run.observe = [&](uint32_t instruction) {
    runtime::InstructionInfo info = context.instruction(instruction);
    for (uint32_t value : info.outputs) {
      const std::string &name = context.plan().values[value].name;
      auto found = expected.find(name);
      if (found == expected.end())
        continue;
      Value computed = context.readValue(value);
      if (!computed.isTensor() || !lab::comparable(computed.tensor(), found->second))
        continue; // a pass moved the shape or the type; the next value tells
      findings.push_back({name,
                          std::string(info.name),
                          {info.nodes.begin(), info.nodes.end()},
                          difference(computed.tensor(), found->second)});
    }
  };
  context.run(run);
  return findings;
}

std::string today() {
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

constexpr uintmax_t verdictsLimit = 16 << 20; // bytes: some ten thousand verdicts

/// For `bench`, which says whether what it times was checked. Not being able to keep it is no error.
void keepVerdict(const runtime::Model &package, const nlohmann::json &verdict) {
  std::string path = verdictPath(package);
  if (path.empty())
    return;
  try {
    writeFile(path, verdict.dump());
    pruneOldest(std::filesystem::path(path).parent_path(), verdictsLimit);
  } catch (const Error &) {
  }
}

/// The `lathe extract` that cuts the kernel of `finding` out of the model, with the inputs of this run; "" where the
/// source has no such part.
std::string extractCommand(const ModelFlags &model, const InputFlags &inputs, mlir::ModuleOp module,
                           const Finding &finding) {
  CutOptions cut;
  if (!model.isZoo())
    cut.tensors = tensorOrigins(model.model);
  cut.to = {finding.value};
  for (const std::string &node : finding.nodes)
    if (hasNode(module, node))
      cut.from.push_back(node);
  auto works = [&] {
    try {
      cutGraph(module, cut);
      return true;
    } catch (const Error &) {
      return false;
    }
  };
  if (cut.from.empty() || !works()) { // a kernel may compute several values, and nodes may have been folded away
    cut.from = {finding.value};
    if (!hasNode(module, finding.value) || !works())
      return "";
  }
  Arguments words{"lathe", "extract", model.model};
  if (cut.from == cut.to) {
    words.insert(words.end(), {"--node", finding.value});
  } else {
    words.push_back("--from");
    words.insert(words.end(), cut.from.begin(), cut.from.end());
    words.insert(words.end(), {"--to", finding.value});
  }
  words.insert(words.end(), {"-o", "diverging.onnx", "--inputs"});
  for (const Arguments &flags : {model.graphArguments(), inputs.arguments(fillsInputs(inputPorts(module), inputs))})
    words.insert(words.end(), flags.begin(), flags.end());
  return process::shellCommand(words);
}

/// The model to judge `package` by when none is named: the zoo network that it says it was compiled from.
std::string modelOfPackage(const std::string &package, const ModelFlags &flags) {
  std::string source = openPackage(package, flags).model->source();
  require(source.starts_with("zoo:"),
          "{}: a package holds no references to be judged by; give the model it was compiled from: --model {}", package,
          source.empty() ? "MODEL" : source);
  return source.substr(0, source.find('@'));
}

/// Bounds of a right result: of the package's plan at the extents of `inputs`, and of the types of all values of the
/// model, some of which live inside a kernel.
Tolerance toleranceFor(const runtime::Model &package, std::span<const Value> inputs, mlir::ModuleOp module) {
  lab::Roundings roundings = lab::roundingsOf(package, boundSymbols(package.inputs(), inputs));
  for (mlir::Operation &op : mainOf(module).getBody().front())
    if (nn::recordOf(&op))
      for (mlir::Value result : op.getResults())
        roundings.add(nn::infoOf(result).type);
  return lab::toleranceOf(roundings);
}

/// The same inputs for both sides: ports must agree or nothing can be judged.
void requireSamePorts(const runtime::Model &package, mlir::ModuleOp module) {
  std::vector<runtime::Port> ports = inputPorts(module);
  require(ports.size() == package.inputs().size(), "{}: has {} inputs, the model {}", package.file(),
          package.inputs().size(), ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    const runtime::Port &port = package.inputs()[i];
    require(port.name == ports[i].name && port.type == ports[i].type && str(port.dims) == str(ports[i].dims),
            "{}: input {} is '{}' {} {}, the model has '{}' {} {}", package.file(), i, port.name, name(port.type),
            str(port.dims), ports[i].name, name(ports[i].type), str(ports[i].dims));
  }
}

/// A zoo package that names its network by name only is judged by the very same weights and extents.
void requireSameZoo(const ModelFlags &model, const Source &source, const runtime::Model &package, bool named) {
  if (!named || !model.isZoo() || model.package.empty())
    return;
  require(sourceText(model, source) == package.source(),
          "{}: was compiled from {}, this is {}; give the --zoo-seed, --zoo-batch and --zoo-sequence it was built with",
          package.file(), package.source(), sourceText(model, source));
}

} // namespace

int verifyVerb(const Arguments &arguments) {
  ModelFlags model;
  InputFlags inputs;
  std::optional<double> relative, maximum;
  std::string judgedBy; // --model
  std::vector<std::string> nodes;
  int seeds = 2;
  bool all = false;
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
  options.afterParse([&] {
    bool isOne = !model.isZoo() && isPackage(model.model);
    require(isOne || judgedBy.empty(), "--model {}: {} is a model and judges itself; --model is only for packages",
            judgedBy, model.model);
    require(!isOne || model.package.empty(), "--package {}: {} is a package, too; give one package", model.package,
            model.model);
    if (!isOne)
      return;
    model.package = model.model;
    model.model = judgedBy.empty() ? modelOfPackage(model.package, model) : judgedBy;
  });
  model.add(options, ModelUse::run);
  model.addLoading(options);
  inputs.add(options, "random");
  options.add_option("--package", model.package, "Judge this package (default: the model compiled with these flags)")
      ->type_name("F.lathe");
  options.reads([&] { return std::vector<std::string>{model.package}; });
  options.add_option("--model", judgedBy, "Judge the package by this model (default: the zoo network that it names)")
      ->type_name("F.onnx");
  options.add_option("--seeds", seeds, "Use this many sets of random inputs")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  options.add_option("--output", nodes, "Compare the value of this node, too")->type_name("NODE");
  options.add_flag("--all", all, "Compare the result of every kernel, too");
  options.add_option("--relative", relative,
                     "Set the largest relative L2 error (default: docs/numerics.md; 2e-05 for fp32)");
  options.add_option(
      "--maximum", maximum,
      "Set the largest |difference| over the largest |reference| (default: docs/numerics.md; 0.0001 for fp32)");
  options.addQuiet();
  options.addJson();
  options.afterParse([&] {
    if (inputs.fill == "random")
      return;
    options.refuse({"--seeds"}, fmt::format("--fill {} draws no random numbers", inputs.fill));
    seeds = inputs.given.empty() ? 1 : 0;
  });
  options.parseAll(arguments);
  require(seeds > 0 || !inputs.given.empty(), "nothing to run: give -i, or --seeds 1 or more");

  Progress progress("verify " + model.model);
  auto [package, loaded] = model.package.empty() ? packageFor(model) : openPackage(model.package, model);
  Precision precision = lab::precisionOfPackage(loaded->options());
  Tolerance tolerance;
  Source source = loadSource(model);
  requireSamePorts(*loaded, *source.module);
  requireSameZoo(model, source, *loaded, judgedBy.empty() && !options.given("--package"));
  Judge judge(*source.module, static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  runtime::Context context(loaded, {.threads = model.threads});

  nlohmann::json json{
      {"model", model.model}, {"package", package}, {"precision", name(precision)}, {"runs", nlohmann::json::array()}};
  Difference worst;
  std::string failure, mistrust;
  size_t sets = static_cast<size_t>(seeds) + !inputs.given.empty();
  for (size_t set = 0; set < sets && failure.empty(); ++set) {
    progress.update("input set", set, sets);
    InputFlags flags = inputs;
    bool given = !inputs.given.empty() && set == 0;
    if (!given)
      flags.given.clear();
    else if (seeds > 0) // --fill and --seed are of the other sets
      flags.fillAsked = flags.seedAsked = false;
    flags.seed = inputs.seed + set;
    std::string title = given                    ? "given inputs"
                        : flags.fill == "random" ? fmt::format("random, seed {}", flags.seed)
                                                 : flags.fill;
    std::vector<Value> values = gatherInputs(loaded->inputs(), flags, model.shapes);
    EvaluateOptions judging;
    judging.judge = true;
    requireMemory(evaluationBytes(*source.module, values, judging), model.model + ": the reference in float64");
    for (size_t i = 0; i < values.size(); ++i)
      context.setInput(i, values[i]);
    context.run();
    tolerance = toleranceFor(*loaded, values, *source.module);
    tolerance = {relative.value_or(tolerance.relative), maximum.value_or(tolerance.maximum)};
    json["relative_tolerance"] = tolerance.relative;
    json["maximum_tolerance"] = tolerance.maximum;

    bool inside = all || !nodes.empty();
    std::map<std::string, Tensor> expected;
    std::vector<Value> reference = judge.run(values, inside ? &expected : nullptr);
    auto report = [&](const std::string &value, const Difference &found) {
      bool good = found.within(tolerance);
      if (options.printsText())
        std::cout << fmt::format("{}  {} ({}): {}\n", good ? "ok      " : "MISMATCH", printable(value), title,
                                 found.str());
      json["runs"].push_back({{"inputs", title},
                              {"value", value},
                              {"relative_error", found.relative},
                              {"maximum_error", found.maximum},
                              {"broken", found.broken},
                              {"nan_count", found.nan},
                              {"infinite_count", found.infinite},
                              {"passed", good}});
      if (!good && failure.empty())
        failure = fmt::format("{} ({}): {}", value, title, found.str());
      worst.relative = std::max(worst.relative, found.relative);
      worst.maximum = std::max(worst.maximum, found.maximum);
      if (found.nan + found.infinite > worst.nan + worst.infinite) {
        worst.nan = found.nan;
        worst.infinite = found.infinite;
        worst.elements = found.elements;
      }
    };
    for (size_t i = 0; i < reference.size(); ++i) {
      const std::string &output = judge.outputs()[i];
      auto index = loaded->findOutput(output);
      require(index.has_value(), "{}: has no output '{}', the model has", package, output);
      const Value &computed = context.output(*index);
      require(computed.isTensor() && reference[i].isTensor(), "output '{}' is not a tensor and cannot be compared",
              output);
      report(output, difference(computed.tensor(), reference[i].tensor()));
      std::string why = summarizeOutput(reference[i].tensor()).mistrust;
      if (!why.empty() && mistrust.empty())
        mistrust = fmt::format("output '{}' ({}) is {}: {}", output, title, why,
                               traceMistrust(*source.module, values, i,
                                             static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))));
    }

    if (inside) {
      std::vector<Finding> findings = compareInside(context, expected);
      for (const std::string &node : nodes) {
        auto at = std::find_if(findings.begin(), findings.end(), [&](const Finding &f) { return f.value == node; });
        require(at != findings.end(),
                "--output {}: no value of the plan has that name; compile with -O0 to keep every node apart", node);
        report(node, at->difference);
      }
      for (const Finding &finding : findings)
        if (all)
          report(finding.value, finding.difference);
    }

    if (!failure.empty()) {
      // Where it began: every value inside against the reference's, in the order of execution.
      progress.update("looking for the first divergence", set, sets);
      if (!inside)
        judge.run(values, &expected);
      for (const Finding &finding : compareInside(context, expected))
        if (!finding.difference.within(tolerance)) {
          std::string place = fmt::format(
              "first diverging node: '{}' (kernel {}: {}): {}; element {} is {:.8g}, the reference has {:.8g}",
              finding.value, finding.kernel, fmt::join(finding.nodes, "+"), finding.difference.str(),
              finding.difference.worst, finding.difference.computed, finding.difference.expected);
          std::string command = extractCommand(model, flags, *source.module, finding);
          if (options.printsText())
            std::cout << place << "\n" << (command.empty() ? "" : "to cut it out: " + command + "\n");
          json["extract_command"] = command;
          json["first_diverging_node"] = finding.value;
          json["first_diverging_kernel"] = finding.kernel;
          json["place"] = place;
          break;
        }
    }
  }

  bool passed = failure.empty() && mistrust.empty();
  std::string summary = !failure.empty() ? failure
                        : !mistrust.empty()
                            ? "mistrusted: " + mistrust
                            : fmt::format("{} on {} (bounds {:.2g} and {:.2g}{})", worst.str(),
                                          counted(sets, "input set"), tolerance.relative, tolerance.maximum,
                                          precision == Precision::bf16 ? "; operands rounded to bf16" : "");
  json["mistrusted"] = mistrust;
  json["relative_error"] = worst.relative;
  json["maximum_error"] = worst.maximum;
  if (options.printsText())
    std::cout << (passed ? "verified: " : "not verified: ") << summary << "\n";
  nlohmann::json verdict{{"passed", passed}, {"date", today()}, {"summary", summary}};
  json.update(verdict);
  keepVerdict(*loaded, verdict);
  options.writeJson(json);
  return passed ? success : failedVerdict;
}

} // namespace lathe::cli
