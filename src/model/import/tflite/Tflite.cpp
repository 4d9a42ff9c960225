#include "import/tflite/Tflite.h"

#include "import/parts/Common.h"
#include "import/tflite/Quantized.h"

namespace lathe::tflite {
namespace {

Importers makeImporters() {
  std::map<std::string, BuiltinOperator> codes;
  for (BuiltinOperator code : file::EnumValuesBuiltinOperator())
    codes[operatorName(code)] = code;
  Importers table;
  for (const MappedOp &mapped : mappings("tflite"))
    table[codes.at(mapped.mapping->op)] = {[](Operator &op) { importDirectly(op.node); },
                                           mapped.record->operands.size()};
  for (const CommonOperator &common : commonOperators())
    if (*common.tflite)
      table[codes.at(common.tflite)] = {common.run, common.operands, common.moves};
  addElementwiseImporters(table);
  addWindowImporters(table);
  addProductImporters(table);
  addViewImporters(table);
  addReduceImporters(table);
  addMovementImporters(table);
  addIndexedImporters(table);
  addRecurrentImporters(table);
  addDetectionImporters(table);
  return table;
}

const Importers &importers() {
  static const Importers table = makeImporters();
  return table;
}

const Importer *find(const Importers &table, BuiltinOperator code) {
  auto found = table.find(code);
  return found == table.end() ? nullptr : &found->second;
}

/// An operator that only moves quantised elements needs the same quantisation for operand and result.
void requireEqualQuantization(const Operator &op) {
  auto from = op.inputQuantization(0), to = op.outputQuantization();
  if (from && to && !from->perChannel() && !to->perChannel())
    require(from->scales == to->scales && from->zeroPoints == to->zeroPoints,
            "moves elements of scale {} and zero point {} to scale {} and zero point {}, expected equal ones",
            from->scales[0], from->zeroPoints[0], to->scales[0], to->zeroPoints[0]);
}

void importBuiltin(Node &node) {
  Operator op(node);
  const Importer *plain = find(importers(), op.code()), *quantised = find(quantisedImporters(), op.code());
  const OperandCount &operands = (plain ? plain : quantised)->operands;
  node.expectInputs(operands.least, operands.most);
  if (!isQuantised(op)) {
    if (!plain)
      op.unsupported("the operator is only supported on quantised tensors");
    return plain->run(op);
  }
  if (quantised)
    return quantised->run(op);
  if (!plain || !plain->moves)
    op.unsupported(fmt::format("quantised {} is not supported", operatorName(op.code())));
  requireEqualQuantization(op);
  plain->run(op);
}

void importCustom(Node &node) {
  Operator op(node);
  customImporter(node.record.op)(op);
}

/// Stands for a tensor that is an output under a second name. The file has no such operator.
void importIdentity(Node &node) { node.set(0, node.in(0)); }

Handlers makeHandlers() {
  Handlers result;
  for (const auto *table : {&importers(), &quantisedImporters()})
    for (const auto &[code, importer] : *table)
      result[operatorName(code)] = importBuiltin;
  for (const std::string &name : customOperators())
    result[name] = importCustom;
  result["identity"] = importIdentity;
  return result;
}

} // namespace

const Importer *importerOf(BuiltinOperator code) { return find(importers(), code); }

// ---- An operator --------------------------------------------------------------------------------------------------

Operator::Operator(Node &node) : Emitter(node), source(*static_cast<const SourceNode *>(node.record.source)) {}

const void *Operator::optionsOf(BuiltinOptions kind) const {
  BuiltinOptions given = source.op->options_type();
  if (given == BuiltinOptions::NONE || !source.op->options())
    return nullptr;
  require(given == kind, "has options of {}, expected {}", file::EnumNameBuiltinOptions(given),
          file::EnumNameBuiltinOptions(kind));
  return source.op->options();
}

const void *Operator::emptyTable() {
  static const flatbuffers::DetachedBuffer buffer = [] {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(file::CreateNoOptions(builder));
    return builder.Release();
  }();
  return flatbuffers::GetRoot<file::NoOptions>(buffer.data());
}

void Operator::setVariable(size_t index, mlir::Value value) {
  const file::Tensor *variable = inputTensor(index);
  if (!variable || !variable->is_variable())
    return;
  size_t position = source.op->outputs() ? source.op->outputs()->size() : 0;
  for (size_t i = 0; i < index; ++i)
    if (const file::Tensor *other = inputTensor(i))
      position += other->is_variable();
  node.set(position, value);
}

/// Options that the file does not state are 0.
int64_t Operator::option(const char *name, int64_t) {
  const auto *options = static_cast<const flatbuffers::Table *>(source.op->options());
  const flatbuffers::TypeTable *kinds = file::BuiltinOptionsTypeTable();
  auto kind = static_cast<size_t>(source.op->options_type());
  if (!options || kind == 0 || kind >= kinds->num_elems)
    return 0;
  const flatbuffers::TypeTable *fields = kinds->type_refs[kinds->type_codes[kind].sequence_ref]();
  for (size_t field = 0; field < fields->num_elems; ++field)
    if (fields->names[field] == std::string_view(name)) {
      auto at = flatbuffers::FieldIndexToOffset(static_cast<flatbuffers::voffset_t>(field));
      return fields->type_codes[field].base_type == flatbuffers::ET_BOOL ? options->GetField<uint8_t>(at, 0)
                                                                         : options->GetField<int32_t>(at, 0);
    }
  fail("has options of {}, which have no {}", file::EnumNameBuiltinOptions(source.op->options_type()), name);
}

double Operator::zero() const {
  auto quantization = inputQuantization(0);
  return quantization && !isFloat(inputType(0)) ? static_cast<double>(quantization->zeroPoints[0]) : 0;
}

const file::Tensor *Operator::tensor(const flatbuffers::Vector<int32_t> *indices, size_t index) const {
  if (!indices || index >= indices->size())
    return nullptr;
  int32_t at = indices->Get(static_cast<flatbuffers::uoffset_t>(index)); // the reader has checked it
  return at < 0 ? nullptr : source.graph->tensors()->Get(static_cast<flatbuffers::uoffset_t>(at));
}

std::optional<Quantization> Operator::quantization(const file::Tensor *tensor) {
  return tensor ? quantizationOf(*tensor) : std::nullopt;
}

ElementType Operator::type(const file::Tensor *tensor) {
  return tensor ? elementType(tensor->type()) : ElementType::invalid;
}

// ---- Shared parts -------------------------------------------------------------------------------------------------

mlir::Value activate(Node &node, mlir::Value x, Activation activation) {
  switch (activation) {
  case Activation::NONE:
    return x;
  case Activation::RELU:
    return node.emit("relu", {x});
  case Activation::RELU_N1_TO_1:
    return node.emit("clip", {x}, {{"min", -1.0}, {"max", 1.0}});
  case Activation::RELU6:
    return node.emit("clip", {x}, {{"min", 0.0}, {"max", 6.0}});
  case Activation::TANH:
    return node.emit("tanh", {x});
  default:
    node.unsupported(fmt::format("fused activation {} is not supported", static_cast<int>(activation)));
  }
}

const Format &format() {
  static const Format table = {.name = "TFLite",
                               .versionWord = "schema",
                               .read = readModel,
                               .mappings = mappings("tflite"),
                               .handlers = makeHandlers(),
                               .structure = structureHandler,
                               .passesOn = [](const NodeRecord &node) { return node.op == "identity"; }};
  return table;
}

} // namespace lathe::tflite
