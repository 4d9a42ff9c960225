#include "import/onnx/TensorData.h"

#include "support/Error.h"
#include "support/Text.h"

#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>

namespace lathe::onnx {
namespace {

struct TypeRow {
  int32_t onnx;
  ElementType type;
  const char *name;
};
constexpr TypeRow types[] = {
    {TensorProto::FLOAT, ElementType::f32, "float"},
    {TensorProto::UINT8, ElementType::u8, "uint8"},
    {TensorProto::INT8, ElementType::i8, "int8"},
    {TensorProto::UINT16, ElementType::u16, "uint16"},
    {TensorProto::INT16, ElementType::i16, "int16"},
    {TensorProto::INT32, ElementType::i32, "int32"},
    {TensorProto::INT64, ElementType::i64, "int64"},
    {TensorProto::STRING, ElementType::string, "string"},
    {TensorProto::BOOL, ElementType::boolean, "bool"},
    {TensorProto::FLOAT16, ElementType::f16, "float16"},
    {TensorProto::DOUBLE, ElementType::f64, "double"},
    {TensorProto::UINT32, ElementType::u32, "uint32"},
    {TensorProto::UINT64, ElementType::u64, "uint64"},
    {TensorProto::COMPLEX64, ElementType::invalid, "complex64"},
    {TensorProto::COMPLEX128, ElementType::invalid, "complex128"},
    {TensorProto::BFLOAT16, ElementType::bf16, "bfloat16"},
    {TensorProto::FLOAT8E4M3FN, ElementType::f8e4m3fn, "float8e4m3fn"},
    {TensorProto::FLOAT8E4M3FNUZ, ElementType::f8e4m3fnuz, "float8e4m3fnuz"},
    {TensorProto::FLOAT8E5M2, ElementType::f8e5m2, "float8e5m2"},
    {TensorProto::FLOAT8E5M2FNUZ, ElementType::f8e5m2fnuz, "float8e5m2fnuz"},
    {TensorProto::UINT4, ElementType::u4, "uint4"},
    {TensorProto::INT4, ElementType::i4, "int4"},
    {TensorProto::FLOAT4E2M1, ElementType::invalid, "float4e2m1"},
    {TensorProto::FLOAT8E8M0, ElementType::invalid, "float8e8m0"},
    {TensorProto::UINT2, ElementType::invalid, "uint2"},
    {TensorProto::INT2, ElementType::invalid, "int2"},
};

/// Copies `values`, narrowed to `Narrow`; the format stores them in wider integers.
template <class Narrow, class Field>
void narrow(const Field &values, int64_t expected, const std::string &what, const char *field, std::vector<char> &out) {
  require(values.size() == expected, "{}: {} has {} values, expected {}", what, field, values.size(), expected);
  out.resize(expected * sizeof(Narrow));
  char *at = out.data();
  for (auto value : values) {
    Narrow element = static_cast<Narrow>(value);
    std::memcpy(at, &element, sizeof element);
    at += sizeof element;
  }
}

std::string externalEntry(const TensorProto &tensor, std::string_view key) {
  for (const StringStringEntryProto &entry : tensor.external_data())
    if (entry.key() == key)
      return entry.value();
  return "";
}

int64_t externalNumber(const TensorProto &tensor, const char *key, int64_t fallback, const std::string &what) {
  std::string text = externalEntry(tensor, key);
  if (text.empty())
    return fallback;
  int64_t value = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size() && value >= 0,
          "{}: external data has {} '{}', expected a number of bytes", what, key, text);
  return value;
}

/// True when `path` is `folder` or below it; both canonical.
bool isInside(const std::filesystem::path &path, const std::filesystem::path &folder) {
  auto [end, at] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

void readExternal(const TensorProto &tensor, int64_t expected, const std::string &what,
                  const std::filesystem::path &folder, std::vector<char> &out) {
  std::string location = externalEntry(tensor, "location");
  require(!location.empty(), "{}: external data has no location", what);
  require(location.find('\0') == location.npos, "{}: external data location '{}' holds a NUL, expected a path", what,
          printable(location));
  require(!folder.empty(), "{}: external data in '{}' cannot be found for a model read from memory", what, location);
  std::filesystem::path relative(location);
  require(relative.is_relative(),
          "{}: external data location '{}' is absolute, expected a path inside the model's folder", what, location);
  std::error_code error;
  auto root = std::filesystem::canonical(folder, error);
  require(!error, "{}: folder '{}' of the model cannot be read", what, folder.string());
  auto path = std::filesystem::canonical(root / relative, error);
  require(!error, "{}: external data file '{}' does not exist", what, (folder / relative).string());
  require(isInside(path, root), "{}: external data location '{}' leaves the model's folder", what, location);
  require(std::filesystem::is_regular_file(path, error), "{}: external data '{}' is not a file", what, path.string());
  auto size = static_cast<int64_t>(std::filesystem::file_size(path, error));
  require(!error, "{}: external data file '{}' cannot be read", what, path.string());

  int64_t offset = externalNumber(tensor, "offset", 0, what);
  int64_t length = externalNumber(tensor, "length", expected, what);
  require(length == expected, "{}: external data has {} bytes, expected {}", what, length, expected);
  require(offset <= size && length <= size - offset, "{}: external data needs {} bytes at {} of '{}', which has {}",
          what, length, offset, location, size);
  std::ifstream file(path, std::ios::binary);
  file.seekg(offset);
  out.resize(length);
  file.read(out.data(), length);
  require(file.good() || length == 0, "{}: external data file '{}' cannot be read", what, path.string());
}

/// Reads elements from the field that the format prescribes for the type.
void decodeTyped(const TensorProto &t, ElementType type, int64_t count, const std::string &what,
                 std::vector<char> &out) {
  switch (type) {
  case ElementType::f32:
    return narrow<float>(t.float_data(), count, what, "float_data", out);
  case ElementType::f64:
    return narrow<double>(t.double_data(), count, what, "double_data", out);
  case ElementType::i64:
    return narrow<int64_t>(t.int64_data(), count, what, "int64_data", out);
  case ElementType::u32:
    return narrow<uint32_t>(t.uint64_data(), count, what, "uint64_data", out);
  case ElementType::u64:
    return narrow<uint64_t>(t.uint64_data(), count, what, "uint64_data", out);
  case ElementType::i32:
    return narrow<int32_t>(t.int32_data(), count, what, "int32_data", out);
  case ElementType::i16:
  case ElementType::u16:
  case ElementType::f16:
  case ElementType::bf16:
    return narrow<uint16_t>(t.int32_data(), count, what, "int32_data", out);
  default: // one byte, or two elements packed into one
    return narrow<uint8_t>(t.int32_data(), byteSize(type, count), what, "int32_data", out);
  }
}

} // namespace

ElementType fromOnnxType(int64_t dataType) {
  for (const TypeRow &row : types)
    if (row.onnx == dataType)
      return row.type;
  return ElementType::invalid;
}

int32_t toOnnxType(ElementType type) {
  for (const TypeRow &row : types)
    if (row.type == type && type != ElementType::invalid)
      return row.onnx;
  return TensorProto::UNDEFINED;
}

std::string onnxTypeName(int64_t dataType) {
  for (const TypeRow &row : types)
    if (row.onnx == dataType)
      return row.name;
  return fmt::format("type {}", dataType);
}

TensorData decodeTensor(const TensorProto &tensor, const std::string &what, const std::filesystem::path &folder) {
  TensorData data;
  data.type = fromOnnxType(tensor.data_type());
  data.dims.assign(tensor.dims().begin(), tensor.dims().end());
  require(data.type != ElementType::invalid, "{}: element type {} is not supported", what,
          onnxTypeName(tensor.data_type()));
  require(!tensor.has_segment(), "{}: is stored in segments, which is not supported", what);
  int64_t count = source::checkedElements(data.dims, what);

  if (data.type == ElementType::string) {
    require(tensor.string_data_size() == count, "{}: string_data has {} values, expected {}", what,
            tensor.string_data_size(), count);
    data.strings.assign(tensor.string_data().begin(), tensor.string_data().end());
    return data;
  }
  int64_t expected = byteSize(data.type, count);
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    readExternal(tensor, expected, what, folder, data.bytes);
  } else if (tensor.has_raw_data()) {
    require(static_cast<int64_t>(tensor.raw_data().size()) == expected,
            "{}: raw_data has {} bytes, expected {} ({} elements of {})", what, tensor.raw_data().size(), expected,
            count, name(data.type));
    data.bytes.assign(tensor.raw_data().begin(), tensor.raw_data().end());
  } else {
    decodeTyped(tensor, data.type, count, what, data.bytes);
  }
  if (data.type == ElementType::boolean)
    for (char &value : data.bytes)
      value = value != 0;
  return data;
}

