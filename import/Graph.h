// A model while it is imported: names to values, and what could not be imported.
#pragma once

#include "import/Format.h"
#include "import/Known.h"
#include "support/UniqueNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <unordered_map>

namespace lathe::source {

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
  const TensorRecord *initializer = nullptr;
};

/// The nodes of a graph, of a node's subgraph or of a function, and the names they see.
struct Scope {
  Scope *outer = nullptr; // where other names are looked up; null for the model's graph and in functions
  const std::vector<NodeRecord> *nodes = nullptr;
  std::string prefix; // of the names of nodes
  int64_t version = 0;
  int line = -1; // the node of the model's graph these nodes belong to; -1: they are the graph's
  std::unordered_map<std::string, GraphValue> values;
  /// In a function: the attributes of the call, over the function's defaults.
  std::map<std::string, const AttributeRecord *> attributes;
  bool isFunction = false;
};

class Graph {
public:
  /// Initializers of `model` give up their bytes as they become constants. `fileName` names the file in messages.
  Graph(mlir::MLIRContext *context, const ModelRecord &model, const Format &format, std::string fileName,
        const ImportOptions &options);
  mlir::OwningOpRef<mlir::ModuleOp> run();

  const Format &format;
  mlir::OpBuilder builder;
  KnownValues known;
  const TensorInfo &info(mlir::Value value) { return known.info(value); }
  /// An nn.constant at the insertion point; throws Unsupported for strings.
  mlir::Value constant(const TensorData &data, const std::string &name, mlir::Location loc);
  /// Of the operator set that the current nodes are of.
  int64_t version() const { return scope->version; }

  // ---- For operators with subgraphs, and functions (Unfold.h).
  /// Imports the nodes behind `outputs` in a scope within the current one. `initializers` may be null. What could not
  /// be imported is reported and comes back empty.
  std::vector<Entry> importWithin(Scope &inner, const std::vector<TensorRecord> *initializers,
                                  const std::vector<std::string> &outputs);
  Scope &current() { return *scope; }
  /// Nodes of bodies and functions looked at so far, and how deep in them we are: unrolling must end.
  int64_t nodesUnfolded = 0;
  int depth = 0;

private:
  mlir::MLIRContext *context;
  const ModelRecord &model;
  std::string fileName;
  const ImportOptions &options;
  Scope top;
  Scope *scope = &top;
  Problems problems;
  UniqueNames symbolNames{"_"};
  std::map<std::string, std::string> symbols;                                      // symbol -> name of the extent
  std::map<std::pair<std::string, std::string>, const FunctionRecord *> functions; // by domain and name

  void findFunctions();
  const FunctionRecord *findFunction(const NodeRecord &node) const;
  void collectInitializers(const std::vector<TensorRecord> &initializers);
  // Inputs.cpp
  void declareInputs(mlir::func::FuncOp function);
  std::string symbolName(const std::string &symbol);
  TensorInfo inputInfo(const ValueRecord &input);
  using Bound = std::map<std::string, int64_t>; // symbol -> extent given with --shape
  void bindExtents(const std::string &name, const Dims &dims, Bound &bound) const;
  // Order.cpp
  void declareResults();
  std::vector<int> nodesInOrder(const std::vector<std::string> &outputs);
  void importNodes(const std::vector<std::string> &outputs);
  void importNode(int index);
  void importPlain(const NodeRecord &record, mlir::Location loc, const std::string &name, std::vector<Entry> inputs);
  void requireKnown(const NodeRecord &record) const;
  mlir::Location nodeLocation(int index) const;
  Entry entryOf(const std::string &name);
  GraphValue *find(const std::string &name);
  std::string nameOf(int index) const;
  void report(int index, const std::string &reason);
  void reportValue(const std::string &reason) { problems.add({"", "", version(), "", reason}); }
  void finish(mlir::func::FuncOp function);
  mlir::Value resultOf(const ValueRecord &output);
};

} // namespace lathe::source
