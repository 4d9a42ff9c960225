#include "import/onnx/Graph.h"

#include "import/onnx/Node.h"

#include "mlir/IR/Verifier.h"

#include <algorithm>
#include <queue>

namespace lathe::onnx {
namespace {

// Opsets after 22 changed none of the operators imported here but for the types they take; an attribute they add
// would be refused as not understood. The conformance cases (tests/conformance) hold this to be so.
constexpr int64_t oldestOpset = 6, newestOpset = 28;

} // namespace

Graph::Graph(mlir::MLIRContext *context, ModelProto &model, std::string fileName, std::filesystem::path folder,
             const ImportOptions &options)
    : builder(context), context(context), model(model), fileName(std::move(fileName)), folder(std::move(folder)),
      options(options) {}

mlir::OwningOpRef<mlir::ModuleOp> Graph::run() {
  require(model.has_graph(), "{}: is not an ONNX model: it has no graph", fileName);
  findOpset();
  nameNodes();
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
  collectInitializers();
  declareInputs(function);
  for (int index : nodesInOrder())
    importNode(index);
  failOnIssues();
  finish(function);
  if (mlir::failed(mlir::verify(*module)))
    fail("{}: the imported graph is not valid", fileName); // the verifier has said why
  return module;
}

void Graph::findOpset() {
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

void Graph::nameNodes() {
  for (const NodeProto &node : model.graph().node())
    nodeNames.push_back(nodeName(node));
}

mlir::Location Graph::nodeLocation(int index) const {
  const NodeProto &node = model.graph().node(index);
  auto at = mlir::FileLineColLoc::get(context, fileName, index, 0);
  auto name = fmt::format("{} ({}, opset {})", nodeNames[index], printable(node.op_type()), version);
  return mlir::NameLoc::get(mlir::StringAttr::get(context, name), at);
}

std::vector<int> Graph::nodesInOrder() {
  const GraphProto &graph = model.graph();
  int count = graph.node_size();
  for (int i = 0; i < count; ++i)
    for (const std::string &output : graph.node(i).output()) {
      if (output.empty())
        continue;
      auto [at, added] = values.emplace(output, GraphValue{mlir::Value(), i, nullptr});
      if (added)
        continue;
      const GraphValue &other = at->second;
      fail("{}: output '{}' is already {}", nn::describe(nodeLocation(i)), output,
           other.producer >= 0 ? fmt::format("produced by node {} '{}'", other.producer, nodeNames[other.producer])
           : other.initializer ? "an initializer"
                               : "an input of the graph");
    }

  // Nodes the outputs depend on.
  std::vector<bool> needed(count);
  std::vector<int> open;
  auto need = [&](const std::string &name) {
    auto at = values.find(name);
    if (at != values.end() && at->second.producer >= 0 && !needed[at->second.producer]) {
      needed[at->second.producer] = true;
      open.push_back(at->second.producer);
    }
  };
  for (const ValueInfoProto &output : graph.output()) {
    require(values.contains(output.name()), "{}: output '{}' is not produced by any node", fileName, output.name());
    need(output.name());
  }
  for (; !open.empty();) {
    int index = open.back();
    open.pop_back();
    for (const std::string &input : graph.node(index).input())
      need(input);
  }

  // Each after its producers, otherwise in file order.
  std::vector<int> missing(count);
  std::vector<std::vector<int>> users(count);
  for (int i = 0; i < count; ++i)
    for (const std::string &input : graph.node(i).input()) {
      if (input.empty())
        continue;
      auto at = values.find(input);
      require(at != values.end(), "{}: input '{}' is not produced by any node, input or initializer",
              nn::describe(nodeLocation(i)), input);
      if (at->second.producer >= 0) {
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

const TensorInfo &Graph::info(mlir::Value value) {
  auto at = infos.find(value.getAsOpaquePointer());
  return at != infos.end() ? at->second : infos.emplace(value.getAsOpaquePointer(), nn::infoOf(value)).first->second;
}

mlir::Value Graph::constant(const TensorData &data, const std::string &name, mlir::Location loc) {
  if (data.type == ElementType::string)
    throw Unsupported{fmt::format("constant '{}' holds strings", name)};
  auto value = nn::makeConstant(context, data.type, data.dims, data.bytes, name);
  return builder.create<nn::ConstantOp>(loc, value.getShapedType(), value);
}

mlir::Value Graph::valueOf(const std::string &name) {
  GraphValue &entry = values.at(name);
  if (!entry.value && entry.initializer) {
    TensorProto &tensor = *entry.initializer;
    std::string what = fmt::format("initializer '{}'", name);
    if (fromOnnxType(tensor.data_type()) == ElementType::invalid)
      throw Unsupported{fmt::format("{} has element type {}", what, onnxTypeName(tensor.data_type()))};
    auto loc = mlir::NameLoc::get(builder.getStringAttr(name + " (initializer)"), mlir::UnknownLoc::get(context));
    entry.value = constant(decodeTensor(tensor, what, folder), name, loc);
    tensor.Clear(); // its bytes live in the constant now
  }
  return entry.value;
}

void Graph::report(int index, const std::string &reason) {
  const NodeProto &node = model.graph().node(index);
  std::string type;
  if (node.input_size() && !node.input(0).empty())
    if (mlir::Value first = values.at(node.input(0)).value)
      type = name(info(first).type);
  issues.push_back({nodeNames[index], node.op_type(), version, type, reason});
}

void Graph::importNode(int index) {
  const NodeProto &proto = model.graph().node(index);
  mlir::Location loc = nodeLocation(index);
  try {
    if (!proto.domain().empty() && proto.domain() != "ai.onnx")
      throw Unsupported{fmt::format("operators of domain '{}' are not supported", proto.domain())};
    for (const AttributeProto &attr : proto.attribute())
      if (attr.has_g() || attr.graphs_size())
        throw Unsupported{"operators with subgraphs are not supported"};
    auto handler = handlers().find(proto.op_type());
    bool known = handler != handlers().end() || isMappedDirectly(proto.op_type());
    if (!known)
      throw Unsupported{"the operator is not supported"};

    Values inputs;
    for (const std::string &input : proto.input()) {
      if (input.empty()) {
        inputs.push_back({});
        continue;
      }
      inputs.push_back(valueOf(input));
      if (!inputs.back())
        return; // depends on what could not be imported: one issue is enough
    }
    Node node(*this, proto, loc, std::move(inputs), nodeNames[index]);
    if (handler != handlers().end())
      handler->second(node);
    else
      importDirectly(node);
    node.checkAllUnderstood();
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.wants(i)) {
        require(node.outputs[i] != nullptr, "has {} outputs, expected at most {}", node.outputs.size(), i);
        values.at(proto.output(static_cast<int>(i))).value = node.outputs[i];
      }
  } catch (const Unsupported &problem) {
    report(index, problem.reason);
  } catch (const Error &error) {
    fail("{}: {}", nn::describe(loc), error.what());
  }
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
      results.push_back(valueOf(output.name()));
    } catch (const Unsupported &problem) {
      issues.push_back({"", "", version, "", problem.reason});
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
