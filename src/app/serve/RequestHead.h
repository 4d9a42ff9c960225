// Checks the head of a request (request line and headers) before a library reads it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe::serve {

struct RequestHead {
  std::string text;     // the received text with the changes of checkedHead()
  size_t lineBytes = 0; // bytes of the request line
  /// The connection ends after this request: the client says so, or sends a body, which is not read.
  bool last = false;
};

/// Removes the headers that ask for ranges, compression and "100 Continue", and replaces "=" inside the values of
/// parameters by "%3D". `head` ends with an empty line. Returns nothing for heads that normal clients do not send:
/// control characters, folded lines, a line without colon, several Host headers, more than `mostLines` headers.
std::optional<RequestHead> checkedHead(std::string_view head, int mostLines);

} // namespace lathe::serve
