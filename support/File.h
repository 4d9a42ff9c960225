// Whole files to memory and back, with errors that name them.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace lathe {

/// Throws Error ("x.npy: cannot open: No such file or directory").
std::vector<char> readFile(const std::string &path);

/// Throws Error when any byte could not be written; the file is complete or not there (support/PendingFile.h).
void writeFile(const std::string &path, std::span<const char> bytes);

} // namespace lathe
