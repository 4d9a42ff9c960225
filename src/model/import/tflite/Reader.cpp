// Converts a TFLite file to plain records. Tensors have numbers in the file and names in the records.
#include "import/tflite/Metadata.h"
#include "import/tflite/TensorData.h"
#include "import/tflite/Tflite.h"
#include "support/UniqueNames.h"

#include <climits>
#include <deque>
#include <set>

namespace lathe::tflite {
namespace {

constexpr uint32_t schemaVersion = 3;

/// Data that the records of a file point to.
struct Storage {
  std::vector<char> aligned; // a copy of the file, if its address is not aligned
  std::deque<SourceNode> nodes;
  std::vector<GraphRecord> graphs; // by number of the subgraph; the first one is the model's graph
};

template <class Vector> size_t sizeOf(const Vector *vector) { return vector ? vector->size() : 0; }

template <class Vector> auto element(const Vector *vector, size_t index) {
  return vector->Get(static_cast<flatbuffers::uoffset_t>(index));
}

/// Checks that all tables are inside the file. The file may be at any address.
const file::Model &checkedModel(std::string_view bytes, const std::string &fileName) {
  const auto *begin = reinterpret_cast<const uint8_t *>(bytes.data());
  require(bytes.size() <= INT_MAX, "{}: has {} bytes, expected at most 2 GB", fileName, bytes.size());
  flatbuffers::Verifier verifier(begin, bytes.size());
  require(verifier.VerifyBuffer<file::Model>("TFL3"),
          "{}: is damaged: its tables are not inside of the file or not aligned", fileName);
  const file::Model &model = *file::GetModel(begin);
  require(model.version() == schemaVersion, "{}: has schema version {}, expected {}", fileName, model.version(),
          schemaVersion);
  require(sizeOf(model.subgraphs()) > 0, "{}: has no subgraph", fileName);
  return model;
}

BuiltinOperator codeOf(const file::OperatorCode &code) { // files before version 3a have only the old code
  return std::max(code.code(), static_cast<BuiltinOperator>(code.old_code()));
}

/// The name of a resource, with its container.
std::string resourceKey(const file::Operator &op) {
  if (op.options_type() != BuiltinOptions::VarHandle || !op.options())
    return "";
  const auto &options = *static_cast<const file::VarHandleOptions *>(op.options());
  std::string container = textOf(options.container());
  return (container.empty() ? "" : container + "/") + textOf(options.name());
}

/// True if the buffer of a constant holds only zeros.
bool isZero(const file::Model &model, const file::Tensor &tensor) {
  if (tensor.buffer() >= sizeOf(model.buffers()))
    return false;
  const file::Buffer &buffer = *element(model.buffers(), tensor.buffer());
  return buffer.offset() <= 1 && sizeOf(buffer.data()) > 0 &&
         std::all_of(buffer.data()->begin(), buffer.data()->end(), [](uint8_t byte) { return byte == 0; });
}

/// Keys of the resources to which an initialising subgraph (CALL_ONCE) assigns values other than zero.
std::set<std::string> beginElsewhere(const file::Model &model, const file::SubGraph &graph) {
  std::set<std::string> result;
  auto codeOfOperator = [&](const file::Operator &op) {
    return op.code() < sizeOf(model.operator_codes()) ? codeOf(*element(model.operator_codes(), op.code()))
                                                      : BuiltinOperator::CUSTOM;
  };
  for (size_t i = 0; i < sizeOf(graph.operators()); ++i) {
    const file::Operator &call = *element(graph.operators(), i);
    if (codeOfOperator(call) != BuiltinOperator::CALL_ONCE || call.options_type() != BuiltinOptions::CallOnce ||
        !call.options())
      continue;
    auto index = static_cast<size_t>(static_cast<const file::CallOnceOptions *>(call.options())->graph());
    if (index >= sizeOf(model.subgraphs()))
      continue;
    const file::SubGraph &body = *element(model.subgraphs(), index);
    std::map<int32_t, std::string> handles;
    for (size_t k = 0; k < sizeOf(body.operators()); ++k) {
      const file::Operator &op = *element(body.operators(), k);
      if (codeOfOperator(op) == BuiltinOperator::VAR_HANDLE && sizeOf(op.outputs()) == 1)
        handles[element(op.outputs(), 0)] = resourceKey(op);
      if (codeOfOperator(op) != BuiltinOperator::ASSIGN_VARIABLE || sizeOf(op.inputs()) != 2)
        continue;
      int32_t given = element(op.inputs(), 1);
      bool zero = given >= 0 && static_cast<size_t>(given) < sizeOf(body.tensors()) &&
                  isZero(model, *element(body.tensors(), static_cast<size_t>(given)));
      if (auto handle = handles.find(element(op.inputs(), 0)); handle != handles.end() && !zero)
        result.insert(handle->second);
    }
  }
  return result;
}

/// Makes the records of one subgraph.
class GraphReader {
public:
  GraphReader(const file::Model &model, std::string_view bytes, const file::SubGraph &graph, std::string place,
              bool main)
      : model(model), bytes(bytes), graph(graph), place(std::move(place)), main(main), roles(sizeOf(graph.tensors())) {}

