#include "lab/foreign/JsonParts.h"

#include "lab/foreign/ForeignTesting.h"

using namespace lathe;
using namespace lathe::lab;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class JsonPartsTest : public ForeignFolder {
protected:
  CutLine read(const std::string &text, const std::string &list = "") {
    elements.clear();
    members.clear();
    return readJsonParts(write("x.json", text),
                         {.list = list,
                          .element = [this](const json &element) { elements.push_back(element.dump()); },
                          .member = [this](auto &key, const json &value) { members.push_back(key + value.dump()); }});
  }
  std::string refusedText(const std::string &text, const std::string &list = "") {
    return errorOf([&] { read(text, list); });
  }
  std::vector<std::string> elements, members;
};

TEST_F(JsonPartsTest, partsComeInOrder) {
  EXPECT_EQ(read("[1, {\"a\": [2, {\"b\": null}]},\n \"x\", [[]], {}]"), 0u);
  EXPECT_THAT(elements, ElementsAre("1", R"({"a":[2,{"b":null}]})", "\"x\"", "[[]]", "{}"));
  EXPECT_EQ(read(R"({"list": 3, "c": {"list": [1]}, "list": [1, {"list": [2]}], "d": [4]})", "list"), 0u);
  EXPECT_THAT(elements, ElementsAre("1", R"({"list":[2]})"));
  EXPECT_THAT(members, ElementsAre("list3", R"(c{"list":[1]})", "d[4]"));
  EXPECT_EQ(read("[]"), 0u);
  EXPECT_TRUE(elements.empty());
}

TEST_F(JsonPartsTest, documentsWithoutTheirEndAreNoError) {
  EXPECT_EQ(read("[{\"a\": 1},\n{\"a\": 2},\n{\"a\": \"x"), 3u);
  EXPECT_THAT(elements, ElementsAre(R"({"a":1})", R"({"a":2})"));
  EXPECT_EQ(read("[1,\n2,"), 2u);
  EXPECT_THAT(elements, ElementsAre("1", "2"));
  EXPECT_EQ(read("[1]\n"), 0u);
}

TEST_F(JsonPartsTest, damageIsOneLine) {
  EXPECT_THAT(refusedText("[1,\n2 3]"), HasSubstr("x.json:2: is not valid JSON: "));
  EXPECT_THAT(refusedText("[1}"), HasSubstr("x.json:1: is not valid JSON: "));
  EXPECT_THAT(refusedText("[] 12"), HasSubstr("x.json:1: is not valid JSON: "));
  EXPECT_THAT(refusedText("[NaN]"), HasSubstr("is not valid JSON"));
  EXPECT_THAT(refusedText("[1e999]"), HasSubstr("is not valid JSON"));
  EXPECT_THAT(refusedText("[\"\xff\"]"), HasSubstr("is not valid JSON"));
  EXPECT_THAT(refusedText(std::string("[\"a\0b\"]", 7)), HasSubstr("is not valid JSON"));
  EXPECT_THAT(refusedText("{\"a\": 1}"), HasSubstr("the document is object, expected a list"));
  EXPECT_THAT(refusedText("[1]", "list"), HasSubstr("the document is array, expected an object"));
  EXPECT_THAT(refusedText("[" + std::string(100000, '[')), HasSubstr("nested deeper than 64 levels"));
  std::string many = "[[0";
  for (int i = 0; i < 1000000; ++i)
    many += ",0";
  EXPECT_THAT(refusedText(many + "]]"), HasSubstr("more than 1000000 values"));
}

TEST_F(JsonPartsTest, errorsOfThePartsHaveTheirLine) {
  std::string path = write("x.json", "[1,\n\n2]");
  auto read = [&] {
    readJsonParts(path, {.list = "", .element = [](const json &e) { require(e != 2, "is two"); }, .member = {}});
  };
  EXPECT_EQ(errorOf(read), path + ":3: is two");
}

} // namespace
