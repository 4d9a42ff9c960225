// The head of a request (request line and headers), checked before a library reads it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe::serve {

struct RequestHead {
  std::string text;     // as it came, but for what checkedHead() changes
  size_t lineBytes = 0; // of the request line
  bool last = false;    // the client says that it is, or a body follows, which nobody reads
};

/// Removes the headers that ask for ranges, compression and "100 Continue", and replaces "=" inside the values of
/// parameters with "%3D". `head` ends with an empty line. Returns nothing for a head that no client of ours sends: control characters, folded lines, a line without
/// colon, several Host headers, more than `mostLines` headers.
std::optional<RequestHead> checkedHead(std::string_view head, int mostLines);

} // namespace lathe::serve
