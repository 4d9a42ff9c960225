#include "import/RunTimeValues.h"

#include "support/StringList.h"

namespace lathe::source {

mlir::Value RunTimeValues::emit(const char *mnemonic, llvm::ArrayRef<mlir::Value> operands, Attrs &attrs) {
  return nn::build(graph.builder, loc, mnemonic, operands, attrs)->getResult(0);
}

mlir::Value RunTimeValues::of(const Entry &entry, ElementType type) {
  if (entry.value)
    return entry.value;
  type = entry.type != ElementType::invalid ? entry.type : type;
  bool empty = entry.absent || entry.sequence->empty();
  if (empty && type == ElementType::invalid)
    throw Unsupported{
        fmt::format("the element type of an empty {} is not known", entry.absent ? "optional" : "sequence")};
  if (entry.absent) {
    OptionalAttrs attrs;
    attrs.type = type;
    attrs.sequence = entry.absentSequence;
    return emit("optional", {mlir::Value()}, attrs);
  }
  SequenceConstructAttrs attrs;
  attrs.type = empty ? type : graph.info(entry.sequence->front()).type;
  return emit("sequence_construct", *entry.sequence, attrs);
}

mlir::Value RunTimeValues::as(const Entry &entry, ValueKind kind, ElementType type) {
  if (entry.absent) {
    require(isOptional(kind), "'{}' is an empty optional, expected {}", name, lathe::name(kind));
    Entry empty = entry;
    empty.absentSequence = kind == ValueKind::optionalSequence;
    return of(empty, type);
  }
  mlir::Value value = of(entry, type);
  TensorInfo info = graph.info(value);
  if (isOptional(kind) == isOptional(info.kind))
    return value;
  if (isOptional(kind)) {
    OptionalAttrs attrs;
    attrs.type = info.type;
    attrs.sequence = info.kind == ValueKind::sequence;
    return emit("optional", {value}, attrs);
  }
  if (info.kind == ValueKind::optional && !info.items)
    throw Unsupported{fmt::format("the rank of what the optional '{}' holds is not known", name)};
  OptionalGetElementAttrs attrs;
  return emit("optional_get_element", {value}, attrs);
}

mlir::Value RunTimeValues::declared(const Entry &entry, const ValueRecord &record) {
  return record.other.empty() ? as(entry, record.kind, record.type) : of(entry);
}

mlir::Value stringConstant(mlir::OpBuilder &builder, mlir::Location loc, const std::vector<int64_t> &dims,
                           const std::vector<std::string> &strings) {
  StringConstantAttrs attrs;
  attrs.shape = dims;
  attrs.strings = joinStrings(strings);
  return nn::build(builder, loc, "string_constant", {}, attrs)->getResult(0);
}

ValueKind kindOf(Graph &graph, const Entry &entry) {
  if (entry.value)
    return graph.info(entry.value).kind;
  if (entry.sequence)
    return ValueKind::sequence;
  return entry.absentSequence ? ValueKind::optionalSequence : ValueKind::optional;
}

} // namespace lathe::source
