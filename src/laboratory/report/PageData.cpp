#include "report/PageData.h"

#include "lab/StoreRecords.h"
#include "lab/judging/Statistics.h"
#include "lab/judging/Turns.h"
#include "report/PageColumns.h"
#include "report/PlatformNames.h"
#include "report/RooflineShares.h"
#include "report/RowMaker.h"
#include "store/Fields.h"

#include <limits>
#include <map>

namespace lathe::report {

using nlohmann::json;

static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Visits the fields of a record: its texts and numbers are columns of the page.
struct FieldColumns {
  NumberColumns &rows;

  void operator()(std::string_view key, const std::string &value) { rows.text(key, value); }
  void operator()(std::string_view key, const store::Named auto &value) { rows.text(key, name(value)); }
  void known(std::string_view key, const auto &value, const char * = nullptr) {
    // Fields that the page does not show would make it larger.
    if (key == "stolen_processors" || key == "version" || key == "build")
      return;
    if constexpr (requires { rows.number(key, value); })
      rows.number(key, value);
    else if constexpr (requires { (*this)(key, value); })
      (*this)(key, value);
  }
  void link(auto &&...) {}
  void part(const auto &) {}
};

struct PageData::Columns {
  /// Indices of a setting, of the same setting without its schedule and without its company among all settings in use,
  /// and of its text.
  struct SettingPlace {
    uint32_t index = 0, withoutSchedule = 0, withoutCompany = 0, text = 0;
  };
  /// The last measurement of a key: indices of the point and of the text of its time.
  struct Last {
    uint32_t point = 0, measured = 0;
  };
  /// Indices of the objects that a point belongs to.
  struct Place {
    uint32_t platform = 0, problem = 0, provider = 0, variant = 0, measured = 0;
    SettingPlace setting;
  };

  PageHeader header;
  RowMaker maker;
  Dictionary<json> platforms, experiments, problems, settings;
  std::vector<store::Label> labels;
  std::map<std::string, store::Platform> machines;              // by key
  std::map<std::string, const lab::MachineCeilings *> ceilings; // by key of the platform
  std::map<std::string, store::Experiment> experimentOf;        // by uuid
  Dictionary<> texts;
  std::vector<std::vector<size_t>> starts;
  std::map<std::vector<size_t>, uint32_t> startPlaces;

  // The keys of problems and settings are hashes of documents; these texts are cheaper to make.
  KeyMap<std::string, uint32_t> problemPlaces;     // by operator and text
  KeyMap<std::string, SettingPlace> settingPlaces; // by plainText
  Dictionary<> bareSettings, settingTexts;         // without schedule or company
  KeyMap<std::array<uint32_t, 4>, uint32_t> cells; // by the parts of cellOf
  KeyMap<std::array<uint32_t, 4>, Last> last;      // by the parts of keyOf

  NumberColumns rows{texts};
  std::vector<uint32_t> roundCounts, roundLengths; // rounds of each point; samples of each round
  std::vector<int64_t> samples;
  json figures = json::object(); // of points that have some, by index
  PagePairs pairs;

  json tasks = json::array(), estimates = json::array();
  NumberColumns tuning{texts};
  size_t records = 0;

