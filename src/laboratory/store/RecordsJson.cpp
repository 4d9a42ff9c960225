#include "store/Fields.h"
#include "store/Outcomes.h"
#include "support/Error.h"
#include "support/JsonError.h"

#include <algorithm>
#include <cmath>

namespace lathe::store {

using nlohmann::json;

namespace {

/// An integer from JSON, checked because nlohmann::json would silently truncate a fraction.
int64_t integerOf(const json &value, const char *what) {
  require(value.is_number_integer() && !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX)),
          "{} is {}, expected an integer", what, value.dump());
  return value.get<int64_t>();
}

/// `value`, which must be a list: a loop over another value would treat it as a list of one element.
const json &listOf(const json &value, const char *what) {
  require(value.is_array(), "{} is {}, expected a list", what, value.type_name());
  return value;
}

/// Runs `read`; converts exceptions of the JSON library to Error.
template <class Read> auto reading(const char *what, const json &document, Read read) {
  try {
    require(document.is_object(), "{} is {}, expected an object", what, document.type_name());
    return read();
  } catch (const json::exception &exception) {
    fail("{}: {}", what, messageOf(exception));
  }
}

/// Visits the fields of a record to write them.
struct Writer {
  json &document;

  void operator()(const char *key, const auto &value, int = 0) { document[key] = asJson(value); }
  void known(const char *key, const auto &value, const char * = nullptr) {
    if (isKnown(value))
      (*this)(key, value);
  }
  void ended(const char *key, const std::string &value) { known(key, value); }
  void large(const char *key, const json &value) { known(key, value); }
  void link(const char *key, const std::string &value, const char *, const char *, bool optional = false) {
    optional ? known(key, value) : (*this)(key, value);
  }
  void part(const Problem &problem) {
    (*this)("operator", problem.op);
    (*this)("problem", problem.text);
    (*this)("detail", problem.detail);
  }
  void part(const Setting &setting) { document["setting"] = toJson(setting); }
};

/// Visits the fields of a record to read them.
struct Reader {
  const json &document;

  void operator()(const char *key, int &value, int least = 0) { read(document.at(key), key, value, least); }
  void operator()(const char *key, auto &value) { read(document.at(key), key, value); }
  void known(const char *key, auto &value, const char * = nullptr) {
    if (document.contains(key))
      (*this)(key, value);
  }
  void ended(const char *key, std::string &value) { known(key, value); }
  void large(const char *key, json &value) { known(key, value); }
  void link(const char *key, std::string &value, const char *, const char *, bool optional = false) {
    optional ? known(key, value) : (*this)(key, value);
  }
  void part(Problem &problem) {
    (*this)("operator", problem.op);
    (*this)("problem", problem.text);
    (*this)("detail", problem.detail);
  }
  void part(Setting &setting) { setting = settingFromJson(document.at("setting")); }
};

template <class Record> json written(const Record &record) {
  json document = json::object();
  visitFields(record, Writer{document});
  return document;
}

template <class Record> Record recordOf(const json &document, const char *what) {
  return reading(what, document, [&] {
    Record record;
    visitFields(record, Reader{document});
    return record;
  });
}

} // namespace

bool isKnown(const std::optional<double> &value) { return value && std::isfinite(*value); } // as JSON requires

json asJson(const json &value) { return value.is_null() ? json::object() : value; }

json asJson(const Company &company) { return company.empty() ? json::object() : written(company); }

json asJson(const std::vector<CacheLevel> &caches) {
  json list = json::array();
  for (const CacheLevel &cache : caches)
    list.push_back(written(cache));
  return list;
}

json asJson(const std::vector<TuningOutcome> &outcomes) { return outcomesToJson(outcomes); }
json asJson(const std::optional<double> &value) { return value ? json(*value) : json(); }

void read(const json &from, const char *key, int &value, int least) {
  int64_t count = integerOf(from, key); // number of processors, threads or rounds
  require(count >= least && count <= 1 << 20, "{} is {}, expected {} to {}", key, count, least, 1 << 20);
  value = int(count);
}

void read(const json &from, const char *key, int64_t &value) {
  value = integerOf(from, key);
  require(value >= 0, "{} is {}, expected 0 or more", key, value);
}

