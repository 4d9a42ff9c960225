// Writes a graph of nn operators as ONNX messages.
#pragma once

#include "import/onnx/TensorData.h"
#include "ir/Bridge.h"
#include "ir/PackedWeights.h"
#include "ir/QuantizedForm.h"
#include "support/UniqueNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <unordered_map>

namespace lathe::onnx {

class NodeWriter;

class GraphWriter {
public:
  explicit GraphWriter(mlir::ModuleOp module) : module(module) {}
  /// Writes the model as an ONNX message. Constants of `externalFrom` bytes or more are left without data and listed
  /// in `external`.
  ModelProto write(int64_t externalFrom);

  struct External {
    std::string name; // name of the initializer
    nn::ConstantData data;
  };
  std::vector<External> external;

  std::string nameOf(mlir::Value value) const;
  /// Returns a name for a value that is not taken yet: `wanted`, or `wanted_1` and so on.
  std::string uniqueValueName(const std::string &wanted) { return valueNames.take(wanted.empty() ? "value" : wanted); }
  /// Adds an initializer with the elements `bytes` to the graph and returns its name.
  std::string addInitializer(const std::string &wanted, ElementType type, const std::vector<int64_t> &dims,
                             const std::string &bytes);
  /// Adds a node with one output before the last node, which is being written.
  NodeProto &addBefore(const char *opType, const std::string &wantedName);

private:
  mlir::ModuleOp module;
  GraphProto *graph = nullptr;
  int64_t externalFrom = 0;
  llvm::DenseMap<mlir::Value, std::string> names;
  UniqueNames valueNames{"_"}, nodeNames{"_"};

  void writeConstant(nn::ConstantOp constant);
  /// Adds an initializer with the elements of a constant and the extents `dims`; large data goes into the file of
  /// external data.
  std::string addConstant(const std::string &wanted, const nn::ConstantData &data, const std::vector<int64_t> &dims);
  void writeNode(mlir::Operation &op);
  void writeOperations(mlir::func::FuncOp main);
  // The functions below are defined in Bodies.cpp.
  void writeControlFlow(mlir::Operation &op);
  void writeBody(mlir::func::FuncOp body, mlir::ValueRange captured, unsigned firstCaptured, GraphProto &into);
  void addIdentity(mlir::Value from, const std::string &to);
  // The declarations below belong to Quantized.cpp.
  struct QuantizedNode {
    nn::QuantizedForm form;
    bool quantizes; // true: the form quantises; false: it dequantises
  };
  llvm::DenseMap<mlir::Operation *, QuantizedNode> quantized; // by the last operator of the form
  /// Packed weights in blocks or of 4 bits, by the last operator that computes the weights.
  llvm::DenseMap<mlir::Operation *, nn::PackedWeights> packed;
  llvm::DenseSet<mlir::Operation *> skipped; // operators that belong to the ONNX node of another operator
  void findQuantized(mlir::Block &block);
  void findPacked(mlir::Block &block);
  void writeQuantized(NodeWriter &writer, const QuantizedNode &node);
  void writePacked(NodeWriter &writer, const nn::PackedWeights &weights);
  /// Writes the scale of an integer product as a Sum with one input, so that ONNX Runtime does not fuse the product
  /// (Quantized.cpp). Returns the scale and the name of the Sum.
  std::optional<std::pair<mlir::Value, std::string>> hideScale(mlir::Operation &op);
};

/// The packed weights of the operator `product` if only DequantizeLinear of opset 21 can write them: they have 4 bits,
/// or blocks.
std::optional<nn::PackedWeights> writtenPacked(mlir::Operation *product);

/// Writes one ONNX node. The functions that write operators get a NodeWriter.
class NodeWriter {
public:
  NodeWriter(GraphWriter &graph, mlir::Operation &op, NodeProto &node) : graph(graph), op(op), node(node) {}
  GraphWriter &graph;
  mlir::Operation &op;
  NodeProto &node;

  void input(mlir::Value value) { node.add_input(value ? graph.nameOf(value) : ""); }
  /// Sets the operator type of the node to `opType`, and its inputs to the operands.
  void operandsOnly(const char *opType) {
    node.set_op_type(opType);
    for (mlir::Value operand : nn::operandsByRecord(&op))
      input(operand);
  }
  void inputInts(const char *what, const std::vector<int64_t> &values);
  void inputFloats(const char *what, const std::vector<double> &values);
  /// Adds a scalar constant of any numeric type as an input of the node.
  void inputScalar(const char *what, ElementType type, double value);
  void attr(const std::string &name, int64_t value);
  void attr(const std::string &name, double value);
  void attr(const std::string &name, const std::string &value);
  void attr(const std::string &name, const std::vector<int64_t> &values);
  void attr(const std::string &name, const std::vector<double> &values);
  void attr(const std::string &name, const std::vector<std::string> &values);
  void attr(const std::string &name, const TensorProto &value);
  /// Writes the padding of a window on the first operand (ops/WindowPads.h) as attributes of the node: `pads`, or
  /// auto_pad if it depends on open extents.
  void pads(const std::vector<int64_t> &pads, const std::vector<int64_t> &kernel, const std::vector<int64_t> &strides,
            const std::vector<int64_t> &dilations);

private:
  AttributeProto &add(const std::string &name, AttributeProto::AttributeType kind);
};

/// The first opset of ONNX with 4-bit integers.
constexpr int64_t fourBitOpset = 21;
bool hasFourBits(mlir::Value value);

/// Returns the smallest opset that has the operators which writeOperator emits for `op`; at least exportedOpset.
int64_t opsetOf(mlir::Operation &op);

/// Functions that write operators without a direct mapping to ONNX, by mnemonic of the operator.
using Writer = void (*)(NodeWriter &);
using Writers = std::unordered_map<std::string_view, Writer>;
void addIndexedWriters(Writers &table); // Indexed.cpp
void addValueWriters(Writers &table);   // Values.cpp: operators on sequences, optionals and strings

/// Writes the sizes for a resize that keeps the aspect ratio, which has one scale. ONNX takes the smallest quotient of
/// size and extent as the scale. So an axis whose size is exactly scale * extent keeps its size, and every other axis
/// gets one more.
void keepAspectRatio(NodeWriter &w, ResizeAttrs &a); // Indexed.cpp

/// Writes the type of a value as an ONNX message; the extents of tensors only if `shape`.
void writeType(TypeProto &out, const TensorInfo &info, bool shape);
/// True for a max_pool_indices that follows a max_pool with equal windows: both together become one MaxPool.
bool isIndicesOfPoolBefore(mlir::Operation &op);

/// Writes the operator `writer.op` to the node `writer.node`: its type, operands and attributes.
void writeOperator(NodeWriter &writer);

/// The bytes of one element of type `type` with the value `value`.
std::string elementBytes(ElementType type, double value);

} // namespace lathe::onnx
