#include "import/onnx/Graph.h"

#include "import/onnx/Node.h"
#include "ops/Reference.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"

#include <algorithm>
#include <cstring>
#include <queue>
#include <set>

namespace lathe::onnx {
namespace {

// Opsets after 22 changed none of the operators imported here but for the types they take; an attribute they add
// would be refused as not understood. The conformance cases (tests/conformance) hold this to be so.
constexpr int64_t oldestOpset = 6, newestOpset = 28;

/// An error that names its node already.
struct PlacedError : Error {
  using Error::Error;
};

} // namespace

Graph::Graph(mlir::MLIRContext *context, ModelProto &model, std::string fileName, std::filesystem::path folder,
             const ImportOptions &options)
    : builder(context), context(context), model(model), fileName(std::move(fileName)), folder(std::move(folder)),
      options(options) {}

mlir::OwningOpRef<mlir::ModuleOp> Graph::run() {
  require(model.has_graph(), "{}: is not an ONNX model: it has no graph", fileName);
  findOpset();
  findFunctions();
  top.nodes = &model.graph().node();
  auto fileLoc = mlir::FileLineColLoc::get(context, fileName, 0, 0);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(fileLoc);
  (*module)->setAttr("nn.source", builder.getStringAttr(fileName));
  std::string producer =
      model.producer_name() + (model.producer_version().empty() ? "" : " " + model.producer_version());
  if (!producer.empty())
    (*module)->setAttr("nn.producer", builder.getStringAttr(producer));

  auto function = mlir::func::FuncOp::create(fileLoc, "main", builder.getFunctionType({}, {}));
  module->push_back(function);
  builder.setInsertionPointToEnd(function.addEntryBlock());
  for (const SparseTensorProto &sparse : model.graph().sparse_initializer()) {
    top.values.emplace(sparse.values().name(), GraphValue{});
    issues.push_back({"", "", opset(), "", fmt::format("initializer '{}' is sparse", sparse.values().name())});
  }
  collectInitializers(*model.mutable_graph()->mutable_initializer());
  declareInputs(function);
  std::vector<std::string> outputs;
  for (const ValueInfoProto &output : model.graph().output())
    outputs.push_back(output.name());
  importNodes(outputs);
  failOnIssues();
  finish(function);
  if (mlir::failed(mlir::verify(*module)))
    fail("{}: the imported graph is not valid", fileName); // the verifier has said why
  return module;
}

void Graph::findOpset() {
  int64_t &version = top.opset;
  for (const OperatorSetIdProto &set : model.opset_import())
    if (set.domain().empty() || set.domain() == "ai.onnx") {
      require(version == 0 || version == set.version(), "{}: imports opsets {} and {} of one domain", fileName, version,
              set.version());
      version = set.version();
    }
  require(version != 0, "{}: imports no opset of ai.onnx, expected one from {} to {}", fileName, oldestOpset,
          newestOpset);
  require(version >= oldestOpset && version <= newestOpset, "{}: imports opset {}, expected one from {} to {}",
          fileName, version, oldestOpset, newestOpset);
}

void Graph::findFunctions() {
  for (const FunctionProto &function : model.functions())
    require(functions.emplace(std::make_pair(function.domain(), function.name()), &function).second,
            "{}: there are two functions '{}' of domain '{}'", fileName, printable(function.name()),
            printable(function.domain()));
}

const FunctionProto *Graph::findFunction(const NodeProto &node) const {
  auto found = functions.find({node.domain(), node.op_type()});
  return found == functions.end() ? nullptr : found->second;
}

std::string Graph::nameOf(int index) const { return scope->prefix + nodeName((*scope->nodes)[index]); }

mlir::Location Graph::nodeLocation(int index) const {
  const NodeProto &node = (*scope->nodes)[index];
  int line = scope->line >= 0 ? scope->line : index;
  auto at = mlir::FileLineColLoc::get(context, fileName, line, 0);
  auto name = fmt::format("{} ({}, opset {})", nameOf(index), printable(node.op_type()), opset());
  return mlir::NameLoc::get(mlir::StringAttr::get(context, name), at);
}

GraphValue *Graph::find(const std::string &name) {
  for (Scope *at = scope; at; at = at->outer)
    if (auto found = at->values.find(name); found != at->values.end())
      return &found->second;
  return nullptr;
}

std::vector<int> Graph::nodesInOrder(const std::vector<std::string> &outputs) {
  const auto &nodes = *scope->nodes;
  auto &values = scope->values;
  int count = nodes.size();
  for (int i = 0; i < count; ++i)
    for (const std::string &output : nodes[i].output()) {
      if (output.empty())
        continue;
      auto [at, added] = values.emplace(output, GraphValue{{}, i, nullptr});
      if (added)
        continue;
      const GraphValue &other = at->second;
      fail("{}: output '{}' is already {}", nn::describe(nodeLocation(i)), output,
           other.producer >= 0 ? fmt::format("produced by node {} '{}'", other.producer, nameOf(other.producer))
           : other.initializer ? "an initializer"
                               : "an input of the graph");
    }

  // Nodes the outputs depend on. Names of outer scopes are there already.
  std::vector<std::vector<std::string>> read(count);
  for (int i = 0; i < count; ++i)
    read[i] = namesRead(nodes[i]);
  std::vector<bool> needed(count);
  std::vector<int> open;
  auto need = [&](const std::string &name) {
    auto at = values.find(name);
    if (at != values.end() && at->second.producer >= 0 && !needed[at->second.producer]) {
      needed[at->second.producer] = true;
      open.push_back(at->second.producer);
    }
  };
  for (const std::string &output : outputs) {
    require(find(output), "{}: output '{}' is not produced by any node", scope == &top ? fileName : scope->prefix,
            output);
    need(output);
  }
  for (; !open.empty();) {
    int index = open.back();
    open.pop_back();
    for (const std::string &input : read[index])
      need(input);
  }

  // Each after its producers, otherwise in file order.
  std::vector<int> missing(count);
  std::vector<std::vector<int>> users(count);
  for (int i = 0; i < count; ++i)
    for (const std::string &input : read[i]) {
      require(find(input), "{}: input '{}' is not produced by any node, input or initializer",
              nn::describe(nodeLocation(i)), input);
      auto at = values.find(input);
      if (at != values.end() && at->second.producer >= 0) {
        ++missing[i];
        users[at->second.producer].push_back(i);
      }
    }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < count; ++i)
    if (missing[i] == 0)
      ready.push(i);
  std::vector<int> order;
  int done = 0;
  while (!ready.empty()) {
    int index = ready.top();
    ready.pop();
    ++done;
    if (needed[index])
      order.push_back(index);
    for (int user : users[index])
      if (--missing[user] == 0)
        ready.push(user);
  }
  if (done < count) {
    int stuck =
        static_cast<int>(std::find_if(missing.begin(), missing.end(), [](int m) { return m > 0; }) - missing.begin());
    fail("{}: is part of a cycle or depends on one", nn::describe(nodeLocation(stuck)));
  }
  return order;
}

