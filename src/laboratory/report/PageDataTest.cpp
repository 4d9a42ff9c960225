// The document of report pages: data is unchanged after reading back, and no text becomes markup.
#include "report/PageData.h"

#include "report/ReportTesting.h"
#include "store/Fields.h"
#include "support/Base64.h"

#include <zlib.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

namespace lathe::report {
namespace {

using nlohmann::json;

template <class T> std::vector<T> unpacked(const json &column) {
  std::vector<char> bytes = fromBase64(column.at("data").get<std::string>());
  std::string type = column.at("type");
  size_t size = type == "u8" ? 1 : type == "u16" ? 2 : type == "u32" ? 4 : 8;
  std::vector<T> values(bytes.size() / size); // little endian: the bytes of short integers are the lower ones
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(&values[i], bytes.data() + i * size, size);
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

/// The first judgement of the page by a statistic, as report/PagePairs.cpp codes it.
struct FirstJudgement {
  FirstJudgement(const json &pairs, std::string_view statistic, double times) {
    const json &columns = pairs.at("judged").at(statistic);
    verdicts = int(unpacked<uint8_t>(columns.at("verdicts")).at(0));
    ratio = times * factor(columns.at("ratios"));
    low = ratio / factor(columns.at("lows"));
    high = ratio * factor(columns.at("highs"));
  }
  static double factor(const json &column) {
    int code = unpacked<uint16_t>(column).at(0), steps = code & 0x7fff;
    return steps ? std::exp2((code > steps ? -1 : 1) * std::exp2((steps - 1) / 1300.0 - 20)) : 1;
  }
  int verdicts = 0;
  double ratio = 0, low = 0, high = 0;
};

TEST_F(PageDataTest, PairsAreJudgedByEveryStatistic) {
  // Six starts of two rounds; in those of the peer every other sample takes twice as long.
  std::vector<std::vector<int64_t>> even, uneven;
  for (int64_t round = 0; round < 12; ++round) {
    even.push_back({1000 + round, 1000 + round, 1000 + round, 1000 + round});
    uneven.push_back({1000 + round, 2000 + 2 * round, 2000 + 2 * round, 2000 + 2 * round});
  }
  store::Point ours = pointOf(convText(8, 8), even), peer = pointOf(convText(8, 8), uneven);
  peer.provider = "peer";
  ours.starts = peer.starts = {2, 2, 2, 2, 2, 2};
  store::Point other = pointOf(convText(8, 16), even); // of another problem
  for (const store::Point *point : {&peer, &other, &ours})
    data.addPoint(*point);
  json pairs = data.document()["points"]["pairs"];
  EXPECT_EQ(unpacked<uint32_t>(pairs["partners"]), (std::vector<uint32_t>{1, 0, 0}));
  EXPECT_EQ(unpacked<uint32_t>(pairs["others"]), (std::vector<uint32_t>{2}));
  Row top = report::rowOf(peer, experiment), bottom = report::rowOf(ours, experiment);
  EXPECT_EQ(pairs["judged"].size(), std::size(lab::shownStatistics));
  for (const lab::NamedStatistic &statistic : lab::shownStatistics) {
    SCOPED_TRACE(statistic.name);
    lab::SideTimes above = lab::timesBy(startsOf(top), {&statistic, 1})[0];
    lab::SideTimes below = lab::timesBy(startsOf(bottom), {&statistic, 1})[0];
    FirstJudgement judged(pairs, statistic.name, above.whole / below.whole);
    lab::RatioEstimate expected = judgeTimes(top, above, bottom, below).ratio;
    EXPECT_NEAR(judged.ratio, expected.ratio, 1e-5);
    EXPECT_NEAR(judged.low, expected.interval.low, 1e-5 + 3e-4 * (expected.ratio - expected.interval.low));
    EXPECT_NEAR(judged.high, expected.interval.high, 1e-5 + 3e-4 * (expected.interval.high - expected.ratio));
    bool isLeast = statistic.name == "minimum" || statistic.name == "5th percentile";
    EXPECT_NEAR(judged.ratio, isLeast ? 1 : statistic.name == "mean" ? 1.75 : 2, 0.3);
    // Faster in one direction is slower in the other one (0 and 1); equal minima are the same (2).
    EXPECT_EQ(judged.verdicts, isLeast ? 1 + 7 * 2 + 2 : 1 + 7 * 0 + 1);
  }
}

TEST_F(PageDataTest, PairsSayWhyTheyHaveNoVerdict) {
  auto judged = [&](std::vector<size_t> starts, auto change) {
    std::vector<std::vector<int64_t>> even(12, {1000, 1000}), slow(12, {2000, 2000});
    store::Point ours = pointOf(convText(8, 8), even), peer = pointOf(convText(8, 8), slow);
    peer.provider = "peer";
    ours.starts = peer.starts = std::move(starts);
    ours.callSeconds = peer.callSeconds = 0;
    change(peer);
    PageData page({});
    page.addPlatform(platform, nullptr);
    page.addExperiment(experiment);
    store::Experiment later = experiment;
    later.uuid = "later";
    page.addExperiment(later);
    page.addPoint(peer);
    page.addPoint(ours);
    int verdicts = FirstJudgement(page.document()["points"]["pairs"], "median", 2).verdicts;
    return verdicts == 0 ? -1 : (verdicts - 1) / 7; // -1: a range
  };
  constexpr int range = -1, faster = 0, overhead = 3, fewStarts = 4, disturbed = 5, wide = 6;
  std::vector<size_t> six(6, 2);
  auto nothing = [](store::Point &) {};
  auto disturb = [](store::Point &point) { point.disturbance.otherProcessors = 0.9; };
  auto apart = [](store::Point &point) { point.experiment = "later"; };
  auto scatter = [](store::Point &point) {
    for (size_t i = 0; i < point.rounds.size(); ++i)
      for (store::Sample &sample : point.rounds[i])
        sample.wallNs = i % 4 < 2 ? 600 : 2000;
  };
  EXPECT_EQ(judged(six, nothing), faster);
  EXPECT_EQ(judged({}, nothing), range);
  EXPECT_EQ(judged({6, 6}, nothing), range);
  EXPECT_EQ(judged({4, 4, 4}, nothing), faster); // in turns
  EXPECT_EQ(judged({3, 3, 3, 3}, apart), fewStarts);
  EXPECT_EQ(judged(six, apart), faster);
  EXPECT_EQ(judged(six, disturb), faster); // in turns both had the same disturbance
  EXPECT_EQ(judged(six, [&](store::Point &point) { apart(point), disturb(point); }), disturbed);
  EXPECT_EQ(judged(six, [](store::Point &point) { point.callSeconds = 1; }), overhead);
  EXPECT_EQ(judged(six, [&](store::Point &point) { apart(point), scatter(point); }), wide);
  EXPECT_EQ(judged(six, [&](store::Point &point) { disturb(point), scatter(point); }), disturbed);
}

TEST_F(PageDataTest, PairsHaveTheFastestOfEveryColumn) {
  // Twenty schedules of one column beside a peer: too many for all pairs of them.
  std::vector<store::Point> points;
  for (int i = 0; i < 20; ++i) {
    points.push_back(pointOf(convText(8, 8), {{1000 - i}}));
    points.back().setting.schedule = fmt::format("direct/1 px={}", i + 1);
  }
  points.push_back(pointOf(convText(8, 8), {{5000}}));
  points.back().provider = "peer";
  auto count = [&](size_t first, std::string baseline) {
    PageData page({.baseline = std::move(baseline)});
    page.addPlatform(platform, nullptr);
    page.addExperiment(experiment);
    for (size_t i = first; i < points.size(); ++i)
      page.addPoint(points[i]);
    json pairs = page.document()["points"]["pairs"];
    return unpacked<uint32_t>(pairs["others"]).size();
  };
  EXPECT_EQ(count(15, ""), 6u * 5 / 2); // all of five schedules and the peer
  EXPECT_EQ(count(0, ""), 20u + 19);    // the peer beside all, the fastest schedule beside the others
  EXPECT_EQ(count(0, "lathe:auto:direct/1 px=3"), 20u + 19 + 18); // the schedule that was asked for, too
}

TEST_F(PageDataTest, PairsOfEarlierMeasurementsHaveTheFastestOfAllTimes) {
  store::Point old = pointOf(convText(8, 8), {{500}}), now = pointOf(convText(8, 8), {{1000}}), peer = now;
  peer.provider = "peer";
  now.measured = "2026-01-02T00:00:00.000000Z";
  for (const store::Point *point : {&old, &now, &peer})
    data.addPoint(*point);
  json pairs = data.document()["points"]["pairs"];
  EXPECT_EQ(unpacked<uint32_t>(pairs["others"]), (std::vector<uint32_t>{1, 2, 2}));
  EXPECT_EQ(unpacked<uint8_t>(pairs["judged"]["mean"]["verdicts"]).size(), 3u);
}

/// The keys of a record's fields.
struct FieldKeys {
  std::set<std::string> keys;
  void operator()(const char *key, const auto &, int = 0) { keys.insert(key); }
  void known(const char *key, const auto &, const char * = nullptr) { keys.insert(key); }
  void ended(const char *key, const auto &) { keys.insert(key); }
  void large(const char *key, const auto &) { keys.insert(key); }
  void link(const char *key, const auto &, const char *, const char *, bool = false) { keys.insert(key); }
};

/// The members of an interface in the schema of the page.
std::set<std::string> interfaceOf(const std::string &schema, const std::string &name) {
  size_t begin = schema.find("export interface " + name + " "), end = schema.find("\n}", begin);
  std::string body = schema.substr(begin, end - begin);
  std::set<std::string> keys;
  static const std::regex member("\n  (\\w+)\\??:");
  for (std::sregex_iterator at(body.begin(), body.end(), member), none; at != none; ++at)
    keys.insert((*at)[1]);
  return keys;
}

/// Expects every member to be a field of the record, or one of `others`, which the page adds.
template <class Record> void expectFields(const std::set<std::string> &members, std::set<std::string> others) {
  FieldKeys fields{std::move(others)};
  const Record record;
  visitFields(record, fields);
  EXPECT_GT(members.size(), 5u);
  for (const std::string &member : members)
    EXPECT_TRUE(fields.keys.contains(member)) << member;
}

TEST_F(PageDataTest, TypeScriptNamesFieldsOfTheStore) {
  std::ifstream file(LATHE_SOURCE_DIR "/src/laboratory/report/page/src/data/schema.ts");
  std::string schema(std::istreambuf_iterator<char>(file), {});
  expectFields<store::Platform>(interfaceOf(schema, "Platform"), {"key", "name", "ceilings"});
  expectFields<store::Experiment>(interfaceOf(schema, "Experiment"), {"in_turns"});
  expectFields<store::Setting>(interfaceOf(schema, "Setting"), {"text"});
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
  std::string embedded = embeddedText(data.document());
  EXPECT_EQ(embedded.find('<'), embedded.npos);
  std::string page = pageWith(fmt::format("<a>{}</a>", pageDataMarker), data.document());
  ASSERT_TRUE(page.starts_with("<a>") && page.ends_with("</a>"));
  std::vector<char> packed = fromBase64(page.substr(3, page.size() - 7)), bytes(embedded.size());
  uLongf size = bytes.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef *>(bytes.data()), &size, reinterpret_cast<const Bytef *>(packed.data()),
                       packed.size()),
            Z_OK);
  json inside = json::parse(bytes.begin(), bytes.begin() + std::ptrdiff_t(size));
  EXPECT_EQ(inside, json::parse(embedded));
  std::string text = inside["problems"][0]["text"];
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
