// Lathe's cache folders. Any file in them may be removed at any time.
#pragma once

#include <cstdint>
#include <string>

namespace lathe {

/// Returns the folder `part` of this user's cache ("packages"; "" is the whole cache) and creates
/// it if it does not exist. The cache is $XDG_CACHE_HOME/lathe, else ~/.cache/lathe, else
/// /tmp/lathe-UID.
/// Returns "" where the folder cannot be created or written, or where other users may write to it:
/// it holds packages and kernels, which are code that this user runs. `why` (may be null) then
/// receives the reason, which begins with the path of the folder.
std::string cacheFolder(const std::string &part = "", std::string *why = nullptr);

/// Removes the least recently used files of a cache folder until the rest has at most `limit` bytes. Other programs
/// may use the folder at the same time. A missing folder counts as empty.
void pruneOldest(const std::string &folder, uintmax_t limit);

/// Marks a cached file as used now, so that pruneOldest removes it later than others. Does nothing within `apart`
/// seconds of the last mark, because a mark changes the file's times. Ignores failures: the file may be gone.
void markUsed(const std::string &file, int64_t apart = 0);

} // namespace lathe
