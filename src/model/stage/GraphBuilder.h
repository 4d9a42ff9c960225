// Builds a graph operator by operator. The functions of include/lathe/builder.h call this class.
#pragma once

#include "ir/Bridge.h"
#include "ir/Safetensors.h"
#include "ir/SymbolicShapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace lathe {

/// The value of an operator's attribute, with the attribute's name. An integer may stand for a boolean or a real
/// number.
struct BuilderAttribute {
  std::string name;
  std::variant<std::vector<int64_t>, std::vector<double>, std::string> value;
};

/// The node name of an operator that is built, and facts about its results that its shape function does not give.
struct OperatorNote {
  /// Name of the node, which several operators may share. "": a name made from the operator and the number of the
  /// node, "conv_12".
  std::string name;
  // types of the results, as in textual IR; empty: the types that the shape function gives
  std::vector<std::string> types;
  // symbols of extents that are known only at run time: nn.extents (ir/SymbolicShapes.h)
  std::vector<std::string> extents;
};

/// A graph, or a body of control flow. Values are numbers; a body cannot use the numbers of the outer graph. Every
/// function throws Error with the node: "net: node 3 'conv1' (conv): conv_c2: ...".
class GraphBuilder {
public:
  using Value = int32_t;
  static constexpr Value absent = -1;

  /// Begins a graph called `name`, in the MLIR context `context` or, if it is null, in a new one.
  explicit GraphBuilder(const std::string &name, mlir::MLIRContext *context = nullptr);
  ~GraphBuilder();

  /// Adds an argument of the graph. `type` is the name of an element type ("f32"), or a type of textual IR for a value
  /// that is not a tensor ("!nn.sequence<tensor<?x5xf32>>"). `dims` are extents: numbers, formulas over symbols ("N",
  /// "N*2"), or "?" for unknown extents.
  Value input(const std::string &name, const std::string &type, const std::vector<std::string> &dims,
              const std::string &quantization = "");
  /// Opens a file of weights in the safetensors format, from which `weight` reads. It replaces the file opened before.
  void openWeights(const std::string &path);
  /// Adds a weight from the open file. If `type` is "", type and extents come from the file; a type that safetensors
  /// lacks is stored as bytes. A second request for a weight returns the same value.
  Value weight(const std::string &name, const std::string &type = "", const std::vector<int64_t> &dims = {});
  /// Adds a constant with a copy of `bytes`: elements in row-major order and native byte order.
  Value constant(const std::string &name, ElementType type, const std::vector<int64_t> &dims,
                 llvm::ArrayRef<char> bytes);
  Value constant(const std::string &name, mlir::ElementsAttr elements);
  /// Adds an operator of the dialect nn with operands in the order of its record; absent optional operands are
  /// `absent`. Returns the results.
  std::vector<Value> add(const std::string &mnemonic, const std::vector<Value> &operands,
                         const std::vector<BuilderAttribute> &attributes, const OperatorNote &note = {});
  /// Begins a body for `branch` or `loop`. The body takes its arguments with `input` and returns its results with
  /// `output`. It lives as long as the graph.
  GraphBuilder &body(const std::string &name);
  /// Adds an nn.if and returns its results. Both bodies take `captured` as arguments.
  std::vector<Value> branch(Value condition, const std::vector<Value> &captured, GraphBuilder &thenBody,
                            GraphBuilder &elseBody, const OperatorNote &note = {});
  /// Adds an nn.loop (ir/Nn.td) and returns its results. The first `carried` of `values` are carried, the others
  /// captured.
  std::vector<Value> loop(Value tripCount, Value condition, const std::vector<Value> &values, int64_t carried,
                          GraphBuilder &body, const OperatorNote &note = {});
  void output(const std::string &name, Value value, const std::string &quantization = "");

  /// The type of a value as in textual IR: "tensor<?x64x56x56xf32>".
  std::string typeOf(Value value) const;
  /// The extents of a value as texts: "N*2", "56".
  std::vector<std::string> dimsOf(Value value) const;
  mlir::Value mlirValue(Value value) const { return checked(value, "value"); }
  /// Replaces the type that the shape function gives the result of an operator by `type`, which may be more or less
  /// precise.
  void retype(Value value, mlir::TensorType type);
  /// Returns the module with all operators added so far, verified. The graph may grow afterwards. Throws Error if the
  /// graph has no output.
  mlir::ModuleOp finish();

private:
  struct Shared; // data that a graph shares with its bodies

  std::shared_ptr<Shared> shared;
  std::string name;
  mlir::ModuleOp module;
  mlir::func::FuncOp main;
  std::unique_ptr<nn::SymbolicShapes> shapes;
  std::map<std::pair<std::string, std::string>, Value> weights; // weights added so far, by file and name
  struct Output {
    std::string name, quantization;
    Value value;
  };
  std::vector<Output> outputs;
  std::vector<std::unique_ptr<GraphBuilder>> bodies;
  std::map<std::string, mlir::Location> places; // MLIR locations of nodes, by name
  int nodes = 0;

  GraphBuilder(GraphBuilder &around, const std::string &name);
  void start();
  mlir::OpBuilder builder();
  Value keep(mlir::Value value);
  mlir::Value checked(Value value, const std::string &what) const;
  mlir::Location nodeLocation(const std::string &mnemonic, const std::string &name);
  std::vector<Value> finishOperator(mlir::Operation *op, const OperatorNote &note);
  std::vector<Value> addConvertLayout(const std::vector<Value> &operands, const OperatorNote &note);
  std::vector<Value> addControlFlow(mlir::OperationState &state, std::vector<mlir::Type> types,
                                    const OperatorNote &note);
  std::string bodySymbol(GraphBuilder &body);
};

/// Parses a type of textual IR. Throws Error with the parser's message.
mlir::Type parseTypeText(mlir::MLIRContext *context, const std::string &text);

} // namespace lathe
