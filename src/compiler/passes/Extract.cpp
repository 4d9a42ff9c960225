#include "passes/Extract.h"

#include "ir/SymbolicShapes.h"
#include "passes/Passes.h"
#include "passes/Rewrite.h"
#include "support/Text.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>

namespace lathe {
namespace {

using ValueSet = llvm::SetVector<mlir::Value>;

/// An operator, a branch or a loop.
bool hasNodeName(mlir::Operation &op) { return nn::recordOf(&op) || llvm::isa<nn::IfOp, nn::LoopOp>(op); }

bool isNamed(mlir::Operation &op, const std::string &node) {
  return hasNodeName(op) && llvm::is_contained(nn::nodeNames(op.getLoc()), node);
}

/// The graph under its names.
class Names {
public:
  Names(mlir::func::FuncOp main, const CutOptions &options) : main(main), options(options) {
    source = "the model";
    if (auto file = main->getParentOfType<mlir::ModuleOp>()->getAttrOfType<mlir::StringAttr>("nn.source"))
      source = file.str();
    mlir::Operation *end = main.getBody().front().getTerminator();
    for (mlir::OpOperand &operand : end->getOpOperands())
      if (auto name = main.getResultAttrOfType<mlir::StringAttr>(operand.getOperandNumber(), "nn.name")) {
        tensors.emplace(name.str(), operand.get());
        given.try_emplace(operand.get(), name.str());
      }
    for (mlir::BlockArgument argument : main.getArguments()) {
      auto name = main.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), "nn.name");
      std::string text = name ? name.str() : fmt::format("input{}", argument.getArgNumber());
      tensors[text] = argument;
      given[argument] = text;
    }
    // A node of the file may be several operators here; its results are the values that other nodes read.
    for (mlir::Operation &op : main.getBody().front()) {
      if (!hasNodeName(op))
        continue;
      for (const std::string &node : nn::nodeNames(op.getLoc())) {
        NodeResults &results = nodes[node];
        ++results.operators;
        for (mlir::Value result : op.getResults()) {
          results.all.push_back(result);
          if (llvm::any_of(result.getUsers(), [&](mlir::Operation *user) { return !isNamed(*user, node); }))
            results.read.push_back(result);
        }
      }
    }
    for (const auto &[tensor, origin] : options.tensors)
      if (mlir::Value value = tensorOf(origin))
        given.try_emplace(value, tensor);
  }

  bool isNode(const std::string &name) const { return nodes.contains(name); }
  std::string file() const { return source; }
  /// "relu" for "relu:0", its first result; any other name unchanged.
  std::string nodeOf(const std::string &name) const {
    std::string node = name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
    return isNode(node) ? node : name;
  }

  /// The values with this name; empty if it is unknown.
  std::vector<mlir::Value> resultsOf(const std::string &name) const {
    if (auto found = nodes.find(name); found != nodes.end())
      return found->second.read;
    if (auto found = tensors.find(name); found != tensors.end())
      return {found->second};
    if (auto found = options.tensors.find(name); found != options.tensors.end()) {
      mlir::Value value = tensorOf(found->second);
      return value ? std::vector<mlir::Value>{value} : std::vector<mlir::Value>();
    }
    size_t colon = name.rfind(':');
    if (colon == std::string::npos || colon + 1 == name.size() || name.size() - colon > 7 ||
        name.find_first_not_of("0123456789", colon + 1) != std::string::npos)
      return {};
    size_t index = std::stoul(name.substr(colon + 1));
    auto found = nodes.find(name.substr(0, colon));
    if (found == nodes.end() || index >= found->second.indexed().size())
      return {};
    return {found->second.indexed()[index]};
  }

  std::vector<mlir::Value> required(const std::string &flag, const std::string &name) const {
    std::vector<mlir::Value> values = resultsOf(name);
    require(!values.empty() || !isNode(name), "{}: {} {}: nothing reads the results of the node", source, flag, name);
    if (auto origin = options.tensors.find(name); values.empty() && origin != options.tensors.end())
      fail(
          "{}: {} {}: no node of the imported graph makes this tensor: it is known before the run, or nothing needs it",
          source, flag, name);
    for (const auto &[tensor, origin] : options.tensors)
      require(
          !values.empty() || origin.node != name,
          "{}: {} {}: the node is not in the imported graph: its results are known before the run, or nothing needs "
          "them",
          source, flag, name);
    if (values.empty())
      fail("{}: {} {}: has no node or tensor of that name{}", source, flag, name, nearest(name));
    return values;
  }

