// A model while it is imported: names to values, symbolic shapes, and what could not be imported.
#pragma once

#include "import/Import.h"
#include "import/onnx/TensorData.h"
#include "ir/Bridge.h"
#include "runtime/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <unordered_map>

namespace lathe::onnx {

/// Thrown by node importers: the node is well-formed but beyond the operator set.
struct Unsupported {
  std::string reason;
};

using Values = std::vector<mlir::Value>;

/// What an operand or a result is: a tensor; a sequence of tensors, whose elements are known one by one; or an optional
/// that holds neither. Sequences and optionals never exist at run time. None of these: it could not be imported.
struct Entry {
  mlir::Value value;
  std::optional<Values> sequence;
  bool absent = false;
  bool imported() const { return value || sequence || absent; }
};

/// What is known of one name.
struct GraphValue : Entry {
  int producer = -1; // node index; -1 for inputs and initializers
  TensorProto *initializer = nullptr;
};

/// `name` without characters that would break a message's line.
std::string printable(std::string name);
/// A node's name: its own, or that of its first output.
std::string nodeName(const NodeProto &node);

/// The nodes of a graph, of a node's subgraph or of a function, and the names they see.
struct Scope {
  Scope *outer = nullptr; // where other names are looked up; null for the model's graph and in functions
  const google::protobuf::RepeatedPtrField<NodeProto> *nodes = nullptr;
  std::string prefix; // of the names of nodes
  int64_t opset = 0;
  int line = -1; // the node of the model's graph these nodes belong to; -1: they are the graph's
  std::unordered_map<std::string, GraphValue> values;
  /// In a function: the attributes of the call, over the function's defaults.
  std::map<std::string, const AttributeProto *> attributes;
  bool isFunction = false;
};

class Graph {
public:
  /// `model` is consumed: initializers give up their bytes as they become constants. `path` names the file in messages;
  /// `folder` is where external data may lie (empty: nowhere).
  Graph(mlir::MLIRContext *context, ModelProto &model, std::string fileName, std::filesystem::path folder,
        const ImportOptions &options);
  mlir::OwningOpRef<mlir::ModuleOp> run();

  mlir::OpBuilder builder;
  /// Extents with their symbols, and contents of small integer tensors, of a value of this graph.
  const TensorInfo &info(mlir::Value value);
  void setInfo(mlir::Value value, TensorInfo info) { infos[value.getAsOpaquePointer()] = std::move(info); }
  /// An nn.constant at the insertion point; throws Unsupported for strings.
  mlir::Value constant(const TensorData &data, const std::string &name, mlir::Location loc);
  const std::filesystem::path &dataFolder() const { return folder; }
  int64_t opset() const { return scope->opset; }
  /// The elements of a small tensor that depends on constants and static extents alone; null for others.
  const Tensor *known(mlir::Value value);

  // ---- For operators with subgraphs, and functions (Structure.cpp).
  /// The node `scope` is at, for messages.
  mlir::Location nodeLocation(int index) const;
  Entry entryOf(const std::string &name);
  /// Imports the nodes behind `outputs` in a scope within the current one. `initializers` may be null. What could not
  /// be imported is reported and comes back empty.
  std::vector<Entry> importWithin(Scope &inner, google::protobuf::RepeatedPtrField<TensorProto> *initializers,
                                  const std::vector<std::string> &outputs);
  Scope &current() { return *scope; }
  const FunctionProto *findFunction(const NodeProto &node) const;
  /// Nodes of bodies and functions looked at so far, and how deep in them we are: unrolling must end.
  int64_t nodesUnfolded = 0;
  int depth = 0;

private:
  mlir::MLIRContext *context;
  ModelProto &model;
  std::string fileName;
  std::filesystem::path folder;
  const ImportOptions &options;
  Scope top;
  Scope *scope = &top;
  std::unordered_map<void *, TensorInfo> infos;              // by opaque value; references to entries stay valid
  std::unordered_map<void *, std::optional<Tensor>> tensors; // `known`
  std::vector<ImportIssue> issues;
  std::map<std::string, std::string> symbols;                                     // dim_param -> name of the extent
  std::map<std::pair<std::string, std::string>, const FunctionProto *> functions; // by domain and name

  void findOpset();
  void findFunctions();
  void collectInitializers(google::protobuf::RepeatedPtrField<TensorProto> &initializers);
  void declareInputs(mlir::func::FuncOp function);
  std::string symbolName(const std::string &param);
  TensorInfo inputInfo(const ValueInfoProto &input);
  std::vector<int> nodesInOrder(const std::vector<std::string> &outputs);
  void importNodes(const std::vector<std::string> &outputs);
  void importNode(int index);
  void importPlain(const NodeProto &proto, mlir::Location loc, const std::string &name, std::vector<Entry> inputs);
  std::optional<Tensor> evaluateKnown(mlir::Value value, int depth);
  const Tensor *known(mlir::Value value, int depth);
  GraphValue *find(const std::string &name);
  std::string nameOf(int index) const;
  void report(int index, const std::string &reason);
  void finish(mlir::func::FuncOp function);
  void failOnIssues() const;
};

/// A node with subgraphs, a call of a function, or an operator on sequences while it is imported: what it reads, and
/// what it makes, by position.
struct StructureNode {
  Graph &graph;
  const NodeProto &proto;
  mlir::Location loc;
  std::string name;
  int line; // of the model's graph
  std::vector<Entry> inputs, outputs;

  const Entry &in(size_t index) const;
  mlir::Value tensor(size_t index) const;
  const Values &sequence(size_t index) const;
  const AttributeProto *attr(const std::string &name) const;
  int64_t intAttr(const std::string &name, int64_t fallback) const;
  /// The one element of a tensor that is known without running.
  std::optional<int64_t> scalar(const Entry &entry) const;
  [[noreturn]] void unsupported(std::string reason) const { throw Unsupported{std::move(reason)}; }
};
using StructureHandler = void (*)(StructureNode &);
/// Null for operators on tensors without subgraphs.
StructureHandler structureHandler(const NodeProto &node, const std::vector<Entry> &inputs);
/// Likewise for operators on sequences and optionals alone (Sequence.cpp).
StructureHandler sequenceHandler(const NodeProto &node, const std::vector<Entry> &inputs);
void importFunctionCall(StructureNode &node, const FunctionProto &function);

/// `node` with the attributes that refer to those of the function it is in; `storage` holds the copy where one is made.
const NodeProto &withAttributes(const NodeProto &node, const Scope &scope, NodeProto &storage);
/// Names a node reads, those its subgraphs take from outside included.
std::vector<std::string> namesRead(const NodeProto &node);

} // namespace lathe::onnx
