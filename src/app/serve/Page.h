// The page of reports as a server sends it: with the data inside, under a policy that allows requests to this server
// only.
#pragma once

#include <string>
#include <string_view>

namespace lathe::serve {

class Page {
public:
  /// `html`: the built template of report/page. Throws Error for another text.
  explicit Page(std::string_view html);

  /// The page with a document (report::embeddedText). Only scripts with this nonce run.
  std::string with(std::string_view document, const std::string &nonce) const;
  /// The same page in pieces: begin, the document, end. A browser shows `state` until the end arrives.
  std::string begin(std::string_view state, const std::string &nonce) const;
  const std::string &end() const { return afterData; }
  /// The Content-Security-Policy of the page.
  static std::string policy(const std::string &nonce);

private:
  std::string beginWith(std::string_view stateHtml, const std::string &nonce) const;

  // The script comes before the data, which may take seconds: browsers parse it meanwhile, and run it at the end.
  std::string beforeState, usualState, beforeScript, script, beforeData, afterData;
};

} // namespace lathe::serve
