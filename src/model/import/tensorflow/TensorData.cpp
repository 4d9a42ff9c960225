#include "import/tensorflow/TensorData.h"

#include "import/tensorflow/Types.h"
#include "support/Error.h"

#include <cstring>

namespace lathe::tensorflow {
namespace {

/// Copies the elements of a field. The last one stands for all that follow; an empty field stands for zeros.
template <class Narrow, class Values> void fill(const Values &values, int64_t count, std::vector<char> &out) {
  out.resize(static_cast<size_t>(count) * sizeof(Narrow));
  Narrow last{};
  for (int64_t i = 0; i < count; ++i) {
    if (i < values.size())
      last = static_cast<Narrow>(values.Get(static_cast<int>(i)));
    else if (i == 0 || last == Narrow{})
      break; // zeros are there already
    std::memcpy(out.data() + static_cast<size_t>(i) * sizeof(Narrow), &last, sizeof(Narrow));
  }
}

/// Reads elements from the typed field of the message.
void fillFromField(const file::TensorProto &tensor, source::TensorData &data, int64_t count) {
  switch (data.type) {
  case ElementType::f32:
    return fill<float>(tensor.float_val(), count, data.bytes);
  case ElementType::f64:
    return fill<double>(tensor.double_val(), count, data.bytes);
  case ElementType::i32:
    return fill<int32_t>(tensor.int_val(), count, data.bytes);
  case ElementType::i16:
    return fill<int16_t>(tensor.int_val(), count, data.bytes);
  case ElementType::u16:
    return fill<uint16_t>(tensor.int_val(), count, data.bytes);
  case ElementType::i8:
    return fill<int8_t>(tensor.int_val(), count, data.bytes);
  case ElementType::u8:
    return fill<uint8_t>(tensor.int_val(), count, data.bytes);
  case ElementType::i64:
    return fill<int64_t>(tensor.int64_val(), count, data.bytes);
  case ElementType::u32:
    return fill<uint32_t>(tensor.uint32_val(), count, data.bytes);
  case ElementType::u64:
    return fill<uint64_t>(tensor.uint64_val(), count, data.bytes);
  case ElementType::boolean:
    return fill<bool>(tensor.bool_val(), count, data.bytes);
  case ElementType::f16:
  case ElementType::bf16:
    return fill<uint16_t>(tensor.half_val(), count, data.bytes);
  default: // 8-bit floats always come as bytes; zeros where there are none
    data.bytes.resize(static_cast<size_t>(byteSize(data.type, count)));
  }
}

int fieldSize(const file::TensorProto &tensor) {
  return std::max({tensor.float_val_size(), tensor.double_val_size(), tensor.int_val_size(), tensor.int64_val_size(),
                   tensor.uint32_val_size(), tensor.uint64_val_size(), tensor.bool_val_size(), tensor.half_val_size(),
                   tensor.string_val_size()});
}

} // namespace

std::vector<int64_t> knownDims(const file::TensorShapeProto &shape, const std::string &what) {
  require(!shape.unknown_rank(), "{}: its shape is not known", what);
  std::vector<int64_t> dims;
  for (const auto &dim : shape.dim()) {
    require(dim.size() >= 0, "{}: has extent {}, expected none below 0", what, dim.size());
    dims.push_back(dim.size());
  }
  return dims;
}

source::TensorData decodeTensor(const file::TensorProto &tensor, const std::string &what) {
  source::TensorData data{elementType(tensor.dtype()), knownDims(tensor.tensor_shape(), what), {}, {}};
  require(data.type != ElementType::invalid, "{}: has element type {}", what, typeName(tensor.dtype()));
  int64_t count = source::checkedElements(data.dims, what);
  require(fieldSize(tensor) <= std::max<int64_t>(count, 0), "{}: has {} elements, expected at most {}", what,
          fieldSize(tensor), count);
  // The last element stands for missing ones. The limit is needed because a small file can state any number of
  // elements.
  constexpr int64_t mostRepeated = int64_t(1) << 28;
  const std::string &content = tensor.tensor_content();
  require(!content.empty() || byteSize(data.type, count) <= mostRepeated || fieldSize(tensor) == count,
          "{}: repeats an element {} times", what, count);
  if (data.type == ElementType::string) {
    require(count <= 1 << 24, "{}: has {} strings, expected at most 2^24", what, count);
    data.strings.assign(tensor.string_val().begin(), tensor.string_val().end());
    data.strings.resize(static_cast<size_t>(count), data.strings.empty() ? "" : data.strings.back());
    return data;
  }
  if (content.empty()) {
    fillFromField(tensor, data, count);
    return data;
  }
  auto expected = static_cast<size_t>(byteSize(data.type, count));
  require(content.size() == expected, "{}: has {} bytes of data, expected {}", what, content.size(), expected);
  data.bytes.assign(content.begin(), content.end());
  if (data.type == ElementType::boolean)
    for (char &byte : data.bytes)
      byte = byte != 0;
  return data;
}

} // namespace lathe::tensorflow
