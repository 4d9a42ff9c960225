#include "lab/foreign/Gathered.h"
#include "lab/foreign/JsonParts.h"
#include "store/ContentKey.h"
#include "support/Error.h"
#include "support/Text.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <set>

namespace lathe::lab {

using nlohmann::json;

namespace {

/// Nanoseconds per unit of "time_unit".
double unitOf(const json &benchmark) {
  if (!benchmark.contains("time_unit"))
    return 1;
  std::string unit = foreignText(benchmark, "time_unit");
  for (auto &[name, factor] : {std::pair("ns", 1.0), {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}})
    if (unit == name)
      return factor;
  fail("'time_unit' is '{}', expected ns, us, ms or s", unit);
}

int64_t integerOf(const json &object, const char *key, int64_t least, int64_t most, int64_t otherwise) {
  auto found = object.find(key);
  if (found == object.end())
    return otherwise;
  require(found->is_number(), "'{}' is {}, expected a number", key, found->type_name());
  auto value = found->get<double>();
  require(value >= double(least) && value <= double(most), "'{}' is {}, expected {} to {}", key, value, least, most);
  return int64_t(value);
}

bool flag(const json &object, const char *key) {
  auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

/// The date of a context such as "2026-11-22T00:31:04+01:00", in UTC; "" for other texts.
std::string dateOf(const std::string &text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, offsetHours = 0, offsetMinutes = 0, read = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second, &read) != 6)
    return "";
  std::string zone = text.substr(size_t(read));
  char sign = '+';
  if (zone.starts_with('.')) // fractions of a second
    zone = zone.substr(std::min(zone.find_first_not_of("0123456789", 1), zone.size()));
  if (zone != "Z" && std::sscanf(zone.c_str(), "%c%2d:%2d", &sign, &offsetHours, &offsetMinutes) != 3)
    return ""; // local time in an unknown zone
  std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(unsigned(month)),
                                   std::chrono::day(unsigned(day))};
  if (!date.ok() || year < 1970 || hour > 23 || minute > 59 || second > 60 || (sign != '+' && sign != '-'))
    return "";
  int64_t seconds =
      int64_t(std::chrono::sys_days(date).time_since_epoch().count()) * 86400 + hour * 3600 + minute * 60 + second;
  int64_t offset = (int64_t(offsetHours) * 60 + offsetMinutes) * 60 * (sign == '-' ? -1 : 1);
  return store::timeText(std::max<int64_t>(seconds - offset, 0) * 1000000);
}

store::Platform platformOf(const json &context) {
  store::Platform platform;
  auto text = [&](const char *key) { return context.contains(key) ? foreignText(context, key) : std::string(); };
  std::string cpu = text("cpu"), host = text("host_name");
  double megahertz = double(integerOf(context, "mhz_per_cpu", 0, 1000000, 0));
  platform.cpu = cpu.empty() ? "unknown" : cpu;
  if (!host.empty())
    platform.cpu += fmt::format(", host {}", host);
  if (cpu.empty() && megahertz > 0)
    platform.cpu += fmt::format(", {} MHz", megahertz);
  platform.hardwareThreads = int(integerOf(context, "num_cpus", 0, 1 << 20, 0));
  if (std::string version = text("library_version"); !version.empty())
    platform.libraries["google-benchmark"] = version;
  auto caches = context.find("caches");
  if (caches == context.end())
    return platform;
  require(caches->is_array(), "'caches' is {}, expected a list", caches->type_name());
  for (const json &cache : *caches) {
    if (foreignText(cache, "type") == "Instruction")
      continue;
    platform.caches.push_back({fmt::format("L{}", integerOf(cache, "level", 1, 9, 1)),
                               integerOf(cache, "size", 0, int64_t(1) << 40, 0),
                               int(integerOf(cache, "num_sharing", 1, 1 << 20, 1))});
  }
  return platform;
}

