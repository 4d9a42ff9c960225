#include "ir/Safetensors.h"

#include "support/JsonError.h"
#include "support/PendingFile.h"
#include "support/Text.h"

#include "llvm/Support/MemoryBuffer.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <optional>

namespace lathe {
namespace {

/// The format's name of a type; "" if it has none.
const char *dtypeOf(ElementType type) {
  switch (type) {
  case ElementType::f32:
    return "F32";
  case ElementType::f64:
    return "F64";
  case ElementType::f16:
    return "F16";
  case ElementType::bf16:
    return "BF16";
  case ElementType::i8:
    return "I8";
  case ElementType::i16:
    return "I16";
  case ElementType::i32:
    return "I32";
  case ElementType::i64:
    return "I64";
  case ElementType::u8:
    return "U8";
  case ElementType::u16:
    return "U16";
  case ElementType::u32:
    return "U32";
  case ElementType::u64:
    return "U64";
  case ElementType::boolean:
    return "BOOL";
  case ElementType::f8e4m3fn:
    return "F8_E4M3";
  case ElementType::f8e5m2:
    return "F8_E5M2";
  default:
    return "";
  }
}

/// Number of bytes for the shape, SIZE_MAX if it is too large for any file; nothing for a type that nn does not know.
std::optional<size_t> bytesOf(const Safetensors::Entry &entry) {
  size_t bytes = 0;
  for (int type = 1; type <= static_cast<int>(ElementType::u4); ++type)
    if (const char *name = dtypeOf(static_cast<ElementType>(type)); *name && entry.dtype == name)
      bytes = bitWidth(static_cast<ElementType>(type)) / 8;
  if (bytes == 0)
    return std::nullopt;
  for (int64_t dim : entry.dims)
    if (dim < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(dim), &bytes))
      return SIZE_MAX;
  return bytes;
}

constexpr size_t largestHeader = 100'000'000; // the format's own limit

} // namespace

bool Safetensors::Entry::typeFits(ElementType type) const {
  return *dtypeOf(type) ? dtype == dtypeOf(type) : dtype == "U8";
}

bool Safetensors::hasType(ElementType type) { return *dtypeOf(type); }

Safetensors Safetensors::open(const std::string &path) {
  auto mapped = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  require(static_cast<bool>(mapped), "{}: {}", path, mapped ? "" : mapped.getError().message());
  Safetensors result;
  result.file = std::move(*mapped);
  std::string_view all(result.file->getBufferStart(), result.file->getBufferSize());
  uint64_t headerSize = 0;
  require(all.size() >= sizeof headerSize, "{}: has {} bytes, a safetensors file at least 8", path, all.size());
  std::memcpy(&headerSize, all.data(), sizeof headerSize);
  all.remove_prefix(sizeof headerSize);
  require(headerSize <= all.size() && headerSize <= largestHeader, "{}: the header has {} bytes, the file {}", path,
          headerSize, all.size());
  result.data = all.substr(headerSize);
  try {
    auto header = nlohmann::json::parse(all.substr(0, headerSize));
    for (auto &[name, value] : header.items()) {
      if (name == "__metadata__")
        continue;
      Entry entry{name, value.at("dtype"), value.at("shape"), value.at("data_offsets").at(0),
                  value.at("data_offsets").at(1)};
      require(entry.begin <= entry.end && entry.end <= result.data.size(),
              "{}: '{}' lies at bytes {} to {}, the data has {}", path, printable(name), entry.begin, entry.end,
              result.data.size());
      std::optional<size_t> bytes = bytesOf(entry);
      require(!bytes || *bytes == entry.end - entry.begin, "{}: '{}' is {} [{}], expected {} bytes, got {}", path,
              printable(name), printable(entry.dtype), fmt::join(entry.dims, ", "), bytes.value_or(0),
              entry.end - entry.begin);
      result.list.push_back(std::move(entry));
    }
  } catch (const nlohmann::json::exception &error) {
    fail("{}: the header is not a safetensors header: {}", path, printable(messageOf(error)));
  }
  return result;
}

void SafetensorsWriter::add(const std::string &name, ElementType type, const std::vector<int64_t> &dims,
                            std::string_view bytes) {
  items.push_back({name, type, dims, bytes});
}

uint64_t SafetensorsWriter::write(PendingFile &file) const {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"writer", "lathe"}};
  size_t offset = 0;
  for (const Item &item : items) {
    bool named = *dtypeOf(item.type);
    header[item.name] = {
        {"dtype", named ? dtypeOf(item.type) : "U8"},
        {"shape", named ? item.dims : std::vector<int64_t>{static_cast<int64_t>(item.bytes.size())}},
        {"data_offsets", {offset, offset + item.bytes.size()}},
    };
    offset += item.bytes.size();
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' '); // so that the data is aligned
  uint64_t size = text.size();
  file.write(reinterpret_cast<const char *>(&size), sizeof size);
  file.write(text);
  for (const Item &item : items)
    file.write(item.bytes);
  return sizeof size + text.size() + offset;
}

} // namespace lathe
