// A network piece by piece, here and in another runtime.
#pragma once

#include "jobs/Recording.h"
#include "jobs/Source.h"
#include "lab/compare/Compare.h"

namespace lathe::jobs {

struct SegmentJob {
  ModelOptions model;
  InputOptions inputs;
  RecordOptions record;
  Arguments command;                // of `lathe segments`, as the store keeps them
  lab::CompareOptions compare;      // of each part
  std::string with = "onnxruntime"; // name of a runner
  std::vector<std::string> at;      // nodes and scopes behind which parts end; empty: `count` of them are chosen
  size_t count = 6;
  int repeat = 0; // runs of each part, for the store; 0: as `compare` says
};

/// A part of the network, timed in both runtimes on what the whole feeds it.
struct SegmentPart {
  std::string from, to; // "" for the network's inputs or outputs
  size_t operators = 0;
  std::vector<std::string> inputs;
  lab::Comparison comparison;
  RecordUse records;

  const lab::Summary &time(size_t side) const { return comparison.sides[side].time; }
  const std::optional<lab::JudgedPair> &judged() const { return comparison.peers[0].judged; }
  std::optional<double> ratio() const { return judged() ? std::optional(judged()->ratio.ratio) : std::nullopt; }
};

/// What is measured of a network with checkpoints, places where it is cut.
struct Segments {
  std::vector<SegmentPart> cumulative; // from the inputs to each checkpoint
  std::vector<SegmentPart> blocks;     // from the inputs or a checkpoint to the next checkpoint
};

/// Called with what was measured, at the end or when a signal ends the process. `kept` is Recording::line.
using SegmentReport = std::function<void(const Segments &soFar, bool finished, const std::string &kept)>;

/// Does the job on the model's graph. Returns true if all outputs agree.
bool segments(const SegmentJob &job, const Source &source, const SegmentReport &report);

} // namespace lathe::jobs