  /// Names that `signature` gives to inputs and outputs; null: the tensors' own names.
  GraphRecord read(const file::Signature *signature, Storage &storage) {
    findRoles();
    nameTensors(signature);
    GraphRecord record;
    for (size_t i = 0; i < sizeOf(graph.inputs()); ++i)
      record.inputs.push_back(value(at(graph.inputs(), i, "input")));
    declareVariables(record);
    readNodes(record, storage);
    readOutputs(record);
    readConstants(record);
    describeCustomResults(record);
    return record;
  }

private:
  /// How a tensor gets its elements.
  struct Role {
    bool input = false, produced = false;
    bool variable = false; // keeps its value between runs: an input and an output
    std::string name;      // unique in the subgraph
    std::string current;   // name of the newest value of a variable
    std::string base;      // of a variable: what stands before ".past" and ".next"
  };
  const file::Model &model;
  const std::string_view bytes;
  const file::SubGraph &graph;
  const std::string place; // "model.tflite: subgraph 0"
  const bool main;         // the graph of the model, not a body
  std::vector<Role> roles;
  UniqueNames names{"_"};
  /// A variable that operators access by its name.
  struct Resource {
    std::string base, current; // what stands before ".past" and ".next"; name of the newest value
    ValueRecord value;
  };
  std::map<size_t, std::string> handles; // keys of resources by tensor
  std::map<std::string, Resource> resources;

  const file::Tensor &tensor(size_t index) const { return *element(graph.tensors(), index); }

  /// The index of a tensor at a position of `indices`.
  size_t at(const flatbuffers::Vector<int32_t> *indices, size_t position, const char *what) const {
    int32_t index = element(indices, position);
    require(index >= 0 && static_cast<size_t>(index) < roles.size(), "{}: {} {} is tensor {}, expected one below {}",
            place, what, position, index, roles.size());
    return static_cast<size_t>(index);
  }

  void findRoles() {
    for (size_t i = 0; i < sizeOf(graph.inputs()); ++i)
      roles[at(graph.inputs(), i, "input")].input = true;
    for (size_t i = 0; i < sizeOf(graph.operators()); ++i) {
      const auto *outputs = element(graph.operators(), i)->outputs();
      for (size_t k = 0; k < sizeOf(outputs); ++k)
        if (element(outputs, k) >= 0)
          roles[at(outputs, k, "an output of an operator")].produced = true;
    }
  }