void Graph::importNodes(const std::vector<std::string> &outputs) {
  for (int index : nodesInOrder(outputs))
    importNode(index);
}

const TensorInfo &Graph::info(mlir::Value value) {
  auto at = infos.find(value.getAsOpaquePointer());
  return at != infos.end() ? at->second : infos.emplace(value.getAsOpaquePointer(), nn::infoOf(value)).first->second;
}

const Tensor *Graph::known(mlir::Value value) { return known(value, 0); }

const Tensor *Graph::known(mlir::Value value, int level) {
  auto found = tensors.find(value.getAsOpaquePointer());
  if (found == tensors.end())
    found = tensors.emplace(value.getAsOpaquePointer(), evaluateKnown(value, level)).first;
  return found->second ? &*found->second : nullptr;
}

std::optional<Tensor> Graph::evaluateKnown(mlir::Value value, int level) {
  constexpr int64_t mostElements = 1 << 16;
  constexpr int mostLevels = 200; // of what was not asked for before; chains of shape arithmetic are far shorter
  const TensorInfo &what = info(value);
  if (what.contents && allConstant(*what.contents) && allConstant(what.dims)) {
    Tensor tensor = Tensor::of<int64_t>(constants(what.dims), constants(*what.contents));
    return what.type == ElementType::i64 ? tensor : tensor.convertedTo(what.type);
  }
  mlir::Operation *op = value.getDefiningOp();
  if (!op || level > mostLevels || product(what.dims).constantOr(mostElements + 1) > mostElements)
    return std::nullopt;
  if (auto constant = llvm::dyn_cast<nn::ConstantOp>(op)) {
    nn::ConstantData data = nn::constantData(constant.getValue());
    if (bitWidth(data.type) < 8)
      return std::nullopt;
    Tensor tensor(data.type, data.dims);
    auto *bytes = static_cast<char *>(tensor.data());
    for (size_t at = 0, size = data.bytes.size(); at < static_cast<size_t>(tensor.bytes()); at += size)
      std::memcpy(bytes + at, data.bytes.data(), data.bytes.size());
    return tensor;
  }
  const OpRecord *record = nn::recordOf(op);
  if (!record || !findReference(record->name))
    return std::nullopt;
  std::vector<lathe::Value> operands;
  std::vector<bool> present;
  for (mlir::Value operand : nn::operandsByRecord(op)) {
    const Tensor *tensor = operand ? known(operand, level + 1) : nullptr;
    if (operand && !tensor)
      return std::nullopt;
    present.push_back(operand != nullptr);
    operands.push_back(tensor ? lathe::Value(*tensor) : lathe::Value());
  }
  std::vector<const lathe::Value *> pointers;
  for (size_t i = 0; i < operands.size(); ++i)
    pointers.push_back(present[i] ? &operands[i] : nullptr);
  try {
    std::vector<lathe::Value> results = evaluateReference(record->name, *nn::attrsOf(op), pointers);
    return results[llvm::cast<mlir::OpResult>(value).getResultNumber()].tensor();
  } catch (const Error &) { // what is wrong with these values is said when they are computed
    return std::nullopt;
  }
}

