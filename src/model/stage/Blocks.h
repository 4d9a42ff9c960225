// Repeated blocks of a graph: groups of operations that occur several times with the same structure.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace lathe {

/// One occurrence of a block. Constants do not count as operations of a block.
struct BlockOccurrence {
  std::vector<mlir::Operation *> operations; // in order: each behind the operations that it reads
  std::vector<mlir::Value> inputs;           // other values that they read, in order of first use
  std::vector<mlir::Value> weights;          // constants that they read, in order of first use
  std::vector<mlir::Value> outputs;          // read outside of the block, in the order of `operations`
  std::string scope; // longest common prefix of the names of its operations, up to a separator: "layer1.0", or ""
};

/// A block. Operation i of every occurrence has the same operator, the same number of results, and operands from the same
/// places: the same result of the same operation of the block, the same input or the same weight. So all occurrences have
/// equally many inputs and weights; two inputs of one occurrence may be one value, where they are two values in another
/// occurrence. A result is an output if it is read outside in any occurrence, so all have equally many outputs.
/// Attributes, shapes and the contents of constants may differ. Convolutions of one channel a group and other convolutions
/// count as different operators, and so do operators with bodies of other names.
struct Block {
  std::string
      name; // from the scopes where most of them have a common name, else from the operators: "conv_relu_conv_add_relu"
  // at least two; occurrences, and the operations of the first one, are in program order
  std::vector<BlockOccurrence> occurrences;
};

/// Finds repeated blocks among the operations of `function`. No operation belongs to two occurrences. A graph in which
/// every occurrence is one operation has no cycle: each can be computed by one call. The names of the blocks are distinct
/// identifiers of letters, digits and `_`. Blocks that save more operations come first. Deterministic.
///
/// Groups grow from all operators of one kind at a time, by the neighbour that most of them have in common, as in the
/// discovery of substructures by their compression of a graph (Cook and Holder 1994, arXiv:cs/9402102). A block of s
/// operations with k occurrences counts as s lines and k calls of a line and a half in place of s k lines. What it saves
/// counts a third more if every occurrence has a scope of its own. Of the sets of blocks that are found with several least
/// sizes, the one that saves most is returned. In graphs of more than 3,000 operations, blocks that save less than half a
/// percent of them are left out.
std::vector<Block> findBlocks(mlir::func::FuncOp function);

/// An attribute that is not the same in all occurrences.
struct BlockDifference {
  size_t operation;      // its index in an occurrence
  std::string attribute; // as in the textual form: "strides"
};
/// The differing attributes of a block, by operation, then by name.
std::vector<BlockDifference> differencesOf(const Block &block);

} // namespace lathe
