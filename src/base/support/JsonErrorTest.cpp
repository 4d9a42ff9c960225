#include "support/JsonError.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

std::string said(auto work) {
  try {
    work();
  } catch (const nlohmann::json::exception &error) {
    return messageOf(error);
  }
  return "no error";
}

} // namespace

TEST(JsonError, NamesNeitherLibraryNorNumber) {
  nlohmann::json document = {{"a", 1}};
  EXPECT_EQ(said([&] { document.at("b"); }), "key 'b' not found");
  EXPECT_EQ(said([&] { document["a"].get<std::string>(); }), "type must be string, but is number");
  EXPECT_EQ(said([] { nlohmann::json::parse("[1"); }).rfind("parse error at line 1, column 3", 0), 0u);
}

} // namespace lathe
