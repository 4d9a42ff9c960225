#include "serve/Access.h"

#include "serve/Addresses.h"
#include "support/Error.h"

#include <algorithm>
#include <cctype>

#include <arpa/inet.h>
#include <sys/random.h>

namespace lathe::serve {

std::string randomText(size_t bytes) {
  std::string raw(bytes, '\0'), text;
  require(::getrandom(raw.data(), raw.size(), 0) == ssize_t(raw.size()), "the system gives no random numbers");
  for (unsigned char byte : raw)
    text += fmt::format("{:02x}", byte);
  return text;
}

bool equalSecrets(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ (b.empty() ? 0 : b[i % b.size()]));
  return difference == 0;
}

bool isNumericAddress(const std::string &host) {
  unsigned char address[16];
  return ::inet_pton(AF_INET, host.c_str(), address) == 1 || ::inet_pton(AF_INET6, host.c_str(), address) == 1;
}

bool isLoopback(const std::string &host) {
  return host == "localhost" || host == "::1" || (host.starts_with("127.") && isNumericAddress(host));
}

std::string authority(const std::string &host, int port) {
  return host.find(':') == host.npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

static std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return char(std::tolower(letter)); });
  return text;
}

Access::Access(std::string host, int port, std::string token)
    : host(lower(std::move(host))), port(port), token(std::move(token)), session(randomText(16)) {}

/// "Example.org:80" without the port and the brackets of an address, if the port is `port`; else "".
static std::string hostWithout(std::string value, int port) {
  value = lower(std::move(value));
  size_t colon = value.rfind(':');
  bool withPort = colon != value.npos && value.find(']', colon) == value.npos;
  if ((withPort ? value.substr(colon + 1) : "80") != std::to_string(port))
    return "";
  if (withPort)
    value.erase(colon);
  if (value.starts_with('[') && value.ends_with(']'))
    return value.substr(1, value.size() - 2);
  return value.find(':') == value.npos ? value : "";
}

bool Access::isOurHost(const std::string &value) const {
  std::string name = hostWithout(value, port);
  if (name.empty())
    return false;
  if (host.empty() || isLoopback(host))
    return name == "localhost" || name == "127.0.0.1" || name == "::1" || name == host;
  // Names may be rebound to another address, numbers may not: a server on all addresses accepts any number.
  return name == host || (isEveryAddress(host) && (isNumericAddress(name) || name == "localhost"));
}

/// The value of the cookie `name` in a header such as "a=1; b=2".
static std::string cookie(const std::string &header, const std::string &name) {
  for (size_t begin = 0; begin < header.size();) {
    size_t end = std::min(header.find(';', begin), header.size());
    std::string part = header.substr(begin, end - begin);
    part.erase(0, part.find_first_not_of(' '));
    if (part.starts_with(name + "="))
      return part.substr(name.size() + 1);
    begin = end + 1;
  }
  return "";
}

/// The target (path and query) without the token.
static std::string targetWithoutToken(const Request &request) {
  std::string target, separator = "?";
  auto add = [&](std::string_view text) {
    for (unsigned char letter : text)
      target += std::isalnum(letter) || std::string_view("-._~").find(char(letter)) != std::string_view::npos
                    ? std::string(1, char(letter))
                    : fmt::format("%{:02X}", letter);
  };
  target += "/"; // browsers read a path that begins with two slashes as another host
  size_t begin = request.path.find_first_not_of('/');
  add(begin == request.path.npos ? "" : std::string_view(request.path).substr(begin));
  for (auto &[name, value] : request.parameters)
    if (name != "token") {
      target += std::exchange(separator, "&");
      add(name);
      target += "=";
      add(value);
    }
  return target;
}

std::optional<Answer> Access::withoutToken(const Request &request) const {
  if (token.empty())
    return std::nullopt;
  std::string name = fmt::format("lathe-{}", port); // browsers share cookies between ports
  if (equalSecrets(cookie(request.header("cookie"), name), session))
    return std::nullopt;
  std::string authorization = request.header("authorization");
  if (authorization.starts_with("Bearer ") && equalSecrets(authorization.substr(7), token))
    return std::nullopt;
  if (request.parameters.contains("token") && equalSecrets(request.parameter("token"), token)) {
    Answer answer = textAnswer(303, "see the address without the token");
    answer.headers = {{"Location", targetWithoutToken(request)},
                      {"Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/", name, session)}};
    return answer;
  }
  Answer answer = textAnswer(401, "a token is needed: open the address that lathe serve has printed, or send "
                                  "Authorization: Bearer TOKEN");
  answer.headers = {{"WWW-Authenticate", "Bearer"}};
  return answer;
}

std::optional<Answer> Access::refusal(const Request &request) const {
  if (!isOurHost(request.header("host")))
    return textAnswer(421, "the Host header names another server than this one");
  if (request.method != "GET" && request.method != "HEAD") {
    Answer answer = textAnswer(405, "only GET and HEAD: nothing can be changed here");
    answer.headers = {{"Allow", "GET, HEAD"}};
    return answer;
  }
  std::string origin = request.header("origin"), site = request.header("sec-fetch-site");
  bool foreign = request.headers.contains("origin") && (!origin.starts_with("http://") || !isOurHost(origin.substr(7)));
  // Links of other sites may lead here; scripts, pictures and frames of other sites may not.
  foreign =
      foreign || ((site == "cross-site" || site == "same-site") &&
                  (request.header("sec-fetch-mode") != "navigate" || request.header("sec-fetch-dest") != "document"));
  if (foreign)
    return textAnswer(403, "requests of other web sites are refused");
  return withoutToken(request);
}

} // namespace lathe::serve
