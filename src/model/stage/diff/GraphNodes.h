// A graph as plain nodes, constants and ports, for the comparison with another one.
#pragma once

#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::stage {

/// Extents; an open one is empty.
using Extents = std::vector<std::optional<int64_t>>;

/// Where a value comes from.
struct Source {
  enum Kind { none, node, input, constant };
  Kind kind = none;
  size_t index = 0;    // of the node, input or constant
  unsigned result = 0; // of the node

  bool operator==(const Source &) const = default;
};

struct GraphConstant {
  std::optional<nn::ConstantData> data; // nothing: strings
  std::string dims;                     // "64x3x7x7"
  uint64_t content = 0;                 // hash of type, extents and elements
  int64_t elements = 0;
};

struct GraphNode {
  struct Use {
    size_t reader, slot;
  };
  mlir::Operation *op;
  std::string name, kind;                        // "layer1.0.conv1", "conv"
  std::map<std::string, std::string> attributes; // "strides" -> "[2, 2]"
  std::vector<Source> operands;                  // by position in the record; optional ones may be missing
  std::vector<std::vector<Use>> uses;            // of each result by nodes
  Extents extents;                               // of the first result
  bool commutes = false;                         // both operands may change places

  std::string operandName(size_t slot) const;
};

/// An input or output. `order`: the graph has axis order[i] of the port as its axis i; empty: as it is. A transpose next to
/// a port is a matter of the port's layout and no node.
struct GraphPort {
  std::string name, type; // "data", "f32"
  Dims shape;
  Extents extents; // behind the transpose
  std::vector<int64_t> order;
  Source source; // of an output
};

struct GraphNodes {
  std::vector<GraphNode> nodes; // in program order
  std::vector<GraphConstant> constants;
  std::vector<GraphPort> inputs, outputs;

  /// Reads a graph. Throws Error as nn::SymbolicShapes does.
  explicit GraphNodes(mlir::func::FuncOp main);

private:
  std::map<const void *, Source> sources; // of values

  void readInputs(mlir::func::FuncOp main, const std::vector<TensorInfo> &infos, const std::vector<std::string> &names);
  void readConstant(nn::ConstantOp constant);
};

/// True if extents that are numbers in both are equal.
bool compatible(const Extents &a, const Extents &b);

} // namespace lathe::stage
