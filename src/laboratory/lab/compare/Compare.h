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

/// Type and extents of an input of the model that callOnnx makes.
struct CallInput {
  ElementType type = ElementType::f32;
  std::vector<int64_t> dims;
};

struct CompareSide {
  RunnerSpec runner;
  std::string model; // path of the file that the runner loads
  /// Writes the model of `callOnnx(inputs)` in the format of the runner and returns its path. If the function is
  /// empty, `compare` writes the model for runners of ONNX, and SideResult::overheadSeconds stays empty for other
  /// runners.
  std::function<std::string(const std::vector<CallInput> &inputs)> call;
  ModelPart part = {};                 // the part of the model that the side runs
  std::vector<std::string> notes = {}; // facts that a reader of the result must know, one line each
  std::string content = {};            // hash of the content, if the side is a model file; "" for a runtime
  std::string called = {};             // name of the model in messages; "": the name of its file
  Scales scales = {};                  // scales of the model's quantised inputs and outputs
};

struct CompareOptions : TurnOptions {
  CompareOptions() {
    maxSeconds = 30; // all timing, with process starts after the first; determines limitSeconds
  }
  int threads = 1;
  uint64_t seed = 0;                    // seed from which inputs are generated
  std::map<std::string, Tensor> inputs; // given inputs by name; the other inputs are generated
  /// Inputs of the first side that hold variables of the model. Another side may lack them: then it keeps the
  /// variables itself, and they begin with zero.
  std::set<std::string> variables;
  std::map<std::string, int64_t> dims; // extents of symbols in generated inputs; a missing symbol has extent 1
  Tolerance tolerance = {1e-4, 1e-3};  // bounds within which outputs agree (lab/judging/Tolerance.h)
  bool adaptLayouts = false;           // true: transpose inputs and outputs of sides with another layout
  bool checkOnly = false;              // true: compare outputs, and time nothing
  // number of operations of one run; empty: the number in the first side's package
  std::optional<double> operations;
  process::Limits limits; // limits of each runner process
  RunnerTimeouts timeouts;
  /// Function that is called with the current step and, while timing, the largest remaining time in seconds. May be
  /// empty.
  std::function<void(const std::string &what, std::optional<double> secondsLeft)> progress;
  /// Function that is called with the preliminary result after each process start. May be empty.
  std::function<void(const struct Comparison &soFar)> afterStart;
};

/// The result of comparing one output of our side (the first one) with the output of a peer.
struct Agreement {
  std::string output;
  std::string ours; // name of our output if it differs from the peer's
  bool transposed = false;
  double relativeL2 = 0, maxDifference = 0;
  bool agrees = false;
  std::string reason; // reason for a disagreement; "": the outputs agree
  /// The reason why agreement proves little, because many wrong programs give this output: "constant", "all zero",
  /// "only zeros and ones" or "not finite in any element"; "": agreement is evidence.
  std::string mistrust;
};

struct SideResult {
  std::string name, version, model, content; // as in CompareSide; `version` is reported by the runner
  std::vector<std::string> notes;            // notes of the side, and about adapted inputs and outputs
  nlohmann::json settings;
  double loadSeconds = 0;
  std::optional<double> overheadSeconds;   // median seconds of a run of the `callOnnx` model for these inputs
  std::vector<std::vector<double>> rounds; // seconds of all samples by round; empty if nothing was timed
  std::vector<Counts> counts;              // hardware counts of each round, added over its samples
  std::string uncounted;                   // the reason why hardware counts are missing (TimingWorker)
  Summary time;
  // the reason why the times are not believed (lab/machine/DeclaredPeak.h); "": they are believed
  std::string unreachable;
  int64_t peakResidentBytes = 0; // peak resident set, the maximum over all starts
  std::optional<process::Failure> failure;
};

/// The result of comparing our side (the first one) with the side sides[peer].
struct PeerResult {
  size_t peer = 0;
  std::vector<Agreement> outputs; // outputs of the first start, or of the first start in which one disagrees
  bool agrees = false;            // true: the outputs agree in every start
  /// Ratio of times, peer / ours, with its verdict; empty if the outputs do not agree.
  std::optional<JudgedPair> judged;
};

struct Comparison {
  int threads = 1;
  uint64_t seed = 0;
  bool timed = true;             // false: outputs were only checked
  std::vector<SideResult> sides; // results of the sides, in the given order
  std::vector<PeerResult> peers; // results of the comparisons with the sides 1, 2, ...
  std::vector<size_t> starts;    // number of rounds of each start of the runners
  bool roundsSpent = false;      // true: the limit CompareOptions::roundsInAll was reached
  /// Average number of processors that other programs used while timing; empty if the system does not report it.
  std::optional<double> otherProcessors;
  std::optional<double> stolenProcessors; // part of otherProcessors that other virtual machines of the host used
  /// Number of rounds that began while the processors did not run at full speed (lab/judging/FullSpeed.h).
  size_t slowRounds = 0;
  double waitedSeconds = 0; // seconds spent on waiting for processors at full speed
  bool agrees() const;      // true if every peer agrees, no side failed, and no side has implausible times
};

/// Compares `sides` on one network. If one side is quantised and another side is not, both get and give the same real
/// numbers. Inputs and outputs are matched by name, otherwise by order and shape (lab/compare/Ports.h). Throws Error
/// if the inputs do not match, if layouts differ without `adaptLayouts`, or if a given input does not exist. Failures
/// of runners are in the result.
Comparison compare(const std::vector<CompareSide> &sides, const CompareOptions &options = {});

/// Generates random values for the model's input number `number`, in the usual range of networks.
Tensor randomInput(const RunnerPort &port, const CompareOptions &options, uint64_t number);

/// Compares one output of our side with the output of a peer (lab/judging/Difference.h).
Agreement agreementOf(const std::string &name, const Tensor &ours, const Tensor &peers, const Tolerance &tolerance);

/// Returns an ONNX model that measures the cost of a call: it has the inputs `inputs` ("x0", "x1", ...) but does not
/// read them, and computes the relu of one additional f32 element, "one".
std::string callOnnx(const std::vector<CallInput> &inputs);

/// True if other programs, or processors below full speed, make the times of a comparison unreliable.
bool isDisturbed(const Comparison &comparison);

/// Reasons to doubt the times of the sides, one sentence each: outliers, drift between starts, a
/// frequency that varies or differs between the sides, other programs, too few starts.
std::vector<std::string> warningsOf(const Comparison &comparison);

nlohmann::json toJson(const Comparison &comparison);
/// The result of a comparison as text, with tables.
std::string describe(const Comparison &comparison, const TableStyle &style = {});

} // namespace lathe::lab
