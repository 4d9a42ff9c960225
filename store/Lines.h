// Lines of text to and from files, compressed by gzip where the name ends in .gz.
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

/// Bytes of the longest line, end excluded. Some kilobytes can unpack to gigabytes: a reader takes no more than this.
/// A point of 100,000 samples needs about 5 MB.
constexpr size_t maxLineBytes = size_t(64) << 20;

/// The file appears under its name when it is complete: `commit`. "-" is the standard output (support/PendingFile.h).
/// Throws Error.
class LineWriter {
public:
  explicit LineWriter(const std::string &path);
  ~LineWriter();
  /// Adds `text` and a newline. Throws Error beyond maxLineBytes.
  void line(std::string_view text);
  void commit();

private:
  /// Compresses what was given; `finish` ends the stream.
  void deflate(std::string_view bytes, bool finish);

  std::string path;
  PendingFile file;
  std::unique_ptr<z_stream_s> deflater; // none: as it is
};

/// Reads both kinds, whatever the name. Throws Error for a file that is not there, whose compression is cut or damaged,
/// or that has a line beyond maxLineBytes.
class LineReader {
public:
  explicit LineReader(const std::string &path);
  ~LineReader();
  LineReader(const LineReader &) = delete;
  LineReader &operator=(const LineReader &) = delete;
  /// The next line without its end; none after the last.
  std::optional<std::string> next();
  /// Of the line read last, from 1.
  size_t number() const { return lines; }

private:
  std::string path;
  gzFile_s *file = nullptr;
  std::vector<char> buffer;
  size_t begin = 0, end = 0; // unread part of the buffer
  size_t lines = 0;
};

} // namespace lathe::store
