#include "serve/RequestHead.h"

#include <gtest/gtest.h>

#include <map>

using namespace lathe::serve;
using namespace std::string_literals;

static constexpr int most = 8;

TEST(RequestHead, keepsWhatTheServerHonours) {
  auto head = checkedHead("GET /a?b=1 HTTP/1.1\r\nHost: x\r\nCookie: c=1\r\n\r\n", most);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->text, "GET /a?b=1 HTTP/1.1\r\nHost: x\r\nCookie: c=1\r\n\r\n");
  EXPECT_FALSE(head->last);
  EXPECT_EQ(head->lineBytes, 19u);
}

TEST(RequestHead, removesRangesAndCompression) {
  auto head = checkedHead("GET / HTTP/1.1\r\nRANGE: bytes=0-1\r\nHost: x\r\nAccept-Encoding: br\r\n"
                          "Expect: 100-continue\r\nIf-Range: \"a\"\r\n\r\n",
                          most);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->text, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
}

TEST(RequestHead, leavesOneEqualsSignToAParameter) {
  for (auto &[target, kept] : std::map<std::string, std::string>{{"/a=b?c=d", "/a=b?c=d"},
                                                                 {"/?token=a==&b=c=d", "/?token=a%3D%3D&b=c%3Dd"},
                                                                 {"/?a?b=c?=d", "/?a?b=c?%3Dd"},
                                                                 {"/?==&=", "/?=%3D&="}}) {
    auto head = checkedHead("GET " + target + " HTTP/1.1\r\n\r\n", most);
    ASSERT_TRUE(head) << target;
    EXPECT_EQ(head->text, "GET " + kept + " HTTP/1.1\r\n\r\n");
  }
}

TEST(RequestHead, seesThatAConnectionCannotGoOn) {
  for (const char *header : {"Content-Length: 3", "transfer-encoding: chunked", "Connection: Close"}) {
    auto head = checkedHead(std::string("POST / HTTP/1.1\r\n") + header + "\r\n\r\n", most);
    ASSERT_TRUE(head) << header;
    EXPECT_TRUE(head->last) << header;
  }
}

TEST(RequestHead, takesAsManyHeadersAsItSays) {
  std::string head = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < most; ++i)
    head += "A: b\r\n";
  EXPECT_TRUE(checkedHead(head + "\r\n", most));
}

TEST(RequestHead, refusesWhatNoClientSends) {
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i <= most; ++i)
    many += "A: b\r\n";
  for (const std::string &head : {
           std::string("\r\n\r\n"),                                     // no request line
           std::string("GET / HTTP/1.1\r\n"),                           // no end
           std::string("GET / FTP/1.1\r\n\r\n"),                        // another protocol
           std::string("GET http://a/ HTTP/1.1\r\n\r\n"),               // for a proxy
           std::string("GET  / HTTP/1.1\r\n\r\n"),                      // two blanks
           std::string("G@T / HTTP/1.1\r\n\r\n"),                       // no method
           std::string("GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n"),         // folded
           std::string("GET / HTTP/1.1\r\nA\r\n\r\n"),                  // no colon
           std::string("GET / HTTP/1.1\r\nA : b\r\n\r\n"),              // a blank in a name
           std::string("GET / HTTP/1.1\r\nA: b\nB: c\r\n\r\n"),         // a line end of one character
           "GET / HTTP/1.1\r\nA: \0b\r\n\r\n"s,                         // a control character
           std::string("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), // ambiguous
           many + "\r\n",
       })
    EXPECT_FALSE(checkedHead(head, most)) << head;
}
