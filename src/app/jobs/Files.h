// Files that jobs read and write.
#pragma once

#include "support/File.h"
#include "support/PendingFile.h"

#include <string>

namespace lathe::jobs {

/// Reads a file and protects it from being overwritten by an output (support/PendingFile.h).
inline std::string readFile(const std::string &path) {
  std::vector<char> bytes = lathe::readFile(path);
  protectInput(path);
  return {bytes.begin(), bytes.end()};
}

/// Writes a file; "-" is the standard output.
inline void writeFile(const std::string &path, const std::string &text) {
  PendingFile file(path);
  file.write(text);
  file.commit();
}

} // namespace lathe::jobs
