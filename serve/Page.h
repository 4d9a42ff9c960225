// The page of reports as a server sends it: with the data inside, under a policy that lets it ask this server
// alone.
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
  /// The Content-Security-Policy of such a page.
  static std::string policy(const std::string &nonce);

private:
  std::string beforeData, beforeScript, rest; // the nonce is between the last two
};

} // namespace lathe::serve
