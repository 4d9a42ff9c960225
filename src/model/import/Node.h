// A source node that is being imported: the interface for functions that import single operators.
#pragma once

#include "import/Graph.h"

#include <set>
#include <unordered_map>
#include <variant>

namespace lathe::source {

/// The value of a field of an attribute struct (Attrs), of any of the types that such fields have.
struct Field {
  std::variant<int64_t, double, bool, std::string, ElementType, std::vector<int64_t>, std::vector<double>> value;
  Field(int64_t v) : value(v) {}
  Field(int v) : value(static_cast<int64_t>(v)) {}
  Field(double v) : value(v) {}
  Field(bool v) : value(v) {}
  Field(const char *v) : value(std::string(v)) {}
  Field(std::string v) : value(std::move(v)) {}
  Field(ElementType v) : value(v) {}
  Field(std::vector<int64_t> v) : value(std::move(v)) {}
  Field(std::vector<double> v) : value(std::move(v)) {}
};
using Fields = std::vector<std::pair<std::string, Field>>;

/// A source node that is being imported. Errors that it throws have no location; the graph adds the location.
class Node {
public:
  Node(Graph &graph, const NodeRecord &record, mlir::Location loc, Values inputs, std::string name);

  Graph &graph;
  const NodeRecord &record;
  const mlir::Location loc;
  const std::string name;
  /// Version of the operator set to which the node belongs (ONNX: opset).
  int64_t version() const { return graph.version(); }

  // ---- Operands of the node. Absent optional operands are null.
  size_t inputCount() const { return inputs.size(); }
  bool has(size_t index) const { return index < inputs.size() && inputs[index]; }
  mlir::Value in(size_t index) const; // throws Error if the operand is absent
  mlir::Value inOrNull(size_t index) const { return has(index) ? inputs[index] : mlir::Value(); }
  void expectInputs(size_t least, size_t most) const;
  const TensorInfo &info(mlir::Value value) const { return graph.known.info(value); }
  int64_t rank(mlir::Value value) const { return static_cast<int64_t>(info(value).rank()); }
  /// Elements of an integer tensor that is known at compile time; nothing otherwise.
  std::optional<std::vector<int64_t>> staticInts(mlir::Value value) const;
  /// Elements of a small constant of any numeric type; nothing otherwise.
  std::optional<std::vector<double>> staticDoubles(mlir::Value value) const;
  /// The integers of operand `index`. Throws Unsupported if they are only known at run time.
  std::vector<int64_t> requireInts(size_t index, const char *what) const;

  // ---- Attributes of the node. Reading an attribute marks it as understood. An attribute of the wrong kind is an
  // Error.
  bool hasAttr(const std::string &attr) const { return find(attr) != nullptr; }
  int64_t intAttr(const std::string &attr, int64_t fallback);
  double floatAttr(const std::string &attr, double fallback);
  std::string stringAttr(const std::string &attr, const std::string &fallback);
  std::vector<int64_t> intsAttr(const std::string &attr, std::vector<int64_t> fallback = {});
  std::vector<double> floatsAttr(const std::string &attr);
  std::vector<std::string> stringsAttr(const std::string &attr);
  /// An attribute that is one float, not rounded to its shortest decimal; null if it is absent.
  const float *rawFloatAttr(const std::string &attr) { return attribute<float>(attr); }
  const std::vector<float> *rawFloatsAttr(const std::string &attr) { return attribute<std::vector<float>>(attr); }
  const TensorRecord *tensorAttr(const std::string &attr) { return attribute<TensorRecord>(attr); }
  /// An attribute that is an element type, or the format's number of an element type. Throws Unsupported for unknown
  /// types.
  ElementType typeAttr(const std::string &attr, ElementType fallback);
  void ignore(std::initializer_list<const char *> attrs);
  /// Throws Error if the node has an attribute that the function importing it has not read.
  void checkAllUnderstood() const;

  // ---- Results of the node.
  size_t outputCount() const { return record.outputs.size(); }
  /// Throws Error unless the node has `count` outputs, all with names. For operators with several
  /// required outputs.
  void expectOutputs(size_t count) const;
  /// True if output `index` has a name, so that it may be used.
  bool wants(size_t index) const { return index < outputCount() && !record.outputs[index].empty(); }
  void set(size_t index, mlir::Value value);
  Values outputs; // results of the node by position; null: not set

  // ---- Emission of nn operators for the node. Shapes are inferred symbolically; a violated constraint is an Error.
  mlir::Operation *emitOp(const char *mnemonic, const Values &operands, const Fields &fields = {});
  mlir::Value emit(const char *mnemonic, const Values &operands, const Fields &fields = {}) {
    return emitOp(mnemonic, operands, fields)->getResult(0);
  }
  mlir::Operation *emitOp(const OpRecord &record, Values operands, Attrs &attrs);
  mlir::Value constant(const TensorData &data) { return graph.constant(data, name, loc); }
  mlir::Value constantInts(const std::vector<int64_t> &dims, const std::vector<int64_t> &values);
  /// Creates a constant scalar with element type `type`, a float or integer type.
  mlir::Value constantScalar(ElementType type, double value);
  /// Reshapes `x` to the extents `dims`. Extents of `dims` that are not constant must be extents of x, in the same
  /// order; one of them may differ.
  mlir::Value reshape(mlir::Value x, const Dims &dims);
  /// Broadcasts `x` to the extents `dims`. Extents of `dims` that are not constant must be extents of `like`, in the
  /// same order.
  mlir::Value expand(mlir::Value x, const Dims &dims, mlir::Value like);
  mlir::Value cast(mlir::Value x, ElementType type);

  [[noreturn]] void unsupported(std::string reason) const { throw Unsupported{std::move(reason)}; }

private:
  Values inputs;
  std::set<std::string> understood;
  const AttributeRecord *find(const std::string &attr) const;
  template <class T> const T *attribute(const std::string &attr);
};

/// Sets the field `name` of an attribute struct. Throws Error if the struct has no such field or the field's kind
/// differs.
void setField(Attrs &attrs, const std::string &name, const Field &field);

/// Returns the shortest decimal number that rounds to the float `value`, as a double: 0.1 for 0.1f.
double shortestDouble(float value);

/// Imports a node that the format's table maps to one nn operator: operands in order, attributes by name.
void importDirectly(Node &node);

} // namespace lathe::source
