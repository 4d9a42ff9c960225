// Imports a model's graph: keeps names and their values, and collects nodes that cannot be imported.
#pragma once

#include "import/Format.h"
#include "import/Known.h"
#include "support/UniqueNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <set>
#include <unordered_map>

namespace lathe::source {

using Values = std::vector<mlir::Value>;

/// Thrown during an import if a rank depends on open extents of inputs. The model is then imported again with these
/// extents set to 1.
struct RankDepends {
  std::set<std::string> symbols;
  std::string node;
};

/// An operand or a result of a source node during the import. It is a value of the graph (a tensor, or a sequence or
/// optional whose content is known only at run time), or a sequence of known tensors, or an empty optional. If it is
/// none of these, the value could not be imported.
struct Entry {
  mlir::Value value;
  std::optional<Values> sequence;
  bool absent = false;
  ElementType type = ElementType::invalid; // element type of an empty sequence or optional, if the model states it
  bool absentSequence = false;             // the empty optional is an optional of a sequence
  bool imported() const { return value || sequence || absent; }
};

/// The value that a tensor name of the source model stands for.
struct GraphValue : Entry {
  int producer = -1; // index of the node that makes the value; -1 for inputs and initializers
  const TensorRecord *initializer = nullptr;
};

/// The nodes of a graph, of a subgraph or of a function, and the names visible to them.
struct Scope {
  Scope *outer = nullptr; // scope in which other names are searched; null for the model's graph and for functions
  const std::vector<NodeRecord> *nodes = nullptr;
  std::string prefix; // prefix of the names of nodes in this scope
  int64_t version = 0;
  int line = -1;                // index of the node of the model's graph that contains these nodes; -1: none
  mlir::Block *block = nullptr; // block for the scope's operations: the block of @main or of a body
  std::unordered_map<std::string, GraphValue> values;
  /// If the scope is a function: its attributes, given by the call, else by the function's defaults.
  std::map<std::string, const AttributeRecord *> attributes;
  bool isFunction = false;
};

class Graph {
public:
  /// `model`: the records of the file; its initializers are freed as they become constants. `fileName`: name of the
  /// file in messages.
  Graph(mlir::MLIRContext *context, const ModelRecord &model, const Format &format, std::string fileName,
        const ImportOptions &options);
  mlir::OwningOpRef<mlir::ModuleOp> run();

  const Format &format;
  const ImportOptions &options;
  mlir::OpBuilder builder;
  KnownValues known;
  const TensorInfo &info(mlir::Value value) { return known.info(value); }
  /// Creates an nn.constant at the insertion point. Throws Unsupported for strings.
  mlir::Value constant(const TensorData &data, const std::string &name, mlir::Location loc);
  /// Version of the operator set of the nodes that are being imported.
  int64_t version() const { return scope->version; }

  // ---- Interface for operators with subgraphs, and for functions (Unfold.h).
  /// Imports the nodes that `outputs` need in a scope within the current one. `initializers` may be
  /// null. Values that could not be imported are reported and returned empty.
  std::vector<Entry> importWithin(Scope &inner, const std::vector<TensorRecord> *initializers,
                                  const std::vector<std::string> &outputs);
  Scope &current() { return *scope; }
  /// Number of nodes of bodies and functions imported so far, and the current nesting depth. Both are limited, so that
  /// unrolling of loops ends.
  int64_t nodesUnfolded = 0;
  int depth = 0;
  /// A symbol for an extent of a body that no other extent of the model has; `hint` is part of its name.
  std::string newSymbol(const std::string &hint) {
    return symbolName("carried " + hint + std::to_string(bodySymbols++));
  }

private:
  mlir::MLIRContext *context;
  const ModelRecord &model;
  std::string fileName;
  Scope top;
  Scope *scope = &top;
  Problems problems;
  UniqueNames symbolNames{"_"};
  int bodySymbols = 0;
  std::vector<int> leftOut;               // indices of nodes of the model's graph that the import has left out
  std::vector<std::string> unknownValues; // results of nodes that are left out
  int64_t leftBehind = 0; // number of nodes left out because they depend on results of nodes that are left out
  std::map<std::string, std::string> symbols; // by symbol of the model: name of the extent in nn
  std::map<std::pair<std::string, std::string>, const FunctionRecord *> functions; // functions by domain and name

  void findFunctions();
  const FunctionRecord *findFunction(const NodeRecord &node) const;
  void collectInitializers(const std::vector<TensorRecord> &initializers);
  // The functions below are defined in Inputs.cpp.
  void declareInputs(mlir::func::FuncOp function);
  std::string symbolName(const std::string &symbol);
  TensorInfo inputInfo(const ValueRecord &input);
  std::map<std::string, int64_t> bound; // extent that the user gives with --shape, by symbol
  // descriptions of model extents that --shape replaces, such as "input 'x' is 1x3x8x8 in the model"
  std::vector<std::string> changedExtents;
  void bindExtents(const std::string &name, Dims &dims);
  void addInput(mlir::func::FuncOp function, const std::string &name, TensorInfo info,
                const std::optional<Quantization> &quantization);
  void leaveOut(int index);
  void requireShapesUsed();
  // The functions below are defined in Order.cpp.
  void declareResults();
  std::vector<int> nodesInOrder(const std::vector<std::string> &outputs);
  void importNodes(const std::vector<std::string> &outputs);
  void importNode(int index);
  void importPlain(const NodeRecord &record, mlir::Location loc, const std::string &name, std::vector<Entry> inputs);
  void requireKnown(const NodeRecord &record) const;
  mlir::Location nodeLocation(int index) const;
  Entry entryOf(const std::string &name);
  GraphValue *find(const std::string &name, Scope **owner = nullptr);
  std::string nameOf(int index) const;
  void report(int index, const std::string &reason);
  void reportValue(const std::string &reason) { problems.add({"", "", version(), "", reason}); }
  void throwProblems(mlir::func::FuncOp function);
  void finish(mlir::func::FuncOp function);
  mlir::Value resultOf(const ValueRecord &output);
  std::vector<ValueRecord> outputsLeft();
  int64_t addedOutputs = 0;
};

} // namespace lathe::source
