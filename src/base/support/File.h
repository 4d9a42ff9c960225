// Reads and writes whole files. Errors name the file.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace lathe {

/// Returns the content of a file. Throws Error ("x.npy: cannot open: No such file or directory").
std::vector<char> readFile(const std::string &path);

/// Writes `bytes` to a file. The file appears complete or not at all (support/PendingFile.h). Throws Error if any byte
/// could not be written.
void writeFile(const std::string &path, std::span<const char> bytes);

} // namespace lathe
