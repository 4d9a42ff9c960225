// Access rules of `lathe serve`, which keep other machines and other web sites away from the measurements.
#pragma once

#include "serve/Http.h"

namespace lathe::serve {

/// Makes a secret: `bytes` random bytes from the system, as hexadecimal digits.
std::string randomText(size_t bytes);
/// True if two texts are equal. The time of the comparison does not depend on the position of the first difference.
bool equalSecrets(std::string_view a, std::string_view b);
/// True if `host` is localhost, 127.0.0.0/8 or ::1: an address that only this machine reaches.
bool isLoopback(const std::string &host);
/// True if `host` is an IP address in numbers, of version 4 or 6, without brackets.
bool isNumericAddress(const std::string &host);

/// Returns address and port as a browser writes them: "127.0.0.1:8090", "[::1]:8090".
std::string authority(const std::string &host, int port);

class Access {
public:
  /// `host` is the address of --host; "": only requests to the addresses of this machine are allowed. `token` must be
  /// in every request; "": requests need none.
  Access(std::string host, int port, std::string token);

  /// Checks a request: returns the answer that refuses it, or nothing. Reasons to refuse: a method other than GET and
  /// HEAD (405), a foreign Host, as after rebinding of a name (421), a request of another web site (403), no token
  /// (401). A right token in the query is exchanged for a cookie (303).
  std::optional<Answer> refusal(const Request &request) const;

private:
  bool isOurHost(const std::string &host) const;
  std::optional<Answer> withoutToken(const Request &request) const;

  std::string host;
  int port;
  std::string token, session; // `session` is the value of the cookies, which never have the token
};

} // namespace lathe::serve
