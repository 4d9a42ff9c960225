// Repeated blocks of a graph: groups of operations that occur several times with the same structure.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace lathe {

/// One occurrence of a repeated block. Constants do not count as operations of a block.
struct BlockOccurrence {
  std::vector<mlir::Operation *> operations; // operations in an order in which each comes after its producers
  std::vector<mlir::Value> inputs;           // other values that the operations read, in order of first use
  std::vector<mlir::Value> weights;          // constants that the operations read, in order of first use
  std::vector<mlir::Value> outputs; // results that are read outside the occurrence, in the order of `operations`
  std::string scope; // longest common prefix of the operations' names, up to a separator: "layer1.0", or ""
};

/// A block. Operation i of every occurrence has the same operator, the same number of results, and operands from the
/// same sources: the same result of the same operation of the block, the same input or the same weight. So all
/// occurrences have the same number of inputs and of weights. Two inputs may be the same value in one occurrence and
/// different values in another one. A result is an output if it is read outside in any occurrence, so all occurrences
/// have the same number of outputs. Attributes, shapes and the contents of constants may differ. Convolutions with one
/// channel per group and other convolutions count as different operators, and so do operators with bodies of other
/// names.
struct Block {
  /// Name of the block, made from the scopes of the occurrences if most of them have a common name; otherwise from the
  /// operators: "conv_relu_conv_add_relu".
  std::string name;
  /// The occurrences of the block, at least two, in program order. The operations of the first occurrence are in
  /// program order, too.
  std::vector<BlockOccurrence> occurrences;
};

/// Finds repeated blocks among the operations of `function`. No operation belongs to two occurrences. A graph in which
/// every occurrence is one operation has no cycle: each can be computed by one call. The names of the blocks are
/// distinct identifiers of letters, digits and `_`. Blocks that save more operations come first. Deterministic.
///
/// Groups grow from all operators of one kind at a time, by the neighbour that most of them have in common, as in the
/// discovery of substructures by their compression of a graph (Cook and Holder 1994, arXiv:cs/9402102). A block of s
/// operations with k occurrences replaces s k lines by s lines and k calls of a line and a half. Its saving counts a
/// third more if every occurrence has a separate scope. Several smallest sizes of blocks are tried, and the set of
/// blocks that saves most is returned. In graphs of more than 3,000 operations, blocks that save less than half a
/// percent of them are left out.
std::vector<Block> findBlocks(mlir::func::FuncOp function);

/// An attribute of an operation in which the occurrences of a block differ.
struct BlockDifference {
  size_t operation;      // index of the operation in an occurrence
  std::string attribute; // name of the attribute in textual IR: "strides"
};
/// The attributes in which the occurrences of a block differ, sorted by operation, then by name.
std::vector<BlockDifference> differencesOf(const Block &block);

} // namespace lathe
