#include "store/Outcomes.h"

#include "support/Error.h"

#include <algorithm>
#include <cmath>

namespace lathe::store {

using nlohmann::json;

// Fields that may be missing are written only where they are there.

static void put(json &document, const char *key, const std::string &text) {
  if (!text.empty())
    document[key] = text;
}
template <class T> static void put(json &document, const char *key, const std::optional<T> &value) {
  if (value)
    document[key] = *value;
}
static void put(json &document, const char *key, const std::optional<double> &value) {
  if (value && std::isfinite(*value)) // JSON has no others
    document[key] = *value;
}

static void get(const json &document, const char *key, std::string &text) {
  if (auto found = document.find(key); found != document.end())
    found->get_to(text);
}
template <class T> static void get(const json &document, const char *key, std::optional<T> &value) {
  if (auto found = document.find(key); found != document.end())
    value = found->get<T>();
}

static json objectOf(const json &document) { return document.is_null() ? json::object() : document; }

/// Runs `read`; what the JSON library throws becomes an Error.
template <class Read> static auto reading(const char *what, const json &document, Read read) {
  try {
    require(document.is_object(), "{} is {}, expected an object", what, document.type_name());
    return read();
  } catch (const json::exception &exception) {
    // "[json.exception.type_error.302] type must be string, but is number"
    std::string_view said = exception.what();
    fail("{}: {}", what, said.substr(std::min(said.size(), said.find("] ") + 2)));
  }
}

/// An integer of JSON that fits; nlohmann::json would cut a fraction silently.
static int64_t integerOf(const json &value, const char *what) {
  require(value.is_number_integer() && !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX)),
          "{} is {}, expected an integer", what, value.dump());
  return value.get<int64_t>();
}

/// An integer from `least` to 2^20: a number of processors, threads or rounds.
static int countOf(const json &value, const char *what, int least) {
  int64_t count = integerOf(value, what);
  require(count >= least && count <= 1 << 20, "{} is {}, expected {} to {}", what, count, least, 1 << 20);
  return int(count);
}

static int64_t bytesOf(const json &value, const char *what) {
  int64_t bytes = integerOf(value, what);
  require(bytes >= 0, "{} is {}, expected 0 or more", what, bytes);
  return bytes;
}

json toJson(const Platform &p) {
  json caches = json::array();
  for (auto &cache : p.caches)
    caches.push_back({{"name", cache.name}, {"bytes", cache.bytes}, {"shared_by_threads", cache.sharedBy}});
  return {{"cpu", p.cpu},
          {"architecture", p.architecture},
          {"features", p.features},
          {"caches", caches},
          {"cores", p.cores},
          {"hardware_threads", p.hardwareThreads},
          {"memory_bytes", p.memoryBytes},
          {"governor", p.governor},
          {"boost", p.boost},
          {"hypervisor", p.hypervisor},
          {"virtualized", p.virtualized},
          {"kernel", p.kernel},
          {"compiler", p.compiler},
          {"libraries", p.libraries}};
}

Platform platformFromJson(const json &document) {
  return reading("platform", document, [&] {
    Platform p;
    document.at("cpu").get_to(p.cpu);
    document.at("architecture").get_to(p.architecture);
    document.at("features").get_to(p.features);
    for (auto &cache : document.at("caches"))
      p.caches.push_back({cache.at("name").get<std::string>(), bytesOf(cache.at("bytes"), "bytes"),
                          countOf(cache.at("shared_by_threads"), "shared_by_threads", 0)});
    p.cores = countOf(document.at("cores"), "cores", 0);
    p.hardwareThreads = countOf(document.at("hardware_threads"), "hardware_threads", 0);
    p.memoryBytes = bytesOf(document.at("memory_bytes"), "memory_bytes");
    document.at("governor").get_to(p.governor);
    document.at("boost").get_to(p.boost);
    document.at("hypervisor").get_to(p.hypervisor);
    document.at("virtualized").get_to(p.virtualized);
    document.at("kernel").get_to(p.kernel);
    document.at("compiler").get_to(p.compiler);
    document.at("libraries").get_to(p.libraries);
    return p;
  });
}

