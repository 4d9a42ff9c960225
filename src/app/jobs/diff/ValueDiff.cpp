#include "jobs/diff/ValueDiff.h"

#include "ir/Bridge.h"
#include "lab/compare/Ports.h"
#include "lab/judging/Difference.h"
#include "passes/interpret/Evaluate.h"
#include "passes/interpret/EvaluationBytes.h"
#include "passes/interpret/Ports.h"
#include "runtime/QuantizedTensor.h"
#include "stage/diff/GraphMatch.h"
#include "support/Memory.h"

#include <algorithm>
#include <optional>

namespace lathe::jobs {
namespace {

using Pairs = std::vector<std::pair<mlir::Operation *, mlir::Operation *>>; // in the order of A

bool isValue(mlir::Operation &op) {
  return nn::recordOf(&op) && op.getNumResults() > 0 && nn::infoOf(op.getResult(0)).isTensor();
}

std::string nameOf(mlir::Operation *op) {
  auto names = nn::nodeNames(op->getLoc());
  return names.empty() ? "" : names.front();
}

/// The last operator of each node, which computes its value, in order.
std::vector<std::pair<std::string, mlir::Operation *>> nodesOf(mlir::ModuleOp module) {
  std::map<std::string, mlir::Operation *> last;
  mlir::Block &block = mainFunction(module).getBody().front();
  for (mlir::Operation &op : block)
    if (std::string name = nameOf(&op); isValue(op) && !name.empty())
      last[name] = &op;
  std::vector<std::pair<std::string, mlir::Operation *>> nodes;
  for (mlir::Operation &op : block)
    if (auto found = last.find(nameOf(&op)); found != last.end() && found->second == &op)
      nodes.emplace_back(found->first, &op);
  return nodes;
}

Pairs pairedByName(mlir::ModuleOp a, mlir::ModuleOp b) {
  std::map<std::string, mlir::Operation *> others;
  for (auto &[name, op] : nodesOf(b))
    others[name] = op;
  Pairs pairs;
  for (auto &[name, op] : nodesOf(a))
    if (auto other = others.find(name); other != others.end())
      pairs.emplace_back(op, other->second);
  return pairs;
}

Pairs pairedByGraph(mlir::ModuleOp a, mlir::ModuleOp b) {
  stage::GraphNodes mine(mainFunction(a)), theirs(mainFunction(b));
  stage::GraphMatch match(mine, theirs);
  Pairs pairs;
  for (size_t i = 0; i < mine.nodes.size(); ++i)
    if (size_t partner = match.partnersOfA()[i]; partner != stage::GraphMatch::nobody)
      if (isValue(*mine.nodes[i].op) && isValue(*theirs.nodes[partner].op))
        pairs.emplace_back(mine.nodes[i].op, theirs.nodes[partner].op);
  return pairs;
}

/// Real numbers of a value; nothing if its scale is unknown.
std::optional<Tensor> realOf(const ValueSide &side, mlir::Operation *op, const Value &value) {
  if (!value.isTensor())
    return std::nullopt;
  const Tensor &tensor = value.tensor();
  if (isFloat(tensor.type()))
    return tensor.type() == ElementType::f32 ? tensor.clone() : tensor.convertedTo(ElementType::f32);
  auto scale = side.scales.find(nameOf(op));
  return isInteger(tensor.type()) && scale != side.scales.end() ? std::optional(dequantized(scale->second, tensor))
                                                                : std::nullopt;
}

/// The inputs of B with the same real numbers as the inputs of A; paired by name, otherwise by position.
std::vector<Value> inputsLike(const std::vector<runtime::Port> &own, const std::vector<Value> &values,
                              const std::vector<runtime::Port> &others, const std::string &nameA,
                              const std::string &nameB) {
  require(own.size() == others.size(), "{} has {} inputs, {} has {}: not the same network", nameA, own.size(), nameB,
          others.size());
  std::vector<Value> inputs;
  for (size_t i = 0; i < others.size(); ++i) {
    auto named = std::find_if(own.begin(), own.end(), [&](auto &port) { return port.name == others[i].name; });
    size_t from = named == own.end() ? i : static_cast<size_t>(named - own.begin());
    require(values[from].isTensor(), "input '{}' is no tensor, expected tensors", own[from].name);
    Tensor tensor = values[from].tensor();
    if (own[from].quantization && tensor.type() == own[from].type && others[i].type != own[from].type)
      tensor = dequantized(*own[from].quantization, tensor);
    lab::RunnerPort port = lab::portOf(others[i].name, tensor);
    port.dims.clear();
    for (const Dim &dim : others[i].dims)
      port.dims.push_back(dim.isConstant() ? std::to_string(dim.constant()) : dim.str());
    lab::PortFit fit = lab::fitOf(lab::portOf(own[from].name, tensor), port);
    require(fit.fits, "input '{}' of {} is {}, '{}' of {} is {}: not the same network", own[from].name, nameA,
            dimsText(tensor.dims()), others[i].name, nameB, str(others[i].dims));
    if (!fit.permutation.empty())
      tensor = lab::transposed(tensor, fit.permutation);
    if (others[i].quantization && isFloat(tensor.type()) && !isFloat(others[i].type))
      tensor = quantized(*others[i].quantization, tensor, others[i].type);
    inputs.emplace_back(tensor);
  }
  return inputs;
}

std::vector<Value> run(mlir::ModuleOp module, const std::vector<Value> &inputs, int threads, const std::string &name,
                       const std::function<void(mlir::Operation *, std::span<const Value>)> &observe) {
  EvaluateOptions options;
  options.threads = threads;
  options.observe = observe;
  requireMemory(evaluationBytes(module, inputs, options), name + ": the reference");
  return evaluate(module, inputs, options);
}

/// The largest error of the paired values from which `op` is computed, through operators without a partner.
class Errors {
public:
  explicit Errors(const std::map<mlir::Operation *, double> &of) : of(of) {}

