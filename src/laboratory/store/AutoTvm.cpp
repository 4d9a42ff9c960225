#include "store/AutoTvm.h"

#include "store/ContentKey.h"
#include "store/Lines.h"
#include "support/Text.h"

#include <cmath>
#include <map>
#include <numeric>

namespace lathe::store {

using nlohmann::json;

namespace {

// MeasureErrorNo of tvm/autotvm/measure/measure.py.
struct TvmError {
  const char *name;
  PointStatus status;
};
constexpr TvmError tvmErrors[] = {{"not verified here: a log of AutoTVM", PointStatus::notVerified},
                                  {"instantiation error", PointStatus::unimplemented},
                                  {"compile error on the host", PointStatus::failed},
                                  {"compile error on the device", PointStatus::failed},
                                  {"runtime error on the device", PointStatus::crashed},
                                  {"wrong answer", PointStatus::failed},
                                  {"build timeout", PointStatus::timedOut},
                                  {"run timeout", PointStatus::timedOut},
                                  {"unknown error", PointStatus::failed}};

const json &member(const json &object, const char *key, bool (json::*isKind)() const noexcept, const char *kind) {
  auto found = object.find(key);
  require(found != object.end(), "'{}' is missing", key);
  require(((*found).*isKind)(), "'{}' is {}, expected {}", key, found->type_name(), kind);
  return *found;
}

const json &listOf(const json &object, const char *key, size_t length) {
  const json &list = member(object, key, &json::is_array, "a list");
  require(list.size() == length, "'{}' has {} entries, expected {}", key, list.size(), length);
  return list;
}

std::string textOf(const json &value, const char *what) {
  require(value.is_string(), "{} is {}, expected a text", what, value.type_name());
  return value.get<std::string>();
}

double numberOf(const json &value, const char *what) {
  require(value.is_number() && std::isfinite(value.get<double>()), "{} is {}, expected a number", what, value.dump());
  return value.get<double>();
}

/// "float32 1x3x224x224" for ["TENSOR", [1, 3, 224, 224], "float32"]; other arguments as JSON.
std::string argumentText(const json &argument) {
  bool tensor = argument.is_array() && argument.size() == 3 && argument[0] == "TENSOR" && argument[1].is_array() &&
                argument[2].is_string();
  if (!tensor)
    return argument.dump();
  std::vector<std::string> extents;
  for (const json &extent : argument[1])
    extents.push_back(extent.dump());
  return fmt::format("{} {}", argument[2].get<std::string>(), fmt::join(extents, "x"));
}

/// The task of a line.
struct TvmTask {
  std::string target, name, arguments;

