#include "lab/compare/Compare.h"
#include "lab/machine/Disturbance.h"
#include "support/Text.h"

#include <cmath>
#include <numeric>

namespace lathe::lab {

using nlohmann::json;

static json toJson(const SideResult &side) {
  json document = {
      {"name", side.name},         {"version", side.version},           {"model", side.model},
      {"settings", side.settings}, {"load_ms", side.loadSeconds * 1e3}, {"peak_rss_bytes", side.peakResidentBytes}};
  if (!side.notes.empty())
    document["notes"] = side.notes;
  if (side.overheadSeconds)
    document["overhead_us"] = *side.overheadSeconds * 1e6;
  if (side.failure)
    document["failure"] = {{"kind", std::string(process::name(side.failure->kind))},
                           {"message", side.failure->message()}};
  document.update(timesToJson(side.time, side.rounds, side.counts));
  if (!side.uncounted.empty())
    document["uncounted"] = side.uncounted;
  return document;
}

/// GHz of each round, where cycles were counted.
static std::vector<double> gigahertzOf(const SideResult &side) {
  std::vector<double> values;
  for (const Counts &round : side.counts)
    if (round.cycles && round.cpuNs.value_or(0) > 0)
      values.push_back(double(*round.cycles) / double(*round.cpuNs));
  return values;
}

/// Why frequency changes cannot be detected, or "".
static std::string uncountedText(const Comparison &comparison) {
  for (const SideResult &side : comparison.sides)
    if (!side.rounds.empty() && gigahertzOf(side).empty())
      return fmt::format("frequency not known of {}: {}", side.name,
                         side.uncounted.empty() ? "its runner does not count cycles" : side.uncounted);
  return "";
}

static std::vector<std::string> warningsOf(const SideResult &side, const std::vector<size_t> &starts) {
  constexpr double manyOutliers = 0.05, unsteady = 0.05;
  std::vector<std::string> warnings;
  std::vector<std::vector<double>> samples; // of each start
  for (auto &start : byStart(side.rounds, starts, side.rounds.size())) {
    samples.emplace_back();
    for (auto &round : start)
      samples.back().insert(samples.back().end(), round.begin(), round.end());
  }
  SeriesCheck series = checkSeries(samples);
  if (series.outlierShare > manyOutliers)
    warnings.push_back(fmt::format("{:.0f} % of the times of {} are outliers", 100 * series.outlierShare, side.name));
  if (series.drifts)
    warnings.push_back(fmt::format("times of {} {} by {:.1f} % from the first start to the last", side.name,
                                   series.drift > 0 ? "rose" : "fell", 100 * std::abs(series.drift)));
  auto gigahertz = gigahertzOf(side);
  double low = percentile(gigahertz, 5), high = percentile(gigahertz, 95);
  if (high - low > unsteady * median(gigahertz))
    warnings.push_back(fmt::format("the frequency under {} varied from {:.2f} to {:.2f} GHz", side.name, low, high));
  return warnings;
}

/// True if too many rounds began before the processors ran at full speed.
static bool beganSlowly(const Comparison &comparison) {
  size_t rounds = std::accumulate(comparison.starts.begin(), comparison.starts.end(), size_t(0));
  return double(comparison.slowRounds) > unreliableSlowShare * double(rounds);
}

bool isDisturbed(const Comparison &comparison) {
  return comparison.otherProcessors.value_or(0) > disturbingProcessors || beganSlowly(comparison);
}

/// True for a runner whose speed does not represent the runtime on this machine, such as TensorFlow Lite's WebAssembly
/// build.
static bool saysNothing(const SideResult &side) {
  return side.settings.is_object() && side.settings.contains("caution");
}

std::vector<std::string> warningsOf(const Comparison &comparison) {
  std::vector<std::string> warnings;
  for (const SideResult &side : comparison.sides) {
    if (!side.unreachable.empty())
      warnings.push_back(fmt::format("the times of {} are not believed: {}", side.name, side.unreachable));
    if (saysNothing(side))
      warnings.push_back(side.settings["caution"].get<std::string>());
    for (std::string &warning : warningsOf(side, comparison.starts))
      warnings.push_back(std::move(warning));
  }
  double ours = comparison.sides.empty() ? 0 : median(gigahertzOf(comparison.sides[0]));
  for (const PeerResult &peer : comparison.peers) {
    const SideResult &theirs = comparison.sides[peer.peer];
    double other = median(gigahertzOf(theirs));
    if (ours > 0 && other > 0 && std::abs(ours / other - 1) > indifference)
      warnings.push_back(fmt::format("{} ran at {:.2f} GHz, {} at {:.2f}: that difference is in the ratio",
                                     comparison.sides[0].name, ours, theirs.name, other));
    if (peer.judged && peer.judged->tooFewStarts)
      warnings.push_back(fmt::format("{} {} too little for a verdict on {}: {}",
                                     counted(int64_t(comparison.starts.size()), "start"),
                                     comparison.starts.size() == 1 ? "says" : "say", theirs.name,
                                     comparison.roundsSpent ? "allow more rounds" : "give more time (--max-seconds)"));
  }
  if (comparison.otherProcessors.value_or(0) > disturbingProcessors)
    warnings.push_back(fmt::format("other programs kept {:.1f} processors busy meanwhile: do not trust the times",
                                   *comparison.otherProcessors));
  if (beganSlowly(comparison)) {
    size_t rounds = std::accumulate(comparison.starts.begin(), comparison.starts.end(), size_t(0));
    warnings.push_back(
        fmt::format("{} of {} began while the processors ran below full speed: other programs, or a host "
                    "that lets virtual processors share cores",
                    comparison.slowRounds, counted(int64_t(rounds), "round")));
  }
  return warnings;
}

json toJson(const Comparison &comparison) {
  json sides = json::array(), peers = json::array();
  for (auto &side : comparison.sides)
    sides.push_back(toJson(side));
  for (auto &peer : comparison.peers) {
    json outputs = json::array();
    for (auto &output : peer.outputs) {
      json entry = {{"name", output.output},
                    {"relative_l2", output.relativeL2},
                    {"max_difference", output.maxDifference},
                    {"agrees", output.agrees}};
      if (!output.ours.empty())
        entry["ours"] = output.ours;
      if (output.transposed)
        entry["transposed"] = true;
      if (!output.reason.empty())
        entry["reason"] = output.reason;
      if (!output.mistrust.empty())
        entry["mistrust"] = output.mistrust;
      outputs.push_back(std::move(entry));
    }
    json entry = {{"peer", comparison.sides[peer.peer].name}, {"agrees", peer.agrees}, {"outputs", outputs}};
    if (peer.judged) {
      entry.update(toJson(static_cast<const JudgedRatio &>(*peer.judged), isDisturbed(comparison)));
      entry["decided_after_starts"] = peer.judged->decidedAfter;
      entry["verdict_alone"] = name(peer.judged->alone);
    }
    peers.push_back(std::move(entry));
  }
  json document = {{"threads", comparison.threads},
                   {"seed", comparison.seed},
                   {"agrees", comparison.agrees()},
                   {"sides", sides},
                   {"peers", peers},
                   {"starts", comparison.starts},
                   {"warnings", warningsOf(comparison)}};
  if (comparison.otherProcessors)
    document["other_processors"] = *comparison.otherProcessors;
  if (comparison.stolenProcessors)
    document["stolen_processors"] = *comparison.stolenProcessors;
  document["slow_rounds"] = comparison.slowRounds;
  document["waited_s"] = comparison.waitedSeconds;
  return document;
}

/// Three decimals; more for a time below 0.1 ms, so that it has three digits.
static std::string milliseconds(double seconds) {
  int decimals = 3;
  for (double shown = 1e-4; decimals < 9 && seconds > 0 && seconds < shown; shown /= 10)
    ++decimals;
  return fmt::format("{:.{}f}", seconds * 1e3, decimals);
}

/// The ratio of our time and the peer's time, or why there is none; "" if nothing was timed.
static std::string ratioText(const Comparison &comparison, const PeerResult &peer) {
  const SideResult &ours = comparison.sides.at(0), &theirs = comparison.sides[peer.peer];
  if (!comparison.timed)
    return "";
  if (saysNothing(theirs))
    return fmt::format("no ratio to {}: its times say nothing of a native build", theirs.name);
  if (peer.judged)
    return fmt::format("{} runs at {:.3f}x the speed of {} ({}, {}, {}): {}", ours.name, peer.judged->ratio.ratio,
                       theirs.name, intervalText(peer.judged->ratio),
                       counted(int64_t(comparison.starts.size()), "start"), counted(comparison.threads, "thread"),
                       verdictText(*peer.judged, isDisturbed(comparison)));
  bool believed = ours.unreachable.empty() && theirs.unreachable.empty();
  return fmt::format("no ratio to {}: {}", theirs.name,
                     !peer.agrees ? "no timing without an answer"
                     : believed   ? "a side failed"
                                  : "its times are not believed");
}

std::string describe(const Comparison &comparison, const TableStyle &style) {
  std::string text;
  auto line = [&]<class... Args>(fmt::format_string<Args...> format, Args &&...args) {
    text += fmt::format(format, std::forward<Args>(args)...) + "\n";
  };
  Table table({textColumn("runner").shrink(14), textColumn("version").drop(1), numberColumn("median", "ms"),
               numberColumn("min", "ms"), numberColumn("runs").drop(3), numberColumn("overhead", "us"),
               numberColumn("load", "ms").drop(2), numberColumn("peak", "MB").drop(4)});
  for (auto &side : comparison.sides) {
    if (side.failure) {
      table.row({side.name, side.version, "failed"});
      continue;
    }
    auto timed = [&](double seconds) { return side.rounds.empty() ? std::string("-") : milliseconds(seconds); };
    table.row({side.name, side.version, timed(side.time.median), timed(side.time.min), std::to_string(side.time.count),
               side.overheadSeconds ? fmt::format("{:.1f}", *side.overheadSeconds * 1e6) : "-",
               fmt::format("{:.1f}", side.loadSeconds * 1e3),
               fmt::format("{:.1f}", double(side.peakResidentBytes) * 1e-6)});
  }
  text += table.str(style);
  for (auto &side : comparison.sides)
    for (const std::string &note : side.notes)
      line("{}: {}", side.name, note);
  for (auto &side : comparison.sides)
    if (side.failure)
      line("{}: {}", side.name, side.failure->message());
  const std::string &ours = comparison.sides.at(0).name;
  for (auto &peer : comparison.peers) {
    const std::string &theirs = comparison.sides[peer.peer].name;
    double worstL2 = 0, worstDifference = 0;
    for (auto &output : peer.outputs) {
      worstL2 = std::max(worstL2, output.relativeL2);
      worstDifference = std::max(worstDifference, output.maxDifference);
      if (!output.ours.empty() || output.transposed)
        line("output '{}' of {} is compared with '{}'{}", output.output, theirs,
             output.ours.empty() ? output.output : output.ours, output.transposed ? ", transposed" : "");
      if (!output.agrees)
        line("output '{}' differs from {}: {}", output.output, theirs, output.reason);
      else if (!output.mistrust.empty())
        line("output '{}' is {}: agreement with {} means little", output.output, output.mistrust, theirs);
    }
    if (peer.agrees)
      line("outputs agree with {}: relative L2 {:.1e}, largest difference {:.1e}", theirs, worstL2, worstDifference);
    if (std::string ratio = ratioText(comparison, peer); !ratio.empty())
      line("{}", ratio);
  }
  for (const std::string &warning : warningsOf(comparison))
    line("warning: {}", warning);
  if (std::string uncounted = uncountedText(comparison); !uncounted.empty())
    line("{}", uncounted);
  return text;
}

} // namespace lathe::lab
