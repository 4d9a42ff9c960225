#include "jobs/store/Export.h"

#include "lab/StoreRecords.h"
#include "lab/judging/Statistics.h"
#include "report/RowMaker.h"
#include "store/Fields.h"
#include "store/Lines.h"
#include "support/Table.h"

#include <functional>
#include <map>

namespace lathe::jobs {

using nlohmann::json;
using store::Point;
using store::Sample;

namespace {

/// Writes one row of CSV.
class CsvRow {
public:
  CsvRow &text(std::string_view value) {
    separate();
    line += csvCell(value);
    return *this;
  }
  template <class Number> CsvRow &number(Number value) {
    separate();
    line += fmt::format("{}", value);
    return *this;
  }
  template <class Number> CsvRow &number(const std::optional<Number> &value) {
    return value ? number(*value) : text("");
  }
  const std::string &str() const { return line; }

private:
  void separate() {
    line += first ? "" : ",";
    first = false;
  }
  std::string line;
  bool first = true;
};

/// Appends columns of one type, given with commas between them.
void addColumns(std::vector<CsvColumn> &columns, const char *type, std::string names) {
  for (names += ','; !names.empty(); names.erase(0, names.find(',') + 1))
    columns.push_back({names.substr(0, names.find(',')), type});
}

void addCounters(std::vector<CsvColumn> &columns, const char *type) {
  for (auto [key, counter] : store::sampleCounters)
    columns.push_back({key, type});
}

/// The columns with which rows of points and rows of samples begin.
std::vector<CsvColumn> firstColumns() {
  std::vector<CsvColumn> columns;
  addColumns(columns, "text", "experiment,operator,problem,provider,variant");
  addColumns(columns, "integer", "threads,batch");
  addColumns(columns, "text", "type,layout,schedule,cache,company");
  addColumns(columns, "optional integer", "instances");
  addColumns(columns, "text", "input_shape,input2_shape,output_shape");
  addColumns(columns, "number", "flops,bytes");
  return columns;
}

std::string titleLine(const std::vector<CsvColumn> &columns) {
  std::string line;
  for (const CsvColumn &column : columns)
    line += (line.empty() ? "" : ",") + column.name;
  return line;
}

/// "1x64x56x56"; "" for an operand or a result that the problem does not have.
std::string shapeOf(const std::vector<lab::ProblemOperand> &operands, size_t index) {
  if (index >= operands.size())
    return "";
  return operands[index].dims.empty() ? "scalar" : fmt::format("{}", fmt::join(operands[index].dims, "x"));
}

/// The number of instances that ran at the same time; empty for measurements of single runs.
std::optional<int64_t> instancesOf(const store::Setting &setting) {
  auto found = setting.extra.find("instances");
  return found != setting.extra.end() && found->is_number_integer() ? std::optional(found->get<int64_t>())
                                                                    : std::nullopt;
}

/// The row of a point with the cells for firstColumns.
CsvRow rowOf(const Point &p, const report::RowMaker::Work &work) {
  CsvRow row;
  row.text(p.experiment).text(p.problem.op).text(p.problem.text).text(p.provider).text(p.variant);
  row.number(p.setting.threads).number(p.setting.batch).text(p.setting.type).text(p.setting.layout);
  row.text(p.setting.schedule).text(name(p.setting.cache)).text(p.setting.company.str());
  row.number(instancesOf(p.setting));
  bool known = work.shape.has_value();
  for (size_t operand : {0, 1})
    row.text(known ? shapeOf(work.shape->operands, operand) : "");
  row.text(known ? shapeOf(work.shape->results(), 0) : "");
  for (double count : {work.flops, work.bytes})
    row.number(count > 0 ? std::optional(count) : std::nullopt);
  return row;
}

/// Summary of all samples of a point, in nanoseconds.
lab::Summary timeOf(const Point &point) {
  std::vector<double> times;
  for (auto &round : point.rounds)
    for (const Sample &sample : round)
      times.push_back(double(sample.wallNs));
  return lab::summarize(times);
}

/// GFLOPS of operations, or GB/s of bytes.
std::optional<double> rate(double count, double nanoseconds) {
  return count > 0 && nanoseconds > 0 ? std::optional(count / nanoseconds) : std::nullopt;
}

using Counter = std::optional<int64_t> Sample::*;

} // namespace

std::vector<CsvColumn> pointColumns() {
  std::vector<CsvColumn> columns = firstColumns();
  addColumns(columns, "text", "measured,status,reason,provider_version,implementation");
  addColumns(columns, "number", "prepare_seconds,call_seconds,relative_l2,max_difference");
  addColumns(columns, "text", "figures,resources,held");
  addColumns(columns, "integer", "samples");
  addColumns(columns, "number", "median_ns,min_ns,mean_ns,max_ns,std_ns,gflops,gbytes_per_second");
  addCounters(columns, "number");
  addColumns(columns, "number", "other_processors,stolen_processors");
  addColumns(columns, "text", "repro");
  return columns;
}

std::vector<CsvColumn> sampleColumns() {
  std::vector<CsvColumn> columns = firstColumns();
  addColumns(columns, "integer", "round,repetition,wall_ns");
  addCounters(columns, "optional integer");
  return columns;
}

/// Writes a CSV table. `addRows` gets each point, and the work that follows from the text of its problem.
static size_t writeCsv(store::Store &store, const store::Filter &filter, const std::string &path,
                       const std::vector<CsvColumn> &columns,
                       const std::function<void(const Point &, const report::RowMaker::Work &,
                                                const std::function<void(const CsvRow &)> &)> &addRows) {
  store::LineWriter writer(path);
  writer.line(titleLine(columns));
  size_t rows = 0;
  report::RowMaker problems;
  auto add = [&](const CsvRow &row) {
    writer.line(row.str());
    ++rows;
  };
  store.points(filter, true, [&](const Point &point) { addRows(point, problems.workOf(point), add); });
  writer.commit();
  return rows;
}

size_t exportPointsCsv(store::Store &store, const store::Filter &filter, const std::string &path) {
  return writeCsv(store, filter, path, pointColumns(), [](const Point &p, const auto &work, const auto &add) {
    CsvRow row = rowOf(p, work);
    row.text(p.measured).text(name(p.status)).text(p.reason).text(p.providerVersion).text(p.implementation);
    row.number(p.prepareSeconds)
        .number(p.callSeconds)
        .number(p.relativeL2)
        .number(p.maxDifference)
        .text(nlohmann::json(p.figures).dump())
        .text(lab::resourcesText(p.setting))
        .text(nlohmann::json(p.held).dump());
    lab::Summary time = timeOf(p);
    row.number(time.count);
    for (double figure : {time.median, time.min, time.mean, time.max, time.standardDeviation})
      row.number(time.count ? std::optional(figure) : std::nullopt);
    row.number(rate(work.flops, time.median)).number(rate(work.bytes, time.median));
    for (auto [key, counter] : store::sampleCounters)
      row.number(meanOf(p.rounds, counter));
    row.number(p.disturbance.otherProcessors).number(p.disturbance.stolenProcessors).text(p.repro);
    add(row);
  });
}

size_t exportSamplesCsv(store::Store &store, const store::Filter &filter, const std::string &path) {
  return writeCsv(store, filter, path, sampleColumns(), [](const Point &p, const auto &work, const auto &add) {
    const CsvRow common = rowOf(p, work);
    for (size_t round = 0; round < p.rounds.size(); ++round)
      for (size_t repetition = 0; repetition < p.rounds[round].size(); ++repetition) {
        const Sample &sample = p.rounds[round][repetition];
        CsvRow row = common;
        row.number(round).number(repetition).number(sample.wallNs);
        for (auto [key, counter] : store::sampleCounters)
          row.number(sample.*counter);
        add(row);
      }
  });
}

static json contextOf(const store::Platform &platform, const store::Experiment &experiment) {
  json caches = json::array();
  for (auto &cache : platform.caches)
    caches.push_back({{"type", cache.name == "L1" ? "Data" : "Unified"},
                      {"level", std::atoi(cache.name.c_str() + 1)},
                      {"size", cache.bytes},
                      {"num_sharing", cache.sharedBy}});
  return {{"date", experiment.started},
          {"executable", "lathe " + experiment.version},
          {"cpu", platform.cpu},
          {"num_cpus", platform.hardwareThreads},
          {"cpu_scaling_enabled", !platform.governor.empty() && platform.governor != "performance"},
          {"caches", caches},
          {"library_build_type", "release"}};
}

static std::string benchmarkName(const Point &p) {
  std::string title = fmt::format("{}/{}/{}", p.problem.op, p.problem.text, p.provider);
  title += p.variant.empty() ? "" : ":" + p.variant;
  title += fmt::format("/threads:{}", p.setting.threads);
  if (p.setting.batch)
    title += fmt::format("/batch:{}", p.setting.batch);
  if (std::optional<int64_t> instances = instancesOf(p.setting))
    title += fmt::format("/instances:{}", *instances);
  for (const std::string &word :
       {p.setting.layout, p.setting.schedule, lab::resourcesText(p.setting), p.setting.company.str()})
    title += word.empty() ? "" : "/" + word;
  return title + (p.setting.cache == store::CacheState::hot ? "" : fmt::format("/{}", name(p.setting.cache)));
}

static double meanNanoseconds(const std::vector<Sample> &round) {
  double sum = 0;
  for (const Sample &sample : round)
    sum += double(sample.wallNs);
  return sum / double(round.size());
}

// The names of `perf list` and of --benchmark_perf_counters.
static constexpr std::pair<const char *, Counter> benchmarkCounters[] = {{"CYCLES", &Sample::cycles},
                                                                         {"INSTRUCTIONS", &Sample::instructions},
                                                                         {"CACHE-MISSES", &Sample::cacheMisses},
                                                                         {"frequency_khz", &Sample::frequencyKhz}};

size_t exportBenchmarkJson(store::Store &store, const store::Filter &filter, const std::string &path) {
  json context, benchmarks = json::array();
  std::string platform;
  std::map<std::string, store::Experiment> experiments;
  for (auto &summary : store.experiments(filter))
    experiments[summary.experiment.uuid] = summary.experiment;
  size_t points = 0;
  store.points(filter, true, [&](const Point &p) {
    const store::Experiment &experiment = experiments.at(p.experiment);
    if (context.is_null())
      context = contextOf(store.platform(platform = experiment.platform), experiment);
    require(experiment.platform == platform,
            "the points are of several platforms and Google Benchmark's format has one: choose with --experiment");
    json common = {{"name", benchmarkName(p)},       {"family_index", points},
                   {"per_family_instance_index", 0}, {"run_name", benchmarkName(p)},
                   {"run_type", "iteration"},        {"repetitions", std::max<size_t>(p.rounds.size(), 1)},
                   {"threads", p.setting.threads},   {"time_unit", "ns"},
                   {"experiment", p.experiment}};
    ++points;
    bool isVerified = p.status != store::PointStatus::notVerified;
    if (!isVerified)
      common["label"] = shownName(p.status);
    if (p.rounds.empty() || (isVerified && p.status != store::PointStatus::passed)) {
      common["repetition_index"] = 0;
      common["iterations"] = 0;
      common["real_time"] = common["cpu_time"] = 0.0;
      common["error_occurred"] = true;
      common["error_message"] = fmt::format("{}{}{}", name(p.status), p.reason.empty() ? "" : ": ", p.reason);
      benchmarks.push_back(common);
      return;
    }
    for (size_t round = 0; round < p.rounds.size(); ++round) {
      json entry = common;
      entry["repetition_index"] = round;
      entry["iterations"] = p.rounds[round].size();
      entry["real_time"] = meanNanoseconds(p.rounds[round]);
      std::span<const std::vector<Sample>> one(&p.rounds[round], 1);
      entry["cpu_time"] = meanOf(one, &Sample::cpuNs).value_or(0);
      for (auto &[counterName, counter] : benchmarkCounters)
        if (auto mean = meanOf(one, counter))
          entry[counterName] = *mean;
      benchmarks.push_back(std::move(entry));
    }
  });
  store::LineWriter writer(path);
  writer.line(json{{"context", context.is_null() ? json::object() : context}, {"benchmarks", benchmarks}}.dump(1));
  writer.commit();
  return points;
}

} // namespace lathe::jobs