  explicit TvmTask(const json &input)
      : target(textOf(input[0], "the target")), name(textOf(input[1], "the name of the task")) {
    require(input[2].is_array(), "the arguments of the task are {}, expected a list", input[2].type_name());
    std::vector<std::string> texts;
    for (const json &argument : input[2])
      texts.push_back(argumentText(argument));
    if (!input[3].empty())
      texts.push_back(input[3].dump());
    arguments = fmt::format("{}", fmt::join(texts, "; "));
  }
  std::string text() const { return fmt::format("autotvm/0.2 | {} | {} | {}", name, arguments, target); }
};

/// An experiment for the lines of a log from one version of TVM.
Experiment experimentOf(const Platform &platform, const std::string &firstLine, const std::string &time) {
  Experiment experiment;
  experiment.uuid = contentKey("autotvm\n" + platform.key() + "\n" + firstLine);
  experiment.kind = ExperimentKind::imported;
  experiment.command = "log of AutoTVM";
  experiment.platform = platform.key();
  experiment.settings = {{"format", "autotvm"}};
  experiment.started = experiment.finished = time;
  return experiment;
}

Point pointOf(const TvmTask &task, const TuningRecord &record, const Experiment &experiment) {
  Point point;
  point.experiment = experiment.uuid;
  point.problem = {task.name, task.arguments.empty() ? "no arguments" : task.arguments, json::object()};
  point.provider = "autotvm";
  point.setting.type = "";
  point.setting.schedule = record.schedule;
  point.setting.extra = {{"target", task.target}, {"threads", "not stated"}};
  point.measured = record.measured;
  point.status = record.status;
  point.reason = record.reason;
  if (!record.samples.empty())
    point.rounds.emplace_back();
  for (int64_t nanoseconds : record.samples)
    point.rounds[0].emplace_back().wallNs = nanoseconds;
  return point;
}

/// A knob's value as text: "-1,3" for [-1, 3], "true", "unroll".
std::string valueText(const json &value) {
  if (value.is_string())
    return value.get<std::string>();
  if (!value.is_array())
    return value.dump();
  std::vector<std::string> parts;
  for (const json &part : value)
    parts.push_back(valueText(part));
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string knobsText(const json &config) {
  std::string text = "autotvm/0.2 index=" + member(config, "index", &json::is_number_integer, "an integer").dump();
  if (auto hash = config.find("code_hash"); hash != config.end() && hash->is_string())
    text += " code_hash=" + hash->get<std::string>();
  for (const json &knob : member(config, "entity", &json::is_array, "a list")) {
    require(knob.is_array() && knob.size() == 3 && knob[0].is_string(), "knob {} is not [name, kind, value]",
            knob.dump());
    text += fmt::format(" {}={}", knob[0].get<std::string>(), valueText(knob[2]));
  }
  return text;
}

void addResult(TuningRecord &record, const json &result) {
  double number = numberOf(result[1], "the error number");
  require(number == std::floor(number) && number >= 0 && number < double(std::size(tvmErrors)),
          "the error number is {}, expected 0 to {}", result[1].dump(), std::size(tvmErrors) - 1);
  const TvmError &error = tvmErrors[size_t(number)];
  record.status = error.status;
  record.reason = error.name;
  record.runSeconds = numberOf(result[2], "the seconds spent");
  double time = numberOf(result[3], "the time");
  require(time >= 0 && time < 253402300800.0, "the time is {}, expected seconds since 1970", result[3].dump());
  record.measured = timeText(std::llround(time * 1e6));
  if (number != 0) // a placeholder or a message replaces the times
    return;
  require(result[0].is_array() && !result[0].empty(), "the result has no times");
  double sum = 0;
  for (const json &cost : result[0]) {
    double seconds = numberOf(cost, "a time");
    require(seconds > 0 && seconds < 1e9, "a time is {} s, expected more than 0", seconds);
    sum += seconds;
    record.samples.push_back(std::llround(seconds * 1e9));
  }
  record.seconds = sum / double(record.samples.size());
}

Platform platformOf(const json &line) {
  Platform platform;
  platform.cpu = "unknown (log of AutoTVM)";
  if (auto version = line.find("tvm_version"); version != line.end())
    platform.libraries["tvm"] = textOf(*version, "tvm_version");
  return platform;
}

bool isOfLog(const json &document) {
  return document.is_object() && document.contains("input") && document.contains("result") &&
         document.contains("version");
}

/// Makes records from the lines of a log.
class LogRecords {
public:
  explicit LogRecords(const std::function<void(const Record &)> &visit) : visit(visit) {}

  void add(const json &document, const std::string &line) {
    require(isOfLog(document), "is not a line of a log of AutoTVM: expected an object with input, config and result");
    require(document["version"] == 0.2, "is of version {} of the log, expected 0.2", document["version"].dump());
    if (firstLine.empty())
      firstLine = line;
    Platform platform = platformOf(document);
    TvmTask task(listOf(document, "input", 4));
    TuningRecord record;
    record.platform = platform.key();
    record.task = task.text();
    record.schedule = knobsText(member(document, "config", &json::is_object, "an object"));
    addResult(record, listOf(document, "result", 4));
    check(record);
    auto [experiment, isNew] = experiments.try_emplace(record.platform);
    if (isNew) {
      experiment->second = experimentOf(platform, firstLine, record.measured);
      visit(platform);
      visit(experiment->second);
    }
    visit(record);
    Point point = pointOf(task, record, experiment->second);
    check(point);
    visit(point);
  }

private:
  const std::function<void(const Record &)> &visit;
  std::string firstLine;
  std::map<std::string, Experiment> experiments; // by platform
};

bool isSkipped(const std::string &line) { return line.empty() || line[0] == '#' || line == "\r"; }

} // namespace

bool isAutoTvmLog(const std::string &path) {
  LineReader reader(path);
  while (auto line = reader.next())
    if (!isSkipped(*line))
      return isOfLog(parseDocument(*line));
  return false;
}

void readAutoTvmLog(const std::string &path, const std::function<void(const Record &)> &visit,
                    std::vector<std::string> &notes) {
  LineReader reader(path);
  LogRecords records(visit);
  while (auto line = reader.next()) {
    if (isSkipped(*line))
      continue;
    try {
      json document = parseDocument(*line);
      if (document.is_discarded() && !reader.lineEnded()) {
        notes.push_back(
            fmt::format("{}:{}: the file ends in the middle of this line, which is left out", path, reader.number()));
        return;
      }
      records.add(document, *line);
    } catch (const Error &error) {
      fail("{}:{}: {}", path, reader.number(), printable(error.what()));
    }
  }
}

} // namespace lathe::store
