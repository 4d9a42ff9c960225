// The document of report pages: data is unchanged after reading back, and no text becomes markup.
#include "report/PageData.h"

#include "report/ReportTesting.h"
#include "support/Base64.h"

#include <cmath>
#include <cstring>

namespace lathe::report {
namespace {

using nlohmann::json;

template <class T> std::vector<T> unpacked(const json &column) {
  std::vector<char> bytes = fromBase64(column.at("data").get<std::string>());
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class PageDataTest : public testing::Test {
protected:
  PageDataTest() : data({.title = "t", .created = "2026-01-01T00:00:00.000000Z"}) {
    platform.cpu = "cpu";
    data.addPlatform(platform, nullptr);
    experiment.uuid = "e";
    experiment.platform = platform.key();
    experiment.settings = json::object();
    data.addExperiment(experiment);
  }

  static store::Point pointOf(const std::string &problem, std::vector<std::vector<int64_t>> rounds) {
    store::Point point;
    point.experiment = "e";
    point.problem.op = problem.substr(0, problem.find(' '));
    point.problem.text = problem;
    point.problem.detail = json::object();
    point.setting.extra = json::object();
    point.provider = "lathe";
    point.variant = "auto";
    point.measured = "2026-01-01T00:00:00.000000Z";
    point.repro = "lathe ops bench conv";
    point.status = rounds.empty() ? store::PointStatus::crashed : store::PointStatus::passed;
    for (auto &round : rounds) {
      auto &samples = point.rounds.emplace_back();
      for (int64_t wall : round)
        samples.emplace_back().wallNs = wall;
    }
    return point;
  }

  store::Platform platform;
  store::Experiment experiment;
  PageData data;
};

TEST_F(PageDataTest, ColumnsHaveEveryPointWithItsSamples) {
  data.addPoint(pointOf(convText(8, 8), {{3000, 1000}, {2000}}));
  data.addPoint(pointOf(convText(8, 16), {}));
  json document = json::parse(data.document().dump());
  EXPECT_EQ(document["schema"], pageSchema);
  const json &points = document["points"];
  EXPECT_EQ(points["count"], 2);
  EXPECT_EQ(unpacked<uint32_t>(points["round_counts"]), (std::vector<uint32_t>{2, 0}));
  EXPECT_EQ(unpacked<uint32_t>(points["round_lengths"]), (std::vector<uint32_t>{2, 1}));
  EXPECT_EQ(points["samples_ns"]["type"], "u32");
  EXPECT_EQ(unpacked<uint32_t>(points["samples_ns"]), (std::vector<uint32_t>{3000, 1000, 2000}));
  auto medians = unpacked<double>(points["columns"]["median"]);
  EXPECT_DOUBLE_EQ(medians[0], 2e-6);
  EXPECT_TRUE(std::isnan(medians[1]));
  auto status = unpacked<uint32_t>(points["columns"]["status"]);
  EXPECT_EQ(document["texts"][status[0]], "passed");
  EXPECT_EQ(document["texts"][status[1]], "crashed");
  EXPECT_FALSE(points["columns"].contains("cycles")); // which no point has
  auto problem = unpacked<uint32_t>(points["columns"]["problem"]);
  EXPECT_EQ(document["problems"][problem[0]]["text"], convText(8, 8));
  EXPECT_GT(document["problems"][problem[0]]["flops"], 0);
}

TEST_F(PageDataTest, OfTwoMeasurementsTheLaterIsCurrent) {
  store::Point early = pointOf(convText(8, 8), {{1}}), late = early, other = pointOf(convText(8, 16), {{1}});
  late.measured = "2026-01-02T00:00:00.000000Z";
  for (const store::Point *point : {&late, &early, &other})
    data.addPoint(*point);
  json columns = data.document()["points"]["columns"];
  EXPECT_EQ(unpacked<uint32_t>(columns["current"]), (std::vector<uint32_t>{1, 0, 1}));
  EXPECT_EQ(unpacked<uint32_t>(columns["cell"]), (std::vector<uint32_t>{0, 0, 1}));
}

TEST_F(PageDataTest, SaysWhichPointsWereDisturbed) {
  store::Point alone = pointOf(convText(8, 8), {{1}}), busy = pointOf(convText(8, 16), {{1}});
  alone.disturbance.otherProcessors = 0.01;
  busy.disturbance.otherProcessors = 0.9;
  for (const store::Point *point : {&alone, &busy})
    data.addPoint(*point);
  EXPECT_EQ(unpacked<uint32_t>(data.document()["points"]["columns"]["disturbed"]), (std::vector<uint32_t>{0, 1}));
}

TEST_F(PageDataTest, SchedulesShareACell) {
  store::Point first = pointOf(convText(8, 8), {{1}}), second = first, cold = first, other = first;
  second.setting.schedule = "direct/1 px=4";
  cold.setting.cache = store::CacheState::cold;
  other.variant = "";
  for (const store::Point *point : {&first, &second, &cold, &other, &second})
    data.addPoint(*point);
  json document = data.document(), columns = document["points"]["columns"];
  EXPECT_EQ(unpacked<uint32_t>(columns["cell"]), (std::vector<uint32_t>{0, 0, 1, 0, 0}));
  EXPECT_EQ(unpacked<uint32_t>(columns["setting"]), (std::vector<uint32_t>{0, 1, 2, 0, 1}));
  EXPECT_EQ(unpacked<uint32_t>(columns["current"]), (std::vector<uint32_t>{1, 0, 1, 1, 1}));
  EXPECT_EQ(document["settings"].size(), 3u);
  EXPECT_EQ(document["problems"].size(), 1u);
}

TEST_F(PageDataTest, LongTimesKeepTheirNanoseconds) {
  data.addPoint(pointOf(convText(8, 8), {{5'000'000'001}, {7}}));
  json samples = data.document()["points"]["samples_ns"];
  EXPECT_EQ(samples["type"], "f64");
  EXPECT_EQ(unpacked<double>(samples), (std::vector<double>{5'000'000'001, 7}));
}

TEST_F(PageDataTest, PointsNeedTheirExperiment) {
  store::Point point = pointOf(convText(8, 8), {});
  point.experiment = "other";
  EXPECT_THROW(data.addPoint(point), Error);
}

TEST_F(PageDataTest, TextsCannotEndTheElement) {
  std::string evil = "</script><img src=x onerror=alert(1)>\xff";
  store::Point point = pointOf("custom " + evil, {{1}});
  data.addPoint(point);
  std::string page = pageWith(fmt::format("<a>{}</a>", pageDataMarker), data.document());
  ASSERT_TRUE(page.starts_with("<a>{") && page.ends_with("}</a>"));
  std::string inside = page.substr(3, page.size() - 7);
  EXPECT_EQ(inside.find('<'), inside.npos);
  std::string text = json::parse(inside)["problems"][0]["text"];
  EXPECT_TRUE(text.starts_with("custom </script><img src=x onerror=alert(1)>")) << text;
}

/// Text that is copied unchanged must equal the JSON library's output.
TEST(EmbeddedText, IsTheJsonWithoutLessThan) {
  std::string every;
  for (int letter = 0; letter < 256; ++letter)
    every += char(letter);
  json document = {{"every", every},
                   {"a<b", {"plain", "<", "\"", "\\", "~", "\x7f", "é", "\n", ""}},
                   {"numbers", {0, -1, 1.5, 1e300, std::nan(""), UINT64_MAX, 0.1}},
                   {"rest", {nullptr, true, false, json::object(), json::array(), {{"x", {{"y", 1}}}}}}};
  std::string dumped = document.dump(-1, ' ', false, json::error_handler_t::replace), expected;
  for (char letter : dumped)
    expected += letter == '<' ? "\\u003c" : std::string(1, letter);
  EXPECT_EQ(embeddedText(document), expected);
  for (char letter : every) { // each alone
    json single = std::string(1, letter);
    std::string text = single.dump(-1, ' ', false, json::error_handler_t::replace);
    EXPECT_EQ(embeddedText(single), letter == '<' ? "\"\\u003c\"" : text);
  }
}

TEST_F(PageDataTest, TheTemplateHasTheMarkerOnce) {
  EXPECT_THROW(pageWith("nothing", {}), Error);
  EXPECT_THROW(pageWith(fmt::format("{0}{0}", pageDataMarker), {}), Error);
}

TEST_F(PageDataTest, TuningRecordsKeepTaskAndExperiment) {
  store::TuningRecord record;
  record.experiment = "e";
  record.platform = platform.key();
  record.task = "task";
  record.schedule = "direct/1 px=4";
  record.seconds = 0.5;
  record.measured = "2026-01-01T00:00:00.000000Z";
  store::TuningRecord other = record;
  other.experiment = "unknown";
  data.addTask({{"task", "contraction", ""}, {record, other}});
  json tuning = data.document()["tuning"];
  EXPECT_EQ(tuning["count"], 2);
  EXPECT_EQ(tuning["tasks"][0]["text"], "task");
  EXPECT_EQ(unpacked<uint32_t>(tuning["columns"]["experiment"]), (std::vector<uint32_t>{0, UINT32_MAX}));
  EXPECT_EQ(unpacked<double>(tuning["columns"]["seconds"]), (std::vector<double>{0.5, 0.5}));
}

} // namespace
} // namespace lathe::report
