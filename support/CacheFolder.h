// Folders whose files are only there to save time: any of them may be removed at any moment.
#pragma once

#include <cstdint>
#include <string>

namespace lathe {

/// A folder for what this user's programs keep to save time, made when it is missing: `part` ("packages"; "" for the
/// whole) of $XDG_CACHE_HOME/lathe, of ~/.cache/lathe, or where neither variable is set of /tmp/lathe-UID. Returns ""
/// where no such folder can be made or written, or where it is open to other users: packages and kernels in it are code
/// that is run. `why` (may be null) then gets the reason, which begins with the folder's path.
std::string cacheFolder(const std::string &part = "", std::string *why = nullptr);

/// Removes the files of `folder` that were written (or marked as used) longest ago until those left hold at most
/// `limit` bytes. Other programs may use the folder meanwhile. A folder that is not there is empty.
void pruneOldest(const std::string &folder, uintmax_t limit);

/// Marks a file as used now, so that it is pruned later. Fails silently: the file may be gone.
void markUsed(const std::string &file);

} // namespace lathe
