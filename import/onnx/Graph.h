// A graph while it is imported: names to values, symbolic shapes, and what could not be imported.
#pragma once

#include "import/Import.h"
#include "import/onnx/TensorData.h"
#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <unordered_map>

namespace lathe::onnx {

/// Thrown by node importers: the node is well-formed but beyond the operator set.
struct Unsupported {
  std::string reason;
};

/// What is known of one tensor of the ONNX graph.
struct GraphValue {
  mlir::Value value; // null while it (or what it depends on) could not be imported
  int producer = -1; // node index; -1 for inputs and initializers
  TensorProto *initializer = nullptr;
};

/// `name` without characters that would break a message's line.
std::string printable(std::string name);
/// A node's name: its own, or that of its first output.
std::string nodeName(const NodeProto &node);

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
  int64_t opset() const { return version; }

private:
  mlir::MLIRContext *context;
  ModelProto &model;
  std::string fileName;
  std::filesystem::path folder;
  const ImportOptions &options;
  int64_t version = 0;
  std::unordered_map<std::string, GraphValue> values;
  std::unordered_map<void *, TensorInfo> infos; // by opaque value; references to entries stay valid
  std::vector<ImportIssue> issues;
  std::map<std::string, std::string> symbols; // dim_param -> name of the extent
  std::vector<std::string> nodeNames;

  void findOpset();
  void nameNodes();
  void collectInitializers();
  void declareInputs(mlir::func::FuncOp function);
  std::string symbolName(const std::string &param);
  TensorInfo inputInfo(const ValueInfoProto &input);
  std::vector<int> nodesInOrder();
  void importNode(int index);
  mlir::Value valueOf(const std::string &name);
  mlir::Location nodeLocation(int index) const;
  void report(int index, const std::string &reason);
  void finish(mlir::func::FuncOp function);
  void failOnIssues() const;
};

} // namespace lathe::onnx
