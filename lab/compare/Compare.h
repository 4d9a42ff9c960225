// One network run by several runners, side by side: outputs checked against each other, then times taken in turns over
// several starts of every runner (lab/judging/Turns.h).
//
// Knows nothing of compilers: each side is a runner and a file in that runner's format. The first side is "ours", all
// others are its peers.
#pragma once

#include "lab/compare/Runner.h"
#include "lab/judging/Difference.h"
#include "lab/judging/Turns.h"
#include "runtime/Tensor.h"
#include "support/Table.h"

#include <functional>
#include <optional>

namespace lathe::lab {

/// Type and extents of an input.
struct CallInput {
  ElementType type = ElementType::f32;
  std::vector<int64_t> dims;
};

struct CompareSide {
  RunnerSpec runner;
  std::string model; // a file it loads
  /// Makes the file of `callOnnx(inputs)` in the runner's format. Empty: for ONNX it is written here, for other formats
  /// the overhead is not measured.
  std::function<std::string(const std::vector<CallInput> &inputs)> call;
};

struct CompareOptions : TurnOptions {
  CompareOptions() {
    roundSeconds = 0.05;
    maxSeconds = 30; // of all timing, starts after the first one included: limitSeconds follows it
  }
  int threads = 1;
  uint64_t seed = 0;                    // of inputs that are not given
  std::map<std::string, Tensor> inputs; // by name
  std::map<std::string, int64_t> dims;  // of free dimensions in inputs made here; 1 where absent
  Tolerance tolerance = {1e-4, 1e-3};   // of outputs that agree (lab/judging/Tolerance.h)
  bool checkOnly = false;               // outputs are compared and nothing is timed
  process::Limits limits;               // of each runner
  RunnerTimeouts timeouts;
  /// Says what is done and, while times are taken, how many seconds are left at most. May be empty.
  std::function<void(const std::string &what, std::optional<double> secondsLeft)> progress;
  /// Is given what is known after each start, judged as if it were the last one. May be empty.
  std::function<void(const struct Comparison &soFar)> afterStart;
};

/// How one output of ours stands to a peer's.
struct Agreement {
  std::string output;
  double relativeL2 = 0, maxDifference = 0;
  bool agrees = false;
  std::string reason; // why not
  /// Why agreement proves little: "constant", "all zero", "only zeros and ones" or "not finite in any element". Many
  /// wrong programs give the same output. Empty when the output is trusted.
  std::string mistrust;
};

struct SideResult {
  std::string name, version, model;
  nlohmann::json settings;
  double loadSeconds = 0;
  std::optional<double> overheadSeconds; // median time of `callOnnx` of the inputs
  std::vector<std::vector<double>>
      rounds;                 // seconds; all samples of all rounds; empty where there was no answer to time
  std::vector<Counts> counts; // of each round, over its samples
  std::string uncounted;      // why counts are missing (TimingWorker)
  Summary time;
  int64_t peakResidentBytes = 0; // the largest of all starts
  std::optional<process::Failure> failure;
};

/// Ours against sides[peer].
struct PeerResult {
  size_t peer = 0;
  std::vector<Agreement> outputs; // of the first start, or of the first one that disagrees
  bool agrees = false;            // in every start
  /// Peer's time / our time: our speed in units of the peer's; none without agreement.
  std::optional<JudgedPair> judged;
};

struct Comparison {
  int threads = 1;
  uint64_t seed = 0;
  bool timed = true;             // false: checkOnly was asked for
  std::vector<SideResult> sides; // as given
  std::vector<PeerResult> peers; // of sides 1, 2, ...
  std::vector<size_t> starts;    // rounds of each start of the runners
  /// Processors that all other programs of the machine kept busy while times were taken, on average; none where the
  /// system does not tell.
  std::optional<double> otherProcessors;
  std::optional<double> stolenProcessors; // of those: taken from this virtual machine by its host
  bool agrees() const;                    // with every peer, and no side failed
};

/// Throws Error when the sides do not have the same inputs, or an input given is none of theirs. What runners do wrong
/// is in the result.
Comparison compare(const std::vector<CompareSide> &sides, const CompareOptions &options = {});

/// Of one output, as lab/judging/Difference.h compares.
Agreement agreementOf(const std::string &name, const Tensor &ours, const Tensor &peers, const Tolerance &tolerance);

/// The ONNX file of a network that does next to nothing: it has such inputs, "x0", "x1", ..., reads none of them, and
/// has one output, the relu of one more input, "one", of one f32 element. Its time is what a call costs that hands over
/// such inputs.
std::string callOnnx(const std::vector<CallInput> &inputs);

/// What makes times of a side doubtful, a sentence each: outliers, drift from start to start, a frequency that is not
/// the same all along or not the same for both sides, other programs, too few starts.
std::vector<std::string> warningsOf(const Comparison &comparison);

nlohmann::json toJson(const Comparison &comparison);
/// A few lines for people.
std::string describe(const Comparison &comparison, const TableStyle &style = {});

} // namespace lathe::lab
