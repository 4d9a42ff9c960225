#include "jobs/Terminal.h"

#include "support/Text.h"

#include <cerrno>
#include <cstdio>
#include <fmt/format.h>
#include <iostream>
#include <streambuf>

namespace lathe::jobs {
namespace {

/// Number of bytes at the end of `text` that begin an incomplete UTF-8 character.
size_t unfinished(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80)
      continue;
    size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

int failed = 0; // see outputError

class PrintableBuffer : public std::streambuf {
public:
  explicit PrintableBuffer(std::streambuf *target) : target(target) {}

private:
  std::streambuf *target;
  std::string kept; // the beginning of an incomplete character

  bool put(std::string_view text) {
    std::string safe;
    while (!text.empty()) {
      size_t end = std::min(text.find_first_of("\n\t"), text.size());
      safe += printable(text.substr(0, end));
      if (end < text.size())
        safe += text[end++];
      text.remove_prefix(end);
    }
    errno = 0;
    bool good = target->sputn(safe.data(), std::streamsize(safe.size())) == std::streamsize(safe.size());
    if (!good && !failed)
      failed = errno ? errno : EIO;
    return good;
  }

  std::streamsize xsputn(const char *data, std::streamsize size) override {
    std::string text = kept + std::string(data, size_t(size));
    size_t rest = unfinished(text);
    kept = text.substr(text.size() - rest);
    return put(std::string_view(text).substr(0, text.size() - rest)) ? size : 0;
  }
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof()))
      return traits_type::not_eof(c);
    char byte = traits_type::to_char_type(c);
    return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
  }
  int sync() override {
    bool good = put(kept); // the rest is missing: not a character
    kept.clear();
    return target->pubsync() == 0 && good ? 0 : -1;
  }
};

} // namespace

void makeOutputPrintable() {
  static bool done = false;
  if (done)
    return;
  done = true;
  std::cout.rdbuf(new PrintableBuffer(std::cout.rdbuf())); // in use until the program ends
}

int outputError() { return failed; }

void say(std::string_view line) { fmt::print(stderr, "{}\n", printable(line)); }

void sayOnce(const char *variable, std::string_view line) {
  if (const char *said = std::getenv(variable); said && *said)
    return;
  say(line);
  ::setenv(variable, "1", 1);
}

} // namespace lathe::jobs
