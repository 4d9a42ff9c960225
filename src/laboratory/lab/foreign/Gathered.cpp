#include "lab/foreign/Gathered.h"

#include "lab/judging/Statistics.h"
#include "lab/machine/DeclaredPeak.h"
#include "lab/problems/Problem.h"
#include "store/ContentKey.h"
#include "support/Text.h"

#include <sys/stat.h>

#include <cerrno>
#include <cmath>
#include <cstring>

namespace lathe::lab {

using nlohmann::json;

namespace {

constexpr size_t mostPoints = 1 << 18, mostSamples = 1000000, longestText = 1 << 16;

std::string timeOfLastChange(const std::string &path) {
  struct stat facts = {};
  require(stat(path.c_str(), &facts) == 0, "{}: cannot open: {}", path, std::strerror(errno));
  return store::timeText(int64_t(facts.st_mtim.tv_sec) * 1000000 + facts.st_mtim.tv_nsec / 1000);
}

/// Moves the samples into the rounds of the point.
store::Point pointOf(Gathered &gathered) {
  store::Point point = std::move(gathered.point);
  if (!store::mayHaveTime(point.status))
    return point;
  for (const store::Sample &sample : gathered.counted)
    point.rounds.push_back({sample});
  for (size_t i = 0; i < gathered.wallNs.size(); ++i) {
    if (i == 0 || gathered.rounds[i] != gathered.rounds[i - 1])
      point.rounds.emplace_back();
    point.rounds.back().emplace_back().wallNs = gathered.wallNs[i];
  }
  gathered = Gathered();
  return point;
}

/// For problems of Lathe: adds to the reason that no processor is fast enough for the stated time.
void noteUnreachable(store::Point &point, const store::Platform &platform) {
  constexpr int mostThreads = 1024; // if the file does not state the machine's threads
  if (point.status != store::PointStatus::notVerified || point.rounds.empty() || point.problem.op == "model")
    return;
  double operations = 0;
  try {
    operations = Problem::parse(point.problem.text).flops();
  } catch (const Error &) { // not a text of Lathe
    return;
  }
  std::vector<double> seconds;
  for (auto &round : point.rounds)
    for (const store::Sample &sample : round)
      seconds.push_back(double(std::max<int64_t>(sample.wallNs, 1)) * 1e-9);
  double peak = declaredPeakAnywhere(platform.hardwareThreads > 0 ? platform.hardwareThreads : mostThreads);
  if (std::string reason = beyondReach(operations, median(seconds), peak); !reason.empty())
    point.reason += "; " + reason;
}

} // namespace

ForeignPoints::ForeignPoints(std::string path, std::string format)
    : settings(json::object()), started(timeOfLastChange(path)), path(std::move(path)), format(std::move(format)) {
  platform.cpu = fmt::format("unknown ({})", this->format);
}

void ForeignPoints::identify(std::string_view text) {
  if (points.empty())
    identity = store::contentKey(identity + std::string(text));
}

void ForeignPoints::identify(const json &part) {
  if (points.empty())
    identify(std::string_view(part.dump()));
}

size_t ForeignPoints::add(store::Point point, const std::string &run) {
  auto [place, isNew] = byContent.try_emplace(run + "\n" + point.key(), points.size());
  if (!isNew)
    return place->second;
  require(points.size() < mostPoints, "has more than {} different points, import it in parts", mostPoints);
  point.status = store::PointStatus::notVerified;
  point.reason = fmt::format("{}: {}", shownName(point.status), format);
  points.emplace_back().point = std::move(point);
  points.back().run = run;
  return place->second;
}

void ForeignPoints::addSample(Gathered &to, int64_t nanoseconds, uint32_t round) {
  if (to.wallNs.size() == mostSamples) {
    ++dropped;
    return;
  }
  to.wallNs.push_back(nanoseconds);
  to.rounds.push_back(round);
}

void ForeignPoints::addSample(Gathered &to, const store::Sample &counted) {
  if (to.counted.size() == mostSamples)
    ++dropped;
  else
    to.counted.push_back(counted);
}

store::Experiment ForeignPoints::experimentOf(const std::string &run) const {
  store::Experiment experiment;
  experiment.uuid = store::contentKey(format + "\n" + identity + (run.empty() ? "" : "\n" + run));
  experiment.kind = store::ExperimentKind::imported;
  experiment.command = "file of " + format;
  experiment.platform = platform.key();
  experiment.settings = settings;
  if (!run.empty())
    experiment.settings["experiment"] = run;
  experiment.started = experiment.finished = started;
  return experiment;
}

void ForeignPoints::emit(const RecordVisitor &visit, std::vector<std::string> &notes) {
  require(!points.empty(), "{}: has no measurement ({})", path, format);
  if (dropped)
    notes.push_back(fmt::format("{}: {} left out: a point keeps its first {}", path,
                                counted(int64_t(dropped), "sample"), mostSamples));
  settings["format"] = format;
  visit(platform);
  std::map<std::string, std::string> experiments; // uuid by run
  for (Gathered &gathered : points) {
    auto [uuid, isNew] = experiments.try_emplace(gathered.run);
    if (isNew) {
      store::Experiment experiment = experimentOf(gathered.run);
      uuid->second = experiment.uuid;
      visit(experiment);
    }
    store::Point point = pointOf(gathered);
    noteUnreachable(point, platform);
    point.experiment = uuid->second;
    point.measured = started;
    try {
      store::check(point);
    } catch (const Error &error) {
      fail("{}: {} {}: {}", path, point.problem.op, printable(point.problem.text.substr(0, 100)), error.what());
    }
    visit(point);
  }
}

std::string foreignText(const std::string &text, const char *what) {
  require(text.size() <= longestText, "{} has {} bytes, expected at most {}", what, text.size(), longestText);
  return printable(text);
}

static const json &memberOf(const json &object, const char *key) {
  require(object.is_object(), "an element is {}, expected an object", object.type_name());
  auto found = object.find(key);
  require(found != object.end(), "'{}' is missing", key);
  return *found;
}

std::string foreignText(const json &object, const char *key) {
  const json &value = memberOf(object, key);
  require(value.is_string(), "'{}' is {}, expected a text", key, value.type_name());
  return foreignText(value.get_ref<const std::string &>(), key);
}

int64_t foreignNanoseconds(double value, double nanosecondsPerUnit, const char *what) {
  double nanoseconds = value * nanosecondsPerUnit;
  require(nanoseconds >= 0 && nanoseconds < 1e18, "'{}' is {}, expected a time from 0 to 1e9 s", what, value);
  return std::llround(nanoseconds);
}

int64_t foreignNanoseconds(const json &object, const char *key, double nanosecondsPerUnit) {
  const json &value = memberOf(object, key);
  require(value.is_number(), "'{}' is {}, expected a number", key, value.type_name());
  return foreignNanoseconds(value.get<double>(), nanosecondsPerUnit, key);
}

store::Setting unstatedThreads() {
  store::Setting setting;
  setting.extra = {{"threads", "not stated"}};
  return setting;
}

} // namespace lathe::lab