static void put(json &document, const Disturbance &disturbance) {
  put(document, "other_processors", disturbance.otherProcessors);
  put(document, "stolen_processors", disturbance.stolenProcessors);
}
static Disturbance disturbanceOf(const json &document) {
  Disturbance disturbance;
  get(document, "other_processors", disturbance.otherProcessors);
  get(document, "stolen_processors", disturbance.stolenProcessors);
  return disturbance;
}

json toJson(const Experiment &e) {
  json document = {{"uuid", e.uuid},
                   {"kind", std::string(name(e.kind))},
                   {"command", e.command},
                   {"version", e.version},
                   {"build", e.build},
                   {"platform", e.platform},
                   {"settings", objectOf(e.settings)},
                   {"started", e.started}};
  if (!e.finished.empty())
    document["finished"] = e.finished;
  if (!e.revision.empty())
    document["revision"] = e.revision;
  if (!e.detail.empty())
    document["detail"] = e.detail;
  put(document, e.disturbance);
  return document;
}

Experiment experimentFromJson(const json &document) {
  return reading("experiment", document, [&] {
    Experiment e;
    document.at("uuid").get_to(e.uuid);
    e.kind = experimentKind(document.at("kind").get<std::string>());
    document.at("command").get_to(e.command);
    document.at("version").get_to(e.version);
    document.at("build").get_to(e.build);
    document.at("platform").get_to(e.platform);
    e.settings = document.at("settings");
    document.at("started").get_to(e.started);
    e.finished = document.value("finished", "");
    e.revision = document.value("revision", "");
    e.disturbance = disturbanceOf(document);
    if (auto detail = document.find("detail"); detail != document.end())
      e.detail = *detail;
    check(e);
    moveGraph(e);
    return e;
  });
}

json toJson(const Setting &s) {
  return {{"threads", s.threads},      {"batch", s.batch},       {"type", s.type},
          {"layout", s.layout},        {"schedule", s.schedule}, {"cache", std::string(name(s.cache))},
          {"extra", objectOf(s.extra)}};
}

Setting settingFromJson(const json &document) {
  return reading("setting", document, [&] {
    Setting s;
    s.threads = countOf(document.at("threads"), "threads", 1);
    s.batch = integerOf(document.at("batch"), "batch");
    document.at("type").get_to(s.type);
    document.at("layout").get_to(s.layout);
    document.at("schedule").get_to(s.schedule);
    s.cache = cacheState(document.at("cache").get<std::string>());
    s.extra = document.at("extra");
    return s;
  });
}

// Samples as nested lists, a list of rounds for each figure that any of them has: compact, and easy to read elsewhere.

using Counter = std::optional<int64_t> Sample::*;
static constexpr std::pair<const char *, Counter> counters[] = {{"cpu_ns", &Sample::cpuNs},
                                                                {"cycles", &Sample::cycles},
                                                                {"instructions", &Sample::instructions},
                                                                {"cache_misses", &Sample::cacheMisses},
                                                                {"frequency_khz", &Sample::frequencyKhz}};

static json nested(const Point &point, auto &&valueOf) {
  json rounds = json::array();
  for (auto &round : point.rounds) {
    json values = json::array();
    for (auto &sample : round)
      values.push_back(valueOf(sample));
    rounds.push_back(std::move(values));
  }
  return rounds;
}

static json samplesOf(const Point &point) {
  json samples = {{"wall_ns", nested(point, [](const Sample &sample) { return sample.wallNs; })}};
  for (auto &[key, counter] : counters) {
    auto valueOf = [counter = counter](const Sample &sample) -> json {
      const std::optional<int64_t> &value = sample.*counter;
      return value ? json(*value) : json(nullptr);
    };
    bool any = false;
    for (auto &round : point.rounds)
      any |= std::any_of(round.begin(), round.end(),
                         [counter = counter](const Sample &sample) { return (sample.*counter).has_value(); });
    if (any)
      samples[key] = nested(point, valueOf);
  }
  return samples;
}