mlir::Value Graph::constant(const TensorData &data, const std::string &name, mlir::Location loc) {
  if (data.type == ElementType::string)
    throw Unsupported{fmt::format("constant '{}' holds strings", name)};
  auto value = nn::makeConstant(context, data.type, data.dims, data.bytes, name);
  return builder.create<nn::ConstantOp>(loc, value.getShapedType(), value);
}

Entry Graph::entryOf(const std::string &name) {
  GraphValue *entry = find(name);
  require(entry, "'{}' is not produced by any node, input or initializer", name);
  if (!entry->value && entry->initializer) {
    TensorProto &tensor = *entry->initializer;
    std::string what = fmt::format("initializer '{}'", name);
    if (fromOnnxType(tensor.data_type()) == ElementType::invalid)
      throw Unsupported{fmt::format("{} has element type {}", what, onnxTypeName(tensor.data_type()))};
    auto loc = mlir::NameLoc::get(builder.getStringAttr(name + " (initializer)"), mlir::UnknownLoc::get(context));
    entry->value = constant(decodeTensor(tensor, what, folder), name, loc);
    tensor.Clear(); // its bytes live in the constant now
  }
  return *entry;
}

void Graph::report(int index, const std::string &reason) {
  const NodeProto &node = (*scope->nodes)[index];
  std::string type;
  if (node.input_size() && !node.input(0).empty())
    if (GraphValue *first = find(node.input(0)); first && first->value)
      type = name(info(first->value).type);
  issues.push_back({nameOf(index), node.op_type(), opset(), type, reason});
}

namespace {
void requireKnown(const NodeProto &node) {
  if (!node.domain().empty() && node.domain() != "ai.onnx")
    throw Unsupported{fmt::format("operators of domain '{}' are not supported", node.domain())};
  if (!handlers().contains(node.op_type()) && !isMappedDirectly(node.op_type()))
    throw Unsupported{"the operator is not supported"};
}
} // namespace

void Graph::importPlain(const NodeProto &proto, mlir::Location loc, const std::string &name,
                        std::vector<Entry> inputs) {
  requireKnown(proto);
  for (const AttributeProto &attr : proto.attribute())
    if (attr.has_g() || attr.graphs_size())
      throw Unsupported{"the operator's subgraphs are not supported"};
  auto handler = handlers().find(proto.op_type());
  Values operands;
  for (const Entry &input : inputs) {
    if (input.sequence)
      throw Unsupported{"the operator is not supported on sequences"};
    operands.push_back(input.value);
  }
  Node node(*this, proto, loc, std::move(operands), name);
  if (handler != handlers().end())
    handler->second(node);
  else
    importDirectly(node);
  node.checkAllUnderstood();
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.wants(i)) {
      require(node.outputs[i] != nullptr, "has {} outputs, expected at most {}", node.outputs.size(), i);
      scope->values.at(proto.output(static_cast<int>(i))).value = node.outputs[i];
    }
}

