#include "import/Graph.h"

#include "import/EqualExtents.h"
#include "import/Node.h"
#include "import/RunTimeValues.h"
#include "import/Unfold.h"
#include "ir/Bodies.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"

#include <set>

namespace lathe::source {
namespace {

/// An error whose text already names its node.
struct PlacedError : Error {
  using Error::Error;
};

/// Removes unused operations: parameters that became attributes, and the arithmetic that computed them. Moves each
/// constant right before its first user.
void tidy(mlir::Block &block) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && mlir::isMemoryEffectFree(&op) && !op.hasTrait<mlir::OpTrait::IsTerminator>())
      op.erase();
  llvm::DenseSet<mlir::Operation *> placed;
  for (mlir::Operation &op : block)
    for (mlir::Value operand : op.getOperands())
      if (auto constant = operand.getDefiningOp<nn::ConstantOp>(); constant && placed.insert(constant).second)
        constant->moveBefore(&op);
}

} // namespace

Graph::Graph(mlir::MLIRContext *context, const ModelRecord &model, const Format &format, std::string fileName,
             const ImportOptions &options)
    : format(format), options(options), builder(context), context(context), model(model),
      fileName(std::move(fileName)) {}

mlir::OwningOpRef<mlir::ModuleOp> Graph::run() {
  findFunctions();
  top.nodes = &model.graph.nodes;
  top.version = model.version;
  auto fileLoc = mlir::FileLineColLoc::get(context, fileName, 0, 0);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(fileLoc);
  (*module)->setAttr("nn.source", builder.getStringAttr(fileName));
  if (!model.producer.empty())
    (*module)->setAttr("nn.producer", builder.getStringAttr(model.producer));

  auto function = mlir::func::FuncOp::create(fileLoc, "main", builder.getFunctionType({}, {}));
  module->push_back(function);
  top.block = function.addEntryBlock();
  builder.setInsertionPointToEnd(top.block);
  for (const auto &[name, reason] : model.graph.unreadable) {
    top.values.emplace(name, GraphValue{});
    reportValue(oneLine(fmt::format("initializer '{}' {}", name, reason)));
  }
  collectInitializers(model.graph.initializers);
  declareInputs(function);
  std::vector<std::string> outputs;
  for (const ValueRecord &output : model.graph.outputs)
    outputs.push_back(output.name);
  try {
    importNodes(outputs);
    throwProblems(function);
    requireShapesUsed();
    finish(function);
  } catch (const UnsupportedError &) {
    throw;
  } catch (const Error &error) {
    if (changedExtents.empty())
      throw;
    fail("{} (--shape: {})", error.what(), fmt::join(changedExtents, ", "));
  }
  uniteEqualExtents(*module, /*numbers=*/!options.shapes.empty());
  if (mlir::failed(mlir::verify(*module)))
    fail("{}: the imported graph is not valid", fileName); // the verifier has said why
  return module;
}

void Graph::throwProblems(mlir::func::FuncOp function) {
  if (options.leaveOut && problems.onlyNodes())
    return;
  try {
    problems.throwIfAny(fileName, format.versionWord);
  } catch (const UnsupportedError &error) {
    if (auto shapes = demandedShapes(function); !shapes.empty())
      throw ExtentsDemanded(error, std::move(shapes));
    throw;
  }
}

void Graph::findFunctions() {
  for (const FunctionRecord &function : model.functions)
    require(functions.emplace(std::make_pair(function.domain, function.name), &function).second,
            "{}: there are two functions '{}' of domain '{}'", fileName, oneLine(function.name),
            oneLine(function.domain));
}

const FunctionRecord *Graph::findFunction(const NodeRecord &node) const {
  auto found = functions.find({node.domain, node.op});
  return found == functions.end() ? nullptr : found->second;
}

std::string Graph::nameOf(int index) const { return scope->prefix + nodeName((*scope->nodes)[size_t(index)]); }

mlir::Location Graph::nodeLocation(int index) const {
  const NodeRecord &node = (*scope->nodes)[size_t(index)];
  int line = scope->line >= 0 ? scope->line : index;
  auto at = mlir::FileLineColLoc::get(context, fileName, line, 0);
  auto name = fmt::format("{} ({}, {} {})", nameOf(index), oneLine(node.op), format.versionWord, version());
  return mlir::NameLoc::get(mlir::StringAttr::get(context, name), at);
}

GraphValue *Graph::find(const std::string &name, Scope **owner) {
  for (Scope *at = scope; at; at = at->outer)
    if (auto found = at->values.find(name); found != at->values.end()) {
      if (owner)
        *owner = at;
      return &found->second;
    }
  return nullptr;
}

void Graph::collectInitializers(const std::vector<TensorRecord> &initializers) {
  for (const TensorRecord &tensor : initializers) {
    require(!tensor.name.empty(), "{}: an initializer has no name", fileName);
    auto [at, added] = scope->values.emplace(tensor.name, GraphValue{});
    require(added, "{}: there are two initializers '{}'", fileName, tensor.name);
    at->second.initializer = &tensor;
  }
}