  /// A name for an edge of the cut: the model's name if it has one, otherwise the node's.
  std::string nameOf(mlir::Value value) const {
    if (auto found = given.find(value); found != given.end())
      return found->second;
    std::vector<std::string> names =
        value.getDefiningOp() ? nn::nodeNames(value.getDefiningOp()->getLoc()) : std::vector<std::string>();
    if (names.empty())
      return "value";
    const std::vector<mlir::Value> &results = nodes.at(names.back()).indexed();
    auto at = std::find(results.begin(), results.end(), value);
    return at == results.begin() || at == results.end() ? names.back()
                                                        : fmt::format("{}:{}", names.back(), at - results.begin());
  }

  std::vector<mlir::Operation *> operatorsOf(const std::string &node) const {
    std::vector<mlir::Operation *> operators;
    for (mlir::Operation &op : main.getBody().front())
      if (isNamed(op, node))
        operators.push_back(&op);
    return operators;
  }

private:
  struct NodeResults {
    int operators = 0;
    std::vector<mlir::Value> all, read; // by other nodes
    const std::vector<mlir::Value> &indexed() const { return operators == 1 ? all : read; }
  };
  mutable mlir::func::FuncOp main;
  const CutOptions &options;
  std::string source;
  std::map<std::string, NodeResults> nodes;
  std::map<std::string, mlir::Value> tensors;
  llvm::DenseMap<mlir::Value, std::string> given;

  mlir::Value tensorOf(const TensorOrigin &origin) const {
    if (auto found = tensors.find(origin.node); found != tensors.end() && llvm::isa<mlir::BlockArgument>(found->second))
      return found->second;
    auto found = nodes.find(origin.node);
    if (found == nodes.end())
      return {};
    size_t index = found->second.operators == 1 ? origin.output : origin.used;
    return index < found->second.indexed().size() ? found->second.indexed()[index] : mlir::Value();
  }

  /// A name that may have been meant.
  std::string nearest(const std::string &name) const {
    std::vector<std::string> known;
    for (const auto &[candidate, results] : nodes)
      known.push_back(candidate);
    for (const auto &[candidate, value] : tensors)
      known.push_back(candidate);
    for (const auto &[candidate, origin] : options.tensors)
      known.push_back(candidate);
    return suggestion(name, known);
  }
};

/// Results of operators one of whose operands is in `values`, transitively; `values` included.
llvm::DenseSet<mlir::Value> downstream(mlir::func::FuncOp main, const ValueSet &values) {
  llvm::DenseSet<mlir::Value> reached(values.begin(), values.end());
  for (mlir::Operation &op : main.getBody().front())
    if (llvm::any_of(op.getOperands(), [&](mlir::Value operand) { return reached.contains(operand); }))
      reached.insert(op.result_begin(), op.result_end());
  return reached;
}

/// Where the cut begins: values that become inputs, and values that the `from` nodes compute.
struct Edge {
  ValueSet values; // become inputs
  ValueSet begun;  // must be reached
};

Edge beginning(mlir::func::FuncOp main, const Names &names, const CutOptions &options,
               const llvm::DenseSet<mlir::Value> &variable) {
  Edge edge;
  ValueSet results;
  std::vector<mlir::Operation *> operators;
  for (const std::string &from : options.from) {
    std::vector<mlir::Value> values = names.required(options.fromFlag, from);
    if (!names.isNode(from)) {
      require(variable.contains(values[0]), "{}: {} {}: is a constant, expected a tensor that depends on an input",
              names.file(), options.fromFlag, from);
      edge.values.insert(values[0]);
      edge.begun.insert(values[0]);
      continue;
    }
    for (mlir::Operation *op : names.operatorsOf(from)) {
      operators.push_back(op);
      results.insert(op->result_begin(), op->result_end());
    }
  }
  llvm::DenseSet<mlir::Value> behind = downstream(main, results);
  for (mlir::Operation *op : operators)
    for (mlir::Value operand : op->getOperands())
      if (variable.contains(operand) && !behind.contains(operand))
        edge.values.insert(operand);
  edge.begun.insert(results.begin(), results.end());
  return edge;
}