void Graph::importNode(int index) {
  NodeProto storage;
  const NodeProto &proto = withAttributes((*scope->nodes)[index], *scope, storage);
  mlir::Location loc = nodeLocation(index);
  std::string name = nameOf(index);
  try {
    std::vector<Entry> inputs;
    for (const std::string &input : proto.input()) {
      inputs.push_back(input.empty() ? Entry{{}, {}, true} : entryOf(input));
      if (!inputs.back().imported()) {
        // It depends on what could not be imported: of the node itself only its operator can be judged.
        if (!findFunction(proto) && !structureHandler(proto, std::vector<Entry>(proto.input_size())))
          requireKnown(proto);
        return;
      }
    }
    const FunctionProto *function = findFunction(proto);
    StructureHandler structure = function ? nullptr : structureHandler(proto, inputs);
    if (!function && !structure)
      return importPlain(proto, loc, name, std::move(inputs));
    StructureNode node{*this,
                       proto,
                       loc,
                       name,
                       scope->line < 0 ? index : scope->line,
                       std::move(inputs),
                       std::vector<Entry>(proto.output_size())};
    if (function)
      importFunctionCall(node, *function);
    else
      structure(node);
    for (int i = 0; i < proto.output_size(); ++i)
      if (!proto.output(i).empty())
        static_cast<Entry &>(scope->values.at(proto.output(i))) = node.outputs[i];
  } catch (const Unsupported &problem) {
    report(index, problem.reason);
  } catch (const PlacedError &) {
    throw;
  } catch (const Error &error) {
    throw PlacedError(fmt::format("{}: {}", nn::describe(loc), error.what()));
  }
}

std::vector<Entry> Graph::importWithin(Scope &inner, google::protobuf::RepeatedPtrField<TensorProto> *initializers,
                                       const std::vector<std::string> &outputs) {
  Scope *before = scope;
  nodesUnfolded += inner.nodes->size();
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

void Graph::failOnIssues() const {
  if (issues.empty())
    return;
  constexpr size_t shown = 3;
  std::string list;
  for (size_t i = 0; i < std::min(shown, issues.size()); ++i) {
    const ImportIssue &issue = issues[i];
    list += i ? "; " : "";
    if (!issue.node.empty() || !issue.op.empty())
      list += fmt::format("'{}' ({}, opset {}): ", issue.node, issue.op, issue.opset);
    list += issue.reason;
  }
  if (issues.size() > shown)
    list += fmt::format("; and {} more", issues.size() - shown);
  throw UnsupportedError(fmt::format("{}: not supported: {}", fileName, list), issues);
}

void Graph::finish(mlir::func::FuncOp function) {
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::DictionaryAttr> attrs;
  std::set<std::string> names;
  require(model.graph().output_size() > 0, "{}: the graph has no outputs", fileName);
  for (const ValueInfoProto &output : model.graph().output()) {
    require(names.insert(output.name()).second, "{}: there are two outputs '{}'", fileName, output.name());
    try {
      Entry entry = entryOf(output.name());
      if (!entry.value)
        throw Unsupported{fmt::format("output '{}' is {}, expected a tensor", output.name(),
                                      entry.sequence ? "a sequence" : "an empty optional")};
      results.push_back(entry.value);
    } catch (const Unsupported &problem) {
      issues.push_back({"", "", opset(), "", problem.reason});
      failOnIssues();
    } catch (const Error &error) {
      fail("{}: {}", fileName, error.what());
    }
    const TypeProto &type = output.type();
    ElementType actual = info(results.back()).type, stated = fromOnnxType(type.tensor_type().elem_type());
    require(!type.has_tensor_type() || stated == ElementType::invalid || stated == actual,
            "{}: output '{}' is {}, expected {} as the graph states", fileName, output.name(), name(actual),
            name(stated));
    mlir::NamedAttrList list;
    list.set("nn.name", builder.getStringAttr(output.name()));
    attrs.push_back(list.getDictionary(context));
  }
  builder.create<mlir::func::ReturnOp>(function.getLoc(), results);
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value result : results)
    types.push_back(result.getType());
  function.setType(builder.getFunctionType(function.getArgumentTypes(), types));
  function.setAllResultAttrs(attrs);
  // What normalisation left without users: parameters that became attributes and the arithmetic behind them.
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (op.use_empty() && mlir::isMemoryEffectFree(&op) && !op.hasTrait<mlir::OpTrait::IsTerminator>())
      op.erase();
  // Each constant stands right before its first user, however the file kept it.
  llvm::DenseSet<mlir::Operation *> placed;
  for (mlir::Operation &op : function.getBody().front())
    for (mlir::Value operand : op.getOperands())
      if (auto constant = operand.getDefiningOp<nn::ConstantOp>(); constant && placed.insert(constant).second)
        constant->moveBefore(&op);
}

} // namespace lathe::onnx
