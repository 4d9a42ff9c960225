// Tags, notes and names in stores; stores merge to the same labels in any order.
#include "store/Archive.h"
#include "store/ContentKey.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

#include <fstream>

namespace lathe::store {

using testing::ElementsAre;
using testing::HasSubstr;

class LabelsTest : public StoreFolder {
protected:
  std::mt19937 random;
  int64_t clock = 1700000000000000; // microseconds: labels of these tests have their own time

  Label made(LabelTarget target, const std::string &key, const std::string &kind, const std::string &value) {
    return {target, key, kind, value, timeText(++clock)};
  }

  static std::string contentOf(Store &store) {
    std::string text;
    for (const Label &label : store.labels())
      text += toJson(label).dump() + "\n";
    return text;
  }
};

TEST_F(LabelsTest, areWhatWasSetLast) {
  Store store(place("lathe.db"));
  EXPECT_TRUE(store.labels().empty());
  auto set = [&](const std::string &kind, const std::string &value) {
    store.addLabels({made(LabelTarget::experiment, "uuid", kind, value)});
  };
  set("tag b", "set");
  set("tag a", "set");
  set("name", "first");
  set("name", "second 'quoted' \xc3\xa4");
  set("note", "a note");
  set("tag c", "set");
  set("tag c", "");
  LabelIndex index = indexOf(store.labels(), LabelTarget::experiment);
  const Labels &labels = index["uuid"];
  EXPECT_EQ(labels.name, "second 'quoted' \xc3\xa4");
  EXPECT_EQ(labels.note, "a note");
  EXPECT_THAT(labels.tags, ElementsAre("a", "b"));
  EXPECT_TRUE(labels.hasTags({"b"}));
  EXPECT_FALSE(labels.hasTags({"a", "c"}));
  EXPECT_TRUE(indexOf(store.labels(), LabelTarget::platform).empty());
  set("note", "");
  EXPECT_EQ(indexOf(store.labels(), LabelTarget::experiment)["uuid"].note, "");
  // A label with an earlier time has no effect.
  store.addLabels({{LabelTarget::experiment, "uuid", "name", "zzz", timeText(1600000000000000)}});
  EXPECT_EQ(indexOf(store.labels(), LabelTarget::experiment)["uuid"].name, "second 'quoted' \xc3\xa4");
}

/// Another machine's clock may be ahead: a label that is set here still replaces the label of that machine.
TEST_F(LabelsTest, whatIsSetNowReplacesADateOfTheFuture) {
  Store store(place("lathe.db"));
  for (std::string ahead :
       {"2999-12-31T23:59:59.999999Z", "2999-12-31T23:59:60.000000Z", "2999-02-31T00:00:00.000000Z"}) {
    auto note = [&] { return indexOf(store.labels(), LabelTarget::experiment)[ahead].note; };
    auto set = [&](const std::string &value, const std::string &changed) {
      store.addLabels({{LabelTarget::experiment, ahead, "note", value, changed}});
    };
    set("theirs", ahead);
    ASSERT_EQ(note(), "theirs");
    set("ours", "");
    EXPECT_EQ(note(), "ours") << ahead;
    set("", "");
    EXPECT_EQ(note(), "") << ahead;
  }
}

TEST_F(LabelsTest, impossibleOnesAreRefused) {
  Store store(place("lathe.db"));
  auto error = [&](const std::string &kind, const std::string &value, const std::string &key = "uuid") {
    return errorOf([&] { store.addLabels({made(LabelTarget::problem, key, kind, value)}); });
  };
  EXPECT_THAT(error("colour", "red"), HasSubstr("'colour' is no kind of label, expected name, note or tag WORD"));
  for (std::string tag : {"", "a b", "a,b", "-a", "+a", "a\nb"})
    EXPECT_THAT(error("tag " + tag, "set"), HasSubstr("is no tag: expected at most 64 characters"));
  EXPECT_THAT(error("tag a", "yes"), HasSubstr("the value of a tag is 'yes', expected set or nothing"));
  EXPECT_THAT(error("note", std::string(20000, 'x')), HasSubstr("20000 bytes"));
  EXPECT_THAT(error("note", "x", ""), HasSubstr("without a key"));
  EXPECT_THAT(errorOf([&] { store.addLabels({{LabelTarget::problem, "k", "note", "x", "yesterday"}}); }),
              HasSubstr("'yesterday' is no date"));
  EXPECT_TRUE(store.labels().empty());
  EXPECT_THAT(errorOf([&] { labelFromJson({{"target", "moon"}, {"key", "k"}, {"kind", "note"}}); }),
              HasSubstr("'moon' has no labels, expected experiment, platform, problem"));
  EXPECT_THAT(errorOf([&] { labelFromJson({{"target", "problem"}, {"key", 7}}); }), HasSubstr("has no text 'key'"));
}

/// An archive without labels has the format that older versions can read; one with labels has only the labels of its
/// records.
TEST_F(LabelsTest, archivesHaveThoseOfTheirContent) {
  Store store(place("lathe.db"));
  std::string first = store.addExperiment(someExperiment(), somePlatform()),
              second = store.addExperiment(someExperiment(ExperimentKind::bench), somePlatform("Other CPU"));
  store.addPoint(somePoint(first, 1));
  store.addPoint(somePoint(second, 2));
  std::string path = file("one.jsonl");
  auto manifest = [&](const Filter &filter) {
    exportArchive(store, filter, path);
    std::string line;
    std::ifstream in(path);
    std::getline(in, line);
    return nlohmann::json::parse(line)["lathe_store"];
  };
  EXPECT_EQ(manifest({})["format"], 2);
  EXPECT_FALSE(manifest({}).contains("labels"));
  store.addLabels({made(LabelTarget::experiment, first, "tag a", "set"),
                   made(LabelTarget::experiment, second, "tag b", "set"),
                   made(LabelTarget::platform, somePlatform("Other CPU").key(), "name", "other"),
                   made(LabelTarget::problem, somePoint(first, 1).problem.key(), "name", "stem"),
                   made(LabelTarget::problem, "of nothing", "name", "nothing")});
  EXPECT_EQ(manifest({})["format"], 3);
  EXPECT_EQ(manifest({})["labels"], 5);
  Filter filter;
  filter.experiments = {first};
  EXPECT_EQ(manifest(filter)["labels"], 2);
  Store other(place("other.db"));
  EXPECT_EQ(importInto(other, {path}).labels.added, 2u);
  EXPECT_EQ(importInto(other, {path}).labels.known, 2u);
  EXPECT_THAT(indexOf(other.labels(), LabelTarget::experiment)[first].tags, ElementsAre("a"));
  EXPECT_EQ(indexOf(other.labels(), LabelTarget::problem)[somePoint(first, 1).problem.key()].name, "stem");
}

TEST_F(LabelsTest, anyOrderGivesTheSame) {
  for (unsigned seed = 1; seed <= (onServer() ? 2 : 6); ++seed) {
    SCOPED_TRACE(seed);
    random.seed(seed);
    std::vector<std::string> paths;
    std::vector<std::unique_ptr<Store>> stores;
    for (int i = 0; i < 3; ++i) {
      paths.push_back(place(fmt::format("{}-{}.db", seed, i)));
      stores.push_back(std::make_unique<Store>(paths.back()));
    }
    std::vector<std::string> archives;
    for (int step = 0; step < 40; ++step) {
      Store &store = *stores[random() % 3];
      switch (random() % 4) {
      case 0:
      case 1: {
        auto target = LabelTarget(random() % 3);
        std::string kind = std::vector<std::string>{"name", "note", "tag a", "tag b"}[random() % 4];
        std::string value = random() % 3 == 0          ? ""
                            : kind.starts_with("tag ") ? "set"
                                                       : fmt::format("text {}", random() % 5);
        Label label = made(target, fmt::format("key {}", random() % 2), kind, value);
        if (random() % 4 == 0)
          label.changed = timeText(clock - int64_t(random() % 3)); // two clocks may agree, or one may be late
        store.addLabels({label});
        break;
      }
      case 2:
        archives.push_back(file(fmt::format("{}-{}.jsonl", seed, archives.size())));
        exportArchive(store, {}, archives.back());
        break;
      default:
        if (!archives.empty())
          importInto(store, {archives[random() % archives.size()]});
      }
    }
    Store one(place(fmt::format("{}-one.db", seed))), other(place(fmt::format("{}-other.db", seed)));
    importInto(one, {paths[0], paths[1], paths[2], paths[0]});
    for (int i : {2, 0, 1, 2})
      importInto(other, {paths[size_t(i)]});
    EXPECT_EQ(contentOf(one), contentOf(other));
    EXPECT_FALSE(contentOf(one).empty());
    std::string before = contentOf(one);
    importInto(one, archives);
    EXPECT_EQ(contentOf(one), before) << "archives hold nothing that their stores did not";
  }
}

} // namespace lathe::store
