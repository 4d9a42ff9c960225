// Reads sorted string tables, the format of LevelDB's table files. The index of a checkpoint is such a table.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace lathe::tensorflow {

/// crc32c returns the CRC-32C (Castagnoli) of `bytes`. maskedCrc turns it into the form in which LevelDB files store
/// it.
uint32_t crc32c(std::string_view bytes);
inline uint32_t maskedCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

/// Returns the keys and values of a sorted string table. Throws Error that begins with `fileName` for a file that is
/// not a table, and for wrong checksums.
std::map<std::string, std::string> readSortedTable(std::string_view bytes, const std::string &fileName);

} // namespace lathe::tensorflow
