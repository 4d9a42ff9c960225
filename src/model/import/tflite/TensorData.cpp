#include "import/tflite/TensorData.h"

#include <cstring>

namespace lathe::tflite {
namespace {

using source::TensorData;

/// The bytes of a buffer, which is in the flatbuffer or elsewhere in the file.
std::string_view bytesOf(const file::Model &model, uint32_t index, std::string_view fileBytes,
                         const std::string &what) {
  uint32_t count = model.buffers() ? model.buffers()->size() : 0;
  if (index == 0 && count == 0)
    return {};
  require(index < count, "{}: is in buffer {}, expected one below {}", what, index, count);
  const file::Buffer &buffer = *model.buffers()->Get(index);
  if (buffer.offset() > 1) {
    require(buffer.offset() <= fileBytes.size() && buffer.size() <= fileBytes.size() - buffer.offset(),
            "{}: has {} bytes at {}, but the file ends at {}", what, buffer.size(), buffer.offset(), fileBytes.size());
    return fileBytes.substr(buffer.offset(), buffer.size());
  }
  if (!buffer.data())
    return {};
  return {reinterpret_cast<const char *>(buffer.data()->data()), buffer.data()->size()};
}

/// Decodes strings: their number, the start of each and the end of the last one (32 bits each), then their bytes.
void decodeStrings(std::string_view data, int64_t expected, const std::string &what, std::vector<std::string> &out) {
  auto number = [&](size_t index) {
    require((index + 1) * 4 <= data.size(), "{}: ends within its table of strings", what);
    int32_t value = 0;
    std::memcpy(&value, data.data() + index * 4, 4);
    return value;
  };
  int64_t count = data.empty() && expected == 0 ? 0 : number(0);
  require(count == expected, "{}: has {} strings, expected {}", what, count, expected);
  for (int64_t i = 0; i < count; ++i) {
    int64_t begin = number(static_cast<size_t>(i + 1)), end = number(static_cast<size_t>(i + 2));
    require(begin >= 0 && begin <= end && end <= static_cast<int64_t>(data.size()),
            "{}: string {} is at {} to {}, but the data ends at {}", what, i, begin, end, data.size());
    out.emplace_back(data.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  }
}

} // namespace

TensorData decodeTensor(const file::Tensor &tensor, const file::Model &model, std::string_view bytes,
                        const std::string &what) {
  TensorData result;
  result.type = elementType(tensor.type());
  if (tensor.shape())
    result.dims.assign(tensor.shape()->begin(), tensor.shape()->end());
  int64_t elements = source::checkedElements(result.dims, what);
  require(!tensor.sparsity(), "{}: is sparse, expected a dense tensor", what);
  require(result.type != ElementType::invalid, "{}: has element type {}", what, typeName(tensor.type()));
  std::string_view data = bytesOf(model, tensor.buffer(), bytes, what);
  if (result.type == ElementType::string) {
    decodeStrings(data, elements, what, result.strings);
    return result;
  }
  int64_t expected = byteSize(result.type, elements);
  require(static_cast<int64_t>(data.size()) == expected, "{}: has {} bytes of data, expected {}", what, data.size(),
          expected);
  result.bytes.assign(data.begin(), data.end());
  if (result.type == ElementType::boolean)
    for (char &element : result.bytes)
      element = element != 0;
  return result;
}

} // namespace lathe::tflite
