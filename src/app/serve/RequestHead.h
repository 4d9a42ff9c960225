// Checks the head of an HTTP request (request line and headers) before the library httplib reads it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe::serve {

struct RequestHead {
  std::string text;     // the received text after the changes that checkedHead() makes
  size_t lineBytes = 0; // number of bytes of the request line
  /// True: the connection ends after this request, because the client says so or sends a body, which is not read.
  bool last = false;
};

/// Checks the head of a request and returns it with changes: without the headers that ask for ranges, compression and
/// "100 Continue", and with "%3D" instead of "=" inside the values of parameters. `head` ends with an empty line.
/// Returns nothing for heads that normal clients do not send: control characters, folded lines, a line without colon,
/// several Host headers, more than `mostLines` headers.
std::optional<RequestHead> checkedHead(std::string_view head, int mostLines);

} // namespace lathe::serve
