// The operations of a function as plain numbers, for the search for repeated blocks.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdint>
#include <vector>

namespace lathe::stage {

struct BlockGraph {
  struct Operand {
    int32_t producer; // index of a node; -1: a constant, or an argument of the function
    uint32_t result;  // of the producer
  };
  struct Use {
    uint32_t reader, slot; // index of a node and of its operand
  };
  struct Node {
    mlir::Operation *op;
    uint32_t label; // equal for operations that may be the same one of a block
    uint32_t scope; // of its names, an index into `scopes`
    std::vector<Operand> operands;
    std::vector<std::vector<Use>> uses; // of each result by other nodes, in program order
  };
  /// The part of a node's name before a separator: "a" and "a/b" for the node "a/b/conv". Scope 0 is the empty text; it is
  /// its own parent.
  struct Scope {
    uint32_t parent, depth;
  };

  std::vector<Node> nodes; // in program order; no constants, no terminator
  std::vector<Scope> scopes;
  uint32_t labels = 0;

  explicit BlockGraph(mlir::func::FuncOp function);

  /// The scope at `depth` around the name of each node; 0 for nodes that are not as deep.
  std::vector<uint32_t> regions(uint32_t depth) const;
  /// The deepest scope that contains both.
  uint32_t common(uint32_t a, uint32_t b) const;
  /// The deepest scope that contains all names of `group`.
  uint32_t scopeOf(const std::vector<uint32_t> &group) const;
  /// True if no other node reads a node of `group` and is read, directly or through others, by one of `group`.
  bool isConvex(const std::vector<uint32_t> &group) const;
};

} // namespace lathe::stage
