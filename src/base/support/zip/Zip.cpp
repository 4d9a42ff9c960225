#include "support/zip/Zip.h"

#include "support/Error.h"

#include <algorithm>
#include <cstring>
#include <zlib.h>

namespace lathe {

using namespace zip;

ZipArchive::ZipArchive(std::span<const char> bytes, std::string name, const char *expected, bool anywhere)
    : bytes(bytes), name(std::move(name)) {
  findDirectory(expected, anywhere);
  readMembers();
}

const ZipMember *ZipArchive::find(const std::string &member) const {
  for (const ZipMember &each : found)
    if (each.name == member)
      return &each;
  return nullptr;
}

void ZipArchive::need(uint64_t at, uint64_t length) const {
  require(at <= bytes.size() && length <= bytes.size() - at, "{}: truncated archive", name);
}

/// Little-endian fields at absolute offsets, bounds checked.
template <class T> T ZipArchive::get(uint64_t at) const {
  need(at, sizeof(T));
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
unsigned ZipArchive::u16(uint64_t at) const { return get<uint16_t>(at); }
uint32_t ZipArchive::u32(uint64_t at) const { return get<uint32_t>(at); }
uint64_t ZipArchive::u64(uint64_t at) const { return get<uint64_t>(at); }

void ZipArchive::findDirectory(const char *expected, bool anywhere) {
  require(bytes.size() >= endBytes && (anywhere || u32(0) == localSignature || u32(0) == endSignature),
          "{}: expected {}, got another kind of file", name, expected);
  uint64_t end = bytes.size() - endBytes; // a comment of up to 65535 bytes may follow
  uint64_t lowest = end > 65535 ? end - 65535 : 0;
  while (u32(end) != endSignature) {
    require(end > lowest, "{}: truncated archive: its directory is missing", name);
    --end;
  }
  count = u16(end + 10);
  directory = u32(end + 16);
  if (count == 0xffff || directory == 0xffffffff) {
    require(end >= locator64Bytes && u32(end - locator64Bytes) == locator64Signature,
            "{}: malformed archive: its 64-bit directory is missing", name);
    uint64_t end64 = u64(end - locator64Bytes + 8);
    need(end64, end64Bytes);
    require(u32(end64) == end64Signature, "{}: malformed archive: its 64-bit directory is missing", name);
    count = u64(end64 + 32);
    directory = u64(end64 + 48);
  } else if (uint64_t length = u32(end + 12); anywhere && length <= end && directory <= end - length) {
    before = end - length - directory; // offsets count from the archive or from the file
    directory += before;
  }
}

void ZipArchive::readMembers() {
  uint64_t at = directory, packed = 0;
  for (uint64_t i = 0; i < count; ++i) {
    need(at, centralBytes);
    require(u32(at) == centralSignature, "{}: malformed archive: member {} of {} is missing", name, i, count);
    uint64_t nameBytes = u16(at + 28), extraBytes = u16(at + 30), commentBytes = u16(at + 32);
    need(at + centralBytes, nameBytes + extraBytes + commentBytes);
    ZipMember member{std::string(bytes.data() + at + centralBytes, nameBytes),
                     u16(at + 8),
                     u16(at + 10),
                     u32(at + 16),
                     u32(at + 20),
                     u32(at + 24),
                     u32(at + 42)};
    readExtra(member, at + centralBytes + nameBytes, extraBytes);
    at += centralBytes + nameBytes + extraBytes + commentBytes;
    if (member.name.ends_with('/'))
      continue; // a folder
    // Members that share their data would unpack to any size.
    packed += member.packed;
    require(member.packed <= bytes.size() && packed <= bytes.size(),
            "{}: malformed archive: member '{}' overlaps others", name, member.name);
    member.offset += before;
    found.push_back(std::move(member));
  }
}

/// Sizes beyond 32 bits stand in extra field 1, in a fixed order. It has only the sizes that are needed.
void ZipArchive::readExtra(ZipMember &member, uint64_t at, uint64_t length) const {
  for (uint64_t end = at + length; at + 4 <= end;) {
    unsigned id = u16(at), size = u16(at + 2);
    at += 4;
    require(size <= end - at, "{}: malformed archive: member '{}'", name, member.name);
    if (id == 1) {
      uint64_t field = at;
      for (uint64_t *value : {&member.unpacked, &member.packed, &member.offset})
        if (*value == 0xffffffff) {
          require(field + 8 <= at + size, "{}: malformed archive: member '{}'", name, member.name);
          *value = u64(field);
          field += 8;
        }
    }
    at += size;
  }
}

std::vector<char> ZipArchive::contents(const ZipMember &member) const {
  std::vector<char> result = unpacked(member, member.unpacked);
  auto checksum = ::crc32_z(0, reinterpret_cast<const Bytef *>(result.data()), result.size());
  require(checksum == member.crc, "{}: member '{}' is damaged: its checksum does not fit", name, member.name);
  return result;
}

std::vector<char> ZipArchive::beginning(const ZipMember &member, uint64_t most) const {
  return unpacked(member, std::min(most, member.unpacked));
}

/// The bytes of a member as the archive holds them.
const char *ZipArchive::packedBytes(const ZipMember &member) const {
  require((member.flags & 1) == 0, "{}: member '{}' is encrypted", name, member.name);
  require(member.method == 0 || member.method == 8,
          "{}: member '{}' is packed by method {}, expected stored or deflated", name, member.name, member.method);
  need(member.offset, localBytes);
  require(u32(member.offset) == localSignature, "{}: malformed archive: member '{}' is missing", name, member.name);
  uint64_t data = member.offset + localBytes + u16(member.offset + 26) + u16(member.offset + 28);
  need(data, member.packed);
  return bytes.data() + data;
}

std::vector<char> ZipArchive::unpacked(const ZipMember &member, uint64_t most) const {
  const char *data = packedBytes(member);
  if (member.method == 0) {
    require(member.packed == member.unpacked, "{}: malformed archive: member '{}'", name, member.name);
    return {data, data + most};
  }
  // Deflate cannot gain more than a factor of 1032: a larger claim is a lie that would cost memory.
  require(member.unpacked <= member.packed * 1032 + 64, "{}: malformed archive: member '{}' claims {} bytes", name,
          member.name, member.unpacked);
  return inflated(member, data, most);
}

std::vector<char> ZipArchive::inflated(const ZipMember &member, const char *from, uint64_t most) const {
  std::vector<char> result(most);
  z_stream stream{};
  require(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "{}: zlib does not start", name);
  uint64_t read = 0, written = 0;
  int status = Z_OK;
  char none;
  bool whole = most == member.unpacked;
  while (status == Z_OK && (whole || written < most)) {
    auto in = static_cast<uInt>(std::min<uint64_t>(member.packed - read, 1u << 30));
    auto out = static_cast<uInt>(std::min<uint64_t>(result.size() - written, 1u << 30));
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(from + read));
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef *>(out ? result.data() + written : &none);
    stream.avail_out = out;
    status = ::inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
    if (in == stream.avail_in && out == stream.avail_out && status == Z_OK)
      break; // no progress: the data is longer or shorter than it says
  }
  ::inflateEnd(&stream);
  require((status == Z_STREAM_END || !whole) && written == result.size(), "{}: member '{}' is damaged", name,
          member.name);
  return result;
}

} // namespace lathe
