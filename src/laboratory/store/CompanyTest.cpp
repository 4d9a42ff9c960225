// Points and tuning records in company beside those of the same work alone: each stays, in stores, archives and merges.
#include "store/Archive.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

#include <fstream>

namespace lathe::store {

using testing::HasSubstr;

class CompanyTest : public StoreFolder {
protected:
  static Point inCompany(Point point) {
    point.setting.company = someCompany();
    point.figures = {{"companion_runs", 40}};
    return point;
  }
  static nlohmann::json manifestOf(const std::string &path) {
    std::string line;
    std::ifstream in(path);
    std::getline(in, line);
    return nlohmann::json::parse(line)["lathe_store"];
  }
};

TEST_F(CompanyTest, isInTheKeysOfItsPointsAlone) {
  Point alone = somePoint("e", 1), together = inCompany(alone);
  EXPECT_FALSE(toJson(alone)["setting"].contains("company"));
  EXPECT_NE(alone.setting.key(), together.setting.key());
  EXPECT_NE(alone.key(), together.key());
  auto differs = [&](auto change) {
    Point other = together;
    change(other.setting.company);
    return other.key() != together.key() && other.setting.company.str() != together.setting.company.str();
  };
  EXPECT_TRUE(differs([](Company &c) { c.problem = "relu x=65"; }));
  EXPECT_TRUE(differs([](Company &c) { c.provider = "onednn:auto"; }));
  EXPECT_TRUE(differs([](Company &c) { c.threads = 2; }));
  EXPECT_TRUE(differs([](Company &c) { c.place = "core"; }));
  EXPECT_TRUE(differs([](Company &c) { c.leastRuns = 4; }));
}

TEST_F(CompanyTest, aloneAndTogetherMergeInAnyOrder) {
  std::string path = place("one.db");
  Store store(path);
  std::string uuid = store.addExperiment(someExperiment(), somePlatform());
  Point alone = somePoint(uuid, 1), together = inCompany(alone);
  store.addPoint(alone);
  exportArchive(store, {}, file("alone.jsonl"));
  EXPECT_EQ(manifestOf(file("alone.jsonl"))["format"], 2); // older versions can read it
  together.measured = "2036-01-01T00:00:00.000000Z";
  store.addPoint(together);
  exportArchive(store, {}, file("both.jsonl"));
  EXPECT_EQ(manifestOf(file("both.jsonl"))["format"], 4); // older versions refuse it
  for (bool old : {true, false}) {
    Store other(place(old ? "old.db" : "new.db"));
    importInto(other, {file(old ? "alone.jsonl" : "both.jsonl")});
    importInto(other, {file(old ? "both.jsonl" : "alone.jsonl")});
    auto points = other.points();
    ASSERT_EQ(points.size(), 2u);
    EXPECT_EQ(points[0].key(), alone.key());
    EXPECT_TRUE(points[0].setting.company.empty());
    EXPECT_EQ(points[0].rounds, alone.rounds);
    EXPECT_EQ(points[1].key(), together.key());
    EXPECT_EQ(points[1].setting.company.str(), someCompany().str());
    EXPECT_EQ(points[1].figures.at("companion_runs"), 40);
    std::string again = file("again.jsonl");
    exportArchive(other, {}, again);
    EXPECT_EQ(manifestOf(again), manifestOf(file("both.jsonl")));
  }
  expectHealthy(path);
}

TEST_F(CompanyTest, mustBeWhole) {
  nlohmann::json setting = toJson(inCompany(somePoint("e", 1)).setting);
  EXPECT_EQ(settingFromJson(setting).company.str(), someCompany().str());
  auto refused = [&](const char *key, const nlohmann::json &value) {
    nlohmann::json other = setting;
    other["company"][key] = value;
    try {
      settingFromJson(other);
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused("problem", ""), HasSubstr("company: expected the text of a problem"));
  EXPECT_THAT(refused("threads", 0), HasSubstr("threads is 0, expected 1"));
  EXPECT_THAT(refused("least_runs", -1), HasSubstr("least_runs is -1"));
  setting["company"] = 7;
  EXPECT_THROW(settingFromJson(setting), Error);
}

/// Records in company belong to another task, so nobody who asks for the task finds them.
TEST_F(CompanyTest, isInTheTaskOfTuningRecords) {
  Store store(place("lathe.db"));
  TuningRecord alone = someTuning(1), together = someTuning(3);
  EXPECT_EQ(taskInCompany(alone.task, Company()), alone.task);
  together.task = taskInCompany(alone.task, someCompany());
  EXPECT_THAT(together.task, HasSubstr(" | beside relu x=64 by lathe:auto"));
  alone.verdict = together.verdict = TuningVerdict::faster;
  together.seconds = *alone.seconds / 2;
  for (const TuningRecord &record : {alone, together})
    store.addTuning({record}, {record.task, "contraction", ""}, somePlatform());
  EXPECT_EQ(store.bestTuning(alone.task)->schedule, alone.schedule);
  EXPECT_EQ(store.bestTuning(together.task)->schedule, together.schedule);
  auto chosen = store.chosenSchedules(somePlatform().key());
  ASSERT_EQ(chosen.size(), 2u);
  for (const ChosenSchedule &one : chosen)
    EXPECT_EQ(one.schedule, one.task == alone.task ? alone.schedule : together.schedule);
  exportTuning(store, {}, file("records.jsonl"));
  Store other(place("other.db"));
  importInto(other, {file("records.jsonl")}, Imported::tuning);
  EXPECT_EQ(other.tuning().size(), 2u);
  EXPECT_EQ(other.bestTuning(alone.task)->schedule, alone.schedule);
}

/// The text of a record says for which company it is, and for no other.
TEST_F(CompanyTest, isTakenFromTheTaskOfTuningRecordsAgain) {
  Company one = someCompany(), other = someCompany(), longer = someCompany();
  other.leastRuns = 10;
  longer.problem = "a | " + one.str(); // the name of a file may be anything
  std::string task = someTask().text;
  const std::string companies[] = {"", one.str(), other.str(), longer.str()};
  for (const std::string &measured : companies)
    for (const std::string &asked : companies) {
      std::string text = taskInCompany(task, measured);
      EXPECT_EQ(isInCompany(text), !measured.empty());
      std::optional<std::string> found = taskWithoutCompany(text, asked);
      if (measured == asked)
        EXPECT_EQ(found, task);
      else
        EXPECT_NE(found, task) << text << "\n" << asked;
      if (asked.empty() && !measured.empty())
        EXPECT_FALSE(found.has_value()) << text;
      if (found && found != task) // no kernel has such a task
        EXPECT_TRUE(isInCompany(*found)) << *found;
    }
}

} // namespace lathe::store
