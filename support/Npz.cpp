// .npz: the zip format (PKWARE APPNOTE) as far as archives of arrays need it.
#include "support/Npy.h"

#include "support/ArrayNames.h"
#include "support/Error.h"
#include "support/File.h"

#include <cstring>
#include <zlib.h>

namespace lathe {
namespace {

constexpr uint32_t localSignature = 0x04034b50, centralSignature = 0x02014b50, endSignature = 0x06054b50,
                   end64Signature = 0x06064b50, locator64Signature = 0x07064b50;
constexpr size_t localBytes = 30, centralBytes = 46, endBytes = 22, end64Bytes = 56, locator64Bytes = 20;

/// Little-endian fields at absolute offsets, bounds checked.
class ZipReader {
public:
  ZipReader(std::span<const char> bytes, const std::string &name) : bytes(bytes), name(name) {}

  /// Calls use(name, bytes) for every member. `anywhere`: the archive need not begin the file.
  template <class Use> void read(bool anywhere, const Use &use) {
    findDirectory(anywhere);
    uint64_t at = directory, packed = 0;
    for (uint64_t i = 0; i < count; ++i) {
      need(at, centralBytes);
      require(u32(at) == centralSignature, "{}: malformed archive: member {} of {} is missing", name, i, count);
      uint64_t nameBytes = u16(at + 28), extraBytes = u16(at + 30), commentBytes = u16(at + 32);
      need(at + centralBytes, nameBytes + extraBytes + commentBytes);
      std::string member(bytes.data() + at + centralBytes, nameBytes);
      Member info{member, u16(at + 8), u16(at + 10), u32(at + 16), u32(at + 20), u32(at + 24), u32(at + 42)};
      readExtra(info, at + centralBytes + nameBytes, extraBytes);
      at += centralBytes + nameBytes + extraBytes + commentBytes;
      if (member.ends_with('/'))
        continue; // a folder
      // Members that share their data would unpack to any size.
      packed += info.packed;
      require(info.packed <= bytes.size() && packed <= bytes.size(),
              "{}: malformed archive: member '{}' overlaps others", name, member);
      info.offset += before;
      use(member, contents(info));
    }
  }

private:
  struct Member {
    std::string name;
    unsigned flags, method;
    uint32_t crc;
    uint64_t packed, unpacked, offset;
  };
  std::span<const char> bytes;
  const std::string &name;
  uint64_t directory = 0, count = 0, before = 0; // before: bytes in front of the archive

  void need(uint64_t at, uint64_t length) const {
    require(at <= bytes.size() && length <= bytes.size() - at, "{}: truncated archive", name);
  }
  template <class T> T get(uint64_t at) const {
    need(at, sizeof(T));
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }
  unsigned u16(uint64_t at) const { return get<uint16_t>(at); }
  uint32_t u32(uint64_t at) const { return get<uint32_t>(at); }
  uint64_t u64(uint64_t at) const { return get<uint64_t>(at); }

