// Turns entries into values of the graph, where the run needs something that the importer has resolved.
#pragma once

#include "import/Graph.h"

namespace lathe::source {

/// Emits operators at the insertion point of `graph`, at `loc`.
struct RunTimeValues {
  Graph &graph;
  mlir::Location loc;
  std::string name; // of the node or the output, for messages

  /// The value of an entry: a sequence of known tensors becomes nn.sequence_construct, an empty optional nn.optional.
  /// `type` is the element type of an empty entry that states none. Throws Unsupported if neither is known.
  mlir::Value of(const Entry &entry, ElementType type = ElementType::invalid);
  /// Like `of`, but put into an optional or taken out of an optional if `kind` asks for it.
  mlir::Value as(const Entry &entry, ValueKind kind, ElementType type);
  /// The value of an output, converted to the kind that the model declares.
  mlir::Value declared(const Entry &entry, const ValueRecord &record);

private:
  mlir::Value emit(const char *mnemonic, llvm::ArrayRef<mlir::Value> operands, Attrs &attrs);
};

/// Emits nn.string_constant.
mlir::Value stringConstant(mlir::OpBuilder &builder, mlir::Location loc, const std::vector<int64_t> &dims,
                           const std::vector<std::string> &strings);

/// The kind of an entry. A sequence of known tensors is a sequence, an empty optional is an optional.
ValueKind kindOf(Graph &graph, const Entry &entry);

} // namespace lathe::source
