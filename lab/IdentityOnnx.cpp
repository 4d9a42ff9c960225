// An ONNX file by hand (field numbers of onnx.proto): small enough that an exporter would be the larger dependency.
#include "lab/Compare.h"

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

std::string identityOnnx() {
  auto port = [](const std::string &name) {
    std::string shape = text(1, number(1, 1));          // TensorShapeProto: dim { dim_value: 1 }
    std::string tensor = number(1, 1) + text(2, shape); // elem_type: FLOAT, shape
    return text(1, name) + text(2, text(1, tensor));    // ValueInfoProto: name, type { tensor_type }
  };
  std::string node = text(1, "x") + text(2, "y") + text(3, "identity") + text(4, "Identity");
  std::string graph = text(1, node) + text(2, "identity") + text(11, port("x")) + text(12, port("y"));
  return number(1, 8) + text(2, "lathe") + text(7, graph) +
         text(8, text(1, "") + number(2, 13)); // ir_version, producer, graph, opset 13
}

} // namespace lathe::lab