/// The operators that compute `outputs`, back to `stop`. `reached`: the values of `stop` and the arguments met.
llvm::DenseSet<mlir::Operation *> slice(const std::vector<mlir::Value> &outputs, const ValueSet &stop,
                                        llvm::DenseSet<mlir::Value> &reached) {
  llvm::DenseSet<mlir::Operation *> operators;
  std::vector<mlir::Value> open(outputs.begin(), outputs.end());
  while (!open.empty()) {
    mlir::Value value = open.back();
    open.pop_back();
    mlir::Operation *op = value.getDefiningOp();
    if (!op || stop.contains(value))
      reached.insert(value);
    else if (operators.insert(op).second)
      open.insert(open.end(), op->operand_begin(), op->operand_end());
  }
  return operators;
}

/// Copies the bodies of branches and loops that `operators` run.
void copyBodies(mlir::ModuleOp from, mlir::ModuleOp to, const llvm::DenseSet<mlir::Operation *> &operators) {
  auto runs = [](mlir::Operation *op, llvm::StringRef body) {
    return llvm::any_of(op->getAttrs(), [&](mlir::NamedAttribute attribute) {
      auto symbol = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(attribute.getValue());
      return symbol && symbol.getValue() == body;
    });
  };
  for (auto body : from.getOps<mlir::ModuleOp>())
    if (llvm::any_of(operators, [&](mlir::Operation *op) { return runs(op, body.getSymName().value_or("")); }))
      to.push_back(body.clone());
}

/// A module that computes `outputs` from `inputs`, both named.
mlir::OwningOpRef<mlir::ModuleOp> build(mlir::func::FuncOp main, const std::vector<mlir::Value> &inputs,
                                        const std::vector<mlir::Value> &outputs,
                                        const llvm::DenseSet<mlir::Operation *> &operators,
                                        const std::vector<std::string> &inputNames,
                                        const std::vector<std::string> &outputNames) {
  mlir::MLIRContext *context = main.getContext();
  mlir::ModuleOp from = main->getParentOfType<mlir::ModuleOp>();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(from.getLoc());
  (*module)->setAttrs(from->getAttrDictionary());
  mlir::Builder attrs(context);
  nn::SymbolicShapes shapes(main);

  llvm::SmallVector<mlir::Type> inputTypes, outputTypes;
  for (mlir::Value input : inputs)
    inputTypes.push_back(input.getType());
  for (mlir::Value output : outputs)
    outputTypes.push_back(output.getType());
  auto function = mlir::func::FuncOp::create(main.getLoc(), "main", attrs.getFunctionType(inputTypes, outputTypes));
  module->push_back(function);
  mlir::Block *block = function.addEntryBlock();
  mlir::IRMapping map;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    map.map(input, block->getArgument(i));
    function.setArgAttr(i, "nn.name", attrs.getStringAttr(inputNames[i]));
    Dims dims = shapes.of(input).dims;
    if (!allConstant(dims))
      function.setArgAttr(i, "nn.dims", nn::dimsAttr(context, dims));
  }
  auto builder = mlir::OpBuilder::atBlockEnd(block);
  for (mlir::Operation &op : main.getBody().front())
    if (operators.contains(&op))
      builder.clone(op, map);
  llvm::SmallVector<mlir::Value> results;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    results.push_back(map.lookup(output));
    function.setResultAttr(i, "nn.name", attrs.getStringAttr(outputNames[i]));
  }
  builder.create<mlir::func::ReturnOp>(main.getLoc(), results);
  copyBodies(from, *module, operators);
  return module;
}

std::vector<mlir::Value> inOrder(mlir::func::FuncOp main, const llvm::DenseSet<mlir::Value> &values) {
  std::vector<mlir::Value> order;
  for (mlir::BlockArgument argument : main.getArguments())
    if (values.contains(argument))
      order.push_back(argument);
  for (mlir::Operation &op : main.getBody().front())
    for (mlir::Value result : op.getResults())
      if (values.contains(result))
        order.push_back(result);
  return order;
}

