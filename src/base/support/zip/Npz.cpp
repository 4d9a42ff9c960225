// .npz: zip archives of arrays.
#include "support/Npy.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/zip/ArrayNames.h"
#include "support/zip/Zip.h"

#include <zlib.h>

namespace lathe {

using namespace zip;

namespace {

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

std::vector<NpzMember> parseNpz(std::span<const char> bytes, const std::string &name, const NpzWanted &wanted) {
  ZipArchive archive(bytes, name, "a .npz archive");
  std::vector<NpzMember> members;
  for (const ZipMember &member : archive.members()) {
    std::string array = member.name.ends_with(".npy") ? member.name.substr(0, member.name.size() - 4) : member.name;
    std::string place = name + "(" + member.name + ")";
    NpyHeader header = parseNpyHeader(archive.beginning(member, mostNpyHeaderBytes), member.unpacked, place);
    if (!wanted || wanted(array, header))
      members.push_back({array, parseNpy(archive.contents(member), place)});
  }
  return members;
}

std::vector<NpzMember> readNpz(const std::string &path, const NpzWanted &wanted) {
  return parseNpz(readFile(path), path, wanted);
}

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