namespace {

/// Positions of the stored elements within `dims`, from their linear indices (a vector) or their coordinates (a row
/// each).
std::vector<int64_t> placesOf(const TensorData &indices, const std::vector<int64_t> &dims, int64_t stored,
                              const std::string &what) {
  require(indices.type == ElementType::i64, "{}: the indices are {}, expected int64", what, name(indices.type));
  auto rank = static_cast<int64_t>(dims.size());
  bool rows = indices.dims == std::vector<int64_t>{stored, rank};
  require(rows || indices.dims == std::vector<int64_t>{stored}, "{}: the indices are [{}], expected {} or {} x {}",
          what, fmt::join(indices.dims, ", "), stored, stored, rank);
  std::vector<int64_t> given(indices.bytes.size() / sizeof(int64_t)), places;
  if (!given.empty())
    std::memcpy(given.data(), indices.bytes.data(), indices.bytes.size());
  const int64_t elements = source::checkedElements(dims, what);
  for (int64_t i = 0; i < stored; ++i) {
    int64_t place = rows ? 0 : given[static_cast<size_t>(i)];
    for (int64_t axis = 0; rows && axis < rank; ++axis) {
      int64_t at = given[static_cast<size_t>(i * rank + axis)], extent = dims[static_cast<size_t>(axis)];
      require(at >= 0 && at < extent, "{}: has index {} on axis {}, expected 0 to {}", what, at, axis, extent - 1);
      place = place * extent + at;
    }
    require(place >= 0 && place < elements, "{}: has index {}, expected 0 to {}", what, place, elements - 1);
    places.push_back(place);
  }
  return places;
}

} // namespace