std::vector<std::string> namesOf(const Names &names, const std::vector<mlir::Value> &values) {
  std::vector<std::string> result;
  std::set<std::string> taken;
  for (mlir::Value value : values) {
    std::string name = names.nameOf(value), unique = name;
    for (int i = 1; !taken.insert(unique).second; ++i)
      unique = fmt::format("{}_{}", name, i);
    result.push_back(unique);
  }
  return result;
}

Cut cutAt(mlir::func::FuncOp main, const CutOptions &options) {
  Names names(main, options);
  mlir::Operation *end = main.getBody().front().getTerminator();
  ValueSet arguments(main.getArguments().begin(), main.getArguments().end());
  llvm::DenseSet<mlir::Value> variable = downstream(main, arguments);

  std::vector<mlir::Value> outputs;
  std::string toText;
  for (const std::string &to : options.to) {
    toText += fmt::format(" {} {}", options.toFlag, to);
    for (mlir::Value value : names.required(options.toFlag, to))
      if (!llvm::is_contained(outputs, value))
        outputs.push_back(value);
  }
  if (options.to.empty())
    outputs.assign(end->operand_begin(), end->operand_end());

  Edge edge = beginning(main, names, options, variable);
  llvm::DenseSet<mlir::Value> reached;
  llvm::DenseSet<mlir::Operation *> operators = slice(outputs, edge.values, reached);
  for (const std::string &from : options.from) {
    // One of its results, or the tensor itself.
    bool met = false;
    if (names.isNode(from))
      met = llvm::any_of(names.operatorsOf(from), [&](mlir::Operation *op) { return operators.contains(op); });
    else
      met = reached.contains(names.resultsOf(from)[0]);
    bool places = options.fromFlag == options.toFlag;
    require(met, "{}:{} on {} {}{}{}", names.file(),
            toText.empty() ? " no output depends" : toText + " does not depend", options.fromFlag,
            places ? names.nodeOf(from) : from,
            options.from.size() > 1 ? fmt::format(", or only by way of another {}", options.fromFlag) : "",
            places && !options.to.empty() ? "; give them in the order of the graph" : "");
  }
  require(llvm::any_of(outputs, [&](mlir::Value output) { return variable.contains(output); }),
          "{}:{} is a constant, expected a tensor that depends on an input", names.file(), toText);

  Cut cut;
  std::vector<mlir::Value> inputs = inOrder(main, reached);
  cut.inputs = namesOf(names, inputs);
  cut.outputs = namesOf(names, outputs);
  cut.module = build(main, inputs, outputs, operators, cut.inputs, cut.outputs);
  for (mlir::Operation *op : operators)
    cut.nodes += hasNodeName(*op);

  std::vector<mlir::Value> all(main.getArguments().begin(), main.getArguments().end()), edges = inputs;
  edges.insert(edges.end(), outputs.begin(), outputs.end());
  llvm::DenseSet<mlir::Value> ignored;
  cut.whole = build(main, all, edges, slice(edges, {}, ignored), namesOf(names, all), namesOf(names, edges));
  return cut;
}

} // namespace

bool hasNode(mlir::ModuleOp module, const std::string &name) {
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    if (isNamed(op, name))
      return true;
  return false;
}

Cut cutGraph(mlir::ModuleOp module, const CutOptions &options) {
  // Extents become constants or attributes first, where possible: otherwise they would be inputs of the cut.
  mlir::OwningOpRef<mlir::ModuleOp> settled = module.clone();
  inferShapes(*settled);
  staticOperands(*settled);
  inferShapes(*settled);
  mlir::func::FuncOp main = mainFunction(*settled);
  Names names(main, options);
  auto known = [&](const std::string &name) { return !names.resultsOf(name).empty(); };
  bool all = llvm::all_of(options.from, known) && llvm::all_of(options.to, known);
  return cutAt(all ? main : mainFunction(module), options); // the caller asks for a part of the shape arithmetic itself
}

} // namespace lathe