/// `value`, which the loop over it would take for a list of one where it is none.
static const json &listOf(const json &value, const char *what) {
  require(value.is_array(), "{} is {}, expected a list", what, value.type_name());
  return value;
}

std::map<std::string, double> figuresFromJson(const json &document) {
  require(document.is_object(), "figures: expected an object, got {}", document.type_name());
  std::map<std::string, double> figures;
  for (auto &[name, figure] : document.items()) {
    require(figure.is_number(), "figure {}: expected a number, got {}", name, figure.type_name());
    figures[name] = figure.get<double>();
  }
  return figures;
}

std::vector<size_t> startsFromJson(const json &list) {
  std::vector<size_t> starts;
  for (auto &count : listOf(list, "starts"))
    starts.push_back(size_t(countOf(count, "rounds of a start", 1)));
  return starts;
}

static std::vector<std::vector<Sample>> roundsOf(const json &samples) {
  std::vector<std::vector<Sample>> rounds;
  for (auto &values : listOf(samples.at("wall_ns"), "wall_ns")) {
    listOf(values, "a round of wall_ns");
    rounds.emplace_back();
    for (auto &value : values)
      rounds.back().push_back({integerOf(value, "wall_ns"), {}, {}, {}, {}, {}});
  }
  for (auto &[key, counter] : counters) {
    auto found = samples.find(key);
    if (found == samples.end())
      continue;
    require(listOf(*found, key).size() == rounds.size(), "{} has {} rounds, wall_ns {}", key, found->size(),
            rounds.size());
    for (size_t i = 0; i < rounds.size(); ++i) {
      const json &values = listOf(found->at(i), key);
      require(values.size() == rounds[i].size(), "round {} has {} values of {}, {} of wall_ns", i, values.size(), key,
              rounds[i].size());
      for (size_t k = 0; k < values.size(); ++k)
        if (!values.at(k).is_null())
          rounds[i][k].*counter = integerOf(values.at(k), key);
    }
  }
  return rounds;
}

json toJson(const Point &p) {
  json document = {{"experiment", p.experiment},
                   {"operator", p.problem.op},
                   {"problem", p.problem.text},
                   {"detail", objectOf(p.problem.detail)},
                   {"provider", p.provider},
                   {"variant", p.variant},
                   {"setting", toJson(p.setting)},
                   {"measured", p.measured},
                   {"status", std::string(name(p.status))},
                   {"reason", p.reason},
                   {"implementation", p.implementation},
                   {"provider_version", p.providerVersion},
                   {"repro", p.repro}};
  put(document, "relative_l2", p.relativeL2);
  put(document, "max_difference", p.maxDifference);
  put(document, "prepare_seconds", p.prepareSeconds);
  put(document, "call_seconds", p.callSeconds);
  if (!p.figures.empty())
    document["figures"] = p.figures;
  put(document, p.disturbance);
  if (!p.starts.empty())
    document["starts"] = p.starts;
  if (!p.rounds.empty())
    document["samples"] = samplesOf(p);
  return document;
}

Point pointFromJson(const json &document) {
  return reading("point", document, [&] {
    Point p;
    document.at("experiment").get_to(p.experiment);
    document.at("operator").get_to(p.problem.op);
    document.at("problem").get_to(p.problem.text);
    p.problem.detail = document.at("detail");
    document.at("provider").get_to(p.provider);
    document.at("variant").get_to(p.variant);
    p.setting = settingFromJson(document.at("setting"));
    document.at("measured").get_to(p.measured);
    p.status = pointStatus(document.at("status").get<std::string>());
    document.at("reason").get_to(p.reason);
    document.at("implementation").get_to(p.implementation);
    document.at("provider_version").get_to(p.providerVersion);
    document.at("repro").get_to(p.repro);
    get(document, "relative_l2", p.relativeL2);
    get(document, "max_difference", p.maxDifference);
    get(document, "prepare_seconds", p.prepareSeconds);
    get(document, "call_seconds", p.callSeconds);
    if (auto figures = document.find("figures"); figures != document.end())
      p.figures = figuresFromJson(*figures);
    p.disturbance = disturbanceOf(document);
    if (auto samples = document.find("samples"); samples != document.end())
      p.rounds = roundsOf(*samples);
    if (auto starts = document.find("starts"); starts != document.end())
      p.starts = startsFromJson(*starts);
    check(p);
    return p;
  });
}

