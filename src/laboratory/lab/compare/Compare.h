// Compares runners on one network: checks the outputs against each other, then times all sides in turns over several
// starts of every runner (lab/judging/Turns.h).
//
// Does not depend on compilers: a side is a runner and a file in its format. The first side is "ours", the others are
// its peers.
#pragma once

#include "lab/compare/RealNumbers.h"
#include "lab/compare/Runner.h"
#include "lab/judging/Difference.h"
#include "lab/judging/Turns.h"
#include "runtime/Tensor.h"
#include "support/Table.h"

#include <functional>
#include <optional>
#include <set>

namespace lathe::lab {

/// Type and extents of an input.
struct CallInput {
  ElementType type = ElementType::f32;
  std::vector<int64_t> dims;
};

struct CompareSide {
  RunnerSpec runner;
  std::string model; // file that the runner loads
  /// Writes the model of `callOnnx(inputs)` in the format of the runner and returns its path. If it is empty, `compare`
  /// writes the model for runners of ONNX, and SideResult::overheadSeconds stays empty for other runners.
  std::function<std::string(const std::vector<CallInput> &inputs)> call;
  ModelPart part = {};                 // the part of the model to run
  std::vector<std::string> notes = {}; // facts that a reader of the result must know, one line each
  std::string content = {};            // hash of the file that the runner is named after; "" for a runtime
  std::string called = {};             // name of the model in messages; "": its file
  Scales scales = {};                  // scales of quantised inputs and outputs
};

struct CompareOptions : TurnOptions {
  CompareOptions() {
    maxSeconds = 30; // all timing, with process starts after the first; determines limitSeconds
  }
  int threads = 1;
  uint64_t seed = 0;                    // seed of generated inputs
  std::map<std::string, Tensor> inputs; // by name
  /// Inputs of the first side that hold variables of the model. A side that keeps its variables internally lacks these
  /// inputs and begins with their values in `inputs`.
  std::set<std::string> variables;
  std::map<std::string, int64_t> dims; // values of the symbols of generated inputs; default 1
  Tolerance tolerance = {1e-4, 1e-3};  // bounds for agreeing outputs (lab/judging/Tolerance.h)
  bool adaptLayouts = false;           // transpose inputs and outputs of sides with another layout
  bool checkOnly = false;              // compare outputs only
  std::optional<double> operations;    // of one run; empty: from the first side's package
  process::Limits limits;              // limits of each runner
  RunnerTimeouts timeouts;
  /// Receives the current step and, while timing, the largest remaining time in seconds. May be empty.
  std::function<void(const std::string &what, std::optional<double> secondsLeft)> progress;
  /// Receives the preliminary result after each start. May be empty.
  std::function<void(const struct Comparison &soFar)> afterStart;
};

/// Comparison of one output of ours with the output of a peer.
struct Agreement {
  std::string output;
  std::string ours; // name of our output, if it differs
  bool transposed = false;
  double relativeL2 = 0, maxDifference = 0;
  bool agrees = false;
  std::string reason; // of a disagreement
  /// Reason why agreement proves little, because many wrong programs give this output: "constant",
  /// "all zero", "only zeros and ones" or "not finite in any element". "": none.
  std::string mistrust;
};

struct SideResult {
  std::string name, version, model, content; // as in CompareSide
  std::vector<std::string> notes;            // notes of the side, and about adapted inputs and outputs
  nlohmann::json settings;
  double loadSeconds = 0;
  std::optional<double> overheadSeconds;   // median time of the `callOnnx` model for these inputs
  std::vector<std::vector<double>> rounds; // seconds of all samples by round; empty if nothing was timed
  std::vector<Counts> counts;              // of each round, over its samples
  std::string uncounted;                   // why counts are missing (TimingWorker)
  Summary time;
  std::string unreachable;       // why its times are not believed (lab/machine/DeclaredPeak.h); "": they are
  int64_t peakResidentBytes = 0; // maximum over all starts
  std::optional<process::Failure> failure;
};

/// Comparison of our side with sides[peer].
struct PeerResult {
  size_t peer = 0;
  std::vector<Agreement> outputs; // from the first start, or the first that disagrees
  bool agrees = false;            // in every start
  /// Peer's time / our time; empty if the outputs do not agree.
  std::optional<JudgedPair> judged;
};

struct Comparison {
  int threads = 1;
  uint64_t seed = 0;
  bool timed = true;             // false: only checked
  std::vector<SideResult> sides; // in the given order
  std::vector<PeerResult> peers; // of sides 1, 2, ...
  std::vector<size_t> starts;    // rounds of each start of the runners
  bool roundsSpent = false;      // the limit CompareOptions::roundsInAll was reached
  /// Average number of processors that other programs used while timing; empty if the system does not report it.
  std::optional<double> otherProcessors;
  std::optional<double> stolenProcessors; // part of otherProcessors that other virtual machines of the host used
  /// Rounds that began while the processors did not run at full speed (lab/judging/FullSpeed.h).
  size_t slowRounds = 0;
  double waitedSeconds = 0; // for processors at full speed
  bool agrees() const;      // with every peer; no side failed or has implausible times
};

/// Compares the sides. If one side is quantised and another one is not, both get and give the same real numbers. Inputs
/// and outputs are matched by name, otherwise by order and shape (lab/compare/Ports.h). Throws Error if the inputs do
/// not match, if layouts differ without `adaptLayouts`, or if a given input does not exist. Failures of runners are in
/// the result.
Comparison compare(const std::vector<CompareSide> &sides, const CompareOptions &options = {});

/// Random values for input `number`, in the usual range of networks.
Tensor randomInput(const RunnerPort &port, const CompareOptions &options, uint64_t number);

/// Compares one output with lab/judging/Difference.h.
Agreement agreementOf(const std::string &name, const Tensor &ours, const Tensor &peers, const Tolerance &tolerance);

/// Returns an ONNX model that measures the cost of a call: it has these inputs ("x0", "x1", ...)
/// but does not read them, and computes the relu of one additional f32 element, "one".
std::string callOnnx(const std::vector<CallInput> &inputs);

/// True if other programs, or processors below full speed, make the times unreliable.
bool isDisturbed(const Comparison &comparison);

/// Reasons to doubt the times of the sides, one sentence each: outliers, drift between starts, a
/// frequency that varies or differs between the sides, other programs, too few starts.
std::vector<std::string> warningsOf(const Comparison &comparison);

nlohmann::json toJson(const Comparison &comparison);
/// Text of the result.
std::string describe(const Comparison &comparison, const TableStyle &style = {});

} // namespace lathe::lab