  void nameTensors(const file::Signature *signature) {
    if (signature)
      for (const auto *aliases : {signature->inputs(), signature->outputs()})
        for (size_t i = 0; i < sizeOf(aliases); ++i) {
          const file::TensorAlias &alias = *element(aliases, i);
          require(alias.tensor() < roles.size(), "{}: the signature names tensor {}, expected one below {}", place,
                  alias.tensor(), roles.size());
          if (Role &role = roles[alias.tensor()]; role.name.empty() && alias.name() && alias.name()->size())
            role.name = names.take(alias.name()->str());
        }
    for (size_t i = 0; i < roles.size(); ++i) {
      std::string own = textOf(tensor(i).name());
      if (roles[i].name.empty())
        roles[i].name = names.take(own.empty() ? fmt::format("tensor{}", i) : own);
      roles[i].current = roles[i].name;
    }
  }

  ValueRecord value(size_t index) const {
    const file::Tensor &from = tensor(index);
    ValueRecord record;
    record.name = roles[index].name;
    record.type = elementType(from.type());
    record.typeName = typeName(from.type());
    record.extents.emplace();
    // The shape holds 1 for an unknown extent; only the shape signature tells that it is unknown.
    size_t rank = sizeOf(from.shape());
    bool hasSignature = sizeOf(from.shape_signature()) == rank;
    for (size_t axis = 0; axis < rank; ++axis) {
      int32_t extent = element(hasSignature ? from.shape_signature() : from.shape(), axis);
      record.extents->push_back({extent < 0 ? std::nullopt : std::optional<int64_t>(extent), {}});
    }
    if (isInteger(record.type))
      record.quantization = quantizationAt(index);
    return record;
  }

  /// Some files have a scale of 0 where there is none.
  std::optional<Quantization> quantizationAt(size_t index) const {
    try {
      auto how = quantizationOf(tensor(index));
      bool real = how && std::all_of(how->scales.begin(), how->scales.end(), [](float scale) { return scale > 0; });
      return real ? how : std::nullopt;
    } catch (const Error &error) {
      fail("{}: tensor '{}' {}", place, roles[index].name, error.what());
    }
  }

  TensorRecord constant(size_t index) const {
    const file::Tensor &from = tensor(index);
    TensorRecord record;
    record.name = roles[index].name;
    record.type = elementType(from.type());
    record.typeName = typeName(from.type());
    record.read = [&from, &model = model, bytes = bytes](const std::string &what) {
      if (from.is_variable())
        throw Unsupported{fmt::format("{} is a variable of a subgraph", what)};
      return decodeTensor(from, model, bytes, what);
    };
    return record;
  }

  void readConstants(GraphRecord &record) const {
    for (size_t i = 0; i < roles.size(); ++i)
      if (!roles[i].input && !roles[i].produced && !roles[i].variable)
        record.initializers.push_back(constant(i));
  }

  const file::OperatorCode &codeAt(size_t index) const {
    const file::Operator &op = *element(graph.operators(), index);
    require(op.code() < sizeOf(model.operator_codes()), "{}: operator {} has code {}, expected one below {}", place,
            index, op.code(), sizeOf(model.operator_codes()));
    return *element(model.operator_codes(), op.code());
  }

  /// Describes the results of custom operators, for an import that leaves custom operators out.
  void describeCustomResults(GraphRecord &record) const {
    for (size_t i = 0; main && i < sizeOf(graph.operators()); ++i)
      if (const file::Operator &op = *element(graph.operators(), i); codeOf(codeAt(i)) == BuiltinOperator::CUSTOM)
        for (size_t j = 0; j < sizeOf(op.outputs()); ++j)
          record.values.push_back(value(at(op.outputs(), j, "a result")));
  }

  // ---- Variables.