json toJson(const TuningTask &t) {
  json document = {{"text", t.text}};
  put(document, "family", t.family);
  put(document, "kernel", t.kernel);
  return document;
}

TuningTask tuningTaskFromJson(const json &document) {
  return reading("task", document, [&] {
    TuningTask t;
    document.at("text").get_to(t.text);
    get(document, "family", t.family);
    get(document, "kernel", t.kernel);
    check(t);
    return t;
  });
}

static json documentOf(const TuningOutcome &o) {
  json document = {{"status", std::string(name(o.status))}, {"reason", o.reason}, {"measured", o.measured}};
  put(document, "seconds", o.seconds);
  if (!o.samples.empty())
    document["samples_ns"] = o.samples;
  if (o.verdict != TuningVerdict::open)
    document["verdict"] = std::string(name(o.verdict));
  put(document, "searcher", o.searcher);
  put(document, "build_seconds", o.buildSeconds);
  put(document, "run_seconds", o.runSeconds);
  put(document, "version", o.version);
  put(document, "build", o.build);
  put(document, "experiment", o.experiment);
  put(document, o.disturbance);
  return document;
}

static void readOutcome(TuningOutcome &o, const json &document) {
  o.status = pointStatus(document.at("status").get<std::string>());
  document.at("reason").get_to(o.reason);
  document.at("measured").get_to(o.measured);
  get(document, "seconds", o.seconds);
  if (auto samples = document.find("samples_ns"); samples != document.end())
    o.samples = nanosecondsFromJson(*samples);
  if (auto verdict = document.find("verdict"); verdict != document.end())
    o.verdict = tuningVerdict(verdict->get<std::string>());
  get(document, "searcher", o.searcher);
  get(document, "build_seconds", o.buildSeconds);
  get(document, "run_seconds", o.runSeconds);
  get(document, "version", o.version);
  get(document, "build", o.build);
  get(document, "experiment", o.experiment);
  o.disturbance = disturbanceOf(document);
}

json outcomesToJson(const std::vector<TuningOutcome> &outcomes) {
  json list = json::array();
  for (const TuningOutcome &outcome : outcomes)
    list.push_back(documentOf(outcome));
  return list;
}

std::vector<TuningOutcome> outcomesFromJson(const json &list) {
  std::vector<TuningOutcome> outcomes;
  for (const json &document : listOf(list, "outcomes"))
    reading("outcome", document, [&] { readOutcome(outcomes.emplace_back(), document); });
  return outcomes;
}

json toJson(const TuningRecord &r) {
  json document = documentOf(r);
  document["platform"] = r.platform;
  document["task"] = r.task;
  document["schedule"] = r.schedule;
  if (!r.outcomes.empty()) {
    document["outcomes"] = outcomesToJson(r.outcomes);
    document.erase("samples_ns");
  }
  return document;
}

std::vector<int64_t> nanosecondsFromJson(const json &list) {
  std::vector<int64_t> values;
  for (auto &value : listOf(list, "samples_ns"))
    values.push_back(integerOf(value, "a sample"));
  return values;
}

TuningRecord tuningRecordFromJson(const json &document) {
  return reading("tuning record", document, [&] {
    TuningRecord r;
    document.at("platform").get_to(r.platform);
    document.at("task").get_to(r.task);
    document.at("schedule").get_to(r.schedule);
    readOutcome(r, document);
    if (auto outcomes = document.find("outcomes"); outcomes != document.end() && !outcomes->empty())
      setOutcomes(r, outcomesFromJson(*outcomes));
    check(r);
    return r;
  });
}

} // namespace lathe::store
