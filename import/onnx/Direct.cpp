// Operators whose record maps them directly: operands in order, attributes by name.
#include "import/onnx/Node.h"

namespace lathe::onnx {
namespace {

struct Mapping {
  const OpRecord *record;
  const OnnxMapping *mapping;
};

const std::unordered_multimap<std::string, Mapping> &mappings() {
  static const auto table = [] {
    std::unordered_multimap<std::string, Mapping> result;
    for (const OpRecord &record : opRecords())
      for (const OnnxMapping &mapping : record.onnx)
        if (mapping.direct)
          result.emplace(mapping.op, Mapping{&record, &mapping});
    return result;
  }();
  return table;
}

/// The ONNX name of a record's attribute.
std::string onnxName(const OnnxMapping &mapping, const char *field) {
  for (std::string_view rename : mapping.renames)
    if (auto at = rename.find('='); rename.substr(at + 1) == field)
      return std::string(rename.substr(0, at));
  return field;
}

/// Reads each field from the node's attributes.
class AttrReader : public AttrVisitor {
public:
  AttrReader(Node &node, const OnnxMapping &mapping) : node(node), mapping(mapping) {}
  void field(const char *name, int64_t &value) override { value = node.intAttr(onnxName(mapping, name), value); }
  void field(const char *name, double &value) override { value = node.floatAttr(onnxName(mapping, name), value); }
  void field(const char *name, bool &value) override { value = node.intAttr(onnxName(mapping, name), value) != 0; }
  void field(const char *name, std::string &value) override { value = node.stringAttr(onnxName(mapping, name), value); }
  void field(const char *name, ElementType &value) override {
    std::string attr = onnxName(mapping, name);
    if (!node.hasAttr(attr))
      return;
    auto type = static_cast<int32_t>(node.intAttr(attr, 0));
    value = fromOnnxType(type);
    if (value == ElementType::invalid)
      node.unsupported(fmt::format("element type {} is not supported", onnxTypeName(type)));
  }
  void field(const char *name, std::vector<int64_t> &value) override {
    value = node.intsAttr(onnxName(mapping, name), value);
  }
  void field(const char *name, std::vector<double> &value) override {
    std::string attr = onnxName(mapping, name);
    if (node.hasAttr(attr))
      value = node.floatsAttr(attr);
  }

private:
  Node &node;
  const OnnxMapping &mapping;
};

/// Moves a known operand into its attribute; false where it is not known or has no place there.
bool makeStatic(Node &node, mlir::Value operand, const OpRecord &record, const char *attribute, Attrs &attrs) {
  for (const AttrRecord &attr : record.attrs) {
    if (std::string_view(attr.name) != attribute)
      continue;
    std::string_view kind = attr.kind;
    if (kind == "int64s") {
      auto values = node.staticInts(operand);
      if (values)
        setField(attrs, attribute, *values);
      return values.has_value();
    }
    auto values = node.staticDoubles(operand);
    if (!values)
      return false;
    if (kind == "doubles") {
      setField(attrs, attribute, *values);
      return true;
    }
    if (kind == "double" && values->size() == 1) {
      setField(attrs, attribute, values->front());
      return true;
    }
  }
  return false;
}

} // namespace

bool isMappedDirectly(const std::string &op) { return mappings().contains(op); }

void importDirectly(Node &node) {
  auto [begin, end] = mappings().equal_range(node.proto.op_type());
  const Mapping *found = nullptr;
  for (auto it = begin; it != end; ++it)
    if (node.opset() >= it->second.mapping->since && node.opset() <= it->second.mapping->until)
      found = &it->second;
  require(found != nullptr, "there is no such operator in opset {}", node.opset());
  const OpRecord &record = *found->record;

  auto attrs = record.makeAttrs();
  AttrReader reader(node, *found->mapping);
  attrs->visit(reader);

  bool variadic = !record.operands.empty() && record.operands.back().variadic;
  size_t least = 0;
  for (const OperandRecord &operand : record.operands)
    least += !operand.optional && !operand.variadic;
  if (!variadic)
    node.expectInputs(least, record.operands.size());
  Values operands;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    mlir::Value operand = node.inOrNull(i);
    const OperandRecord &described = record.operands[std::min(i, record.operands.size() - 1)];
    require(operand || described.optional, "input {} ({}) is missing", i, described.name);
    if (operand && *described.staticAttribute && makeStatic(node, operand, record, described.staticAttribute, *attrs))
      operand = {};
    operands.push_back(operand);
  }
  require(record.variadicResult || (node.outputCount() >= 1 && node.outputCount() <= record.results.size()),
          "has {} outputs, expected {}", node.outputCount(), record.results.size());
  mlir::Operation *op = node.emitOp(record, operands, *attrs);
  for (unsigned i = 0; i < op->getNumResults() && i < node.outputCount(); ++i)
    node.set(i, op->getResult(i));
}

const Handlers &handlers() {
  static const Handlers table = [] {
    Handlers result;
    addWindowHandlers(result);
    addNormalizeHandlers(result);
    addElementwiseHandlers(result);
    addViewHandlers(result);
    addMovementHandlers(result);
    addAttentionHandlers(result);
    addValueHandlers(result);
    addRecurrentHandlers(result);
    addIndexedHandlers(result);
    addDecomposedHandlers(result);
    addEinsumHandlers(result);
    addQuantizeHandlers(result);
    return result;
  }();
  return table;
}

} // namespace lathe::onnx
