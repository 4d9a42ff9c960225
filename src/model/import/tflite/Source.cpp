#include "import/tflite/Source.h"

#include "support/Error.h"

#include <cmath>

namespace lathe::tflite {

ElementType elementType(file::TensorType type) {
  using file::TensorType;
  switch (type) {
  case TensorType::FLOAT32:
    return ElementType::f32;
  case TensorType::FLOAT16:
    return ElementType::f16;
  case TensorType::INT32:
    return ElementType::i32;
  case TensorType::UINT8:
    return ElementType::u8;
  case TensorType::INT64:
    return ElementType::i64;
  case TensorType::STRING:
    return ElementType::string;
  case TensorType::BOOL:
    return ElementType::boolean;
  case TensorType::INT16:
    return ElementType::i16;
  case TensorType::INT8:
    return ElementType::i8;
  case TensorType::FLOAT64:
    return ElementType::f64;
  case TensorType::UINT64:
    return ElementType::u64;
  case TensorType::UINT32:
    return ElementType::u32;
  case TensorType::UINT16:
    return ElementType::u16;
  case TensorType::INT4:
    return ElementType::i4;
  case TensorType::BFLOAT16:
    return ElementType::bf16;
  default:
    return ElementType::invalid;
  }
}

std::string typeName(file::TensorType type) {
  std::string name = file::EnumNameTensorType(type);
  return name.empty() ? fmt::format("number {}", static_cast<int>(type)) : name;
}

std::string operatorName(file::BuiltinOperator code) {
  std::string name = file::EnumNameBuiltinOperator(code);
  return name.empty() ? fmt::format("BUILTIN_{}", static_cast<int>(code)) : name;
}

std::optional<Quantization> quantizationOf(const file::Tensor &tensor) {
  const file::Quantization *given = tensor.quantization();
  if (!given || !given->scale() || given->scale()->size() == 0)
    return std::nullopt;
  Quantization result;
  result.scales.assign(given->scale()->begin(), given->scale()->end());
  size_t count = result.scales.size(), points = given->zero_point() ? given->zero_point()->size() : 0;
  require(points <= 1 || points == count, "has {} scales and {} zero points, expected as many", count, points);
  int64_t first = points ? given->zero_point()->Get(0) : 0;
  result.zeroPoints.assign(count, first);
  for (size_t i = 0; i < points; ++i)
    result.zeroPoints[i] = given->zero_point()->Get(static_cast<flatbuffers::uoffset_t>(i));
  for (float scale : result.scales)
    require(std::isfinite(scale) && scale >= 0, "has scale {}, expected a finite number not below 0", scale);
  result.axis = given->axis();
  if (count == 1)
    return result;
  int64_t rank = tensor.shape() ? tensor.shape()->size() : 0;
  require(result.axis >= 0 && result.axis < rank, "has {} scales along axis {}, expected an axis below {}", count,
          result.axis, rank);
  int64_t extent = tensor.shape()->Get(static_cast<flatbuffers::uoffset_t>(result.axis));
  require(extent == static_cast<int64_t>(count), "has {} scales along axis {}, expected {}", count, result.axis,
          extent);
  return result;
}

std::map<std::string, Quantization> tensorScales(const source::GraphRecord &graph) {
  std::map<std::string, Quantization> scales;
  for (const source::NodeRecord &node : graph.nodes) {
    const auto *from = static_cast<const SourceNode *>(node.source);
    if (!from || !from->op->outputs() || from->op->outputs()->size() == 0)
      continue;
    int32_t index = from->op->outputs()->Get(0);
    if (index < 0 || static_cast<flatbuffers::uoffset_t>(index) >= from->graph->tensors()->size())
      continue;
    if (auto scale = quantizationOf(*from->graph->tensors()->Get(static_cast<flatbuffers::uoffset_t>(index))))
      scales[source::nodeName(node)] = *scale;
  }
  return scales;
}

} // namespace lathe::tflite
