// Repeated blocks of a graph: groups of operations that occur several times with the same structure.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace lathe {

/// One occurrence of a block. The operations are in program order. Constants are no operations of a block.
struct BlockOccurrence {
  std::vector<mlir::Operation *> operations;
  std::vector<mlir::Value> inputs;  // computed outside of the block or arguments of the function, in order of first use
  std::vector<mlir::Value> weights; // constants that operations of the block read, in order of first use
  std::vector<mlir::Value> outputs; // read outside of the block, in program order of their producers
  std::string scope; // longest common prefix of the names of its operations, up to a separator: "layer1.0", or ""
};

/// A block. Operation i of every occurrence has the same operator, the same number of results, and operands from the same
/// places: the same result of the same operation of the block, the same input or the same weight. So all occurrences have
/// equally many inputs and weights. Attributes, shapes and the contents of constants may differ. A result is an output of
/// the block if any occurrence has it read outside, so all occurrences have equally many outputs.
struct Block {
  std::string name; // from the scopes where they have a common name, else from the operators: "conv_relu_conv_add_relu"
  std::vector<BlockOccurrence> occurrences; // at least two, in program order; none overlaps another one of any block
};

/// Finds the repeated blocks of the operations of `function`: most operations that are covered first, then program order.
/// Operations of an occurrence can be computed one after the other: no operation outside of it reads one of them and is
/// read by another one. The names of the blocks are distinct identifiers of letters, digits and `_`. Deterministic.
std::vector<Block> findBlocks(mlir::func::FuncOp function);

} // namespace lathe
