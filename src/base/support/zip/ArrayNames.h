// File names for arrays that a model names. The models' names are untrusted text.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace lathe {

/// Returns a file name without extension for each of `names`. Each result is one path component of
/// at most 200 bytes that does not leave its folder, and all results differ. A valid name stays as
/// it is ("prob"). Slashes, backslashes, colons, control characters and invalid UTF-8 become "_";
/// of two equal results the later one gets a number ("a_b_2"). Equal lists give equal results.
std::vector<std::string> fileNames(std::span<const std::string> names);

/// Returns names for members of an archive by the rules of fileNames, except that a slash stays ("block/y"): a member
/// may be a path below the folder where the archive is unpacked.
std::vector<std::string> memberNames(std::span<const std::string> names);

} // namespace lathe
