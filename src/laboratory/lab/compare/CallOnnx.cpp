// Writes an ONNX file by hand (field numbers of onnx.proto), because an exporter would be a larger dependency.
#include "lab/compare/Compare.h"
#include "lab/problems/OnnxTypes.h"

namespace lathe::lab {

static std::string varint(uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7)
    bytes += char(value | 128);
  return bytes + char(value);
}

static std::string number(int field, uint64_t value) { return varint(uint64_t(field) << 3) + varint(value); }

static std::string text(int field, const std::string &content) { // also nested messages
  return varint(uint64_t(field) << 3 | 2) + varint(content.size()) + content;
}

static std::string port(const std::string &name, const CallInput &input) {
  std::string shape;
  for (int64_t extent : input.dims)
    shape += text(1, number(1, uint64_t(extent))); // TensorShapeProto: dim { dim_value }
  std::string tensor = number(1, uint64_t(onnxNumber(input.type))) + text(2, shape); // elem_type, shape
  return text(1, name) + text(2, text(1, tensor));                                   // ValueInfoProto: name, type
}

std::string callOnnx(const std::vector<CallInput> &inputs) {
  CallInput one{ElementType::f32, {1}};
  std::string node = text(1, "one") + text(2, "y") + text(3, "relu") + text(4, "Relu");
  std::string graph = text(1, node) + text(2, "call");
  for (size_t i = 0; i < inputs.size(); ++i)
    graph += text(11, port("x" + std::to_string(i), inputs[i]));
  graph += text(11, port("one", one)) + text(12, port("y", one));
  return number(1, 8) + text(2, "lathe") + text(7, graph) +
         text(8, text(1, "") + number(2, 13)); // ir_version, producer, graph, opset 13
}

} // namespace lathe::lab
