#include "serve/Page.h"

#include "report/PageData.h"

namespace lathe::serve {

/// Splits `text` at the only occurrence of `mark`.
static std::pair<std::string, std::string> split(const std::string &text, std::string_view mark) {
  size_t at = text.find(mark);
  require(at != text.npos && text.find(mark, at + 1) == text.npos, "the page of reports has {} {}, expected once", mark,
          at == text.npos ? "never" : "several times");
  return {text.substr(0, at), text.substr(at + mark.size())};
}

Page::Page(std::string_view html) {
  auto [head, tail] = split(std::string(html), report::pageDataMarker);
  // Removes the policy for a file on disk; the header has the server's policy.
  size_t policy = head.find("<meta http-equiv=\"Content-Security-Policy\""), end = head.find('>', policy);
  require(policy != head.npos && end != head.npos, "the page of reports has no Content-Security-Policy");
  head.erase(policy, end + 1 - policy);
  constexpr std::string_view loading = "<p class=\"loading\">", data = "<script type=\"application/json\"",
                             module = "<script type=\"module\"", scriptEnd = "</script>";
  std::tie(beforeState, head) = split(head, loading);
  beforeState += loading;
  std::tie(usualState, head) = split(head, "</p>");
  std::tie(beforeScript, beforeData) = split(head, data);
  beforeScript = "</p>" + beforeScript;
  beforeData.insert(0, data);
  std::string code;
  std::tie(afterData, code) = split(tail, module);
  std::tie(script, tail) = split(code, scriptEnd);
  script += scriptEnd;
  afterData += tail;
}

/// A text with the characters escaped that HTML gives a meaning.
static std::string escaped(std::string_view text) {
  std::string html;
  for (char letter : text)
    html += letter == '<' ? "&lt;" : letter == '>' ? "&gt;" : letter == '&' ? "&amp;" : std::string(1, letter);
  return html;
}

std::string Page::beginWith(std::string_view stateHtml, const std::string &nonce) const {
  std::string html;
  html.reserve(beforeState.size() + stateHtml.size() + beforeScript.size() + script.size() + beforeData.size() + 100);
  html += beforeState;
  html += stateHtml;
  html += beforeScript;
  html += "<script type=\"module\" nonce=\"" + nonce + "\"";
  html += script;
  html += beforeData;
  return html;
}

std::string Page::begin(std::string_view state, const std::string &nonce) const {
  return beginWith(escaped(state), nonce);
}

std::string Page::with(std::string_view document, const std::string &nonce) const {
  std::string html = beginWith(usualState, nonce);
  html.reserve(html.size() + document.size() + afterData.size());
  html += document;
  html += afterData;
  return html;
}

std::string Page::policy(const std::string &nonce) {
  return "default-src 'none'; script-src 'nonce-" + nonce +
         "'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'";
}

} // namespace lathe::serve
