#include "import/tensorflow/Bundle.h"

#include "import/tensorflow/SortedTable.h"
#include "import/tensorflow/TensorData.h"
#include "import/tensorflow/Types.h"

#include <bit>
#include <cstring>
#include <fstream>

namespace lathe::tensorflow {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path &path, uint64_t offset, uint64_t size) {
  std::ifstream file(path, std::ios::binary);
  require(file.good(), "{}: cannot read: {}", path.string(), std::strerror(errno));
  file.seekg(static_cast<std::streamoff>(offset));
  std::string bytes(size, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  require(static_cast<uint64_t>(file.gcount()) == size, "{}: ends before {} bytes at {}", path.string(), size, offset);
  return bytes;
}

uint64_t fileSize(const fs::path &path) {
  std::error_code error;
  uint64_t size = fs::file_size(path, error);
  require(!error, "{}: cannot read: {}", path.string(), error.message());
  return size;
}

// Keys of slices encode numbers and strings as bytes that sort like the numbers and strings.

/// A non-negative number: the number of its bytes, then the bytes, the highest first.
void appendNumber(std::string &key, uint64_t value) {
  std::string digits;
  for (; value; value >>= 8)
    digits.insert(digits.begin(), static_cast<char>(value & 255));
  key += static_cast<char>(digits.size());
  key += digits;
}

void appendString(std::string &key, const std::string &text) {
  for (char c : text) {
    key += c;
    if (c == '\0')
      key += '\xff';
    else if (c == '\xff')
      key += '\0';
  }
  key += '\0';
  key += '\1';
}

/// A signed number of n bytes (two's complement, the highest first). Its first n bits encode n, inverted for negative
/// numbers.
void appendSigned(std::string &key, int64_t value) {
  auto magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  if (magnitude < 64) {
    key += static_cast<char>(0x80 ^ value);
    return;
  }
  auto bits = static_cast<size_t>(std::bit_width(magnitude));
  size_t count = bits / 7 + 1; // n bytes hold 7 n - 1 bits and the sign
  std::string digits(10, value < 0 ? '\xff' : '\0');
  for (size_t i = 0; i < 8; ++i)
    digits[9 - i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 255);
  digits = digits.substr(10 - count);
  for (size_t i = 0; i < count; ++i)
    digits[i / 8] ^= static_cast<char>(0x80 >> i % 8);
  key += digits;
}

std::string sliceKey(const std::string &name, const file::TensorSliceProto &slice) {
  std::string key;
  appendNumber(key, 0);
  appendString(key, name);
  appendNumber(key, static_cast<uint64_t>(slice.extent_size()));
  for (const auto &extent : slice.extent()) {
    appendSigned(key, extent.has_length() ? extent.start() : 0);
    appendSigned(key, extent.has_length() ? extent.length() : -1);
  }
  return key;
}

} // namespace

Bundle::Bundle(const fs::path &prefix) : prefix(prefix) {
  std::string name = indexName();
  uint64_t size = fileSize(name);
  require(size <= uint64_t(1) << 30, "{}: has {} bytes, expected the index of a checkpoint", name, size);
  std::string bytes = contents(name, 0, size);
  for (const auto &[key, value] : readSortedTable(bytes, name)) {
    if (key.empty()) {
      file::BundleHeaderProto header;
      require(header.ParseFromString(value), "{}: is damaged: its header is no message", name);
      require(header.endianness() == 0, "{}: was written on a big-endian machine; only little-endian is read", name);
      require(header.num_shards() >= 1 && header.num_shards() < 100000, "{}: has {} shards, expected at least 1", name,
              header.num_shards());
      shards = header.num_shards();
      continue;
    }
    require(entries[key].ParseFromString(value), "{}: is damaged: the entry '{}' is no message", name,
            source::oneLine(key));
  }
}

std::set<std::string> Bundle::keys() const {
  std::set<std::string> result;
  for (const auto &[key, entry] : entries)
    result.insert(key);
  return result;
}

const file::BundleEntryProto &Bundle::entry(const std::string &key) const {
  auto found = entries.find(key);
  require(found != entries.end(), "{}: has no tensor '{}'", indexName(), source::oneLine(key));
  return found->second;
}

std::string Bundle::bytesOf(const file::BundleEntryProto &entry, const std::string &what) const {
  require(entry.shard_id() >= 0 && entry.shard_id() < shards, "{}: is in shard {}, expected one below {}", what,
          entry.shard_id(), shards);
  fs::path path = fmt::format("{}.data-{:05}-of-{:05}", prefix.string(), entry.shard_id(), shards);
  uint64_t size = fileSize(path);
  require(entry.offset() >= 0 && entry.size() >= 0 && static_cast<uint64_t>(entry.size()) <= size &&
              static_cast<uint64_t>(entry.offset()) <= size - static_cast<uint64_t>(entry.size()),
          "{}: lies at {} with {} bytes, but {} has {}", what, entry.offset(), entry.size(), path.string(), size);
  return contents(path, static_cast<uint64_t>(entry.offset()), static_cast<uint64_t>(entry.size()));
}

