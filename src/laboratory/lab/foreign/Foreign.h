// Converts result files of other programs to records of the store, for comparison with ours (docs/store.md, "Results of
// other programs").
//
// A file becomes one experiment of the kind `imported`. Its platform is made from statements in the file, never from
// this machine. Its points are notVerified: their outputs were not compared with a reference here. The experiment is
// named after the beginning of the file up to its first measurement, so a file that is imported again, or that has
// grown, adds only new measurements. If a file has no dates, its modification time is used.
#pragma once

#include "store/Archive.h"

#include <span>

namespace lathe::lab {

/// The values of `lathe store import --format`: "lathe" (archives and store files), then the formats of other
/// programs.
std::span<const char *const> importFormats();

/// Returns the name of another program's format, recognised by the beginning of the file at `path`; "" for other files
/// and for the URL of a server.
std::string foreignFormatOf(const std::string &path);

/// Returns a reader of the records in a file with format `format`; "": the file's content tells the format. `path` may
/// also be the URL of a server.
store::RecordSource importSource(const std::string &path, const std::string &format = "");

} // namespace lathe::lab