TensorData decodeSparse(const SparseTensorProto &tensor, const std::string &what, const std::filesystem::path &folder) {
  // Limits the result, because a few bytes may state extents of any size.
  constexpr int64_t alwaysFine = int64_t(64) << 20, mostTimes = 1024;
  TensorData stored = decodeTensor(tensor.values(), what, folder);
  TensorData dense{stored.type, {tensor.dims().begin(), tensor.dims().end()}, {}, {}};
  const int64_t elements = source::checkedElements(dense.dims, what),
                count = source::checkedElements(stored.dims, what);
  const int64_t width = bitWidth(stored.type) / 8;
  require(width > 0 && stored.type != ElementType::string, "{}: is sparse and of {}, which is not supported", what,
          name(stored.type));
  require(elements * width <= std::max(alwaysFine, mostTimes * count * width),
          "{}: is sparse with {} of {} elements, expected at least one of {}", what, count, elements, mostTimes);
  std::vector<int64_t> places =
      placesOf(decodeTensor(tensor.indices(), what + ", indices", folder), dense.dims, count, what);
  dense.bytes.resize(static_cast<size_t>(elements * width));
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(dense.bytes.data() + places[static_cast<size_t>(i)] * width, stored.bytes.data() + i * width,
                static_cast<size_t>(width));
  return dense;
}

} // namespace lathe::onnx
