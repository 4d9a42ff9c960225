#include "tests/OnnxTypes.h"

#include "import/onnx/TensorData.h"

#include <fstream>
#include <sstream>

namespace lathe::onnx {
namespace {

/// The type that an attribute states: of Cast, ConstantOfShape and their like.
ElementType statedType(const NodeProto &node) {
  for (const AttributeProto &attribute : node.attribute()) {
    if (attribute.name() == "to" || attribute.name() == "dtype" || attribute.name() == "output_datatype")
      return fromOnnxType(static_cast<int32_t>(attribute.i()));
    if (attribute.name() == "value")
      return fromOnnxType(attribute.t().data_type());
  }
  return ElementType::f32;
}

ElementType typeOf(const ValueInfoProto &value) {
  return value.type().has_tensor_type() ? fromOnnxType(value.type().tensor_type().elem_type()) : ElementType::invalid;
}

} // namespace

TypeRules::TypeRules(const std::string &path) {
  std::ifstream file(path);
  require(file.good(), "{}: cannot be read", path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#')
      lines.push_back(line);
  for (const std::string &line : lines)
    if (size_t at = line.find(" = "); at != std::string::npos)
      readSet(line.substr(0, at), line.substr(at + 3));
  for (const std::string &line : lines) {
    size_t at = line.find(" : ");
    if (at == std::string::npos)
      continue;
    Rule rule;
    bool results = false;
    std::istringstream words(line.substr(at + 3)), names(line.substr(0, at));
    for (std::string word; words >> word;)
      if (word == "->")
        results = true;
      else if (word == "unchecked")
        rule.checked = false;
      else
        (results ? rule.outputs : rule.inputs).push_back(wordOf(word));
    for (std::string name; names >> name;) {
      size_t version = name.find('@');
      int64_t since = version == std::string::npos ? 0 : std::stoll(name.substr(version + 1));
      rules[name.substr(0, version)][since] = rule;
    }
  }
}

void TypeRules::readSet(const std::string &name, const std::string &text) {
  std::istringstream words(text);
  for (std::string word; words >> word;)
    sets[name].merge(typesOf(word));
}

std::set<ElementType> TypeRules::typesOf(const std::string &word) const {
  if (auto set = sets.find(word); set != sets.end())
    return set->second;
  auto type = elementTypeFromName(word);
  require(type.has_value(), "onnx_types.txt: '{}' is no type and no set above", word);
  return {*type};
}

TypeRules::Word TypeRules::wordOf(const std::string &text) const {
  Word word;
  size_t end = text.find_last_not_of("?*!") + 1;
  word.variable = text.substr(0, end);
  word.set = word.variable.substr(0, word.variable.find('.'));
  typesOf(word.set);
  word.optional = text.find('?') != std::string::npos;
  word.repeated = text.find('*') != std::string::npos;
  word.byAttribute = text.find('!') != std::string::npos;
  return word;
}

std::vector<std::string> TypeRules::faults(const ModelProto &model) const {
  std::vector<std::string> faults;
  int64_t opset = 0;
  for (const OperatorSetIdProto &set : model.opset_import())
    if (set.domain().empty())
      opset = set.version();
  check(model.graph(), {}, opset, faults);
  return faults;
}

/// The newest rule that holds; null if there is none.
const TypeRules::Rule *TypeRules::ruleOf(const std::string &op, int64_t opset) const {
  auto found = rules.find(op);
  if (found == rules.end())
    return nullptr;
  auto behind = found->second.upper_bound(opset);
  return behind == found->second.begin() ? nullptr : &std::prev(behind)->second;
}

void TypeRules::check(const GraphProto &graph, Types types, int64_t opset, std::vector<std::string> &faults) const {
  for (const ValueInfoProto &input : graph.input())
    types[input.name()] = typeOf(input);
  for (const TensorProto &tensor : graph.initializer())
    types[tensor.name()] = fromOnnxType(tensor.data_type());
  for (const NodeProto &node : graph.node())
    check(node, types, opset, faults);
  for (const ValueInfoProto &output : graph.output())
    if (ElementType found = types[output.name()]; found != ElementType::invalid && found != typeOf(output))
      faults.push_back(
          fmt::format("output '{}' is {}, declared as {}", output.name(), name(found), name(typeOf(output))));
}

void TypeRules::check(const NodeProto &node, Types &types, int64_t opset, std::vector<std::string> &faults) const {
  const Rule *found = ruleOf(node.op_type(), opset);
  for (const AttributeProto &attribute : node.attribute())
    if (attribute.has_g())
      check(attribute.g(), types, opset, faults);
  if (!found || !found->checked) {
    if (!found)
      faults.push_back(fmt::format("{}: no rule in onnx_types.txt", node.op_type()));
    return;
  }
  const Rule &rule = *found;
  std::map<std::string, ElementType> bound;
  auto fault = [&](const std::string &what) {
    faults.push_back(fmt::format("{} '{}': {}", node.op_type(), node.name(), what));
  };
  for (int i = 0; i < node.input_size(); ++i) {
    size_t at = std::min(static_cast<size_t>(i), rule.inputs.size() - 1);
    if (rule.inputs.empty() || (static_cast<size_t>(i) != at && !rule.inputs[at].repeated))
      return fault(fmt::format("has {} operands, expected at most {}", node.input_size(), rule.inputs.size()));
    const Word &word = rule.inputs[at];
    ElementType type = types[node.input(i)];
    if (node.input(i).empty() || type == ElementType::invalid) {
      if (node.input(i).empty() && !word.optional)
        fault(fmt::format("operand {} is missing", i));
      continue;
    }
    ElementType &known = bound.try_emplace(word.variable, type).first->second;
    if (!typesOf(word.set).contains(type) || known != type)
      fault(fmt::format("operand {} is {}, expected {}", i, name(type), known != type ? name(known) : word.set));
  }
  for (int i = 0; i < node.output_size(); ++i) {
    const Word &word = rule.outputs[std::min(static_cast<size_t>(i), rule.outputs.size() - 1)];
    auto type = bound.find(word.variable);
    std::set<ElementType> all = typesOf(word.set);
    types[node.output(i)] = word.byAttribute      ? statedType(node)
                            : type != bound.end() ? type->second
                            : all.size() == 1     ? *all.begin()
                                                  : ElementType::invalid;
  }
}

} // namespace lathe::onnx
