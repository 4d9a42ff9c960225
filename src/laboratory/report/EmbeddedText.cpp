// Converts documents to text inside pages. Most of a document is base64, which is copied unchanged.
#include "report/PageData.h"

#include "support/Base64.h"

#include <zlib.h>

#include <utility>

namespace lathe::report {

using nlohmann::json;

/// True for texts that need no escapes in JSON and HTML. Checks every character, so that compilers can vectorise the
/// loop.
static bool isPlain(std::string_view text) {
  bool special = false;
  for (char letter : text)
    special |= letter < ' ' || letter > '~' || letter == '"' || letter == '\\' || letter == '<';
  return !special;
}

/// Texts of a store may be damaged; in JSON, '<' occurs only inside texts.
static void appendDumped(std::string &text, const json &value) {
  for (char letter : value.dump(-1, ' ', false, json::error_handler_t::replace))
    if (letter == '<')
      text += "\\u003c";
    else
      text += letter;
}

static void appendText(std::string &text, const std::string &value) {
  if (!isPlain(value))
    return appendDumped(text, value);
  text += '"';
  text += value;
  text += '"';
}

/// Writes the same text as json::dump.
static void append(std::string &text, const json &value) {
  const char *separator = "";
  if (value.is_object()) {
    text += '{';
    for (auto &[key, member] : value.get_ref<const json::object_t &>()) {
      text += std::exchange(separator, ",");
      appendText(text, key);
      text += ':';
      append(text, member);
    }
    text += '}';
  } else if (value.is_array()) {
    text += '[';
    for (const json &element : value) {
      text += std::exchange(separator, ",");
      append(text, element);
    }
    text += ']';
  } else if (value.is_string()) {
    appendText(text, value.get_ref<const std::string &>());
  } else {
    appendDumped(text, value);
  }
}

std::string embeddedText(const json &document) {
  std::string text;
  append(text, document);
  return text;
}

std::string pageWith(std::string_view page, const json &document) {
  size_t marker = page.find(pageDataMarker);
  require(marker != page.npos && page.find(pageDataMarker, marker + 1) == page.npos,
          "the page of reports has {} once, got it {}", pageDataMarker,
          marker == page.npos ? "never" : "several times");
  std::string html(page.substr(0, marker));
  std::string text = embeddedText(document);
  uLongf size = compressBound(text.size());
  std::vector<char> bytes(size);
  int code = compress2(reinterpret_cast<Bytef *>(bytes.data()), &size, reinterpret_cast<const Bytef *>(text.data()),
                       text.size(), Z_BEST_SPEED);
  require(code == Z_OK, "the page of reports: out of memory in zlib");
  html += toBase64(std::span(bytes).first(size));
  html += page.substr(marker + pageDataMarker.size());
  return html;
}

} // namespace lathe::report
