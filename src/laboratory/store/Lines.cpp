#include "store/Lines.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace lathe::store {

LineWriter::LineWriter(const std::string &path) : path(path), file(path) {
  if (!path.ends_with(".gz"))
    return;
  deflater = std::make_unique<z_stream>();
  constexpr int gzip = 15 + 16; // zlib's code for gzip's header
  require(deflateInit2(deflater.get(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip, 8, Z_DEFAULT_STRATEGY) == Z_OK,
          "{}: out of memory in zlib", path);
}

LineWriter::~LineWriter() {
  if (deflater)
    deflateEnd(deflater.get());
}

void LineWriter::deflate(std::string_view bytes, bool finish) {
  std::array<char, 1 << 16> out;
  deflater->next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  deflater->avail_in = uInt(bytes.size());
  do {
    deflater->next_out = reinterpret_cast<Bytef *>(out.data());
    deflater->avail_out = uInt(out.size());
    ::deflate(deflater.get(), finish ? Z_FINISH : Z_NO_FLUSH);
    file.write(out.data(), out.size() - deflater->avail_out);
  } while (deflater->avail_out == 0);
}

void LineWriter::line(std::string_view text) {
  require(text.size() <= maxLineBytes, "{}: a record of {} MiB, expected at most {}", path, text.size() >> 20,
          maxLineBytes >> 20);
  for (std::string_view part : {text, std::string_view("\n")})
    if (deflater)
      deflate(part, false);
    else
      file.write(part);
}

void LineWriter::commit() {
  if (deflater)
    deflate({}, true);
  file.commit();
}

LineReader::LineReader(const std::string &path) : path(path), buffer(1 << 16) {
  errno = 0;
  file = gzopen(path.c_str(), "rbe");
  require(file != nullptr, "{}: cannot open: {}", path, std::strerror(errno ? errno : ENOMEM));
}

LineReader::~LineReader() { gzclose_r(file); }

std::optional<std::string> LineReader::next() {
  std::string line;
  bool any = false;
  ended = false;
  while (true) {
    if (begin == end) {
      int got = gzread(file, buffer.data(), unsigned(buffer.size()));
      int code = Z_OK;
      const char *message = gzerror(file, &code);
      // zlib reports a truncated stream only together with its last bytes.
      require(got >= 0 && code != Z_BUF_ERROR, "{}: {}", path,
              code == Z_ERRNO       ? std::strerror(errno)
              : code == Z_BUF_ERROR ? "the compressed file is cut"
                                    : message);
      begin = 0;
      end = size_t(got);
      if (got == 0)
        break;
    }
    any = true;
    auto from = buffer.begin() + std::ptrdiff_t(begin), to = buffer.begin() + std::ptrdiff_t(end);
    auto newline = std::find(from, to, '\n');
    require(line.size() + size_t(newline - from) <= maxLineBytes, "{}:{}: a line longer than {} MiB", path, lines + 1,
            maxLineBytes >> 20);
    line.append(from, newline);
    begin = size_t(newline - buffer.begin());
    if (newline != to) {
      ++begin;
      ended = true;
      break;
    }
  }
  if (!any)
    return std::nullopt;
  ++lines;
  return line;
}

} // namespace lathe::store