  double before(mlir::Operation *op) {
    auto [at, added] = known.try_emplace(op, 0);
    if (!added)
      return at->second;
    double most = 0;
    for (mlir::Value operand : op->getOperands())
      if (mlir::Operation *from = operand.getDefiningOp()) {
        auto found = of.find(from);
        most = std::max(most, found == of.end() ? before(from) : found->second);
      }
    return known[op] = most;
  }

private:
  const std::map<mlir::Operation *, double> &of;
  std::map<mlir::Operation *, double> known;
};

} // namespace

const ValueError *ValueDiff::worst(double least) const {
  const ValueError *found = nullptr;
  auto growth = [&](const ValueError &value) { return value.relativeL2 / std::max(value.before, least); };
  for (const ValueError &value : values)
    if (value.relativeL2 > least && growth(value) > 1 && (!found || growth(value) > growth(*found)))
      found = &value;
  return found;
}

ValueDiff diffValues(const ValueSide &a, const ValueSide &b, const InputOptions &inputs,
                     const std::vector<std::string> &shapes, int threads,
                     const std::function<std::pair<Source, Source>()> &normalised) {
  ValueDiff diff;
  mlir::ModuleOp own = *a.source.module, other = *b.source.module;
  Pairs pairs = pairedByName(own, other);
  std::optional<std::pair<Source, Source>> plain;
  if (pairs.size() < 2) {
    diff.byName = false;
    plain = normalised();
    own = *plain->first.module;
    other = *plain->second.module;
    pairs = pairedByGraph(own, other);
  }
  diff.onlyA = nodesOf(own).size() - std::min(nodesOf(own).size(), pairs.size());
  diff.onlyB = nodesOf(other).size() - std::min(nodesOf(other).size(), pairs.size());

  std::vector<runtime::Port> ports = inputPorts(own);
  std::vector<Value> values = gatherInputs(ports, inputs, shapes);
  std::map<mlir::Operation *, mlir::Operation *> partners, partnersOfB;
  for (auto &[mine, theirs] : pairs) {
    partners[mine] = theirs;
    partnersOfB[theirs] = mine;
  }
  std::map<mlir::Operation *, Tensor> kept; // values of A
  run(own, values, threads, a.name, [&](mlir::Operation *op, std::span<const Value> results) {
    if (partners.contains(op) && !results.empty())
      if (auto real = realOf(a, op, results[0]))
        kept[op] = *real;
  });
  std::map<mlir::Operation *, lab::Difference> found; // by the operator of A
  run(other, inputsLike(ports, values, inputPorts(other), a.name, b.name), threads, b.name,
      [&](mlir::Operation *op, std::span<const Value> results) {
        auto partner = partnersOfB.find(op);
        auto mine = partner == partnersOfB.end() ? kept.end() : kept.find(partner->second);
        if (mine == kept.end() || results.empty())
          return;
        std::optional<Tensor> real = realOf(b, op, results[0]);
        lab::PortFit fit = real ? lab::fitOf(lab::portOf("", *real), lab::portOf("", mine->second)) : lab::PortFit();
        if (fit.fits)
          found[mine->first] =
              lab::difference(fit.permutation.empty() ? *real : lab::transposed(*real, fit.permutation), mine->second);
      });
  std::map<mlir::Operation *, double> errors;
  for (auto &[op, difference] : found)
    errors[op] = difference.relative;
  Errors ancestors(errors);
  for (auto &[mine, theirs] : pairs)
    if (auto one = found.find(mine); one != found.end())
      diff.values.push_back({nameOf(mine), nameOf(theirs), kept.at(mine).dims(), one->second.relative,
                             one->second.maximum, ancestors.before(mine), one->second.broken});
  return diff;
}

} // namespace lathe::jobs