  /// Declares variables (tensors marked as such, and resources that operators read and assign) as inputs.
  void declareVariables(GraphRecord &record) {
    if (!main)
      return;
    for (size_t i = 0; i < roles.size(); ++i)
      if (Role &role = roles[i]; tensor(i).is_variable() && !role.input && !role.produced) {
        role.variable = true;
        role.base = role.name;
        role.name = role.current = names.take(role.base + ".past");
        record.inputs.push_back(value(i));
      }
    std::set<std::string> begun = beginElsewhere(model, graph);
    for (size_t i = 0; i < sizeOf(graph.operators()); ++i) {
      const file::Operator &op = *element(graph.operators(), i);
      BuiltinOperator code = codeOf(codeAt(i));
      if (code == BuiltinOperator::VAR_HANDLE && sizeOf(op.outputs()) == 1)
        handles[at(op.outputs(), 0, "a result")] = resourceKey(op);
      bool reads = code == BuiltinOperator::READ_VARIABLE && sizeOf(op.inputs()) == 1 && sizeOf(op.outputs()) == 1;
      bool assigns = code == BuiltinOperator::ASSIGN_VARIABLE && sizeOf(op.inputs()) == 2;
      if (!reads && !assigns)
        continue;
      auto handle = handles.find(at(op.inputs(), 0, "an operand"));
      if (handle == handles.end() || resources.contains(handle->second))
        continue;
      ValueRecord state = value(reads ? at(op.outputs(), 0, "a result") : at(op.inputs(), 1, "an operand"));
      std::string base = handle->second.empty() ? "variable" : handle->second;
      state.name = names.take(base + ".past");
      resources[handle->second] = {base, state.name, state};
      if (begun.contains(handle->second))
        record.unreadable.emplace_back(state.name, "is a variable that begins with other values than zero");
      else
        record.inputs.push_back(std::move(state));
    }
  }

  /// Handles a node that reads or assigns a resource and passes its value on. Returns false for other operators.
  bool readResource(GraphRecord &record, const file::Operator &op, BuiltinOperator code) {
    bool reads = code == BuiltinOperator::READ_VARIABLE && sizeOf(op.outputs()) == 1;
    bool assigns = code == BuiltinOperator::ASSIGN_VARIABLE && sizeOf(op.inputs()) == 2;
    if (!main || (!reads && !assigns) || sizeOf(op.inputs()) == 0)
      return false;
    auto handle = handles.find(at(op.inputs(), 0, "an operand"));
    if (handle == handles.end() || !resources.contains(handle->second))
      return false;
    Resource &resource = resources[handle->second];
    if (reads) {
      record.nodes.push_back(passOn(resource.current, roles[at(op.outputs(), 0, "a result")].name));
      return true;
    }
    std::string next = names.take(resource.base + ".next");
    record.nodes.push_back(passOn(roles[at(op.inputs(), 1, "an operand")].current, next));
    resource.current = next;
    return true;
  }

  static NodeRecord passOn(const std::string &from, const std::string &to) {
    return {"", "", "identity", {from}, {to}, {}};
  }

  // ---- Nodes and outputs.

  void readNodes(GraphRecord &record, Storage &storage) {
    for (size_t i = 0; i < sizeOf(graph.operators()); ++i) {
      const file::Operator &op = *element(graph.operators(), i);
      BuiltinOperator code = codeOf(codeAt(i));
      if (main && code == BuiltinOperator::VAR_HANDLE)
        continue;
      if (!readResource(record, op, code))
        record.nodes.push_back(node(op, codeAt(i), storage));
    }
  }

  NodeRecord node(const file::Operator &op, const file::OperatorCode &code, Storage &storage) {
    storage.nodes.push_back({&graph, &op, codeOf(code), code.version(), &storage.graphs});
    NodeRecord node;
    node.source = &storage.nodes.back();
    node.op = operatorName(codeOf(code));
    if (codeOf(code) == BuiltinOperator::CUSTOM) {
      node.op = textOf(code.custom_code());
      if (!customImporter(node.op))
        node.domain = "custom";
    }
    std::vector<Role *> changed;
    for (size_t k = 0; k < sizeOf(op.inputs()); ++k) {
      if (element(op.inputs(), k) == -1) {
        node.inputs.emplace_back();
        continue;
      }
      Role &role = roles[at(op.inputs(), k, "an operand")];
      node.inputs.push_back(role.current);
      if (role.variable)
        changed.push_back(&role);
    }
    for (size_t k = 0; k < sizeOf(op.outputs()); ++k) {
      if (element(op.outputs(), k) == -1) {
        node.outputs.emplace_back();
        continue;
      }
      size_t index = at(op.outputs(), k, "a result");
      node.outputs.push_back(roles[index].name);
      if (node.name.empty()) // also if a signature gives the tensor another name
        node.name = textOf(tensor(index).name());
    }
    for (size_t k = 0; k < sizeOf(op.intermediates()); ++k)
      if (element(op.intermediates(), k) != -1)
        at(op.intermediates(), k, "an intermediate tensor");
    for (Role *role : changed) // the operator gives every variable that it reads a new value
      node.outputs.push_back(role->current = names.take(role->base + ".next"));
    return node;
  }

