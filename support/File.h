// Reads and writes whole files, and reads archives. Errors name the file.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace lathe {

/// Returns the content of a file. Throws Error ("x.npy: cannot open: No such file or directory").
std::vector<char> readFile(const std::string &path);

/// Writes a file. The file appears complete or not at all (support/PendingFile.h). Throws Error
/// when any byte could not be written.
void writeFile(const std::string &path, std::span<const char> bytes);

/// A member of a zip archive.
struct ZipMember {
  std::string name;
  std::vector<char> bytes;
};
/// Reads the zip archive at the end of `bytes`, which may have other content in front (Npz.cpp). Throws Error, beginning with
/// `name`, for bytes that end in no archive or in a malformed one.
std::vector<ZipMember> readZip(std::span<const char> bytes, const std::string &name);

} // namespace lathe
