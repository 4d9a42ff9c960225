// Reader of sorted string tables, the format of LevelDB's table files: the index of a checkpoint is one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace lathe::tensorflow {

/// CRC-32C (Castagnoli) of `bytes`, and the form in which files store it.
uint32_t crc32c(std::string_view bytes);
inline uint32_t maskedCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

/// Keys and values of a table. Throws Error that begins with `fileName` for a file that is none, and for blocks that
/// their checksum refuses.
std::map<std::string, std::string> readSortedTable(std::string_view bytes, const std::string &fileName);

} // namespace lathe::tensorflow
