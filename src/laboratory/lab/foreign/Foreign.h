// Result files of other programs as records of the store, to look at them beside ours
// (docs/store.md, "Results of other programs").
//
// A file becomes one experiment of the kind `imported` on a platform that is made from what the file says, never from
// this machine. Its points are notVerified: their outputs were not compared with a reference here. The experiment is
// named by the beginning of the file up to its first measurement, so a file that is imported again, or that has grown,
// adds only what is new. A file that does not date its measurements has the time of its last change.
#pragma once

#include "store/Archive.h"

#include <span>

namespace lathe::lab {

/// Values of `lathe store import --format`: "lathe" (archives and store files), then the formats of
/// other programs.
std::span<const char *const> importFormats();

/// Returns the format of another program that the beginning of the file has; "" for other files and for the
/// URL of a server.
std::string foreignFormatOf(const std::string &path);

/// The records of a file in this format; "": told by the content of the file, which may be a server's URL.
store::RecordSource importSource(const std::string &path, const std::string &format = "");

} // namespace lathe::lab
