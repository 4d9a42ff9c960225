// Entries as values of the graph: what the importer has resolved becomes an operator where the run needs it.
#pragma once

#include "import/Graph.h"

namespace lathe::source {

/// Emits operators at the insertion point of `graph`, at `loc`.
struct RunTimeValues {
  Graph &graph;
  mlir::Location loc;
  std::string name; // of the node or the output, for messages

  /// The value of an entry: a sequence of known tensors becomes nn.sequence_construct, an empty optional nn.optional.
  /// `type` is the element type of an empty one that states none. Throws Unsupported where neither is known.
  mlir::Value of(const Entry &entry, ElementType type = ElementType::invalid);
  /// Like `of`, put into an optional or taken out of one where `kind` asks for it.
  mlir::Value as(const Entry &entry, ValueKind kind, ElementType type);
  /// The value of an output as the model declares it.
  mlir::Value declared(const Entry &entry, const ValueRecord &record);

private:
  mlir::Value emit(const char *mnemonic, llvm::ArrayRef<mlir::Value> operands, Attrs &attrs);
};

/// Emits nn.string_constant.
mlir::Value stringConstant(mlir::OpBuilder &builder, mlir::Location loc, const std::vector<int64_t> &dims,
                           const std::vector<std::string> &strings);

/// What an entry is, as far as it is known: a sequence of known tensors is a sequence, an empty optional an optional.
ValueKind kindOf(Graph &graph, const Entry &entry);

} // namespace lathe::source
