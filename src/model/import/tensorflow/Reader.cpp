// Converts a GraphDef to plain records.
#include "import/tensorflow/Messages.h"
#include "import/tensorflow/TensorData.h"
#include "support/ModelBytes.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <set>

namespace lathe::tensorflow {
namespace {

using file::AttrValue;
using file::NodeDef;

template <class Result, class Field> std::vector<Result> list(const Field &field) {
  return {field.begin(), field.end()};
}

TensorRecord tensorRecord(const file::TensorProto &proto) {
  return {"",
          elementType(proto.dtype()),
          typeName(proto.dtype()),
          [&proto](const std::string &what) { return decodeTensor(proto, what); },
          {}};
}

/// An unknown extent is -1; a shape of unknown rank gets no value.
void setShape(AttributeRecord &record, const file::TensorShapeProto &shape) {
  if (shape.unknown_rank())
    return;
  std::vector<int64_t> dims;
  for (const auto &dim : shape.dim())
    dims.push_back(std::max<int64_t>(dim.size(), -1));
  record.value = std::move(dims);
}

void setList(AttributeRecord &record, const AttrValue::ListValue &value) {
  if (value.s_size())
    record.value = list<std::string>(value.s());
  else if (value.f_size())
    record.value = list<float>(value.f());
  else if (value.b_size())
    record.value = list<int64_t>(value.b());
  else if (value.type_size())
    record.value = list<int64_t>(value.type());
  else if (value.shape_size())
    record.value = OtherKind{"shapes"};
  else if (value.tensor_size())
    record.value = OtherKind{"tensors"};
  else if (value.func_size()) {
    std::vector<std::string> names;
    for (const auto &function : value.func())
      names.push_back(function.name());
    record.value = std::move(names);
  } else
    record.value = list<int64_t>(value.i());
}

AttributeRecord attributeRecord(const std::string &name, const AttrValue &value) {
  AttributeRecord record;
  record.name = name;
  switch (value.value_case()) {
  case AttrValue::kS:
    record.value = value.s();
    break;
  case AttrValue::kI:
    record.value = static_cast<int64_t>(value.i());
    break;
  case AttrValue::kF:
    record.value = value.f();
    break;
  case AttrValue::kB:
    record.value = static_cast<int64_t>(value.b());
    break;
  case AttrValue::kType:
    record.value = static_cast<int64_t>(value.type());
    break;
  case AttrValue::kShape:
    setShape(record, value.shape());
    break;
  case AttrValue::kTensor:
    record.value = tensorRecord(value.tensor());
    break;
  case AttrValue::kFunc:
    record.value = value.func().name();
    break;
  case AttrValue::kList:
    setList(record, value.list());
    break;
  case AttrValue::kPlaceholder:
    record.value = OtherKind{"an attribute of the function"};
    break;
  case AttrValue::VALUE_NOT_SET:
    break;
  }
  return record;
}

/// Makes the record of a node. `nameOf` converts the name of an input.
template <class NameOf> NodeRecord nodeRecord(const NodeDef &proto, const Library *library, NameOf nameOf) {
  NodeRecord record;
  record.name = proto.name();
  record.op = proto.op();
  record.source = library;
  for (const std::string &input : proto.input())
    if (!input.starts_with('^')) // skip control inputs
      record.inputs.push_back(nameOf(input));
  record.outputs = {proto.name()};
  for (const auto &[name, value] : proto.attr())
    if (!name.starts_with('_')) // names with '_' are notes of TensorFlow's own passes
      record.attributes.push_back(attributeRecord(name, value));
  std::sort(record.attributes.begin(), record.attributes.end(),
            [](const AttributeRecord &a, const AttributeRecord &b) { return a.name < b.name; });
  return record;
}

/// Names of a function's body: "argument", or "node:output argument:number".
class BodyNames {
public:
  explicit BodyNames(const file::FunctionDef &function) {
    for (const NodeDef &node : function.node_def())
      operators[node.name()] = node.op();
  }
  std::string operator()(const std::string &name) const {
    size_t first = name.find(':'), second = name.find(':', first == std::string::npos ? first : first + 1);
    if (first == std::string::npos)
      return name;
    if (second == std::string::npos) // "node:1", as some writers have it, or an argument with a number
      return tensorName(name);
    std::string node = name.substr(0, first);
    auto op = operators.find(node);
    require(op != operators.end(), "'{}' reads a node that the function does not have", oneLine(name));
    size_t number = std::strtoul(name.c_str() + second + 1, nullptr, 10);
    number += resultOf(op->second, name.substr(first + 1, second - first - 1));
    return number ? fmt::format("{}:{}", node, number) : node;
  }

private:
  std::map<std::string, std::string> operators;
};

/// The nodes that a node waits for without reading them: its inputs that begin with ^.
template <class Nodes> Waits waitsOf(const Nodes &nodes) {
  Waits waits;
  for (const NodeDef &node : nodes)
    for (const std::string &input : node.input())
      if (input.starts_with('^'))
        waits[node.name()].push_back(input.substr(1));
  return waits;
}

GraphRecord functionGraph(const file::FunctionDef &function, const Library *library) {
  GraphRecord record;
  BodyNames nameOf(function);
  for (const auto &argument : function.signature().input_arg())
    record.inputs.push_back(valueOf(argument.name(), argument.type(), nullptr));
  for (const NodeDef &node : function.node_def())
    record.nodes.push_back(nodeRecord(node, library, nameOf));
  for (const auto &argument : function.signature().output_arg()) {
    auto result = function.ret().find(argument.name());
    require(result != function.ret().end(), "function '{}' does not say what its result '{}' is",
            oneLine(function.signature().name()), oneLine(argument.name()));
    record.outputs.push_back(valueOf(nameOf(result->second), argument.type(), nullptr));
  }
  markPivots(record, waitsOf(function.node_def()));
  return record;
}

void prepare(GraphRecord &graph) {
  prune(graph);
  completeResults(graph);
  markDropout(graph);
  markDilations(graph);
  rebuildControlFlow(graph);
  prune(graph);
}

/// Keeps the first parse error of a text, for the message.
class FirstProblem : public google::protobuf::io::ErrorCollector {
public:
  std::string text;
  void AddError(int line, int column, const std::string &message) override {
    if (text.empty())
      text = fmt::format("line {}, column {}: {}", line + 1, column + 1, message);
  }
};

void parse(google::protobuf::Message &message, std::string_view bytes, const std::string &fileName, const char *what) {
  requireModelBytes(fileName, bytes.size());
  if (!isGraphText(bytes)) {
    require(message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())), "{}: is not {} or is damaged",
            fileName, what);
    return;
  }
  FirstProblem problem;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&problem);
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(100);
  bool good = parser.ParseFromString(std::string(bytes), &message);
  require(good, "{}: {}: expected the text of {}", fileName, problem.text.empty() ? "is damaged" : problem.text, what);
}

