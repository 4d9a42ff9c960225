#include "report/PageData.h"

#include "lab/judging/Statistics.h"
#include "report/RooflineShares.h"
#include "support/Base64.h"

#include <bit>
#include <cmath>
#include <limits>
#include <map>

namespace lathe::report {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "typed arrays of the page are little endian");

static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

template <class T> static json packed(const std::vector<T> &values, const char *type) {
  auto bytes = std::span(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
  return {{"type", type}, {"data", toBase64(bytes)}};
}
static json packed(const std::vector<uint32_t> &values) { return packed(values, "u32"); }
static json packed(const std::vector<double> &values) { return packed(values, "f64"); }

/// Times in ns: 32 bits are enough for 4.29 s, and the whole document is mostly these.
static json packedTimes(const std::vector<int64_t> &nanoseconds) {
  std::vector<uint32_t> narrow;
  for (int64_t value : nanoseconds)
    if (value <= std::numeric_limits<uint32_t>::max())
      narrow.push_back(uint32_t(value));
  if (narrow.size() == nanoseconds.size())
    return packed(narrow);
  return packed(std::vector<double>(nanoseconds.begin(), nanoseconds.end()));
}

/// A list of different values, and the index of each.
template <class Key, class Value = Key> class Dictionary {
public:
  template <class Make> uint32_t index(const Key &key, Make &&make) {
    auto [place, isNew] = places.try_emplace(key, uint32_t(values.size()));
    if (isNew)
      values.push_back(make());
    return place->second;
  }
  uint32_t index(const Key &key) {
    return index(key, [&] { return key; });
  }
  std::optional<uint32_t> find(const Key &key) const {
    auto place = places.find(key);
    return place == places.end() ? std::nullopt : std::optional(place->second);
  }
  std::vector<Value> values;

private:
  std::map<Key, uint32_t> places;
};

/// Columns of one kind of row, by name, with one number for each row.
struct NumberColumns {
  Dictionary<std::string> &texts;
  std::map<std::string, std::vector<uint32_t>> integers;
  std::map<std::string, std::vector<double>> numbers;

  void integer(const char *name, uint32_t value) { integers[name].push_back(value); }
  void text(const char *name, std::string_view value) { integer(name, texts.index(std::string(value))); }
  void number(const char *name, std::optional<double> value) { numbers[name].push_back(value.value_or(unknown)); }
  json document() const;
};

struct PageData::Columns {
  PageHeader header;
  Dictionary<std::string, json> platforms, experiments, problems, settings;
  std::map<std::string, const lab::MachineCeilings *> ceilings; // by key of the platform
  std::map<std::string, store::Experiment> experimentOf;        // by uuid
  Dictionary<std::string> texts;
  Dictionary<std::vector<size_t>> starts;
  Dictionary<std::string> cells;
  std::map<std::string, uint32_t> last; // by keyOf: the last measured point
  NumberColumns rows{texts, {}, {}};
  std::vector<uint32_t> roundCounts, roundLengths; // rounds of each point; samples of each round
  std::vector<int64_t> samples;
  json figures = json::object(); // of points that have some, by index
  size_t points = 0;

  json tasks = json::array(), estimates = json::array();
  NumberColumns tuning{texts, {}, {}};
  size_t records = 0;

  void addTimes(const store::Point &point, const Row &row);
  void addPlace(const Row &row);
  void addRoofline(const Row &row);
};

PageData::PageData(PageHeader header) : columns(std::make_unique<Columns>()) { columns->header = std::move(header); }
PageData::~PageData() = default;
PageData::PageData(PageData &&other) noexcept = default;

void PageData::addPlatform(const store::Platform &platform, const lab::MachineCeilings *ceilings) {
  std::string key = platform.key();
  columns->platforms.index(key, [&] {
    json document = store::toJson(platform);
    document["key"] = key;
    document["name"] = fmt::format("{} ({:.6})", platform.cpu, key);
    document["ceilings"] = ceilings ? lab::toJson(*ceilings) : json();
    return document;
  });
  columns->ceilings[key] = ceilings;
}

void PageData::addExperiment(const store::Experiment &experiment) {
  std::optional<uint32_t> platform = columns->platforms.find(experiment.platform);
  require(platform.has_value(), "experiment {}: its platform {} comes after it", experiment.uuid, experiment.platform);
  columns->experiments.index(experiment.uuid, [&] {
    json document = store::toJson(experiment);
    document["platform"] = *platform;
    document["verdict_starts"] = verdictStartsOf(experiment);
    return document;
  });
  columns->experimentOf[experiment.uuid] = experiment;
}

/// Median with its quartiles and interval, and the samples by round.
void PageData::Columns::addTimes(const store::Point &point, const Row &row) {
  std::vector<double> seconds;
  roundCounts.push_back(uint32_t(point.rounds.size()));
  for (auto &round : point.rounds) {
    roundLengths.push_back(uint32_t(round.size()));
    for (const store::Sample &sample : round) {
      samples.push_back(sample.wallNs);
      seconds.push_back(double(sample.wallNs) * 1e-9);
    }
  }
  lab::Summary time = lab::summarize(seconds);
  lab::Interval interval = lab::medianInterval(seconds);
  bool timed = time.count > 0;
  auto add = [&](const char *name, double value) { rows.number(name, timed ? value : unknown); };
  add("median", row.median);
  add("p25", time.p25);
  add("p75", time.p75);
  add("min", time.min);
  add("low", interval.low);
  add("high", interval.high);
  rows.number("cpu_seconds", row.cpuSeconds);
  rows.number("processors", row.processors);
  rows.number("cycles", row.cycles);
  rows.number("instructions", row.instructions);
  rows.number("cache_misses", row.cacheMisses);
  rows.number("gigahertz", row.gigahertz);
}

void PageData::Columns::addRoofline(const Row &row) {
  auto shares = rooflineShares({row}, [&](const std::string &platform) { return ceilings[platform]; });
  bool known = !shares.empty() && shares[0].limit;
  rows.number("roofline_share", known ? shares[0].limit->share : unknown);
  rows.text("bound", known ? shares[0].limit->bound : "");
}

/// The cell, and whether the point is the last measurement of its key (report::latest).
void PageData::Columns::addPlace(const Row &row) {
  rows.integer("cell", cells.index(cellOf(row)));
  std::vector<uint32_t> &current = rows.integers["current"];
  const std::vector<uint32_t> &measured = rows.integers["measured"];
  current.push_back(1);
  auto [place, isNew] = last.try_emplace(keyOf(row), uint32_t(points));
  if (isNew)
    return;
  bool later = texts.values[measured[place->second]] <= row.measured;
  current[later ? place->second : uint32_t(points)] = 0;
  if (later)
    place->second = uint32_t(points);
}

void PageData::addPoint(const store::Point &point) {
  Columns &c = *columns;
  std::optional<uint32_t> experiment = c.experiments.find(point.experiment);
  require(experiment.has_value(), "point of {}: its experiment comes after it", point.experiment);
  const store::Experiment &whole = c.experimentOf[point.experiment];
  Row row = rowOf(point, whole);
  NumberColumns &rows = c.rows;
  rows.integer("experiment", *experiment);
  rows.integer("problem", c.problems.index(point.problem.key(), [&]() -> json {
    json document = {{"operator", row.op}, {"text", row.problem}, {"flops", row.flops}, {"bytes", row.bytes}};
    if (!row.shape) // of operators the text says the same
      document["detail"] = point.problem.detail;
    return document;
  }));
  rows.integer("setting", c.settings.index(point.setting.key(), [&] {
    json document = store::toJson(point.setting);
    document["text"] = settingText(point.setting);
    return document;
  }));
  rows.integer("starts", c.starts.index(point.starts));
  rows.text("provider", point.provider);
  rows.text("variant", point.variant);
  rows.text("status", name(point.status));
  rows.text("reason", point.reason);
  rows.text("implementation", point.implementation);
  rows.text("provider_version", point.providerVersion);
  rows.text("repro", point.repro);
  rows.text("measured", point.measured);
  rows.number("relative_l2", point.relativeL2);
  rows.number("max_difference", point.maxDifference);
  rows.number("prepare_seconds", point.prepareSeconds);
  rows.number("call_seconds", point.callSeconds);
  rows.number("other_processors", point.disturbance.otherProcessors);
  c.addTimes(point, row);
  c.addRoofline(row);
  c.addPlace(row);
  if (!point.figures.empty())
    c.figures[std::to_string(c.points)] = point.figures;
  ++c.points;
}

void PageData::addTask(const store::TunedTask &task) {
  Columns &c = *columns;
  auto index = uint32_t(c.tasks.size());
  c.tasks.push_back({{"text", task.task.text}, {"family", task.task.family}});
  for (const store::TuningRecord &record : task.records) {
    NumberColumns &rows = c.tuning;
    rows.integer("task", index);
    rows.integer("experiment", c.experiments.find(record.experiment).value_or(std::numeric_limits<uint32_t>::max()));
    rows.integer("platform", c.platforms.find(record.platform).value_or(std::numeric_limits<uint32_t>::max()));
    rows.text("schedule", record.schedule);
    rows.text("status", name(record.status));
    rows.text("reason", record.reason);
    rows.text("verdict", name(record.verdict));
    rows.text("searcher", record.searcher);
    rows.text("measured", record.measured);
    rows.number("seconds", record.seconds);
    rows.number("build_seconds", record.buildSeconds);
    rows.number("run_seconds", record.runSeconds);
    ++c.records;
  }
}

void PageData::addEstimates(const std::string &network, const std::vector<Estimate> &estimates) {
  for (const Estimate &estimate : estimates) {
    json document = toJson(estimate);
    document["network"] = network;
    columns->estimates.push_back(std::move(document));
  }
}

size_t PageData::points() const { return columns->points; }
size_t PageData::experiments() const { return columns->experiments.values.size(); }
size_t PageData::tuningRecords() const { return columns->records; }

/// All columns; numbers that no row knows are left out.
json NumberColumns::document() const {
  json document = json::object();
  for (auto &[name, values] : integers)
    document[name] = packed(values);
  for (auto &[name, values] : numbers)
    if (std::any_of(values.begin(), values.end(), [](double value) { return !std::isnan(value); }))
      document[name] = packed(values);
  return document;
}

json PageData::document() const {
  const Columns &c = *columns;
  json starts = json::array();
  for (auto &list : c.starts.values)
    starts.push_back(list);
  return {{"schema", pageSchema},
          {"title", c.header.title},
          {"command", c.header.command},
          {"lathe", {{"version", c.header.version}, {"build", c.header.build}}},
          {"created", c.header.created},
          {"baseline", c.header.baseline},
          {"platforms", c.platforms.values},
          {"experiments", c.experiments.values},
          {"problems", c.problems.values},
          {"settings", c.settings.values},
          {"starts", starts},
          {"texts", c.texts.values},
          {"points",
           {{"count", c.points},
            {"columns", c.rows.document()},
            {"figures", c.figures},
            {"round_counts", packed(c.roundCounts)},
            {"round_lengths", packed(c.roundLengths)},
            {"samples_ns", packedTimes(c.samples)}}},
          {"tuning", {{"count", c.records}, {"tasks", c.tasks}, {"columns", c.tuning.document()}}},
          {"estimates", c.estimates}};
}

std::string embeddedText(const json &document) {
  // Texts of a store may be damaged; '<' in JSON only stands inside of texts.
  std::string data = document.dump(-1, ' ', false, json::error_handler_t::replace), text;
  text.reserve(data.size() + data.size() / 64);
  for (char letter : data)
    if (letter == '<')
      text += "\\u003c";
    else
      text += letter;
  return text;
}

std::string pageWith(std::string_view page, const json &document) {
  size_t marker = page.find(pageDataMarker);
  require(marker != page.npos && page.find(pageDataMarker, marker + 1) == page.npos,
          "the page of reports has {} once, got it {}", pageDataMarker,
          marker == page.npos ? "never" : "several times");
  std::string html(page.substr(0, marker));
  html += embeddedText(document);
  html += page.substr(marker + pageDataMarker.size());
  return html;
}

} // namespace lathe::report
