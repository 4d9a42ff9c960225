#include "serve/Access.h"

#include <gtest/gtest.h>

using namespace lathe::serve;

static const std::string token = "0123456789abcdef";

static Request get(const std::string &host, std::multimap<std::string, std::string> headers = {}) {
  Request request{"GET", "/report", {{"experiment", "a b&c"}}, std::move(headers)};
  request.headers.emplace("host", host);
  return request;
}
static int status(const Access &access, const Request &request) {
  std::optional<Answer> refused = access.refusal(request);
  return refused ? refused->status : 200;
}
static std::string header(const Answer &answer, const std::string &name) {
  for (auto &[key, value] : answer.headers)
    if (key == name)
      return value;
  return "";
}

TEST(Access, hostsOfThisMachineAreOurs) {
  Access access("", 8090, "");
  for (const char *host : {"localhost:8090", "LOCALHOST:8090", "127.0.0.1:8090", "[::1]:8090"})
    EXPECT_EQ(status(access, get(host)), 200) << host;
  for (const char *host :
       {"", "localhost", "localhost:8091", "127.0.0.1", "evil.example:8090", "127.0.0.1.evil:8090", "localhost.:8090",
        "[::1]", "::1:8090", "127.0.0.2:8090", "localhost:8090:8090", "[::1]x:8090"})
    EXPECT_EQ(status(access, get(host)), 421) << host;
  EXPECT_EQ(status(Access("", 80, ""), get("localhost")), 200); // the default port
}

TEST(Access, aGivenAddressIsTheOnlyHost) {
  Access named("Box.lan", 8090, ""), numbered("192.168.1.20", 8090, ""), everywhere("0.0.0.0", 8090, "");
  EXPECT_EQ(status(named, get("box.lan:8090")), 200);
  EXPECT_EQ(status(named, get("localhost:8090")), 421);
  EXPECT_EQ(status(numbered, get("192.168.1.20:8090")), 200);
  EXPECT_EQ(status(numbered, get("192.168.1.21:8090")), 421);
  EXPECT_EQ(status(everywhere, get("10.1.2.3:8090")), 200); // numbers cannot be rebound
  EXPECT_EQ(status(everywhere, get("[fe80::1]:8090")), 200);
  EXPECT_EQ(status(everywhere, get("rebound.example:8090")), 421);
}

TEST(Access, onlyReadingIsAllowed) {
  Access access("", 8090, "");
  for (const char *method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"}) {
    Request request = get("localhost:8090");
    request.method = method;
    EXPECT_EQ(status(access, request), 405) << method;
    EXPECT_EQ(header(*access.refusal(request), "Allow"), "GET, HEAD");
  }
  Request request = get("localhost:8090");
  request.method = "HEAD";
  EXPECT_EQ(status(access, request), 200);
}

TEST(Access, otherSitesAreRefused) {
  Access access("", 8090, "");
  auto with = [&](std::multimap<std::string, std::string> headers) {
    return status(access, get("localhost:8090", std::move(headers)));
  };
  EXPECT_EQ(with({{"origin", "http://localhost:8090"}}), 200);
  EXPECT_EQ(with({{"origin", "http://127.0.0.1:8090"}}), 200);
  for (const char *origin : {"null", "", "http://evil.example", "http://localhost:8091", "https://localhost:8090"})
    EXPECT_EQ(with({{"origin", origin}}), 403) << origin;
  EXPECT_EQ(with({{"sec-fetch-site", "same-origin"}, {"sec-fetch-mode", "cors"}}), 200);
  EXPECT_EQ(with({{"sec-fetch-site", "none"}}), 200);
  EXPECT_EQ(with({{"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "no-cors"}}), 403);
  EXPECT_EQ(with({{"sec-fetch-site", "same-site"}, {"sec-fetch-mode", "cors"}}), 403); // another port
  std::multimap<std::string, std::string> link = {
      {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}, {"sec-fetch-dest", "document"}};
  EXPECT_EQ(with(link), 200);
  link.find("sec-fetch-dest")->second = "iframe";
  EXPECT_EQ(with(link), 403);
}

TEST(Access, aTokenIsDemandedAndExchangedForACookie) {
  Access access("box.lan", 8090, token);
  auto with = [&](std::multimap<std::string, std::string> headers) {
    return status(access, get("box.lan:8090", std::move(headers)));
  };
  EXPECT_EQ(with({}), 401);
  EXPECT_EQ(with({{"authorization", "Bearer " + token}}), 200);
  EXPECT_EQ(with({{"authorization", "Bearer " + token.substr(1)}}), 401);
  EXPECT_EQ(with({{"authorization", "Bearer "}}), 401);
  EXPECT_EQ(with({{"authorization", token}}), 401);
  Request first = get("box.lan:8090");
  first.parameters.emplace("token", token);
  std::optional<Answer> exchange = access.refusal(first);
  ASSERT_TRUE(exchange);
  EXPECT_EQ(exchange->status, 303);
  EXPECT_EQ(header(*exchange, "Location"), "/report?experiment=a%20b%26c");
  std::string cookie = header(*exchange, "Set-Cookie");
  EXPECT_TRUE(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/")) << cookie;
  EXPECT_EQ(cookie.find(token), cookie.npos);
  EXPECT_EQ(with({{"cookie", "a=b; " + cookie.substr(0, cookie.find(';'))}}), 200);
  EXPECT_EQ(with({{"cookie", "lathe-8090="}}), 401);
  EXPECT_EQ(with({{"cookie", "lathe-8090=" + token}}), 401);
  first.parameters.find("token")->second = "wrong";
  EXPECT_EQ(status(access, first), 401);
  first.path = "//evil.example"; // must not lead to another host
  first.parameters.find("token")->second = token;
  EXPECT_EQ(header(*access.refusal(first), "Location"), "/evil.example?experiment=a%20b%26c");
}

TEST(Access, secretsAndAddresses) {
  EXPECT_TRUE(equalSecrets("abc", "abc"));
  for (const char *other : {"", "ab", "abcd", "abd", "xbc", "abcabc"}) {
    EXPECT_FALSE(equalSecrets(other, "abc")) << other;
    EXPECT_FALSE(equalSecrets("abc", other)) << other;
  }
  EXPECT_EQ(randomText(16).size(), 32u);
  EXPECT_NE(randomText(16), randomText(16));
  for (const char *host : {"localhost", "127.0.0.1", "127.1.2.3", "::1"})
    EXPECT_TRUE(isLoopback(host)) << host;
  for (const char *host : {"", "0.0.0.0", "::", "10.0.0.1", "127.evil.example", "example.org"})
    EXPECT_FALSE(isLoopback(host)) << host;
  EXPECT_EQ(authority("127.0.0.1", 80), "127.0.0.1:80");
  EXPECT_EQ(authority("::1", 80), "[::1]:80");
}