void Bundle::read(const file::BundleEntryProto &entry, const std::string &key, source::TensorData &data,
                  const std::string &what) const {
  data.type = elementType(entry.dtype());
  data.dims = knownDims(entry.shape(), what);
  int64_t count = source::checkedElements(data.dims, what);
  require(data.type != ElementType::invalid && data.type != ElementType::string, "{}: has element type {}", what,
          typeName(entry.dtype()));
  if (entry.slices_size())
    return readSlices(entry, key, data, what);
  int64_t expected = byteSize(data.type, count);
  require(entry.size() == expected, "{}: has {} bytes, expected {}", what, entry.size(), expected);
  std::string bytes = bytesOf(entry, what);
  require(maskedCrc(crc32c(bytes)) == entry.crc32c(), "{}: its checksum is wrong: the file is damaged", what);
  data.bytes.assign(bytes.begin(), bytes.end());
}

/// Each slice is stored as a separate tensor.
void Bundle::readSlices(const file::BundleEntryProto &whole, const std::string &key, source::TensorData &data,
                        const std::string &what) const {
  size_t rank = data.dims.size(), width = static_cast<size_t>(bitWidth(data.type) / 8);
  int64_t wanted = byteSize(data.type, source::checkedElements(data.dims, what)), given = 0;
  for (const file::TensorSliceProto &slice : whole.slices())
    given += std::max<int64_t>(entry(sliceKey(key, slice)).size(), 0);
  require(given == wanted, "{}: its slices have {} bytes, expected {}", what, given, wanted);
  data.bytes.assign(static_cast<size_t>(wanted), 0);
  for (const file::TensorSliceProto &slice : whole.slices()) {
    require(static_cast<size_t>(slice.extent_size()) == rank, "{}: a slice has {} axes, expected {}", what,
            slice.extent_size(), rank);
    std::vector<int64_t> starts(rank, 0), dims = data.dims;
    for (size_t i = 0; i < rank; ++i)
      if (const auto &extent = slice.extent(static_cast<int>(i)); extent.has_length()) {
        starts[i] = extent.start(), dims[i] = extent.length();
        require(starts[i] >= 0 && dims[i] >= 0 && dims[i] <= data.dims[i] && starts[i] <= data.dims[i] - dims[i],
                "{}: a slice begins at {} with extent {}, expected at most {}", what, starts[i], dims[i], data.dims[i]);
      }
    source::TensorData part;
    const file::BundleEntryProto &own = entry(sliceKey(key, slice));
    require(!own.slices_size(), "{}: a slice has slices", what);
    read(own, key, part, what);
    require(part.dims == dims && part.type == data.type, "{}: a slice has other extents or another type", what);
    auto total = static_cast<int64_t>(part.bytes.size() / width), row = rank ? dims.back() : 1;
    for (int64_t at = 0; at < total; at += row) { // rows along the last axis
      int64_t rest = at, to = 0, stride = 1;
      for (size_t i = rank; i-- > 0;) {
        to += (starts[i] + rest % dims[i]) * stride;
        rest /= dims[i];
        stride *= data.dims[i];
      }
      std::memcpy(data.bytes.data() + static_cast<size_t>(to) * width,
                  part.bytes.data() + static_cast<size_t>(at) * width, static_cast<size_t>(row) * width);
    }
  }
}

source::TensorRecord Bundle::tensor(const std::string &key, const std::string &name) const {
  const file::BundleEntryProto &found = entry(key);
  source::TensorRecord record{name, elementType(found.dtype()), typeName(found.dtype()), {}, {}};
  record.read = [bundle = shared_from_this(), key, name](const std::string &) {
    source::TensorData data;
    bundle->read(
        bundle->entry(key), key, data,
        fmt::format("{}: variable '{}' ('{}')", bundle->indexName(), source::oneLine(name), source::oneLine(key)));
    return data;
  };
  return record;
}

std::map<std::string, std::string> Bundle::keysOfVariables() const {
  static const std::string objects = "_CHECKPOINTABLE_OBJECT_GRAPH";
  std::map<std::string, std::string> result;
  if (!has(objects))
    return result;
  // A tensor of one string: its length (a varint), the checksum of the length, then the string.
  std::string bytes = bytesOf(entry(objects), indexName() + ": its graph of objects");
  size_t at = 0;
  while (at < bytes.size() && static_cast<unsigned char>(bytes[at]) & 128)
    ++at;
  file::TrackableObjectGraph graph;
  require(at + 5 <= bytes.size() &&
              graph.ParseFromArray(bytes.data() + at + 5, static_cast<int>(bytes.size() - at - 5)),
          "{}: its graph of objects is damaged", indexName());
  for (const auto &node : graph.nodes())
    for (const auto &variable : node.attributes()) {
      if (variable.full_name().empty())
        continue;
      auto [place, added] = result.emplace(variable.full_name(), variable.checkpoint_key());
      if (!added && place->second != variable.checkpoint_key())
        place->second.clear();
    }
  return result;
}

} // namespace lathe::tensorflow
