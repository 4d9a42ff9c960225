#include "support/Base64.h"

#include "support/Error.h"

#include <gtest/gtest.h>

#include <random>

using namespace lathe;

static std::string encoded(std::string_view text) { return toBase64({text.data(), text.size()}); }

TEST(Base64, vectorsOfTheStandard) { // RFC 4648, section 10
  for (auto [plain, text] : {std::pair{"", ""},
                             {"f", "Zg=="},
                             {"fo", "Zm8="},
                             {"foo", "Zm9v"},
                             {"foob", "Zm9vYg=="},
                             {"fooba", "Zm9vYmE="},
                             {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(encoded(plain), text);
    auto back = fromBase64(text);
    EXPECT_EQ(std::string(back.begin(), back.end()), plain);
  }
}

TEST(Base64, everyByteBothWays) {
  std::mt19937 random(1);
  for (size_t size = 0; size < 300; ++size) {
    std::vector<char> bytes(size);
    for (char &byte : bytes)
      byte = char(random());
    EXPECT_EQ(fromBase64(toBase64(bytes)), bytes);
  }
}

TEST(Base64, malformedTexts) {
  for (const char *text : {"Zg", "Zg=", "Z===", "Zg==Zg==", "Zm9*", "=Zm9", "Zm 9"})
    EXPECT_THROW(fromBase64(text), Error) << text;
}
