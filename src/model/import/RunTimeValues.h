// Turns entries of the importer (operands and results of nodes) into values of the graph, where an operator at run
// time needs something that the importer has resolved at compile time.
#pragma once

#include "import/Graph.h"

namespace lathe::source {

/// Turns entries into values of the graph. The operators needed for this are emitted at the insertion point of
/// `graph`, at `loc`.
struct RunTimeValues {
  Graph &graph;
  mlir::Location loc;
  std::string name; // name of the node or of the output, for messages

  /// Turns an entry into a value of the graph: a sequence of known tensors into nn.sequence_construct, an empty
  /// optional into nn.optional. `type` is the element type of an empty entry that states none. Throws Unsupported if
  /// neither is known.
  mlir::Value of(const Entry &entry, ElementType type = ElementType::invalid);
  /// Turns an entry into a value like `of`, but wraps the value in an optional, or takes it out of its optional, if
  /// `kind` demands that.
  mlir::Value as(const Entry &entry, ValueKind kind, ElementType type);
  /// Turns the entry of an output into a value of the kind that the model declares.
  mlir::Value declared(const Entry &entry, const ValueRecord &record);

private:
  mlir::Value emit(const char *mnemonic, llvm::ArrayRef<mlir::Value> operands, Attrs &attrs);
};

/// Emits nn.string_constant, a tensor of texts.
mlir::Value stringConstant(mlir::OpBuilder &builder, mlir::Location loc, const std::vector<int64_t> &dims,
                           const std::vector<std::string> &strings);

/// The kind of value that an entry is: tensor, sequence or optional. A sequence of known tensors is a sequence, an
/// empty optional is an optional.
ValueKind kindOf(Graph &graph, const Entry &entry);

} // namespace lathe::source