  void addTimes(const store::Point &point, const Row &row);
  void addPlace(const Row &row, const Place &place);
  uint32_t problemOf(const store::Point &point, const Row &row);
  SettingPlace settingOf(const store::Setting &setting);
  uint32_t startsOf(const store::Point &point);
  void addRoofline(const Row &row);
  std::function<lab::Starts(size_t)> times() const;
};

PageData::PageData(PageHeader header) : columns(std::make_unique<Columns>()) {
  columns->header = std::move(header);
  columns->pairs.baseline = columns->header.baseline;
}
PageData::~PageData() = default;
PageData::PageData(PageData &&other) noexcept = default;

void PageData::addPlatform(const store::Platform &platform, const lab::MachineCeilings *ceilings) {
  std::string key = platform.key();
  columns->platforms.index(key, [&] {
    json document = store::toJson(platform);
    document["key"] = key;
    document["ceilings"] = ceilings ? lab::toJson(*ceilings) : json();
    return document;
  });
  columns->ceilings[key] = ceilings;
  columns->machines[key] = platform;
}

void PageData::addExperiment(const store::Experiment &experiment) {
  std::optional<uint32_t> platform = columns->platforms.find(experiment.platform);
  require(platform.has_value(), "experiment {}: its platform {} comes after it", experiment.uuid, experiment.platform);
  columns->experiments.index(experiment.uuid, [&] {
    json document = store::toJson(experiment);
    document["platform"] = *platform;
    document["in_turns"] = tookTurns(experiment);
    return document;
  });
  columns->experimentOf[experiment.uuid] = experiment;
}

/// The median with its quartiles and its interval over the starts, and the samples by round.
void PageData::Columns::addTimes(const store::Point &point, const Row &row) {
  roundCounts.push_back(uint32_t(point.rounds.size()));
  for (auto &round : point.rounds) {
    roundLengths.push_back(uint32_t(round.size()));
    for (const store::Sample &sample : round)
      samples.push_back(sample.wallNs);
  }
  lab::Summary time = lab::summarize(lab::secondsOf(point));
  lab::MedianEstimate estimate = lab::medianOverStarts(report::startsOf(row));
  bool timed = time.count > 0;
  auto add = [&](const char *name, double value) { rows.number(name, timed ? value : unknown); };
  add("median", row.median);
  add("p25", time.p25);
  add("p75", time.p75);
  add("min", time.min);
  add("low", estimate.interval.low);
  add("high", estimate.interval.high);
  rows.integer("is_range", estimate.isRange);
  rows.number("cpu_seconds", row.cpuSeconds);
  rows.number("processors", row.processors);
  rows.number("cycles", row.cycles);
  rows.number("instructions", row.instructions);
  rows.number("cache_misses", row.cacheMisses);
  rows.number("gigahertz", row.gigahertz);
}

void PageData::Columns::addRoofline(const Row &row) {
  std::optional<RooflineShare> share = rooflineShare(row, ceilings[row.platform]);
  bool known = share && share->limit;
  rows.number("roofline_share", known ? share->limit->share : unknown);
  rows.text("bound", known ? share->limit->bound : "");
}

/// The cell, and whether the point is the last measurement of its key (report::latest).
void PageData::Columns::addPlace(const Row &row, const Place &place) {
  std::array<uint32_t, 4> cellKey{uint32_t(row.kind), place.platform, place.problem, place.setting.withoutSchedule};
  uint32_t cell = cells.try_emplace(cellKey, uint32_t(cells.size())).first->second;
  rows.integer("cell", cell);
  auto point = uint32_t(pairs.points.size() - 1);
  Last now{point, place.measured};
  auto [known, isNew] = last.try_emplace({cell, place.provider, place.variant, place.setting.index}, now);
  if (isNew)
    return;
  bool later = texts.values[known->second.measured] <= row.measured;
  pairs.points[later ? known->second.point : point].isCurrent = false;
  if (later)
    known->second = now;
}

uint32_t PageData::Columns::problemOf(const store::Point &point, const Row &row) {
  auto [place, isNew] = problemPlaces.try_emplace(point.problem.op + "\n" + point.problem.text);
  if (isNew)
    place->second = problems.index(point.problem.key(), [&]() -> json {
      json document = {{"operator", row.op}, {"text", row.problem}, {"flops", row.flops}, {"bytes", row.bytes}};
      if (!row.shape) // for operators the text states it
        document["detail"] = point.problem.detail;
      return document;
    });
  return place->second;
}

/// A text with all fields of a setting; equal settings have equal texts.
static std::string plainText(const store::Setting &setting) {
  return fmt::format("{} {} {}\n{}\n{}\n{}\n{}\n{}", setting.threads, setting.batch, int(setting.cache), setting.type,
                     setting.layout, setting.schedule, setting.company.str(),
                     setting.extra.dump(-1, ' ', false, json::error_handler_t::replace));
}

PageData::Columns::SettingPlace PageData::Columns::settingOf(const store::Setting &setting) {
  auto [place, isNew] = settingPlaces.try_emplace(plainText(setting));
  if (!isNew)
    return place->second;
  store::Setting bare = setting, alone = setting;
  bare.schedule.clear();
  alone.company = {};
  std::string text = settingText(setting);
  place->second = {settings.index(setting.key(),
                                  [&] {
                                    json document = store::toJson(setting);
                                    document["text"] = text;
                                    return document;
                                  }),
                   bareSettings.index(bare.key()), bareSettings.index(alone.key()), settingTexts.index(text)};
  return place->second;
}

uint32_t PageData::Columns::startsOf(const store::Point &point) {
  auto [place, isNew] = startPlaces.try_emplace(point.starts, uint32_t(starts.size()));
  if (isNew)
    starts.push_back(point.starts);
  return place->second;
}

void PageData::addPoint(const store::Point &point) {
  Columns &c = *columns;
  std::optional<uint32_t> experiment = c.experiments.find(point.experiment);
  require(experiment.has_value(), "point of {}: its experiment comes after it", point.experiment);
  const store::Experiment &whole = c.experimentOf[point.experiment];
  Row row = c.maker.rowOf(point, whole);
  NumberColumns &rows = c.rows;
  Columns::Place place;
  place.platform = *c.platforms.find(whole.platform);
  place.problem = c.problemOf(point, row);
  place.setting = c.settingOf(row.setting);
  rows.integer("experiment", *experiment);
  rows.integer("problem", place.problem);
  rows.integer("setting", place.setting.index);
  rows.integer("starts", c.startsOf(point));
  visitFields(point, FieldColumns{rows});
  place.provider = c.texts.index(point.provider);
  place.variant = c.texts.index(point.variant);
  place.measured = c.texts.index(point.measured);
  rows.integer("disturbed", row.disturbed);
  c.addTimes(point, row);
  c.addRoofline(row);
  if (!point.figures.empty())
    c.figures[std::to_string(points())] = point.figures;
  bool inSweep = row.op == "model" && row.kind == store::ExperimentKind::bench && row.tookTurns;
  c.pairs.points.push_back({.timing = row,
                            .group = {uint32_t(row.kind), place.problem, place.setting.text},
                            .column = {place.platform, place.provider, place.variant},
                            .setting = place.setting.index,
                            .scheduledColumn = scheduledColumnOf(row),
                            .sameAs = row.status == store::PointStatus::sameAs ? row.reason : "",
                            .counts = row.counts() && row.op != "kernel", // kernels are compared with nothing
                            .inSweep = inSweep,
                            .inCompany = row.inCompany(),
                            .alone = {*experiment, place.problem, place.setting.withoutCompany}});
  c.addPlace(row, place);
}

/// The times of the points that were added, by start.
std::function<lab::Starts(size_t)> PageData::Columns::times() const {
  std::vector<size_t> firstRounds{0}, firstSamples{0};
  for (uint32_t count : roundCounts)
    firstRounds.push_back(firstRounds.back() + count);
  for (uint32_t length : roundLengths)
    firstSamples.push_back(firstSamples.back() + length);
  return [=, this](size_t point) {
    std::vector<std::vector<double>> rounds;
    for (size_t round = firstRounds[point]; round < firstRounds[point + 1]; ++round)
      for (size_t sample = firstSamples[round]; sample < firstSamples[round + 1]; ++sample) {
        if (sample == firstSamples[round])
          rounds.emplace_back();
        rounds.back().push_back(double(samples[sample]) * 1e-9);
      }
    return lab::byStart(rounds, pairs.points[point].timing.starts, rounds.size());
  };
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
    visitFields(record, FieldColumns{rows});
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

void PageData::setLabels(const std::vector<store::Label> &labels) { columns->labels = labels; }

size_t PageData::points() const { return columns->pairs.points.size(); }
size_t PageData::experiments() const { return columns->experiments.values.size(); }
size_t PageData::tuningRecords() const { return columns->records; }

json PageData::document() const {
  const Columns &c = *columns;
  json starts = json::array();
  for (auto &list : c.starts)
    starts.push_back(list);
  store::LabelIndex ofPlatforms = indexOf(c.labels, store::LabelTarget::platform);
  std::map<std::string, std::string> names = platformNames(c.machines, ofPlatforms);
  std::vector<json> platforms = c.platforms.values;
  for (json &platform : platforms) {
    std::string key = platform.at("key");
    platform.update(toJson(ofPlatforms[key]));
    platform["name"] = names.at(key);
  }
  std::vector<json> experiments = c.experiments.values;
  store::LabelIndex ofExperiments = indexOf(c.labels, store::LabelTarget::experiment);
  for (json &experiment : experiments)
    experiment.update(toJson(ofExperiments[experiment.at("uuid")]));
  std::vector<json> problems = c.problems.values;
  store::LabelIndex ofProblems = indexOf(c.labels, store::LabelTarget::problem);
  if (!ofProblems.empty())
    for (json &problem : problems)
      problem.update(toJson(ofProblems[store::Problem{problem.at("operator"), problem.at("text")}.key()]));
  json rows = c.rows.document();
  std::vector<uint32_t> current;
  for (const PagePoint &point : c.pairs.points)
    current.push_back(point.isCurrent);
  rows["current"] = packed(current);
  return {{"schema", pageSchema},
          {"title", c.header.title},
          {"command", c.header.command},
          {"lathe", {{"version", c.header.version}, {"build", c.header.build}}},
          {"created", c.header.created},
          {"baseline", c.header.baseline},
          {"platforms", platforms},
          {"experiments", experiments},
          {"problems", problems},
          {"settings", c.settings.values},
          {"starts", starts},
          {"texts", c.texts.values},
          {"points",
           {{"count", points()},
            {"columns", rows},
            {"pairs", c.pairs.document(c.times())},
            {"figures", c.figures},
            {"round_counts", packed(c.roundCounts)},
            {"round_lengths", packed(c.roundLengths)},
            {"samples_ns", packedTimes(c.samples)}}},
          {"tuning", {{"count", c.records}, {"tasks", c.tasks}, {"columns", c.tuning.document()}}},
          {"estimates", c.estimates}};
}

} // namespace lathe::report
