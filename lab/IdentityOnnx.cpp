// An ONNX file by hand (field numbers of onnx.proto): small enough that an exporter would be the larger dependency.
#include "lab/Compare.h"
#include "lab/OnnxTypes.h"

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

static std::string port(const std::string &name, const IdentityPort &port) {
  std::string shape;
  for (int64_t extent : port.dims)
    shape += text(1, number(1, uint64_t(extent))); // TensorShapeProto: dim { dim_value }
  std::string tensor = number(1, uint64_t(onnxNumber(port.type))) + text(2, shape); // elem_type, shape
  return text(1, name) + text(2, text(1, tensor));                                  // ValueInfoProto: name, type
}

std::string identityOnnx(const std::vector<IdentityPort> &inputs) {
  std::string nodes, from, to;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto x = "x" + std::to_string(i), y = "y" + std::to_string(i);
    nodes += text(1, text(1, x) + text(2, y) + text(3, "identity" + std::to_string(i)) + text(4, "Identity"));
    from += text(11, port(x, inputs[i]));
    to += text(12, port(y, inputs[i]));
  }
  std::string graph = nodes + text(2, "identity") + from + to;
  return number(1, 8) + text(2, "lathe") + text(7, graph) +
         text(8, text(1, "") + number(2, 13)); // ir_version, producer, graph, opset 13
}

} // namespace lathe::lab
