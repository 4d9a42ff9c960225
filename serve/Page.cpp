#include "serve/Page.h"

#include "report/PageData.h"

namespace lathe::serve {

/// Splits `text` at the one place where `mark` is.
static std::pair<std::string, std::string> split(const std::string &text, std::string_view mark) {
  size_t at = text.find(mark);
  require(at != text.npos && text.find(mark, at + 1) == text.npos, "the page of reports has {} {}, expected once", mark,
          at == text.npos ? "never" : "several times");
  return {text.substr(0, at), text.substr(at + mark.size())};
}

Page::Page(std::string_view html) {
  auto [head, tail] = split(std::string(html), report::pageDataMarker);
  // The policy of a file on disk goes; the header has the one of the server.
  size_t policy = head.find("<meta http-equiv=\"Content-Security-Policy\""), end = head.find('>', policy);
  require(policy != head.npos && end != head.npos, "the page of reports has no Content-Security-Policy");
  beforeData = head.erase(policy, end + 1 - policy);
  std::tie(beforeScript, rest) = split(tail, "<script type=\"module\"");
}

std::string Page::with(std::string_view document, const std::string &nonce) const {
  std::string html;
  html.reserve(beforeData.size() + document.size() + beforeScript.size() + rest.size() + 100);
  html += beforeData;
  html += document;
  html += beforeScript;
  html += "<script type=\"module\" nonce=\"" + nonce + "\"";
  html += rest;
  return html;
}

std::string Page::policy(const std::string &nonce) {
  return "default-src 'none'; script-src 'nonce-" + nonce +
         "'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'";
}

} // namespace lathe::serve