// Names of --benchmark_perf_counters; frequency_khz comes from our own export.
constexpr std::pair<const char *, std::optional<int64_t> store::Sample::*> hardware[] = {
    {"CYCLES", &store::Sample::cycles},
    {"INSTRUCTIONS", &store::Sample::instructions},
    {"CACHE-MISSES", &store::Sample::cacheMisses},
    {"frequency_khz", &store::Sample::frequencyKhz}};
// Members of a benchmark other than its counters.
constexpr std::array known = {"name",           "run_name",         "run_type",       "family_index",
                              "threads",        "repetition_index", "repetitions",    "per_family_instance_index",
                              "iterations",     "real_time",        "cpu_time",       "time_unit",
                              "aggregate_name", "aggregate_unit",   "error_occurred", "error_message",
                              "skipped",        "skip_message",     "label",          "experiment"};

class Benchmarks {
public:
  explicit Benchmarks(ForeignPoints &points) : points(points) {}

  void setContext(const json &context) {
    require(context.is_object(), "'context' is {}, expected an object", context.type_name());
    points.platform = platformOf(context);
    if (context.contains("date"))
      if (std::string date = dateOf(foreignText(context, "date")); !date.empty())
        points.started = date;
    for (const char *key : {"executable", "library_build_type"})
      if (context.contains(key))
        points.settings[key] = foreignText(context, key);
    if (flag(context, "cpu_scaling_enabled"))
      points.settings["cpu_scaling_enabled"] = true;
  }

  void add(const json &benchmark) {
    std::string name = nameOf(benchmark);
    bool isAggregate = benchmark.contains("run_type") && foreignText(benchmark, "run_type") == "aggregate";
    if (isAggregate) {
      addAggregate(benchmark, name);
      return;
    }
    Gathered &gathered = pointOf(benchmark, name, "");
    measured.insert(name);
    if (flag(benchmark, "error_occurred") || flag(benchmark, "skipped")) {
      setFailed(gathered, benchmark);
      return;
    }
    addSample(gathered, benchmark);
  }