void Graph::importNodes(const std::vector<std::string> &outputs) {
  for (int index : nodesInOrder(outputs))
    importNode(index);
}

mlir::Value Graph::constant(const TensorData &data, const std::string &name, mlir::Location loc) {
  if (data.type == ElementType::string)
    return stringConstant(builder, loc, data.dims, data.strings);
  auto value = nn::makeConstant(context, data.type, data.dims, data.bytes, name);
  return builder.create<nn::ConstantOp>(loc, value.getShapedType(), value);
}

Entry Graph::entryOf(const std::string &name) {
  Scope *owner = nullptr;
  GraphValue *entry = find(name, &owner);
  require(entry, "'{}' is not produced by any node, input or initializer", name);
  if (!entry->value && entry->initializer) {
    const TensorRecord &tensor = *entry->initializer;
    std::string what = fmt::format("initializer '{}'", name);
    if (tensor.type == ElementType::invalid)
      throw Unsupported{fmt::format("{} has element type {}", what, tensor.typeName)};
    auto loc = mlir::NameLoc::get(builder.getStringAttr(name + " (initializer)"), mlir::UnknownLoc::get(context));
    // The constant goes to the start of its own scope's block: its first reader may be in a body, or in an iteration
    // that is undone.
    mlir::OpBuilder::InsertionGuard guard(builder);
    if (owner != scope)
      builder.setInsertionPointToStart(owner->block);
    entry->value = constant(tensor.read(what), name, loc);
    if (tensor.release)
      tensor.release();
  }
  return *entry;
}

void Graph::report(int index, const std::string &reason) {
  const NodeRecord &node = (*scope->nodes)[size_t(index)];
  std::string type;
  if (!node.inputs.empty() && !node.inputs[0].empty())
    if (GraphValue *first = find(node.inputs[0]); first && first->value)
      type = name(info(first->value).type);
  problems.add({nameOf(index), oneLine(node.op), version(), type, oneLine(reason)});
}

void Graph::requireKnown(const NodeRecord &record) const {
  if (!record.domain.empty())
    throw Unsupported{fmt::format("operators of domain '{}' are not supported", record.domain)};
  if (!format.knows(record.op))
    throw Unsupported{"the operator is not supported" + format.suggestionFor(record.op)};
}

void Graph::importPlain(const NodeRecord &record, mlir::Location loc, const std::string &name,
                        std::vector<Entry> inputs) {
  requireKnown(record);
  for (const AttributeRecord &attribute : record.attributes)
    if (!attribute.graphs.empty())
      throw Unsupported{"the operator's subgraphs are not supported"};
  Values operands;
  for (const Entry &input : inputs) {
    require(!input.sequence, "an operand is a sequence, expected a tensor");
    operands.push_back(input.value);
  }
  Node node(*this, record, loc, std::move(operands), name);
  if (auto handler = format.handlers.find(record.op); handler != format.handlers.end())
    handler->second(node);
  else
    importDirectly(node);
  node.checkAllUnderstood();
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.wants(i)) {
      require(node.outputs[i] != nullptr, "has {} outputs, expected at most {}", node.outputs.size(), i);
      scope->values.at(record.outputs[i]).value = node.outputs[i];
    }
}

void Graph::importNode(int index) {
  NodeRecord storage;
  const NodeRecord &given = (*scope->nodes)[size_t(index)];
  const NodeRecord &record = scope->isFunction ? withParameters(given, scope->attributes, storage) : given;
  mlir::Location loc = nodeLocation(index);
  std::string name = nameOf(index);
  auto structureOf = [&](const std::vector<Entry> &inputs) {
    return format.structure ? format.structure(record, inputs) : nullptr;
  };
  try {
    const FunctionRecord *function = findFunction(record);
    std::vector<Entry> inputs;
    for (const std::string &input : record.inputs) {
      inputs.push_back(input.empty() ? Entry{{}, {}, true} : entryOf(input));
      if (!inputs.back().imported()) {
        // An input could not be imported, so only the support of the node's operators can be checked.
        leftBehind += scope == &top;
        if (!function && !structureOf(std::vector<Entry>(record.inputs.size())))
          requireKnown(record);
        if (format.unknownWithin)
          for (ImportIssue &issue : format.unknownWithin(record, name)) {
            issue.opset = version();
            problems.add(std::move(issue));
          }
        return;
      }
    }
    StructureHandler structure = function ? nullptr : structureOf(inputs);
    if (!function && !structure)
      return importPlain(record, loc, name, std::move(inputs));
    StructureNode node{*this,
                       record,
                       loc,
                       name,
                       scope->line < 0 ? index : scope->line,
                       std::move(inputs),
                       std::vector<Entry>(record.outputs.size())};
    if (function)
      importFunctionCall(node, *function);
    else
      structure(node);
    for (size_t i = 0; i < record.outputs.size(); ++i)
      if (!record.outputs[i].empty())
        static_cast<Entry &>(scope->values.at(record.outputs[i])) = node.outputs[i];
    if (options.leaveOut && scope == &top && !allImported(node.outputs))
      leaveOut(index);
  } catch (const Unsupported &problem) {
    report(index, problem.reason);
    if (options.leaveOut && scope == &top)
      leaveOut(index);
  } catch (const PlacedError &) {
    throw;
  } catch (const Error &error) {
    throw PlacedError(fmt::format("{}: {}", nn::describe(loc), error.what()));
  }
}

