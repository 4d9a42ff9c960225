#include "lab/compare/Compare.h"
#include "lab/machine/Disturbance.h"
#include "support/Text.h"

#include <cmath>

namespace lathe::lab {

using nlohmann::json;

static json toJson(const SideResult &side) {
  json document = {
      {"name", side.name},         {"version", side.version},           {"model", side.model},
      {"settings", side.settings}, {"load_ms", side.loadSeconds * 1e3}, {"peak_rss_bytes", side.peakResidentBytes}};
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
      if (!output.reason.empty())
        entry["reason"] = output.reason;
      if (!output.mistrust.empty())
        entry["mistrust"] = output.mistrust;
      outputs.push_back(std::move(entry));
    }
    json entry = {{"peer", comparison.sides[peer.peer].name}, {"agrees", peer.agrees}, {"outputs", outputs}};
    if (peer.ratio) {
      entry["ratio"] = peer.ratio->ratio;
      entry["ratio_low"] = peer.ratio->interval.low;
      entry["ratio_high"] = peer.ratio->interval.high;
      entry["verdict"] = std::string(name(peer.verdict));
      entry["within_overhead"] = peer.withinOverhead;
    }
    peers.push_back(std::move(entry));
  }
  json document = {{"threads", comparison.threads},
                   {"seed", comparison.seed},
                   {"agrees", comparison.agrees()},
                   {"sides", sides},
                   {"peers", peers}};
  if (comparison.otherProcessors)
    document["other_processors"] = *comparison.otherProcessors;
  if (comparison.stolenProcessors)
    document["stolen_processors"] = *comparison.stolenProcessors;
  return document;
}

/// Three decimals; a time below 0.1 ms has as many as show three of its digits.
static std::string milliseconds(double seconds) {
  int decimals = 3;
  for (double shown = 1e-4; decimals < 9 && seconds > 0 && seconds < shown; shown /= 10)
    ++decimals;
  return fmt::format("{:.{}f}", seconds * 1e3, decimals);
}

std::string describe(const Comparison &comparison, const TableStyle &style) {
  std::string text;
  auto line = [&]<class... Args>(fmt::format_string<Args...> format, Args &&...args) {
    text += fmt::format(format, std::forward<Args>(args)...) + "\n";
  };
  Table table({textColumn("runner").shrink(14), textColumn("version").drop(1), numberColumn("median", "ms"),
               numberColumn("min", "ms"), numberColumn("runs").drop(3), numberColumn("overhead", "us"),
               numberColumn("load", "ms").drop(2), numberColumn("peak", "MiB").drop(4)});
  for (auto &side : comparison.sides) {
    if (side.failure) {
      table.row({side.name, side.version, "failed"});
      continue;
    }
    auto timed = [&](double seconds) { return side.rounds.empty() ? std::string("-") : milliseconds(seconds); };
    table.row({side.name, side.version, timed(side.time.median), timed(side.time.min), std::to_string(side.time.count),
               side.overheadSeconds ? fmt::format("{:.1f}", *side.overheadSeconds * 1e6) : "-",
               fmt::format("{:.1f}", side.loadSeconds * 1e3),
               fmt::format("{:.1f}", double(side.peakResidentBytes) / (1 << 20))});
  }
  text += table.str(style);
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
      if (!output.agrees)
        line("output '{}' differs from {}: {}", output.output, theirs, output.reason);
      else if (!output.mistrust.empty())
        line("output '{}' is {}: agreement with {} means little", output.output, output.mistrust, theirs);
    }
    if (peer.agrees)
      line("outputs agree with {}: relative L2 {:.1e}, largest difference {:.1e}", theirs, worstL2, worstDifference);
    if (peer.ratio)
      line("{} runs at {:.3f}x the speed of {} (95 % interval {:.3f} to {:.3f}, {}): {}{}", ours, peer.ratio->ratio,
           theirs, peer.ratio->interval.low, peer.ratio->interval.high, counted(comparison.threads, "thread"),
           name(peer.verdict), peer.withinOverhead ? ", the difference may be that of the calls' overhead" : "");
    else if (comparison.timed)
      line("no ratio to {}: {}", theirs, peer.agrees ? "a side failed" : "no timing without an answer");
  }
  if (comparison.otherProcessors.value_or(0) > disturbingProcessors)
    line("other programs kept {:.1f} processors busy meanwhile: do not trust the times", *comparison.otherProcessors);
  return text;
}

} // namespace lathe::lab
