// A graph as plain nodes, constants and ports, for comparison with another graph.
#pragma once

#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::stage {

/// Extents of a value; an open extent has no number.
using Extents = std::vector<std::optional<int64_t>>;

/// Where a value comes from.
struct Source {
  enum Kind { none, node, input, constant };
  Kind kind = none;
  size_t index = 0;    // index of the node, input or constant
  unsigned result = 0; // result of the node

  bool operator==(const Source &) const = default;
};

struct GraphConstant {
  std::optional<nn::ConstantData> data; // empty for strings
  std::string dims;                     // "64x3x7x7"
  uint64_t content = 0;                 // hash of type, extents and elements
  int64_t elements = 0;
};

struct GraphNode {
  struct Use {
    size_t reader, slot;
  };
  mlir::Operation *op;
  std::string name, kind;                        // name of the node, "layer1.0.conv1"; mnemonic, "conv"
  std::map<std::string, std::string> attributes; // "strides" -> "[2, 2]"
  std::vector<Source> operands;                  // operands in the order of the record; optional ones may be missing
  std::vector<std::vector<Use>> uses;            // for each result, its uses by nodes
  Extents extents;                               // extents of the first result
  bool commutes = false;                         // its two operands may be exchanged

  std::string operandName(size_t slot) const;
};

/// An input or output. `order`: axis i of the graph's value is axis order[i] of the port; empty: the same order. A
/// transpose next to a port counts as the port's layout and not as a node.
struct GraphPort {
  std::string name, type; // "data", "f32"
  Dims shape;
  Extents extents; // extents after the transpose
  std::vector<int64_t> order;
  Source source; // for an output: where its value comes from
};

struct GraphNodes {
  std::vector<GraphNode> nodes; // nodes in program order
  std::vector<GraphConstant> constants;
  std::vector<GraphPort> inputs, outputs;

  /// Reads a graph. Throws Error like nn::SymbolicShapes.
  explicit GraphNodes(mlir::func::FuncOp main);

private:
  std::map<const void *, Source> sources; // sources of values

  void readInputs(mlir::func::FuncOp main, const std::vector<TensorInfo> &infos, const std::vector<std::string> &names);
  void readConstant(nn::ConstantOp constant);
};

/// True unless some axis has two different constant extents, or the ranks differ.
bool compatible(const Extents &a, const Extents &b);

} // namespace lathe::stage
