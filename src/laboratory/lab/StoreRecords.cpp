#include "lab/StoreRecords.h"

#include "lab/machine/PlatformFacts.h"

#include <algorithm>
#include <cmath>

namespace lathe::lab {

store::Platform platformHere() { return store::platformFromJson(platformFacts()); }

/// The share of one run in the costs of `runs` runs.
static store::Sample shareOf(const Counts &counts, size_t runs) {
  auto share = [&](const std::optional<int64_t> &sum) {
    return sum ? std::optional<int64_t>(std::llround(double(*sum) / double(runs))) : std::nullopt;
  };
  store::Sample sample;
  sample.cpuNs = share(counts.cpuNs);
  sample.cycles = share(counts.cycles);
  sample.instructions = share(counts.instructions);
  sample.cacheMisses = share(counts.cacheMisses);
  if (counts.cycles && counts.cpuNs.value_or(0) > 0)
    sample.frequencyKhz = std::llround(double(*counts.cycles) / double(*counts.cpuNs) * 1e6);
  return sample;
}

std::vector<std::vector<store::Sample>> samplesOf(const std::vector<std::vector<double>> &rounds,
                                                  const std::vector<Counts> &counts) {
  require(counts.empty() || counts.size() == rounds.size(), "counts of {} rounds, times of {}", counts.size(),
          rounds.size());
  std::vector<std::vector<store::Sample>> samples;
  for (size_t i = 0; i < rounds.size(); ++i) {
    auto &round = samples.emplace_back();
    for (double seconds : rounds[i]) {
      round.push_back(counts.empty() ? store::Sample() : shareOf(counts[i], rounds[i].size()));
      round.back().wallNs = std::llround(seconds * 1e9);
    }
  }
  return samples;
}

std::vector<std::vector<double>> secondsOf(const std::vector<std::vector<store::Sample>> &rounds) {
  std::vector<std::vector<double>> seconds;
  for (auto &round : rounds) {
    seconds.emplace_back();
    for (const store::Sample &sample : round)
      seconds.back().push_back(double(sample.wallNs) * 1e-9);
  }
  return seconds;
}

std::vector<double> secondsOf(const store::Point &point) {
  std::vector<double> seconds;
  for (auto &round : point.rounds)
    for (const store::Sample &sample : round)
      seconds.push_back(double(sample.wallNs) * 1e-9);
  return seconds;
}

void setResources(store::Point &point, const std::string &text, const std::map<std::string, std::string> &held) {
  if (text.empty())
    return;
  point.setting.extra["resources"] = text;
  point.held = held;
}

std::string resourcesText(const store::Setting &setting) {
  auto found = setting.extra.find("resources");
  return found != setting.extra.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<store::Point> pointsOf(const OpsRow &row) {
  std::vector<store::Point> points;
  for (const OpsPoint &measured : row.points) {
    store::Point &point = points.emplace_back();
    const Problem &problem = row.listed.problem;
    point.problem = {problem.op, problem.str(), toJson(problem)};
    point.provider = measured.provider;
    point.variant = measured.variant;
    point.setting.threads = row.setting.threads;
    point.setting.cache = row.setting.cache;
    if (row.setting.layout != ActivationLayout::any)
      point.setting.layout = name(row.setting.layout);
    point.setting.schedule = measured.schedule;
    setResources(point, row.setting.resources.text(), row.held);
    point.setting.company = measured.company;
    point.figures = measured.figures();
    if (!problem.operands.empty())
      point.setting.type = lathe::name(problem.operands.front().type);
    point.status = measured.status;
    point.reason = measured.reason;
    point.implementation = measured.implementation;
    point.providerVersion = measured.version;
    bool answered = measured.status == PointStatus::passed || measured.status == PointStatus::sameAs ||
                    measured.status == PointStatus::mistrusted || measured.relativeL2 > 0;
    if (answered) {
      point.relativeL2 = measured.relativeL2;
      point.maxDifference = measured.maxDifference;
    }
    if (!measured.implementation.empty())
      point.prepareSeconds = measured.prepareSeconds;
    point.callSeconds = measured.callSeconds;
    point.disturbance = {row.otherProcessors, row.stolenProcessors};
    point.rounds = samplesOf(measured.rounds, measured.counts);
    if (row.starts.size() > 1) // a column that failed has no rounds, and so no starts
      point.starts = startsWithin(row.starts, measured.rounds.size());
  }
  return points;
}

std::vector<store::TuningRecord> tuningOf(const OpsRow &row) {
  std::vector<store::TuningRecord> records;
  // Times of schedules are measured with warm caches, and on the whole machine.
  if (row.setting.cache != store::CacheState::hot || !row.setting.resources.none())
    return records;
  for (const OpsPoint &point : row.points) {
    bool timed = point.status == PointStatus::passed && point.timed();
    bool says = timed || point.status == PointStatus::failed || point.status == PointStatus::unimplemented ||
                point.status == PointStatus::crashed || point.status == PointStatus::timedOut ||
                point.status == PointStatus::memoryExceeded;
    if (point.task.empty() || point.scheduleRun.empty() || !says)
      continue;
    store::TuningRecord &record = records.emplace_back();
    record.task = store::taskInCompany(point.task, point.company);
    record.schedule = point.scheduleRun;
    record.status = point.status;
    record.reason = point.reason;
    if (timed)
      record.seconds = point.time.median;
  }
  return records;
}

/// Sets a point's status from the agreement of its outputs with a peer.
static void judge(store::Point &point, const PeerResult &peer, const std::string &other) {
  double relativeL2 = 0, maxDifference = 0;
  std::string mistrust;
  for (const Agreement &output : peer.outputs) {
    relativeL2 = std::max(relativeL2, output.relativeL2);
    maxDifference = std::max(maxDifference, output.maxDifference);
    if (!output.agrees && point.reason.empty())
      point.reason = fmt::format("output '{}' differs from {}: {}", output.output, other, output.reason);
    if (!output.mistrust.empty() && mistrust.empty())
      mistrust = fmt::format("output '{}' is {}", output.output, output.mistrust);
  }
  if (!peer.outputs.empty()) {
    point.relativeL2 = relativeL2;
    point.maxDifference = maxDifference;
  }
  if (!peer.agrees && point.reason.empty())
    point.reason = "has no outputs in common with " + other;
  point.status = !peer.agrees ? PointStatus::failed : mistrust.empty() ? PointStatus::passed : PointStatus::mistrusted;
  if (point.status == PointStatus::mistrusted)
    point.reason = mistrust;
}

std::vector<store::Point> pointsOf(const Comparison &comparison, const store::Problem &model,
                                   const store::Setting &setting) {
  // Our side is judged by the peer that agrees best, because one agreeing peer is enough.
  const PeerResult *best = nullptr;
  for (const PeerResult &peer : comparison.peers)
    if (!comparison.sides[peer.peer].failure && (!best || (peer.agrees && !best->agrees)))
      best = &peer;
  std::vector<store::Point> points;
  for (size_t i = 0; i < comparison.sides.size(); ++i) {
    const SideResult &side = comparison.sides[i];
    store::Point &point = points.emplace_back();
    point.problem = model;
    point.setting = setting;
    point.provider = side.name;
    point.variant = side.content; // distinguishes sides whose files have the same name
    bool repeated =
        std::any_of(points.begin(), points.end() - 1, [&](auto &other) { return other.provider == side.name; });
    if (repeated) // a runner compared with itself gives two points
      point.variant = fmt::format("{}{}side {}", side.content, side.content.empty() ? "" : " ", i + 1);
    point.providerVersion = side.version;
    point.prepareSeconds = side.loadSeconds;
    point.callSeconds = side.overheadSeconds;
    point.disturbance = {comparison.otherProcessors, comparison.stolenProcessors};
    const PeerResult *verdict = i == 0 ? best : &comparison.peers.at(i - 1);
    if (side.failure) {
      point.status = statusOf(*side.failure);
      point.reason = side.failure->message();
    } else if (!verdict || (i > 0 && comparison.sides[0].failure)) {
      point.status = PointStatus::mistrusted;
      point.reason = "nobody was left to compare its outputs with";
    } else {
      judge(point, *verdict, comparison.sides[i == 0 ? verdict->peer : 0].name);
      if (point.status == PointStatus::passed && !side.unreachable.empty()) {
        point.status = PointStatus::mistrusted;
        point.reason = side.unreachable;
      }
    }
    if (point.status == PointStatus::passed || point.status == PointStatus::mistrusted)
      point.rounds = samplesOf(side.rounds, side.counts);
    if (!point.rounds.empty() && comparison.starts.size() > 1)
      point.starts = startsWithin(comparison.starts, side.rounds.size());
  }
  return points;
}

} // namespace lathe::lab
