// The operations of a function as plain numbers, for the search of repeated blocks.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdint>
#include <vector>

namespace lathe::stage {

struct BlockGraph {
  struct Operand {
    int32_t producer; // index of a node; -1: a constant, or an argument of the function
    uint32_t result;  // index among the results of the producer
  };
  struct Use {
    uint32_t reader, slot; // index of a node and of its operand
  };
  struct Node {
    mlir::Operation *op;
    uint32_t label; // equal for operations that can be the same operation of a block
    uint32_t scope; // scope of its names, an index into `scopes`
    std::vector<Operand> operands;
    std::vector<std::vector<Use>> uses; // uses of each result by other nodes, in program order
  };
  /// A part of a node's name that ends before a separator: "a" and "a/b" for the node "a/b/conv". Scope 0 is the empty
  /// text; it is its own parent.
  struct Scope {
    uint32_t parent, depth;
  };

  std::vector<Node> nodes; // in program order; no constants, no terminator
  std::vector<Scope> scopes;
  uint32_t labels = 0;

  explicit BlockGraph(mlir::func::FuncOp function);

  /// For each node, the scope at `depth` around its name; 0 for nodes that are not as deep.
  std::vector<uint32_t> regions(uint32_t depth) const;
  /// The deepest scope that contains both.
  uint32_t common(uint32_t a, uint32_t b) const;
  /// The deepest scope that contains all names of `group`.
  uint32_t scopeOf(const std::vector<uint32_t> &group) const;
  /// True if no path between two nodes of `group` leads through a node outside.
  bool isConvex(const std::vector<uint32_t> &group) const;
};

} // namespace lathe::stage
