#include "support/CacheFolder.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace lathe {

void pruneOldest(const std::string &folder, uintmax_t limit) {
  namespace fs = std::filesystem;
  struct File {
    fs::file_time_type used;
    uintmax_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  uintmax_t total = 0;
  std::error_code ignored;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, ignored)) {
    std::error_code gone; // another program may prune at the same time
    File file{entry.last_write_time(gone), entry.file_size(gone), entry.path()};
    if (gone)
      continue;
    total += file.bytes;
    files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end(), [](const File &a, const File &b) { return a.used < b.used; });
  for (size_t i = 0; i < files.size() && total > limit; ++i) {
    total -= files[i].bytes;
    fs::remove(files[i].path, ignored); // a program that has it mapped keeps its pages
  }
}

void markUsed(const std::string &file) {
  std::error_code ignored;
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now(), ignored);
}

} // namespace lathe
