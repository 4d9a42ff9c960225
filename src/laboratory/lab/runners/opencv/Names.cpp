#include "lab/runners/opencv/Names.h"

#include "support/Error.h"

#include <functional>
#include <set>
#include <string_view>

namespace lathe::lab {
namespace {

/// A field of a message of protobuf: a number, or the bytes of a text or message.
struct Field {
  uint64_t tag = 0, number = 0;
  std::string_view bytes;
};

uint64_t readNumber(std::string_view &bytes) {
  uint64_t number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    require(!bytes.empty(), "the file ends inside of a field");
    auto byte = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    number |= uint64_t(byte & 127) << shift;
    if (byte < 128)
      break;
  }
  return number;
}

void eachField(std::string_view bytes, const std::function<void(const Field &)> &take) {
  while (!bytes.empty()) {
    uint64_t key = readNumber(bytes);
    Field field{key >> 3, 0, {}};
    size_t length = 0;
    switch (key & 7) {
    case 0:
      field.number = readNumber(bytes);
      break;
    case 1:
      length = 8;
      break;
    case 2:
      length = readNumber(bytes);
      break;
    case 5:
      length = 4;
      break;
    default:
      fail("expected a model of ONNX or a graph of TensorFlow, got a field of kind {}", key & 7);
    }
    require(length <= bytes.size(), "the file ends inside of a field");
    field.bytes = bytes.substr(0, length);
    bytes.remove_prefix(length);
    take(field);
  }
}

/// The extents of a TensorShapeProto of TensorFlow (`dimField` 2) or ONNX (1). In both, an extent is field 1.
std::vector<int64_t> extentsOf(std::string_view shape, uint64_t dimField) {
  std::vector<int64_t> dims;
  eachField(shape, [&](const Field &field) {
    if (field.tag != dimField)
      return;
    bool known = false;
    int64_t extent = dimField == 2 ? 0 : -1; // TensorFlow does not write zeros
    eachField(field.bytes, [&](const Field &inner) {
      if (inner.tag == 1) {
        extent = int64_t(inner.number);
        known = true;
      }
    });
    dims.push_back(known && extent > 0 ? extent : -1);
  });
  return dims;
}

/// The needed parts of a node of a GraphDef.
struct GraphNode {
  std::string name, op;
  std::vector<std::string> inputs;
  std::vector<int64_t> shape;
  uint64_t type = 1;
  bool channelsFirst = false;
};

void readAttribute(std::string_view entry, GraphNode &node) {
  std::string_view key, value;
  eachField(entry, [&](const Field &field) { (field.tag == 1 ? key : value) = field.bytes; });
  eachField(value, [&](const Field &field) {
    if (key == "shape" && field.tag == 7)
      node.shape = extentsOf(field.bytes, 2);
    if (key == "dtype" && field.tag == 6)
      node.type = field.number;
    if (key == "data_format" && field.tag == 2 && field.bytes == "NCHW")
      node.channelsFirst = true;
  });
}

GraphNode readNode(std::string_view bytes) {
  GraphNode node;
  eachField(bytes, [&](const Field &field) {
    if (field.tag == 1)
      node.name = field.bytes;
    else if (field.tag == 2)
      node.op = field.bytes;
    else if (field.tag == 3)
      node.inputs.emplace_back(field.bytes.substr(0, field.bytes.find(':')));
    else if (field.tag == 5)
      readAttribute(field.bytes, node);
  });
  return node;
}

ModelNames graphNames(std::string_view bytes) {
  static const std::set<std::string> noOutputs = {LATHE_NO_OUTPUTS}; // lab/runners/tensorflow/NoOutputs.txt
  std::vector<GraphNode> nodes;
  std::set<std::string> read;
  eachField(bytes, [&](const Field &field) {
    if (field.tag == 1)
      nodes.push_back(readNode(field.bytes));
  });
  ModelNames names;
  names.channelsLast = true;
  for (const GraphNode &node : nodes) {
    for (const std::string &input : node.inputs)
      if (bool order = input.starts_with('^'); !order || !noOutputs.contains(node.op))
        read.insert(input.substr(order));
    names.channelsLast &= !node.channelsFirst;
  }
  for (const GraphNode &node : nodes) {
    if (node.op == "Placeholder") {
      require(node.type == 1, "input '{}': expected float32, which OpenCV computes with", node.name);
      names.inputs.push_back({node.name, node.shape});
    }
    if (!read.contains(node.name) && !noOutputs.contains(node.op))
      names.outputs.push_back(node.name);
  }
  return names;
}

/// A ValueInfoProto.
ModelInput readValue(std::string_view bytes, uint64_t &type) {
  ModelInput input;
  eachField(bytes, [&](const Field &value) {
    if (value.tag == 1)
      input.name = value.bytes;
    if (value.tag == 2)
      eachField(value.bytes, [&](const Field &kind) {
        if (kind.tag == 1) // a tensor
          eachField(kind.bytes, [&](const Field &field) {
            if (field.tag == 1)
              type = field.number;
            if (field.tag == 2)
              input.dims = extentsOf(field.bytes, 1);
          });
      });
  });
  return input;
}

/// Adds the outputs of a NodeProto.
void addMaker(std::string_view node, ModelNames &names) {
  std::string name;
  std::vector<std::string> outputs;
  eachField(node, [&](const Field &field) {
    if (field.tag == 2)
      outputs.emplace_back(field.bytes);
    if (field.tag == 3)
      name = field.bytes;
  });
  for (const std::string &output : outputs)
    names.makers[output] = name;
}

ModelNames onnxNames(std::string_view bytes) {
  ModelNames names;
  names.onnx = true;
  std::set<std::string> initializers;
  std::vector<std::pair<ModelInput, uint64_t>> inputs;
  eachField(bytes, [&](const Field &model) {
    if (model.tag != 7)
      return;
    eachField(model.bytes, [&](const Field &field) {
      uint64_t type = 0;
      if (field.tag == 1)
        addMaker(field.bytes, names);
      else if (field.tag == 5)
        eachField(field.bytes, [&](const Field &tensor) {
          if (tensor.tag == 8)
            initializers.emplace(tensor.bytes);
        });
      else if (field.tag == 11) {
        ModelInput input = readValue(field.bytes, type);
        inputs.emplace_back(input, type);
      } else if (field.tag == 12)
        names.outputs.push_back(readValue(field.bytes, type).name);
    });
  });
  for (auto &[input, type] : inputs) {
    if (initializers.contains(input.name))
      continue;
    require(type == 1, "input '{}': expected float32, which OpenCV computes with", input.name);
    names.inputs.push_back(input);
  }
  return names;
}

} // namespace

ModelNames modelNames(const std::string &bytes) {
  require(!bytes.empty(), "the file is empty");
  ModelNames names = bytes[0] == 0x0a ? graphNames(bytes) : onnxNames(bytes); // a GraphDef begins with a node
  require(!names.inputs.empty() && !names.outputs.empty(), "has {} inputs and {} outputs, expected a network",
          names.inputs.size(), names.outputs.size());
  return names;
}

} // namespace lathe::lab
