// Names of files for arrays whose own names come from a model: a stranger chose them.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace lathe {

/// A file name for each of `names`, without ending: one path component that leads nowhere else, at most 200 bytes,
/// different for all of them. A name that is one already stays: "prob"; slashes, backslashes, colons, control
/// characters and invalid UTF-8 become "_"; where two would be equal the later one gets a number, "a_b_2". Equal lists
/// give equal results.
std::vector<std::string> fileNames(std::span<const std::string> names);

/// The same for members of an archive, where a name may be a path below the folder it is unpacked in: "block/y" stays.
std::vector<std::string> memberNames(std::span<const std::string> names);

} // namespace lathe
