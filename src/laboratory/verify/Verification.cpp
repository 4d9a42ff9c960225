#include "verify/Verification.h"

#include "ir/Bridge.h"
#include "ir/Main.h"
#include "lab/judging/NodeInstruction.h"
#include "lab/judging/OutputSummary.h"
#include "passes/interpret/Evaluate.h"
#include "passes/interpret/Ports.h"
#include "runtime/plan/Program.h"
#include "support/Text.h"
#include "verify/Mistrust.h"

#include <algorithm>
#include <thread>

namespace lathe::verify {

using lab::Difference, lab::Tolerance, lab::difference;

namespace {

int allProcessors() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

/// Both sides need the same inputs, so their ports must agree.
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

} // namespace

/// The judge: the references in float64.
struct Verification::Judge {
  explicit Judge(mlir::ModuleOp module) : module(module), outputs(outputNames(mainFunction(module))) {}

  /// Outputs in float64. With `inside`, also keeps every operator's results.
  std::vector<Value> run(std::span<const Value> inputs, NodeValues *inside) const {
    EvaluateOptions evaluation;
    evaluation.judge = true;
    evaluation.threads = allProcessors();
    if (inside)
      for (auto [argument, input] : llvm::zip(mainFunction(module).getArguments(), inputs))
        inside->addInput(argument, input);
    if (inside)
      evaluation.observe = [&](mlir::Operation *op, std::span<const Value> results) { inside->add(op, results); };
    return evaluate(module, inputs, evaluation);
  }

  std::map<std::string, Tensor> byName(const std::vector<Value> &values) const {
    std::map<std::string, Tensor> named;
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].isTensor())
        named[outputs[i]] = values[i].tensor();
    return named;
  }

  mlir::ModuleOp module;
  std::vector<std::string> outputs;
};

Verification::Verification(std::shared_ptr<const runtime::Model> package, mlir::ModuleOp module, Options options)
    : package((requireSamePorts(*package, module), package)), module(module), options(std::move(options)),
      judge(std::make_unique<Judge>(module)), context(package, {.threads = this->options.threads}) {}

Verification::~Verification() = default;

std::set<ElementType> valueTypes(mlir::ModuleOp module) {
  std::set<ElementType> types;
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    if (nn::recordOf(&op))
      for (mlir::Value result : op.getResults())
        types.insert(nn::infoOf(result).type);
  return types;
}

Tolerance toleranceOf(const runtime::Model &package, const std::set<ElementType> &types,
                      std::span<const Value> inputs) {
  lab::Roundings roundings = lab::roundingsOf(package, lab::boundSymbols(package.inputs(), inputs));
  for (ElementType type : types)
    roundings.add(type);
  return lab::toleranceOf(roundings);
}

Tolerance Verification::toleranceFor(std::span<const Value> inputs) const {
  Tolerance tolerance = toleranceOf(*package, valueTypes(module), inputs);
  tolerance.relative = options.relative.value_or(tolerance.relative);
  tolerance.maximum = options.maximum.value_or(tolerance.maximum);
  return tolerance;
}

void Verification::compareOutputs(std::span<const Value> inputs, const std::vector<Value> &reference,
                                  SetResult &result) {
  for (size_t i = 0; i < reference.size(); ++i) {
    const std::string &output = judge->outputs[i];
    auto index = package->findOutput(output);
    require(index.has_value(), "{}: has no output '{}', the model has", package->file(), output);
    const Value &computed = context.output(*index);
    require(computed.isTensor() && reference[i].isTensor(), "output '{}' is not a tensor and cannot be compared",
            output);
    Difference found = difference(computed.tensor(), reference[i].tensor());
    result.comparisons.push_back({output, found, found.within(result.tolerance)});
    std::string why = lab::summarizeOutput(reference[i].tensor()).mistrust;
    if (!why.empty() && result.mistrust.empty()) {
      result.mistrusted = output;
      result.mistrust = fmt::format("{}: {}", why, traceMistrust(module, inputs, i, allProcessors()));
    }
  }
}

void Verification::addNodes(const Inside &inside, SetResult &result) const {
  auto add = [&](const Divergence &value) {
    result.comparisons.push_back({value.value, value.difference, value.difference.within(result.tolerance)});
  };
  for (const std::string &node : options.nodes) {
    std::optional<uint32_t> instruction = lab::instructionOf(context, node);
    require(instruction.has_value(),
            "--output {}: no kernel computes it: it is folded away, or misspelt (lathe profile "
            "lists all nodes)",
            node);
    bool any = false;
    for (size_t i = 0; i < inside.compared.size(); ++i)
      if (inside.instructions[i] == *instruction) {
        add(inside.compared[i]);
        any = true;
      }
    for (const LeftOut &left : inside.leftOut)
      require(any || left.kernel != context.instruction(*instruction).name, "--output {}: '{}' is not compared: it {}",
              node, left.value, left.reason);
  }
  if (!options.all)
    return;
  std::for_each(inside.compared.begin(), inside.compared.end(), add);
  result.kernels = inside.kernels;
  result.leftOut = inside.leftOut;
}