std::vector<Entry> Graph::importWithin(Scope &inner, const std::vector<TensorRecord> *initializers,
                                       const std::vector<std::string> &outputs) {
  Scope *before = scope;
  nodesUnfolded += static_cast<int64_t>(inner.nodes->size());
  ++depth;
  scope = &inner;
  auto leave = llvm::make_scope_exit([&] {
    scope = before;
    --depth;
  });
  if (initializers)
    collectInitializers(*initializers);
  importNodes(outputs);
  std::vector<Entry> results;
  for (const std::string &output : outputs)
    results.push_back(entryOf(output));
  return results;
}

mlir::Value Graph::resultOf(const ValueRecord &output) {
  mlir::Value value;
  try {
    if (!output.other.empty() && output.other != "of no type")
      throw Unsupported{
          fmt::format("output '{}' is {}, expected a tensor, a sequence or an optional", output.name, output.other)};
    RunTimeValues values{*this, mlir::UnknownLoc::get(context), output.name};
    value = values.declared(entryOf(output.name), output);
  } catch (const Unsupported &problem) {
    reportValue(oneLine(problem.reason));
    problems.throwIfAny(fileName, format.versionWord);
  } catch (const Error &error) {
    fail("{}: {}", fileName, error.what());
  }
  ElementType actual = info(value).type;
  require(info(value).kind == output.kind || !output.other.empty(),
          "{}: output '{}' is {}, expected {} as the graph states", fileName, output.name, name(info(value).kind),
          name(output.kind));
  require(output.type == ElementType::invalid || output.type == actual,
          "{}: output '{}' is {}, expected {} as the graph states", fileName, output.name, name(actual),
          name(output.type));
  return value;
}

/// The outputs that could be imported, and the operands of nodes that are left out.
std::vector<ValueRecord> Graph::outputsLeft() {
  std::vector<ValueRecord> outputs;
  std::set<std::string> names;
  auto isImported = [&](const std::string &name) {
    GraphValue *value = find(name);
    return value && (value->imported() || value->initializer);
  };
  for (const ValueRecord &output : model.graph.outputs)
    if (isImported(output.name) && names.insert(output.name).second)
      outputs.push_back(output);
  for (int index : leftOut)
    for (const std::string &name : namesRead(model.graph.nodes[static_cast<size_t>(index)])) {
      GraphValue *value = find(name);
      if (value && value->value && value->producer >= 0 && info(value->value).isTensor() && names.insert(name).second) {
        ValueRecord &output = outputs.emplace_back();
        ++addedOutputs;
        output.name = name;
        output.type = info(value->value).type;
      }
    }
  require(!outputs.empty(), "{}: nothing is left without the nodes that are not supported", fileName);
  return outputs;
}

void Graph::finish(mlir::func::FuncOp function) {
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::DictionaryAttr> attrs;
  std::set<std::string> names;
  require(!model.graph.outputs.empty(), "{}: the graph has no outputs", fileName);
  for (const ValueRecord &output : options.leaveOut ? outputsLeft() : model.graph.outputs) {
    require(names.insert(output.name).second, "{}: there are two outputs '{}'", fileName, output.name);
    results.push_back(resultOf(output));
    types.push_back(results.back().getType());
    mlir::NamedAttrList list;
    list.set("nn.name", builder.getStringAttr(output.name));
    if (output.quantization)
      list.set("nn.quantization", builder.getStringAttr(output.quantization->str()));
    attrs.push_back(list.getDictionary(context));
  }
  builder.create<mlir::func::ReturnOp>(function.getLoc(), results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), types));
  function.setAllResultAttrs(attrs);
  auto module = function->getParentOfType<mlir::ModuleOp>();
  if (!leftOut.empty()) {
    llvm::SmallVector<llvm::StringRef> unknown(unknownValues.begin(), unknownValues.end());
    module->setAttr(unknownValuesAttribute, builder.getStrArrayAttr(unknown));
    module->setAttr(addedOutputsAttribute, builder.getI64IntegerAttr(addedOutputs));
    module->setAttr(leftBehindAttribute, builder.getI64IntegerAttr(leftBehind));
  }
  module.walk([](mlir::func::FuncOp any) { tidy(any.getBody().front()); }); // bodies first
  module.walk([](mlir::ModuleOp any) { nn::eraseUnusedBodies(any); });
}

} // namespace lathe::source