  /// Adds notes about skipped parts, after the whole file was read.
  void finish(std::vector<std::string> &notes, const std::string &path) {
    for (const json &mean : means)
      if (std::string name = nameOf(mean); !measured.count(name))
        addMean(mean, name, path);
      else
        ++aggregates;
    points.each(addExactTime);
    if (aggregates)
      notes.push_back(fmt::format("{}: {} left out", path, counted(int64_t(aggregates), "aggregate")));
    if (fits)
      notes.push_back(
          fmt::format("{}: {} left out", path, counted(int64_t(fits), "row of BigO or RMS", "rows of BigO or RMS")));
  }

private:
  static std::string nameOf(const json &benchmark) {
    bool named = benchmark.is_object() && benchmark.contains("run_name");
    std::string name = foreignText(benchmark, named ? "run_name" : "name");
    require(!name.empty(), "the name of a benchmark is empty");
    return name;
  }
  /// `quantity`: the kind of time; "": a repetition.
  Gathered &pointOf(const json &benchmark, const std::string &name, const std::string &quantity) {
    int64_t threads = integerOf(benchmark, "threads", 1, 1 << 20, 1);
    points.identify(benchmark);
    return points.at(
        fmt::format("{}\n{}\n{}", name, threads, quantity),
        [&] {
          store::Point point;
          point.problem = {"benchmark", name, json::object()};
          point.provider = "google-benchmark";
          point.setting.threads = int(threads);
          point.setting.type = "";
          point.setting.extra = json::object();
          if (!quantity.empty())
            point.setting.extra["time"] = quantity;
          if (benchmark.contains("label"))
            point.implementation = foreignText(benchmark, "label");
          return point;
        },
        benchmark.contains("experiment") ? foreignText(benchmark, "experiment") : "");
  }
  static void setFailed(Gathered &gathered, const json &benchmark) {
    bool failed = flag(benchmark, "error_occurred");
    const char *key = failed ? "error_message" : "skip_message";
    gathered.point.status = failed ? store::PointStatus::failed : store::PointStatus::unimplemented;
    gathered.point.reason = benchmark.contains(key) ? foreignText(benchmark, key) : failed ? "an error" : "skipped";
  }
  void addSample(Gathered &gathered, const json &benchmark) {
    double unit = unitOf(benchmark);
    store::Sample sample;
    sample.wallNs = foreignNanoseconds(benchmark, "real_time", unit);
    if (int64_t cpu = benchmark.contains("cpu_time") ? foreignNanoseconds(benchmark, "cpu_time", unit) : 0; cpu > 0)
      sample.cpuNs = cpu;
    for (auto &[name, counter] : hardware)
      if (benchmark.contains(name))
        sample.*counter = integerOf(benchmark, name, 0, int64_t(1) << 60, 0);
    points.addSample(gathered, sample);
    gathered.exactNanoseconds +=
        (benchmark["real_time"].get<double>() * unit - gathered.exactNanoseconds) / double(++gathered.exact);
    for (auto &[name, value] : benchmark.items())
      if (value.is_number() && !isKnown(name))
        addFigure(gathered, foreignText(name, "the name of a counter"), value.get<double>());
  }
  /// Rounding to nanoseconds changes a time below 1000 by more than 0.1 %: adds the mean of all repetitions as a
  /// figure.
  static void addExactTime(Gathered &gathered) {
    constexpr int64_t coarse = 1000;
    if (std::any_of(gathered.counted.begin(), gathered.counted.end(),
                    [](const store::Sample &sample) { return sample.wallNs < coarse; }))
      gathered.point.figures["real_time_ns"] = gathered.exactNanoseconds;
  }
  static bool isKnown(const std::string &name) {
    return std::find(known.begin(), known.end(), name) != known.end() ||
           std::any_of(std::begin(hardware), std::end(hardware), [&](auto &entry) { return name == entry.first; });
  }
  /// Figures are means over the repetitions that have them.
  static void addFigure(Gathered &gathered, const std::string &name, double value) {
    double &mean = gathered.point.figures[name];
    mean += (value - mean) / double(++gathered.figureCounts[name]);
    require(gathered.point.figures.size() <= 1000, "a benchmark has more than 1000 counters");
  }
  void addAggregate(const json &benchmark, const std::string &name) {
    std::string aggregate = foreignText(benchmark, "aggregate_name");
    if (aggregate == "BigO" || aggregate == "RMS") {
      ++fits;
    } else if (aggregate == "mean" && !measured.count(name)) {
      require(means.size() < 100000, "more than 100000 means");
      means.push_back(benchmark);
    } else {
      ++aggregates;
    }
  }
  void addMean(const json &mean, const std::string &name, const std::string &path) try {
    addSample(pointOf(mean, name,
                      fmt::format("mean of {}", counted(integerOf(mean, "repetitions", 0, 1 << 30, 0), "repetition"))),
              mean);
  } catch (const Error &error) {
    fail("{}: benchmark '{}': {}", path, name, error.what());
  }

  ForeignPoints &points;
  std::set<std::string> measured; // benchmarks with repetitions
  std::vector<json> means;
  size_t aggregates = 0, fits = 0;
};

} // namespace

void readGoogleBenchmark(const std::string &path, const RecordVisitor &visit, std::vector<std::string> &notes) {
  ForeignPoints points(path, "google-benchmark");
  Benchmarks benchmarks(points);
  JsonParts parts;
  parts.list = "benchmarks";
  parts.element = [&](const json &benchmark) { benchmarks.add(benchmark); };
  parts.member = [&](const std::string &key, const json &value) {
    if (key == "context") {
      points.identify(value);
      benchmarks.setContext(value);
    }
  };
  CutLine cut = readJsonParts(path, parts);
  if (cut)
    notes.push_back(fmt::format("{}:{}: the file ends in the middle of the list, what is whole is taken", path, cut));
  benchmarks.finish(notes, path);
  points.emit(visit, notes);
}

} // namespace lathe::lab