SetResult Verification::run(std::span<const Value> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    context.setInput(i, inputs[i]);
  context.run();
  SetResult result;
  result.tolerance = toleranceFor(inputs);
  bool asked = options.all || !options.nodes.empty();
  NodeValues expected;
  std::vector<Value> reference = judge->run(inputs, asked ? &expected : nullptr);
  compareOutputs(inputs, reference, result);
  if (!asked && !result.failed())
    return result;
  if (!asked) {
    if (options.onMismatch)
      options.onMismatch();
    judge->run(inputs, &expected);
  }
  Inside inside = compareInside(context, expected, judge->byName(reference), result.tolerance);
  if (asked)
    addNodes(inside, result);
  auto first = std::find_if(inside.compared.begin(), inside.compared.end(),
                            [&](const Divergence &value) { return !value.difference.within(result.tolerance); });
  if (result.failed() && first != inside.compared.end())
    result.divergence = *first;
  return result;
}

void Verification::keepState(size_t input, size_t output, int64_t max) {
  context.keepState(input, output, max);
  states.push_back({input, output, Value()});
}

SetResult Verification::runStep() {
  std::vector<Value> inputs;
  for (size_t i = 0; i < package->inputs().size(); ++i)
    inputs.push_back(context.nextInput(i));
  for (const State &state : states)
    if (!state.carried.isTensor() || state.carried.tensor().defined())
      inputs[state.input] = state.carried;
    else if (inputs[state.input].isTensor()) // the run may overwrite it
      inputs[state.input] = inputs[state.input].tensor().clone();
  std::vector<Value> reference = judge->run(inputs, nullptr);
  context.run();
  SetResult result;
  result.tolerance = toleranceFor(inputs);
  compareOutputs(inputs, reference, result);
  for (State &state : states) {
    const std::string &name = package->outputs()[state.output].name;
    auto at = std::find(judge->outputs.begin(), judge->outputs.end(), name);
    state.carried = reference[static_cast<size_t>(at - judge->outputs.begin())];
  }
  return result;
}

const Comparison *SetResult::failed() const {
  auto at = std::find_if(comparisons.begin(), comparisons.end(), [](const Comparison &one) { return !one.passed; });
  return at == comparisons.end() ? nullptr : &*at;
}

void Verdict::add(const std::string &title, const SetResult &result) {
  ++sets;
  tolerance = result.tolerance;
  for (const Comparison &one : result.comparisons) {
    worst.relative = std::max(worst.relative, one.difference.relative);
    worst.maximum = std::max(worst.maximum, one.difference.maximum);
    if (one.difference.nan + one.difference.infinite > worst.nan + worst.infinite) {
      worst.nan = one.difference.nan;
      worst.infinite = one.difference.infinite;
      worst.elements = one.difference.elements;
    }
  }
  if (const Comparison *failed = result.failed(); failed && failure.empty())
    failure = fmt::format("{} ({}): {}", failed->value, title, failed->difference.str());
  if (!result.mistrust.empty() && mistrust.empty())
    mistrust = fmt::format("output '{}' ({}) is {}", result.mistrusted, title, result.mistrust);
}

std::string Verdict::summary(Precision precision) const {
  if (!failure.empty())
    return failure;
  if (!mistrust.empty())
    return "mistrusted: " + mistrust;
  return fmt::format("{} on {} (bounds {:.2g} and {:.2g}{})", worst.str(),
                     counted(static_cast<int64_t>(sets), "input set"), tolerance.relative, tolerance.maximum,
                     precision == Precision::bf16 ? "; operands rounded to bf16" : "");
}

std::optional<CutOptions> cutAround(mlir::ModuleOp module, const Divergence &divergence, TensorOrigins tensors) {
  CutOptions cut;
  cut.tensors = std::move(tensors);
  cut.to = {divergence.value};
  for (const std::string &node : divergence.nodes)
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
  if (!cut.from.empty() && works())
    return cut;
  cut.from = {divergence.value}; // a kernel may compute several values, and nodes may have been folded
  return hasNode(module, divergence.value) && works() ? std::optional(cut) : std::nullopt;
}

} // namespace lathe::verify
