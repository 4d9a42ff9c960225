#include "serve/RequestHead.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace lathe::serve {

static std::string lower(std::string_view text) {
  std::string result(text);
  for (char &letter : result)
    letter = char(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

/// True if all characters are allowed in names of headers and methods.
static bool isToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char letter) {
    return std::isalnum(letter) || std::string_view("!#$%&'*+-.^_`|~").find(char(letter)) != std::string_view::npos;
  });
}

static bool isPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char letter) { return letter == '\t' || (letter >= 0x20 && letter != 0x7f); });
}

/// True for a line such as "GET /path HTTP/1.1".
static bool isRequestLine(std::string_view line) {
  size_t first = line.find(' '), second = line.rfind(' ');
  return first != line.npos && second > first + 1 && line.find(' ', first + 1) == second &&
         isToken(line.substr(0, first)) && line[first + 1] == '/' && line.substr(second + 1).starts_with("HTTP/1.");
}

/// Replaces every = inside the value of a parameter by %3D. Otherwise cpp-httplib drops the part of the value before
/// its last =.
static std::string withoutLaterEquals(std::string_view line) {
  std::string result;
  bool query = false, value = false;
  for (char letter : line.substr(0, line.rfind(' '))) {
    if (value && letter == '=') {
      result += "%3D";
      continue;
    }
    query = query || letter == '?';
    value = query && letter != '&' && (value || letter == '=');
    result += letter;
  }
  return result.append(line.substr(line.rfind(' ')));
}

std::optional<RequestHead> checkedHead(std::string_view head, int mostLines) {
  static constexpr std::array<std::string_view, 4> ignored = {"accept-encoding", "expect", "if-range", "range"};
  RequestHead result;
  int lines = 0, hosts = 0;
  for (size_t begin = 0;; ++lines) {
    size_t end = head.find("\r\n", begin);
    if (end == head.npos)
      return std::nullopt;
    std::string_view line = head.substr(begin, end - begin);
    begin = end + 2;
    if (line.empty())
      break;
    if (lines > mostLines || !isPrintable(line) || (lines == 0 && !isRequestLine(line)))
      return std::nullopt;
    if (lines == 0) {
      result.lineBytes = line.size();
      result.text = withoutLaterEquals(line) + "\r\n";
      continue;
    }
    size_t colon = line.find(':');
    if (colon == line.npos || !isToken(line.substr(0, colon)))
      return std::nullopt;
    std::string name = lower(line.substr(0, colon));
    hosts += name == "host";
    result.last = result.last || name == "content-length" || name == "transfer-encoding" ||
                  (name == "connection" && lower(line).find("close") != line.npos);
    if (std::find(ignored.begin(), ignored.end(), name) != ignored.end())
      continue;
    result.text += line;
    result.text += "\r\n";
  }
  result.text += "\r\n";
  return lines == 0 || hosts > 1 ? std::nullopt : std::optional(std::move(result));
}

} // namespace lathe::serve