struct Storage {
  file::GraphDef graph;
  file::SavedModel saved;
  Library library;
};

} // namespace

ValueRecord valueOf(const std::string &name, int32_t type, const file::TensorShapeProto *shape) {
  ValueRecord record;
  record.name = name;
  record.type = elementType(type);
  record.typeName = typeName(type);
  if (!shape || shape->unknown_rank())
    return record;
  record.extents.emplace();
  for (const auto &dim : shape->dim())
    record.extents->push_back({dim.size() < 0 ? std::nullopt : std::optional<int64_t>(dim.size()), ""});
  return record;
}

std::string tensorName(std::string name) {
  if (name.ends_with(":0"))
    name.resize(name.size() - 2);
  return name;
}

const AttributeRecord *attributeOf(const NodeRecord &node, const std::string &name) {
  auto found = std::find_if(node.attributes.begin(), node.attributes.end(),
                            [&](const AttributeRecord &attribute) { return attribute.name == name; });
  return found == node.attributes.end() ? nullptr : &*found;
}

const std::string &inputOf(const NodeRecord &node, size_t index) {
  require(index < node.inputs.size(), "node '{}' ({}): input {} is missing", oneLine(node.name), oneLine(node.op),
          index);
  return node.inputs[index];
}

GraphRecord graphOf(const file::GraphDef &graph, const Library *library) {
  GraphRecord record;
  for (const NodeDef &node : graph.node())
    record.nodes.push_back(nodeRecord(node, library, tensorName));
  Waits waits = waitsOf(graph.node());
  markAssertions(record, waits);
  markPivots(record, waits);
  return record;
}

/// Errors in a function matter only if it is called: most functions of a SavedModel are not called.
void addFunctions(Library &library, const file::GraphDef &graph) {
  std::set<std::string> names;
  for (const file::FunctionDef &function : graph.library().function()) {
    const std::string &name = function.signature().name();
    require(names.insert(name).second, "there are two functions '{}'", oneLine(name));
    try {
      GraphRecord record = functionGraph(function, &library);
      prepare(record);
      library.functions[name] = std::move(record);
    } catch (const Error &error) {
      library.broken[name] = error.what();
    }
  }
}

ModelRecord readModel(std::string_view bytes, const std::string &fileName, const std::filesystem::path &folder,
                      const ImportOptions &options) {
  // libprotobuf prints lines about strings that are not UTF-8; an error must be one line.
  google::protobuf::LogSilencer silent;
  auto storage = std::make_shared<Storage>();
  ModelRecord record;
  try {
    if (isSavedModel(bytes)) {
      parse(storage->saved, bytes, fileName, "a SavedModel");
      record.graph = graphOfSignature(storage->saved, fileName, folder, options.signature, storage->library,
                                      record.producer, record.version);
    } else {
      parse(storage->graph, bytes, fileName, "a TensorFlow graph");
      require(options.signature.empty(), "is a graph without signatures; --signature is for SavedModels");
      record.version = storage->graph.versions().producer();
      addFunctions(storage->library, storage->graph);
      record.graph = graphOf(storage->graph, &storage->library);
      findInputsAndOutputs(record.graph, waitsOf(storage->graph.node()), record.version);
    }
    prepare(record.graph);
  } catch (const Error &error) {
    std::string text = error.what();
    fail("{}", text.starts_with(fileName) || text.starts_with(folder.string() + "/") ? text : fileName + ": " + text);
  }
  record.storage = std::move(storage);
  return record;
}

} // namespace lathe::tensorflow
