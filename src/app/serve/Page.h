// The page of reports as `lathe serve` sends it: with the data inside, under a policy that allows requests only to
// this server.
#pragma once

#include <string>
#include <string_view>

namespace lathe::serve {

class Page {
public:
  /// `html`: the built template of report/page. Throws Error if it is another text.
  explicit Page(std::string_view html);

  /// Returns the page with a document (report::embeddedText) inside. Browsers run only scripts with the given nonce.
  std::string with(std::string_view document, const std::string &nonce) const;
  /// Returns the page with a document in pieces: begin, the document, end. A browser shows `state` until the end
  /// arrives.
  std::string begin(std::string_view state, const std::string &nonce) const;
  const std::string &end() const { return afterData; }
  /// The value of the header Content-Security-Policy with which the page is sent.
  static std::string policy(const std::string &nonce);

private:
  std::string beginWith(std::string_view stateHtml, const std::string &nonce) const;

  // The parts of the page in the order of sending. The document follows the script, because the document may take
  // seconds: browsers parse the script meanwhile, and run it at the end.
  std::string beforeState, usualState, beforeScript, script, beforeData, afterData;
};

} // namespace lathe::serve
