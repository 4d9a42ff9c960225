// The job of `lathe segments`: runs a network part by part, in Lathe and in another runtime, and compares both.
#pragma once

#include "jobs/Recording.h"
#include "jobs/Source.h"
#include "lab/compare/Compare.h"

namespace lathe::jobs {

struct SegmentJob {
  ModelOptions model;
  InputOptions inputs;
  RecordOptions record;
  Arguments command;                // command line of `lathe segments` as the store records it
  lab::CompareOptions compare;      // how each part is compared
  std::string with = "onnxruntime"; // name of the other runtime's runner
  std::vector<std::string> at;      // nodes and scopes behind which parts end; empty: `count` of them are chosen
  size_t count = 6;
  int repeat = 0; // number of stored runs of each part; 0: as `compare` says
};

/// A part of the network, timed in both runtimes on the values that the whole network feeds it.
struct SegmentPart {
  std::string from, to; // nodes behind which the part begins and ends; "": the network's inputs or outputs
  size_t operators = 0;
  std::vector<std::string> inputs;
  lab::Comparison comparison;
  RecordUse records;

  const lab::Summary &time(size_t side) const { return comparison.sides[side].time; }
  const std::optional<lab::JudgedPair> &judged() const { return comparison.peers[0].judged; }
  std::optional<double> ratio() const { return judged() ? std::optional(judged()->ratio.ratio) : std::nullopt; }
};

/// What is measured: parts from the network's inputs to each place where it is cut, and the blocks between these
/// places.
struct Segments {
  // during the measurement `blocks` may have one element less than `cumulative`
  std::vector<SegmentPart> cumulative, blocks;
};

/// Function that receives what was measured, at the end or when a signal ends the process. `kept`: line that says
/// where the results were stored (Recording::line).
using SegmentReport = std::function<void(const Segments &soFar, bool finished, const std::string &kept)>;

/// Measures the parts of the model's graph. Returns true if all outputs agree.
bool segments(const SegmentJob &job, const Source &source, const SegmentReport &report);

} // namespace lathe::jobs
