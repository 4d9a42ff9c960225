// Reads archives of the zip format (PKWARE APPNOTE) in memory: members that are stored or deflated, 32- and 64-bit
// sizes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lathe {

struct ZipMember {
  std::string name; // name of the member, as it is in the archive
  unsigned flags = 0, method = 0;
  uint32_t crc = 0;
  /// Sizes of the packed and the unpacked data of the member, and its offset in the archive, in bytes.
  uint64_t packed = 0, unpacked = 0, offset = 0;
};

/// A zip archive in memory. `bytes` must live as long as the object. Every error begins with the archive's name.
class ZipArchive {
public:
  /// Reads the directory of the archive. Members may not share data, so all of them together are at most 1032 times as
  /// large as the archive. Throws Error if the bytes are not an archive; `expected` names what was expected instead.
  /// `anywhere`: true if other data may come before the archive, which ends where the bytes end.
  ZipArchive(std::span<const char> bytes, std::string name, const char *expected, bool anywhere = false);

  /// Returns all members except folders, in the order of the archive.
  const std::vector<ZipMember> &members() const { return found; }
  /// Returns the member with this name, or null if there is none.
  const ZipMember *find(const std::string &member) const;
  /// Returns the unpacked bytes of a member after a check of their checksum. Throws Error for members that are
  /// encrypted, damaged or packed by an unknown method.
  std::vector<char> contents(const ZipMember &member) const;
  /// Returns the first `most` unpacked bytes of a member, or all of them if there are fewer. Does not check the
  /// checksum.
  std::vector<char> beginning(const ZipMember &member, uint64_t most) const;

private:
  std::span<const char> bytes;
  std::string name;
  std::vector<ZipMember> found;
  uint64_t directory = 0, count = 0, before = 0; // before: number of bytes in front of the archive

  void need(uint64_t at, uint64_t length) const;
  template <class T> T get(uint64_t at) const;
  unsigned u16(uint64_t at) const;
  uint32_t u32(uint64_t at) const;
  uint64_t u64(uint64_t at) const;
  void findDirectory(const char *expected, bool anywhere);
  void readMembers();
  void readExtra(ZipMember &member, uint64_t at, uint64_t length) const;
  const char *packedBytes(const ZipMember &member) const;
  std::vector<char> unpacked(const ZipMember &member, uint64_t most) const;
  std::vector<char> inflated(const ZipMember &member, const char *from, uint64_t most) const;
};

namespace zip {
constexpr uint32_t localSignature = 0x04034b50, centralSignature = 0x02014b50, endSignature = 0x06054b50,
                   end64Signature = 0x06064b50, locator64Signature = 0x07064b50;
constexpr size_t localBytes = 30, centralBytes = 46, endBytes = 22, end64Bytes = 56, locator64Bytes = 20;
} // namespace zip

} // namespace lathe
