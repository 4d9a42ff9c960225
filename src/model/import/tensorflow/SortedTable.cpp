// A table consists of blocks of entries, an index block with the position of each block, and a footer of 48 bytes with
// the position of the index. An entry has three varints, the rest of its key, and its value. The varints count the
// bytes that its key shares with the previous key, the other bytes of the key, and the bytes of the value. A block ends
// with the offsets of the entries that share nothing, and their number. After the block follow its compression (0:
// none, 1: Snappy) and its masked CRC-32C.
#include "import/tensorflow/SortedTable.h"

#include "support/Error.h"

#include <array>
#include <cstring>

namespace lathe::tensorflow {
namespace {

constexpr size_t footerBytes = 48, trailerBytes = 5;
constexpr uint64_t magic = 0xdb4775248b80fb57;
constexpr size_t mostInBlock = size_t(1) << 30; // a block is far smaller

std::array<uint32_t, 256> makeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    table[i] = crc;
  }
  return table;
}

/// The number at position `at`; little-endian, like all numbers of the format.
template <class T> T numberAt(std::string_view bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

/// Reads from the start of the remaining bytes.
class Cursor {
public:
  Cursor(std::string_view bytes, const std::string &fileName) : left(bytes), fileName(fileName) {}
  bool done() const { return left.empty(); }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (!(byte & 128))
        return value;
    }
    fail("{}: is damaged: a number has more than 10 bytes", fileName);
  }
  std::string_view take(uint64_t count) {
    require(count <= left.size(), "{}: is damaged: {} bytes end behind the block", fileName, count);
    std::string_view taken = left.substr(0, count);
    left.remove_prefix(count);
    return taken;
  }

private:
  std::string_view left;
  const std::string &fileName;
};

/// Snappy: the length of the result, then literals and copies of earlier output.
std::string unpackSnappy(std::string_view bytes, const std::string &fileName) {
  Cursor cursor(bytes, fileName);
  uint64_t length = cursor.varint();
  require(length <= mostInBlock, "{}: is damaged: a block has {} bytes", fileName, length);
  std::string out;
  auto number = [&](size_t count) {
    uint64_t value = 0;
    std::string_view given = cursor.take(count);
    for (size_t i = 0; i < count; ++i)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(given[i])) << (8 * i);
    return value;
  };
  while (!cursor.done()) {
    auto tag = static_cast<unsigned char>(cursor.take(1)[0]);
    uint64_t count = tag >> 2, offset = 0;
    switch (tag & 3) {
    case 0:
      count = (count < 60 ? count : number(count - 59)) + 1;
      require(out.size() + count <= length, "{}: is damaged: a block is longer than it states", fileName);
      out += cursor.take(count);
      continue;
    case 1:
      count = (tag >> 2 & 7) + 4;
      offset = static_cast<uint64_t>(tag >> 5) << 8 | number(1);
      break;
    case 2:
      ++count;
      offset = number(2);
      break;
    default:
      ++count;
      offset = number(4);
    }
    require(offset >= 1 && offset <= out.size() && out.size() + count <= length,
            "{}: is damaged: a copy of {} bytes from {} before", fileName, count, offset);
    for (uint64_t i = 0; i < count; ++i) // source and destination may overlap
      out += out[out.size() - offset];
  }
  require(out.size() == length, "{}: is damaged: a block has {} bytes, expected {}", fileName, out.size(), length);
  return out;
}

struct Handle {
  uint64_t offset, size;
};

class Table {
public:
  Table(std::string_view bytes, const std::string &fileName) : bytes(bytes), fileName(fileName) {}

  std::map<std::string, std::string> read() const {
    require(bytes.size() >= footerBytes && numberAt<uint64_t>(bytes, bytes.size() - 8) == magic,
            "{}: is not the index of a checkpoint or is damaged", fileName);
    Cursor footer(bytes.substr(bytes.size() - footerBytes), fileName);
    block(handle(footer)); // the filters, whose checksum must also be right
    std::map<std::string, std::string> result;
    uint64_t keyBytes = 0;
    eachEntry(block(handle(footer)), [&](const std::string &, std::string_view place) {
      Cursor cursor(place, fileName);
      eachEntry(block(handle(cursor)), [&](const std::string &key, std::string_view value) {
        keyBytes += key.size(); // short keys of the file may be long: they share prefixes
        require(keyBytes <= (uint64_t(64) << 20), "{}: has more than 64 MiB of names", fileName);
        require(result.emplace(key, value).second, "{}: is damaged: a key is there twice", fileName);
      });
    });
    return result;
  }

private:
  std::string_view bytes;
  const std::string &fileName;

  static Handle handle(Cursor &cursor) {
    uint64_t offset = cursor.varint();
    return {offset, cursor.varint()};
  }

  std::string block(Handle place) const {
    require(place.size <= bytes.size() && place.offset <= bytes.size() &&
                place.offset + place.size + trailerBytes <= bytes.size(),
            "{}: is damaged: a block ends behind the file", fileName);
    std::string_view content = bytes.substr(place.offset, place.size);
    uint32_t stored = numberAt<uint32_t>(bytes, place.offset + place.size + 1);
    require(maskedCrc(crc32c(bytes.substr(place.offset, place.size + 1))) == stored,
            "{}: is damaged: the checksum of a block is wrong", fileName);
    char compression = bytes[place.offset + place.size];
    require(compression == 0 || compression == 1, "{}: has compression {}, expected none or Snappy", fileName,
            static_cast<int>(compression));
    return compression ? unpackSnappy(content, fileName) : std::string(content);
  }

  template <class Visit> void eachEntry(const std::string &block, Visit visit) const {
    require(block.size() >= 4, "{}: is damaged: a block has {} bytes", fileName, block.size());
    uint64_t restarts = numberAt<uint32_t>(block, block.size() - 4);
    require(4 * (restarts + 1) <= block.size(), "{}: is damaged: a block has {} restarts", fileName, restarts);
    Cursor cursor(std::string_view(block).substr(0, block.size() - 4 * (restarts + 1)), fileName);
    std::string key;
    while (!cursor.done()) {
      uint64_t shared = cursor.varint(), rest = cursor.varint(), size = cursor.varint();
      require(shared <= key.size(), "{}: is damaged: an entry shares {} bytes of {}", fileName, shared, key.size());
      key.resize(shared);
      key += cursor.take(rest);
      visit(key, cursor.take(size));
    }
  }
};

} // namespace

uint32_t crc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = makeCrcTable();
  uint32_t crc = 0xffffffffu;
  for (char byte : bytes)
    crc = table[(crc ^ static_cast<unsigned char>(byte)) & 255] ^ crc >> 8;
  return crc ^ 0xffffffffu;
}

std::map<std::string, std::string> readSortedTable(std::string_view bytes, const std::string &fileName) {
  return Table(bytes, fileName).read();
}

} // namespace lathe::tensorflow
