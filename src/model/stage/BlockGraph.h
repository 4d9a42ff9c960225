// The operations of a function as plain numbers, for the search of repeated blocks.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdint>
#include <vector>

namespace lathe::stage {

struct BlockGraph {
  struct Operand {
    int32_t producer; // index of the node that makes the operand; -1: a constant, or an argument of the function
    uint32_t result;  // index among the results of the producer
  };
  struct Use {
    uint32_t reader, slot; // index of the reading node; index of the operand that it reads
  };
  struct Node {
    mlir::Operation *op;
    // number that is equal for operations that may take the same place in two occurrences of a block
    uint32_t label;
    uint32_t scope; // scope of the names of the operation's source nodes, an index into `scopes`
    std::vector<Operand> operands;
    std::vector<std::vector<Use>> uses; // uses of each result by other nodes, in program order
  };
  /// A scope of names: the part of a node's name before a separator, such as "a" and "a/b" for the node "a/b/conv".
  /// Scope 0 is the empty text; it is its own parent.
  struct Scope {
    uint32_t parent, depth;
  };

  std::vector<Node> nodes; // nodes in program order, without constants and the terminator
  std::vector<Scope> scopes;
  uint32_t labels = 0;

  explicit BlockGraph(mlir::func::FuncOp function);

  /// For each node, the scope of depth `depth` that contains its name; 0 if the node's own scope is not as deep.
  std::vector<uint32_t> regions(uint32_t depth) const;
  /// Returns the deepest scope that contains both scopes a and b.
  uint32_t common(uint32_t a, uint32_t b) const;
  /// The deepest scope that contains the names of all nodes in `group`.
  uint32_t scopeOf(const std::vector<uint32_t> &group) const;
  /// True if no path from a node of `group` to another node of `group` leads through a node outside of it.
  bool isConvex(const std::vector<uint32_t> &group) const;
};

} // namespace lathe::stage
