// Folders whose files are only there to save time: any of them may be removed at any moment.
#pragma once

#include <cstdint>
#include <string>

namespace lathe {

/// Removes the files of `folder` that were written (or marked as used) longest ago until those left hold at most
/// `limit` bytes. Other programs may use the folder meanwhile. A folder that is not there is empty.
void pruneOldest(const std::string &folder, uintmax_t limit);

/// Marks a file as used now, so that it is pruned later. Fails silently: the file may be gone.
void markUsed(const std::string &file);

} // namespace lathe
