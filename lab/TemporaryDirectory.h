// A folder for the life of an object.
#pragma once

#include "support/Error.h"

#include <cstdlib>
#include <filesystem>

namespace lathe::lab {

class TemporaryDirectory {
public:
  explicit TemporaryDirectory(const char *purpose) {
    std::string pattern =
        (std::filesystem::temp_directory_path() / (std::string("lathe-") + purpose + "-XXXXXX")).string();
    require(::mkdtemp(pattern.data()) != nullptr, "{}: cannot be made", pattern);
    path = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;
  std::filesystem::path path;
};

} // namespace lathe::lab
