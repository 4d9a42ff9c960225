// Reads and writes files of lines. Writing compresses with gzip if the name ends in .gz; reading accepts plain and
// compressed files of any name.
#pragma once

#include "support/PendingFile.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct z_stream_s;
struct gzFile_s;

namespace lathe::store {

/// Largest length of a line in bytes, without its end. The limit protects readers from small files
/// that unpack to gigabytes. A point of 100,000 samples needs about 5 MB.
constexpr size_t maxLineBytes = size_t(64) << 20;

/// Writes a file of lines, which appears under its name when `commit` is called. "-" is the standard output
/// (support/PendingFile.h). Throws Error on failure.
class LineWriter {
public:
  explicit LineWriter(const std::string &path);
  ~LineWriter();
  /// Writes `text` and a newline. Throws Error if the line exceeds maxLineBytes.
  void line(std::string_view text);
  void commit();

private:
  /// Compresses `bytes` and writes them; `finish` ends the stream.
  void deflate(std::string_view bytes, bool finish);

  std::string path;
  PendingFile file;
  std::unique_ptr<z_stream_s> deflater; // null: no compression
};

/// Reads a file of lines, compressed or plain, whatever its name. Throws Error for a missing file, for truncated
/// or damaged compression, and for a line longer than maxLineBytes.
class LineReader {
public:
  explicit LineReader(const std::string &path);
  ~LineReader();
  LineReader(const LineReader &) = delete;
  LineReader &operator=(const LineReader &) = delete;
  /// Returns the next line without its end; nothing after the last line.
  std::optional<std::string> next();
  /// Number of the last line read, counted from 1.
  size_t number() const { return lines; }
  /// False if the file ends inside the last line read, without a newline.
  bool lineEnded() const { return ended; }

private:
  std::string path;
  gzFile_s *file = nullptr;
  std::vector<char> buffer;
  size_t begin = 0, end = 0; // the range of `buffer` that was not read yet
  size_t lines = 0;
  bool ended = true;
};

} // namespace lathe::store