void read(const json &from, const char *key, Company &company) {
  require(from.is_object(), "{} is {}, expected an object", key, from.type_name());
  if (from.empty())
    return;
  visitFields(company, Reader{from});
  require(!company.empty(), "{}: expected the text of a problem, got \"\"", key);
}

void read(const json &from, const char *key, std::vector<CacheLevel> &caches) {
  for (const json &cache : listOf(from, key))
    visitFields(caches.emplace_back(), Reader{cache});
}

void read(const json &from, const char *, std::vector<TuningOutcome> &outcomes) { outcomes = outcomesFromJson(from); }

void read(const json &from, const char *key, std::vector<size_t> &starts) {
  for (const json &count : listOf(from, key)) {
    int rounds = 0;
    read(count, "rounds of a start", rounds, 1);
    starts.push_back(size_t(rounds));
  }
}

void read(const json &from, const char *key, std::vector<int64_t> &nanoseconds) {
  for (const json &value : listOf(from, key))
    nanoseconds.push_back(integerOf(value, "a sample"));
}

void read(const json &from, const char *key, std::map<std::string, double> &figures) {
  require(from.is_object(), "{}: expected an object, got {}", key, from.type_name());
  for (auto &[name, figure] : from.items()) {
    require(figure.is_number(), "figure {}: expected a number, got {}", name, figure.type_name());
    figures[name] = figure.get<double>();
  }
}

json toJson(const Platform &platform) { return written(platform); }
Platform platformFromJson(const json &document) { return recordOf<Platform>(document, "platform"); }

json toJson(const Experiment &experiment) { return written(experiment); }

Experiment experimentFromJson(const json &document) {
  auto e = recordOf<Experiment>(document, "experiment");
  check(e);
  moveGraph(e);
  return e;
}

json toJson(const Setting &setting) { return written(setting); }
Setting settingFromJson(const json &document) { return recordOf<Setting>(document, "setting"); }

// Samples as nested lists, with a list of rounds for each figure that some sample has: compact, and easy to read for
// other programs.

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
  for (auto [key, counter] : sampleCounters) {
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

static std::vector<std::vector<Sample>> roundsOf(const json &samples) {
  std::vector<std::vector<Sample>> rounds;
  for (auto &values : listOf(samples.at("wall_ns"), "wall_ns")) {
    listOf(values, "a round of wall_ns");
    rounds.emplace_back();
    for (auto &value : values)
      rounds.back().push_back({integerOf(value, "wall_ns"), {}, {}, {}, {}, {}});
  }
  for (auto [key, counter] : sampleCounters) {
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

json toJson(const Point &point) {
  json document = written(point);
  if (!point.rounds.empty())
    document["samples"] = samplesOf(point);
  return document;
}

Point pointFromJson(const json &document) {
  return reading("point", document, [&] {
    auto p = recordOf<Point>(document, "point");
    if (auto samples = document.find("samples"); samples != document.end())
      p.rounds = roundsOf(*samples);
    check(p);
    return p;
  });
}

json toJson(const TuningTask &task) { return written(task); }

TuningTask tuningTaskFromJson(const json &document) {
  auto t = recordOf<TuningTask>(document, "task");
  check(t);
  return t;
}

json outcomesToJson(const std::vector<TuningOutcome> &outcomes) {
  json list = json::array();
  for (const TuningOutcome &outcome : outcomes)
    list.push_back(written(outcome));
  return list;
}

std::vector<TuningOutcome> outcomesFromJson(const json &list) {
  std::vector<TuningOutcome> outcomes;
  for (const json &document : listOf(list, "outcomes"))
    outcomes.push_back(recordOf<TuningOutcome>(document, "outcome"));
  return outcomes;
}

json toJson(const TuningRecord &record) {
  json document = written(record);
  if (!record.outcomes.empty())
    document.erase("samples_ns"); // the outcomes contain them
  return document;
}

TuningRecord tuningRecordFromJson(const json &document) {
  auto r = recordOf<TuningRecord>(document, "tuning record");
  if (!r.outcomes.empty())
    setOutcomes(r, std::move(r.outcomes));
  check(r);
  return r;
}

} // namespace lathe::store
