// Gives a node its attributes and constant operands.
#include "export/onnx/GraphWriter.h"
#include "ops/WindowPads.h"

#include <algorithm>

namespace lathe::onnx {

std::string elementBytes(ElementType type, double value) {
  auto bytes = [](auto element) { return std::string(reinterpret_cast<const char *>(&element), sizeof element); };
  switch (type) {
  case ElementType::f32:
    return bytes(static_cast<float>(value));
  case ElementType::f64:
    return bytes(value);
  case ElementType::boolean:
    return bytes(static_cast<uint8_t>(value != 0));
  case ElementType::u64:
    return bytes(static_cast<uint64_t>(value));
  default:
    break;
  }
  if (isFloat(type)) {
    const llvm::fltSemantics *format = nullptr;
    switch (type) {
    case ElementType::f16:
      format = &llvm::APFloat::IEEEhalf();
      break;
    case ElementType::bf16:
      format = &llvm::APFloat::BFloat();
      break;
    case ElementType::f8e4m3fn:
      format = &llvm::APFloat::Float8E4M3FN();
      break;
    case ElementType::f8e4m3fnuz:
      format = &llvm::APFloat::Float8E4M3FNUZ();
      break;
    case ElementType::f8e5m2:
      format = &llvm::APFloat::Float8E5M2();
      break;
    default:
      format = &llvm::APFloat::Float8E5M2FNUZ();
      break;
    }
    llvm::APFloat converted(value);
    bool losesInfo = false;
    converted.convert(*format, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    uint64_t bits = converted.bitcastToAPInt().getZExtValue();
    return std::string(reinterpret_cast<const char *>(&bits), bitWidth(type) / 8); // little endian
  }
  auto integer = static_cast<int64_t>(value);
  return std::string(reinterpret_cast<const char *>(&integer), std::max(bitWidth(type) / 8, 1u));
}

AttributeProto &NodeWriter::add(const std::string &name, AttributeProto::AttributeType kind) {
  AttributeProto &attr = *node.add_attribute();
  attr.set_name(name);
  attr.set_type(kind);
  return attr;
}
void NodeWriter::attr(const std::string &name, int64_t value) { add(name, AttributeProto::INT).set_i(value); }
void NodeWriter::attr(const std::string &name, double value) {
  add(name, AttributeProto::FLOAT).set_f(static_cast<float>(value));
}
void NodeWriter::attr(const std::string &name, const std::string &value) {
  add(name, AttributeProto::STRING).set_s(value);
}
void NodeWriter::attr(const std::string &name, const std::vector<int64_t> &values) {
  auto &attr = add(name, AttributeProto::INTS);
  for (int64_t value : values)
    attr.add_ints(value);
}
void NodeWriter::attr(const std::string &name, const std::vector<double> &values) {
  auto &attr = add(name, AttributeProto::FLOATS);
  for (double value : values)
    attr.add_floats(static_cast<float>(value));
}
void NodeWriter::attr(const std::string &name, const std::vector<std::string> &values) {
  auto &attr = add(name, AttributeProto::STRINGS);
  for (const std::string &value : values)
    attr.add_strings(value);
}
void NodeWriter::attr(const std::string &name, const TensorProto &value) {
  *add(name, AttributeProto::TENSOR).mutable_t() = value;
}

void NodeWriter::pads(const std::vector<int64_t> &pads, const std::vector<int64_t> &kernel,
                      const std::vector<int64_t> &strides, const std::vector<int64_t> &dilations) {
  size_t spatial = kernel.size();
  if (!hasFollowingPads(pads, spatial))
    return attr("pads", pads);
  std::vector<int64_t> windows;
  for (size_t i = 0; i < spatial; ++i)
    windows.push_back((kernel[i] - 1) * dilations[i] + 1);
  bool upper = std::find(pads.end() - static_cast<ptrdiff_t>(spatial), pads.end(), sameUpper) != pads.end();
  Dims x = nn::infoOf(op.getOperand(0)).dims;
  require(samePads(Dims(x.begin() + 2, x.end()), windows, strides, upper ? sameUpper : sameLower) == pads,
          "the pads [{}] have no form in ONNX: some axes are padded by another rule than the others",
          fmt::join(pads, ", "));
  attr("auto_pad", std::string(upper ? "SAME_UPPER" : "SAME_LOWER"));
}

void NodeWriter::inputInts(const char *what, const std::vector<int64_t> &values) {
  std::string bytes(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(int64_t));
  node.add_input(graph.addInitializer(fmt::format("{}_{}", node.name(), what), ElementType::i64,
                                      {static_cast<int64_t>(values.size())}, bytes));
}

void NodeWriter::inputFloats(const char *what, const std::vector<double> &values) {
  std::string bytes;
  for (double value : values)
    bytes += elementBytes(ElementType::f32, value);
  node.add_input(graph.addInitializer(fmt::format("{}_{}", node.name(), what), ElementType::f32,
                                      {static_cast<int64_t>(values.size())}, bytes));
}

void NodeWriter::inputScalar(const char *what, ElementType type, double value) {
  node.add_input(graph.addInitializer(fmt::format("{}_{}", node.name(), what), type, {}, elementBytes(type, value)));
}

} // namespace lathe::onnx