  void findDirectory(bool anywhere) {
    require(bytes.size() >= endBytes && (anywhere || u32(0) == localSignature || u32(0) == endSignature),
            "{}: expected a .npz archive, got another kind of file", name);
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

  /// Sizes beyond 32 bits stand in extra field 1, in a fixed order, only those that are needed.
  void readExtra(Member &info, uint64_t at, uint64_t length) const {
    for (uint64_t end = at + length; at + 4 <= end;) {
      unsigned id = u16(at), size = u16(at + 2);
      at += 4;
      require(size <= end - at, "{}: malformed archive: member '{}'", name, info.name);
      if (id == 1) {
        uint64_t field = at;
        for (uint64_t *value : {&info.unpacked, &info.packed, &info.offset})
          if (*value == 0xffffffff) {
            require(field + 8 <= at + size, "{}: malformed archive: member '{}'", name, info.name);
            *value = u64(field);
            field += 8;
          }
      }
      at += size;
    }
  }

  std::vector<char> contents(const Member &info) const {
    require((info.flags & 1) == 0, "{}: member '{}' is encrypted", name, info.name);
    require(info.method == 0 || info.method == 8, "{}: member '{}' is packed by method {}, expected stored or deflated",
            name, info.name, info.method);
    need(info.offset, localBytes);
    require(u32(info.offset) == localSignature, "{}: malformed archive: member '{}' is missing", name, info.name);
    uint64_t data = info.offset + localBytes + u16(info.offset + 26) + u16(info.offset + 28);
    need(data, info.packed);
    std::vector<char> result;
    if (info.method == 0) {
      require(info.packed == info.unpacked, "{}: malformed archive: member '{}'", name, info.name);
      result.assign(bytes.begin() + static_cast<ptrdiff_t>(data),
                    bytes.begin() + static_cast<ptrdiff_t>(data + info.packed));
    } else {
      // Deflate cannot gain more than a factor of 1032: a larger claim is a lie that would cost memory.
      require(info.unpacked <= info.packed * 1032 + 64, "{}: malformed archive: member '{}' claims {} bytes", name,
              info.name, info.unpacked);
      result = inflateMember(info, bytes.data() + data);
    }
    require(checksum(result) == info.crc, "{}: member '{}' is damaged: its checksum does not fit", name, info.name);
    return result;
  }

  std::vector<char> inflateMember(const Member &info, const char *from) const {
    std::vector<char> result(info.unpacked);
    z_stream stream{};
    require(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "{}: zlib does not start", name);
    uint64_t read = 0, written = 0;
    int status = Z_OK;
    char none;
    while (status == Z_OK) {
      auto in = static_cast<uInt>(std::min<uint64_t>(info.packed - read, 1u << 30));
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
    require(status == Z_STREAM_END && written == result.size(), "{}: member '{}' is damaged", name, info.name);
    return result;
  }

  static uint32_t checksum(const std::vector<char> &data) {
    return static_cast<uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef *>(data.data()), data.size()));
  }
};

class Bytes {
public:
  std::vector<char> data;
  void u16(uint64_t value) { put(value, 2); }
  void u32(uint64_t value) { put(value, 4); }
  void text(const std::string &value) { data.insert(data.end(), value.begin(), value.end()); }

private:
  void put(uint64_t value, size_t bytes) {
    auto *raw = reinterpret_cast<const char *>(&value);
    data.insert(data.end(), raw, raw + bytes);
  }
};

} // namespace

std::vector<NpzMember> parseNpz(std::span<const char> bytes, const std::string &name) {
  std::vector<NpzMember> members;
  ZipReader(bytes, name).read(/*anywhere=*/false, [&](const std::string &member, const std::vector<char> &content) {
    NpyArray array = parseNpy(content, name + "(" + member + ")");
    members.push_back({member.ends_with(".npy") ? member.substr(0, member.size() - 4) : member, std::move(array)});
  });
  return members;
}

std::vector<ZipMember> readZip(std::span<const char> bytes, const std::string &name) {
  std::vector<ZipMember> members;
  ZipReader(bytes, name).read(/*anywhere=*/true, [&](const std::string &member, std::vector<char> content) {
    members.push_back({member, std::move(content)});
  });
  return members;
}

std::vector<NpzMember> readNpz(const std::string &path) { return parseNpz(readFile(path), path); }

void writeNpz(const std::string &path, std::span<const NpzEntry> entries) {
  std::vector<std::string> names;
  for (const NpzEntry &entry : entries)
    names.push_back(entry.name);
  names = memberNames(names);
  Bytes file, directory;
  constexpr uint64_t limit = 0xfffffffe, date = 0x21; // 1 January 1980: equal arrays make equal files
  for (size_t i = 0; i < entries.size(); ++i) {
    std::vector<char> data = npyBytes(entries[i].view);
    std::string member = names[i] + ".npy";
    uint64_t offset = file.data.size();
    require(offset + data.size() + member.size() + localBytes <= limit && member.size() < 65536 &&
                entries.size() < 65535,
            "{}: an .npz archive holds at most 4 GiB", path);
    uint64_t crc = ::crc32_z(0, reinterpret_cast<const Bytef *>(data.data()), data.size());
    auto common = [&](Bytes &to) {
      to.u16(0x0800); // flags: the name is UTF-8
      to.u16(0);      // stored
      to.u16(0);
      to.u16(date);
      to.u32(crc);
      to.u32(data.size());
      to.u32(data.size());
      to.u16(member.size());
      to.u16(0);
    };
    file.u32(localSignature);
    file.u16(20);
    common(file);
    file.text(member);
    file.data.insert(file.data.end(), data.begin(), data.end());
    directory.u32(centralSignature);
    directory.u16(20);
    directory.u16(20);
    common(directory);
    directory.u16(0); // comment
    directory.u16(0); // disk
    directory.u16(0);
    directory.u32(0);
    directory.u32(offset);
    directory.text(member);
  }
  uint64_t directoryAt = file.data.size();
  require(directoryAt + directory.data.size() <= limit, "{}: an .npz archive holds at most 4 GiB", path);
  file.data.insert(file.data.end(), directory.data.begin(), directory.data.end());
  file.u32(endSignature);
  file.u16(0);
  file.u16(0);
  file.u16(entries.size());
  file.u16(entries.size());
  file.u32(directory.data.size());
  file.u32(directoryAt);
  file.u16(0);
  writeFile(path, file.data);
}

} // namespace lathe
