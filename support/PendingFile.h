// A file that appears under its name only when it is complete.
#pragma once

#include "support/Error.h"

#include <filesystem>
#include <fstream>
#include <string>

namespace lathe {

/// Writes to `<path>.partial` and renames on `commit`; removes it when destroyed before that. Throws Error.
class PendingFile {
public:
  explicit PendingFile(std::string path) : path(std::move(path)), temporary(this->path + ".partial") {
    stream.open(temporary, std::ios::binary | std::ios::trunc);
    require(stream.good(), "{}: cannot be written", this->path);
  }
  ~PendingFile() {
    std::error_code ignored;
    if (!committed)
      std::filesystem::remove(temporary, ignored);
  }
  PendingFile(const PendingFile &) = delete;
  PendingFile &operator=(const PendingFile &) = delete;

  void write(const char *data, size_t size) { stream.write(data, static_cast<std::streamsize>(size)); }
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  /// All bytes have been taken by the system, or Error.
  void close() {
    stream.close();
    require(!stream.fail(), "{}: cannot be written completely", path);
  }
  void commit() {
    if (stream.is_open())
      close();
    std::error_code error;
    std::filesystem::rename(temporary, path, error);
    require(!error, "{}: cannot be written: {}", path, error.message());
    committed = true;
  }

private:
  std::string path, temporary;
  std::ofstream stream;
  bool committed = false;
};

} // namespace lathe