  /// Names of outputs must be unique, so a tensor that is also an input or another output gets an additional node.
  void readOutputs(GraphRecord &record) {
    std::set<size_t> seen;
    for (size_t i = 0; i < sizeOf(graph.outputs()); ++i) {
      size_t index = at(graph.outputs(), i, "output");
      ValueRecord output = value(index);
      if (!seen.insert(index).second || roles[index].input) {
        output.name = names.take(output.name + "_output");
        record.nodes.push_back(passOn(roles[index].current, output.name));
      }
      record.outputs.push_back(std::move(output));
    }
    auto addState = [&](ValueRecord state, const std::string &newest) {
      if (newest != state.name) {
        state.name = newest;
        record.outputs.push_back(std::move(state));
      }
    };
    for (size_t i = 0; i < roles.size(); ++i)
      if (roles[i].variable)
        addState(value(i), roles[i].current);
    for (const auto &[key, resource] : resources)
      addState(resource.value, resource.current);
  }
};

/// The signature of a subgraph; if `key` is not "", the signature called `key`.
const file::Signature *signatureOf(const file::Model &model, size_t graph, const std::string &key) {
  for (size_t i = 0; i < sizeOf(model.signatures()); ++i)
    if (const file::Signature *one = element(model.signatures(), i);
        one->graph() == graph && (key.empty() || textOf(one->key()) == key))
      return one;
  return nullptr;
}

/// The subgraph of the signature called `key`; the first subgraph for "".
size_t graphOf(const file::Model &model, const std::string &key, const std::string &fileName) {
  if (key.empty())
    return 0;
  std::string names;
  for (size_t i = 0; i < sizeOf(model.signatures()); ++i) {
    const file::Signature &signature = *element(model.signatures(), i);
    require(signature.graph() < sizeOf(model.subgraphs()), "{}: signature '{}' is subgraph {}, expected one below {}",
            fileName, textOf(signature.key()), signature.graph(), sizeOf(model.subgraphs()));
    if (textOf(signature.key()) == key)
      return signature.graph();
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", textOf(signature.key()));
  }
  fail("{}: has no signature '{}', expected one of: {}", fileName, key, names.empty() ? "none" : names);
}

} // namespace

ModelRecord readModel(std::string_view bytes, const std::string &fileName, const std::filesystem::path &,
                      const ImportOptions &options) {
  auto storage = std::make_shared<Storage>();
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(std::max_align_t) != 0) {
    storage->aligned.assign(bytes.begin(), bytes.end());
    bytes = {storage->aligned.data(), storage->aligned.size()};
  }
  const file::Model &model = checkedModel(bytes, fileName);
  size_t count = sizeOf(model.subgraphs()), main = graphOf(model, options.signature, fileName);
  for (size_t i = 0; i < count; ++i)
    storage->graphs.push_back(GraphReader(model, bytes, *element(model.subgraphs(), i),
                                          count == 1 ? fileName : fmt::format("{}: subgraph {}", fileName, i),
                                          /*main=*/i == main)
                                  .read(i == main ? signatureOf(model, i, options.signature) : nullptr, *storage));
  ModelRecord record;
  record.version = schemaVersion;
  record.producer = producerOf(model);
  record.graph = storage->graphs[main];
  record.storage = std::move(storage);
  return record;
}

} // namespace lathe::tflite
