// Finds the differences between two graphs.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

/// All differences between two graphs A and B. Names are names of the source nodes.
struct GraphDiff {
  struct Nodes { // two nodes, one of each graph, that are partners
    std::string a, b, kind;
  };
  /// A node without a partner.
  struct Alone {
    std::string name, kind;
    // nearest nodes with a partner, or ports: one that it reads, one that reads it; "": none
    std::string before, behind;
    /// The input that the other graph prepares differently. Set if only nodes without a partner are between the input
    /// and a node with a partner, and if most nodes of both graphs have partners.
    std::string port;
  };
  struct Attribute {
    Nodes nodes;
    std::string name, a, b; // name "operator": different operators in one place
  };
  /// An operand that two paired nodes (partners) get from different sources: the sources are not partners of each
  /// other, although each of them has a partner or is a port.
  struct Connection {
    Nodes nodes;
    std::string operand, a, b; // names of the sources; "nothing" for a missing operand
  };
  struct Constant {
    Nodes nodes;
    std::string operand, dimsA, dimsB;
    // The following fields are set for constants with equal extents and numeric elements.
    std::optional<double> largest; // largest absolute difference of two elements
    double relative = 0;           // L2 norm of the difference / L2 norm of A
    std::vector<int64_t> position; // position of the largest difference
    double a = 0, b = 0;           // elements of A and B at `position`
    int64_t differing = 0, elements = 0;
  };
  /// A difference between two inputs or outputs, or an input or output without a partner.
  struct Port {
    std::string port; // "input 'data'"
    /// Kind of the difference: "type", "extents", "name", "position", "missing", "source" (of an output), "layout"
    /// (the channels are on another axis) or "axes" (any other order of axes).
    std::string what;
    std::string a, b;
    std::vector<size_t> axes; // for "layout" and "axes": the axis of A for each axis of B
    /// True for differences of form only: names, positions and layouts. A caller must know them, but the networks may
    /// be the same.
    bool isForm() const { return what == "name" || what == "position" || what == "layout"; }
  };

  size_t nodesA = 0, nodesB = 0, partners = 0;
  size_t constants = 0, equalConstants = 0; // number of compared constants; number of these with equal bits
  double largestAccepted = 0;               // largest relative L2 difference among constants that count as equal
  std::vector<Port> ports;
  std::vector<Alone> onlyA, onlyB;
  std::vector<Connection> connections;
  std::vector<Attribute> attributes;
  std::vector<Constant> differing; // pairs of constants that differ

  size_t count() const {
    return ports.size() + onlyA.size() + onlyB.size() + connections.size() + attributes.size() + differing.size();
  }
  /// Number of differences between the graphs that are not only differences of form (Port::isForm).
  size_t countOfContent() const {
    return count() - static_cast<size_t>(std::count_if(ports.begin(), ports.end(), std::mem_fn(&Port::isForm)));
  }
};

/// Compares two graphs: maps them onto each other (stage/diff/GraphMatch.h) and compares partners, with the bodies of
/// nn.if and nn.loop. The same graph passes should have run on both graphs. Floating-point constants count as equal if
/// the L2 norm of their difference is at most `tolerance` times the L2 norm of A's, unless zeros have different signs.
/// The graphs may belong to different MLIR contexts.
GraphDiff diffGraphs(mlir::func::FuncOp a, mlir::func::FuncOp b, double tolerance);

} // namespace lathe
