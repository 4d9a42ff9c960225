// ONNX protobuf to plain records.
#include "import/Foreign.h"
#include "import/onnx/Onnx.h"
#include "import/onnx/TensorData.h"
#include "support/ModelBytes.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>

namespace lathe::onnx {
namespace {

// Opsets after 22 changed only the types of the operators imported here; an attribute that a new opset adds is refused
// as unknown. The conformance cases (tests/conformance) check this.
constexpr int64_t oldestOpset = 6, newestOpset = 28;

const char *kindName(AttributeProto::AttributeType kind) {
  static const char *const names[] = {"nothing", "a float",         "an integer",     "a string", "a tensor",
                                      "a graph", "floats",          "integers",       "strings",  "tensors",
                                      "graphs",  "a sparse tensor", "sparse tensors", "a type",   "types"};
  return kind >= 0 && kind < static_cast<int>(std::size(names)) ? names[kind] : "nothing";
}

/// The kind of value that an attribute holds. Files before IR version 2 do not state it; there the value tells.
AttributeProto::AttributeType kindOf(const AttributeProto &attr) {
  if (attr.has_type())
    return attr.type();
  if (attr.has_f())
    return AttributeProto::FLOAT;
  if (attr.has_i())
    return AttributeProto::INT;
  if (attr.has_s())
    return AttributeProto::STRING;
  if (attr.has_t())
    return AttributeProto::TENSOR;
  if (attr.has_g())
    return AttributeProto::GRAPH;
  if (attr.floats_size())
    return AttributeProto::FLOATS;
  if (attr.ints_size())
    return AttributeProto::INTS;
  if (attr.strings_size())
    return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

template <class Result, class Field> std::vector<Result> list(const Field &field) {
  return {field.begin(), field.end()};
}

/// Operators of ONNX itself have an empty domain.
std::string domainOf(const std::string &domain) { return domain == "ai.onnx" ? "" : domain; }

/// The domain of a node's operator. Previews of ONNX's own operators have a separate domain. Operators of ONNX Runtime
/// that are imported like ONNX's own operators get an empty domain.
std::string operatorDomainOf(const std::string &domain, const std::string &op) {
  bool known = domain == "ai.onnx.preview" || (domain == "com.microsoft" && op == "MatMulNBits");
  return known ? "" : domainOf(domain);
}

class Reader {
public:
  explicit Reader(const std::filesystem::path &folder) : folder(folder) {}

  TensorRecord sparse(const SparseTensorProto &proto) const {
    TensorRecord record = tensor(proto.values());
    record.read = [&proto, folder = folder](const std::string &what) { return decodeSparse(proto, what, folder); };
    return record;
  }

  TensorRecord tensor(const TensorProto &proto) const {
    return {proto.name(),
            fromOnnxType(proto.data_type()),
            onnxTypeName(proto.data_type()),
            [&proto, folder = folder](const std::string &what) { return decodeTensor(proto, what, folder); },
            {}};
  }

  AttributeRecord attribute(const AttributeProto &proto) const {
    AttributeRecord record{proto.name(), {}, {}, proto.ref_attr_name()};
    if (proto.has_g())
      record.graphs.push_back(graph(proto.g()));
    for (const GraphProto &inner : proto.graphs())
      record.graphs.push_back(graph(inner));
    switch (AttributeProto::AttributeType kind = kindOf(proto)) { // an absent number or string is the type's zero
    case AttributeProto::UNDEFINED:
      break;
    case AttributeProto::FLOAT:
      record.value = proto.f();
      break;
    case AttributeProto::INT:
      record.value = static_cast<int64_t>(proto.i());
      break;
    case AttributeProto::STRING:
      record.value = proto.s();
      break;
    case AttributeProto::TENSOR:
      if (proto.has_t())
        record.value = tensor(proto.t());
      break;
    case AttributeProto::FLOATS:
      record.value = list<float>(proto.floats());
      break;
    case AttributeProto::INTS:
      record.value = list<int64_t>(proto.ints());
      break;
    case AttributeProto::STRINGS:
      record.value = list<std::string>(proto.strings());
      break;
    case AttributeProto::TYPE_PROTO:
      record.value = valueType(proto.tp());
      break;
    case AttributeProto::GRAPH:
    case AttributeProto::GRAPHS:
      break;
    case AttributeProto::SPARSE_TENSOR:
      if (proto.has_sparse_tensor())
        record.value = sparse(proto.sparse_tensor());
      break;
    default:
      record.value = OtherKind{kindName(kind)};
    }
    return record;
  }

  template <class Protos> std::vector<NodeRecord> nodes(const Protos &protos) const {
    std::vector<NodeRecord> records;
    records.reserve(static_cast<size_t>(protos.size()));
    for (const NodeProto &proto : protos) {
      NodeRecord &record = records.emplace_back(NodeRecord{proto.name(),
                                                           operatorDomainOf(proto.domain(), proto.op_type()),
                                                           proto.op_type(),
                                                           list<std::string>(proto.input()),
                                                           list<std::string>(proto.output()),
                                                           {}});
      for (const AttributeProto &attr : proto.attribute())
        record.attributes.push_back(attribute(attr));
    }
    return records;
  }

  GraphRecord graph(const GraphProto &proto) const {
    GraphRecord record;
    record.nodes = nodes(proto.node());
    for (const ValueInfoProto &input : proto.input())
      record.inputs.push_back(value(input));
    for (const ValueInfoProto &output : proto.output())
      record.outputs.push_back(value(output));
    for (const ValueInfoProto &info : proto.value_info())
      record.values.push_back(value(info));
    for (const TensorProto &initializer : proto.initializer())
      record.initializers.push_back(tensor(initializer));
    for (const SparseTensorProto &initializer : proto.sparse_initializer())
      record.initializers.push_back(sparse(initializer));
    return record;
  }

  FunctionRecord function(const FunctionProto &proto) const {
    FunctionRecord record{domainOf(proto.domain()),
                          proto.name(),
                          {},
                          list<std::string>(proto.input()),
                          list<std::string>(proto.output()),
                          {},
                          nodes(proto.node())};
    for (const OperatorSetIdProto &set : proto.opset_import())
      if (domainOf(set.domain()).empty())
        record.version = set.version();
    for (const AttributeProto &attr : proto.attribute_proto())
      record.defaults.push_back(attribute(attr));
    return record;
  }

private:
  std::filesystem::path folder;

  static ValueRecord value(const ValueInfoProto &proto) {
    ValueRecord record = valueType(proto.type());
    record.name = proto.name();
    return record;
  }

  /// A value of type `given`, without a name.
  static ValueRecord valueType(const TypeProto &given) {
    ValueRecord record;
    const TypeProto *type = &given;
    bool optional = type->has_optional_type();
    if (optional)
      type = &type->optional_type().elem_type();
    bool sequence = type->has_sequence_type();
    if (sequence)
      type = &type->sequence_type().elem_type();
    if (!type->has_tensor_type()) {
      record.other = type->has_sequence_type()        ? "a sequence of sequences"
                     : type->has_optional_type()      ? "a sequence of optionals"
                     : type->has_map_type()           ? "a map"
                     : type->has_sparse_tensor_type() ? "a sparse tensor"
                                                      : "of no type";
      return record;
    }
    record.kind = optional   ? (sequence ? ValueKind::optionalSequence : ValueKind::optional)
                  : sequence ? ValueKind::sequence
                             : ValueKind::tensor;
    const TypeProto::Tensor &tensor = type->tensor_type();
    record.type = fromOnnxType(tensor.elem_type());
    record.typeName = onnxTypeName(tensor.elem_type());
    if (!tensor.has_shape())
      return record;
    record.extents.emplace();
    for (const TensorShapeProto::Dimension &dim : tensor.shape().dim()) {
      bool stated = dim.has_dim_value() && dim.dim_value() != -1; // some exporters write -1 for an open extent
      record.extents->push_back({stated ? std::optional<int64_t>(dim.dim_value()) : std::nullopt,
                                 dim.has_dim_value() ? std::string() : dim.dim_param()});
    }
    return record;
  }
};

/// Removes the default values of inputs that the caller overrides: these become ordinary inputs.
void dropDefaults(GraphRecord &graph, const ModelProto &model, const ImportOptions &options,
                  const std::string &fileName) {
  constexpr int64_t firstWithDefaults = 4;
  for (const std::string &text : options.overrides) {
    const bool mayLack = text.starts_with("?");
    const std::string name = text.substr(mayLack);
    auto called = [&](const auto &record) { return record.name == name; };
    auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(), called);
    auto tensor = std::find_if(graph.initializers.begin(), graph.initializers.end(), called);
    const bool found = input != graph.inputs.end() && tensor != graph.initializers.end();
    if (!found && mayLack)
      continue;
    require(found, "{}: --override {}: the model has no input '{}' with a default value{}", fileName, name, name,
            tensor != graph.initializers.end() ? ": it is a constant"
            : input != graph.inputs.end()      ? ": it is an input without one"
                                               : "");
    require(
        model.ir_version() >= firstWithDefaults,
        "{}: input '{}' is a constant: the file has IR version {}, and before version {} files list every weight as an "
        "input",
        fileName, name, model.ir_version(), firstWithDefaults);
    if (!input->extents && input->other.empty()) {
      std::vector<ExtentRecord> extents;
      for (int64_t extent : tensor->read(fmt::format("initializer '{}'", name)).dims)
        extents.push_back({extent, ""});
      input->extents = std::move(extents);
    }
    graph.initializers.erase(tensor);
  }
}

int64_t opsetOf(const ModelProto &model, const std::string &fileName) {
  int64_t version = 0;
  for (const OperatorSetIdProto &set : model.opset_import())
    if (domainOf(set.domain()).empty()) {
      require(version == 0 || version == set.version(), "{}: imports opsets {} and {} of one domain", fileName, version,
              set.version());
      version = set.version();
    }
  require(version != 0, "{}: imports no opset of ai.onnx, expected one from {} to {}", fileName, oldestOpset,
          newestOpset);
  require(version >= oldestOpset && version <= newestOpset, "{}: imports opset {}, expected one from {} to {}",
          fileName, version, oldestOpset, newestOpset);
  return version;
}

} // namespace

ModelRecord readModel(std::string_view bytes, const std::string &fileName, const std::filesystem::path &folder,
                      const ImportOptions &options) {
  require(options.signature.empty(), "{}: an ONNX file has no signatures, got '{}'", fileName, options.signature);
  requireModelBytes(fileName, bytes.size());
  google::protobuf::LogSilencer silent; // hides lines about strings that are not UTF-8: an error is one line
  auto model = std::make_shared<ModelProto>();
  require(model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())),
          "{}: is not an ONNX model or is damaged (Lathe reads {})", fileName, readFormats());
  require(model->has_graph(), "{}: is not an ONNX model: it has no graph (Lathe reads {})", fileName, readFormats());
  Reader reader(folder);
  ModelRecord record;
  record.version = opsetOf(*model, fileName);
  record.producer = model->producer_name() + (model->producer_version().empty() ? "" : " " + model->producer_version());
  for (const FunctionProto &function : model->functions())
    record.functions.push_back(reader.function(function));
  record.graph = reader.graph(model->graph());
  // Weights of the model's graph are read once and freed then. Weights of bodies may be read again.
  for (int i = 0; i < model->graph().initializer_size(); ++i)
    record.graph.initializers[size_t(i)].release = [proto = model->mutable_graph()->mutable_initializer(i)] {
      proto->Clear();
    };
  dropDefaults(record.graph, *model, options, fileName);
  record.storage = std::move(model);
  return record;
}

} // namespace lathe::onnx
