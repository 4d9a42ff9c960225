// Imports operators whose record maps them directly: operands in order, attributes by name.
#include "import/Node.h"

namespace lathe::source {
namespace {

/// Reads each field from the node's attributes.
class AttrReader : public AttrVisitor {
public:
  AttrReader(Node &node, const FormatMapping &mapping) : node(node), mapping(mapping) {}
  void field(const char *name, int64_t &value) override { value = node.intAttr(mapping.attribute(name), value); }
  void field(const char *name, double &value) override { value = node.floatAttr(mapping.attribute(name), value); }
  void field(const char *name, bool &value) override { value = node.intAttr(mapping.attribute(name), value) != 0; }
  void field(const char *name, std::string &value) override { value = node.stringAttr(mapping.attribute(name), value); }
  void field(const char *name, ElementType &value) override { value = node.typeAttr(mapping.attribute(name), value); }
  void field(const char *name, std::vector<int64_t> &value) override {
    value = node.intsAttr(mapping.attribute(name), value);
  }
  void field(const char *name, std::vector<double> &value) override {
    std::string attr = mapping.attribute(name);
    if (node.hasAttr(attr))
      value = node.floatsAttr(attr);
  }

private:
  Node &node;
  const FormatMapping &mapping;
};

/// Moves a known operand into its attribute. Returns false if the operand is unknown or the attribute cannot hold it.
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

void importDirectly(Node &node) {
  MappedOp found = node.graph.format.mapping(node.record.op, node.version());
  require(found.record != nullptr, "there is no such operator in {} {}", node.graph.format.versionWord, node.version());
  const OpRecord &record = *found.record;

  auto attrs = record.makeAttrs();
  AttrReader reader(node, *found.mapping);
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

} // namespace lathe::source
