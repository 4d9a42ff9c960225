#include "jobs/verify/Verify.h"

#include "jobs/Packages.h"
#include "jobs/Variants.h"
#include "passes/interpret/EvaluationBytes.h"
#include "passes/interpret/Ports.h"
#include "process/ShellWords.h"
#include "store/ContentKey.h"
#include "support/Memory.h"

#include <map>
#include <utility>

namespace lathe::jobs {
namespace {

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

/// A zoo package that names its network by name only is judged by the very same weights and extents.
void requireSameZoo(const ModelOptions &model, const Source &source, const runtime::Model &package) {
  require(sourceText(model, source) == package.source(),
          "{}: was compiled from {}, this is {}; give the --zoo-seed, --zoo-batch and --zoo-sequence it was built with",
          package.file(), package.source(), sourceText(model, source));
}

/// One set of inputs: how they are made, and their name in messages.
struct InputSet {
  InputOptions flags;
  std::string title;
  std::vector<std::string> shapes; // as ModelOptions::shapes
};

/// Adds a random set for each variant of the package, because each variant has kernels of its own.
void addVariantSets(std::vector<InputSet> &sets, const VerifyJob &job, const runtime::Model &package) {
  if (job.seeds == 0 || job.inputs.fill != "random")
    return;
  const runtime::Program &program = package.program();
  for (const runtime::Plan &plan : program.plans) {
    std::map<std::string, int64_t> extents = variantExtents(program, plan);
    if (extents.empty())
      continue;
    InputSet set{job.inputs, fmt::format("variant {}", variantText(program, plan)), {}};
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
std::vector<InputSet> inputSets(const VerifyJob &job) {
  std::vector<InputSet> sets;
  bool anyGiven = !job.inputs.given.empty();
  size_t count = static_cast<size_t>(job.seeds) + anyGiven;
  for (size_t i = 0; i < count; ++i) {
    InputOptions inputs = job.inputs;
    bool given = anyGiven && i == 0;
    if (!given)
      inputs.like = std::exchange(inputs.given, {});
    else if (job.seeds > 0) // --fill and --seed belong to the other sets
      inputs.fillAsked = inputs.seedAsked = false;
    inputs.seed = job.inputs.seed + i;
    std::string title = given                     ? "given inputs"
                        : inputs.fill == "random" ? fmt::format("random, seed {}", inputs.seed)
                                                  : inputs.fill;
    sets.push_back({std::move(inputs), std::move(title), job.model.shapes});
  }
  require(!sets.empty(), "nothing to run: give -i, or --seeds 1 or more");
  return sets;
}

void requireJudgeMemory(mlir::ModuleOp module, std::span<const Value> inputs, const std::string &model) {
  EvaluateOptions judging;
  judging.judge = true;
  requireMemory(evaluationBytes(module, inputs, judging), model + ": the reference in float64");
}

/// Keeps only verdicts by the default bounds, which other verbs rely on.
void keep(const VerifyJob &job, const Source &source, const runtime::Model &package,
          const cache::KeptVerdict &verdict) {
  const verify::Options &by = job.compared;
  std::optional<uint64_t> model = by.relative || by.maximum ? std::nullopt : modelKey(job.model);
  auto text = [&](const char *name) {
    auto attribute = (*source.module)->getAttrOfType<mlir::StringAttr>(name);
    return attribute ? attribute.str() : "";
  };
  std::string content = text("nn.content");
  if (model)
    cache::keepVerdict(package, {*model, text("nn.source") + (content.empty() ? "" : "@" + content)}, verdict);
}

/// Verifies all steps of a set, until one differs.
void verifySteps(const VerifyJob &job, verify::Verification &verification, const InputSet &set,
                 const std::function<bool(VerifiedSet)> &add) {
  const runtime::Model &package = verification.program().model();
  std::vector<StatePair> pairs = statePairs(package.inputs(), package.outputs(), job.stepping.states);
  for (const StatePair &pair : pairs)
    verification.keepState(pair.input, pair.output, pair.max);
  StepInputs inputs(package.inputs(), pairs, set.flags, set.shapes, job.stepping.steps);
  for (int64_t step = 0; step < job.stepping.steps; ++step) {
    inputs.set(verification.program(), step);
    if (!add({fmt::format("{}, step {}", set.title, step), verification.runStep(), ""}))
      return;
  }
}

} // namespace

std::string modelOfPackage(const std::string &package, const ModelOptions &flags) {
  std::string source = openPackage(package, flags).model->source();
  require(source.starts_with("zoo:"),
          "{}: a package holds no references to be judged by; give the model it was compiled from: --model {}", package,
          source.empty() ? "MODEL" : source);
  return source.substr(0, source.find('@'));
}

Verified verifyModel(VerifyJob job, const std::function<void(const VerifiedSet &)> &told) {
  const ModelOptions &model = job.model;
  std::vector<InputSet> sets = inputSets(job);
  Progress progress("verify " + model.model);
  Verified result;
  auto [path, package] = model.package.empty() ? packageFor(model) : openPackage(model.package, model);
  result.package = path;
  addVariantSets(sets, job, *package);
  result.precision = lab::precisionOfPackage(package->options());
  Source source = loadSource(model);
  size_t set = 0;
  job.compared.threads = model.threads;
  job.compared.onMismatch = [&] { progress.update("looking for the first divergence", set, sets.size()); };
  verify::Verification verification(package, *source.module, job.compared);
  if (job.sameZoo)
    requireSameZoo(model, source, *package);

  verify::Verdict verdict;
  auto add = [&](VerifiedSet one) {
    verdict.add(one.title, one.result);
    told(one);
    result.sets.push_back(std::move(one));
    return verdict.failure.empty();
  };
  for (; set < sets.size() && verdict.failure.empty(); ++set) {
    progress.update("input set", set, sets.size());
    const InputSet &inputs = sets[set];
    if (job.stepping.given()) {
      verify::Verification steps(package, *source.module, job.compared);
      verifySteps(job, steps, inputs, add);
      continue;
    }
    std::vector<Value> values = gatherInputs(package->inputs(), inputs.flags, inputs.shapes);
    requireJudgeMemory(*source.module, values, model.model);
    VerifiedSet one{inputs.title, verification.run(values), ""};
    if (const auto &found = one.result.divergence)
      one.extractCommand = extractCommand(model, inputs.flags, *source.module, *found);
    add(std::move(one));
  }
  result.worst = verdict.worst;
  result.verdict = {verdict.passed(), store::timeNow().substr(0, 10), verdict.summary(result.precision),
                    verdict.mistrust};
  keep(job, source, *package, result.verdict);
  return result;
}

} // namespace lathe::jobs
