// A graph as plain nodes, constants and ports, for comparison with another graph.
#pragma once

#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::stage {

/// Extents of a value; an open extent is empty.
using Extents = std::vector<std::optional<int64_t>>;

/// Where an operand or an output of a graph comes from.
struct Source {
  enum Kind { none, node, input, constant };
  Kind kind = none;
  size_t index = 0;    // index of the node, input or constant
  unsigned result = 0; // number of the result of the node

  bool operator==(const Source &) const = default;
};

struct GraphConstant {
  std::optional<nn::ConstantData> data; // type, extents and elements; empty for strings
  std::string dims;                     // extents as text, such as "64x3x7x7"
  uint64_t content = 0;                 // hash of type, extents and elements
  int64_t elements = 0;
};

struct GraphNode {
  struct Use {
    size_t reader, slot;
  };
  mlir::Operation *op;
  std::string name, kind; // name of the node, such as "layer1.0.conv1"; mnemonic of its operator, such as "conv"
  std::map<std::string, std::string> attributes; // text of each attribute by name, such as "[2, 2]" for "strides"
  std::vector<Source> operands;       // operands in the order of the record; optional operands may be missing
  std::vector<std::vector<Use>> uses; // for each result, the operands of nodes that use it
  Extents extents;                    // extents of the first result
  bool commutes = false;              // true: its two operands may be exchanged

  std::string operandName(size_t slot) const;
};

/// An input or output of a graph. `order`: axis i of the graph's value is axis order[i] of the port; empty: the same
/// order. A transpose next to a port counts as the port's layout and not as a node.
struct GraphPort {
  std::string name, type; // name of the port; element type, such as "f32"
  Dims shape;
  Extents extents; // extents after the transpose next to the port
  std::vector<int64_t> order;
  Source source; // for an output: the source of its value
};

struct GraphNodes {
  std::vector<GraphNode> nodes; // nodes in program order
  std::vector<GraphConstant> constants;
  std::vector<GraphPort> inputs, outputs;

  /// Reads the nodes, constants and ports of a graph. Throws Error like nn::SymbolicShapes.
  explicit GraphNodes(mlir::func::FuncOp main);

private:
  std::map<const void *, Source> sources; // sources by value (opaque pointer)

  void readInputs(mlir::func::FuncOp main, const std::vector<TensorInfo> &infos, const std::vector<std::string> &names);
  void readConstant(nn::ConstantOp constant);
};

/// True unless two values have different ranks, or different constant extents on some axis.
bool compatible(const Extents &a, const Extents &b);

} // namespace lathe::stage
