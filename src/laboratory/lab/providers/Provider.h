// A provider: a library that runs single operators. Its program implements this interface and
// passes it to `serveProvider`, which speaks the protocol of docs/provider-protocol.md with the
// laboratory (lab/ops/ProviderWorker.h).
#pragma once

#include "lab/judging/Counts.h"
#include "lab/ops/ProviderRequest.h"
#include "lab/problems/Problem.h"
#include "runtime/Tensor.h"
#include "support/Error.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lathe::lab {

/// Values of the operands of a problem, row-major, by position in Problem::inputs(); undefined for missing operands.
using ProblemInputs = std::vector<Tensor>;

/// Tuning task and schedule of the prepared problem, as in tuning records (codegen/Task.h).
struct TaskSchedule {
  std::string task, schedule;
  double predictedCycles = 0; // core cycles of one run that the cost model expects; 0: unknown
};

/// Thrown inside a provider if its library cannot compute the problem; `prepare` turns it into NotApplicable.
struct Declined {
  std::string reason;
};

class Provider {
public:
  virtual ~Provider() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  /// By operator ("conv"): the variants in which the provider can compute it, the default first.
  virtual std::map<std::string, std::vector<std::string>> variants() const = 0;
  /// Settings of the provider, which are stored with every result.
  virtual nlohmann::json settings() const { return nlohmann::json::object(); }
  /// Layouts of activations that the provider supports besides `any`. It may still decline a layout for a problem.
  virtual std::vector<ActivationLayout> layouts() const { return {ActivationLayout::row}; }
  /// True if requests to this provider may have a schedule.
  virtual bool takesSchedules() const { return false; }

  /// Prepares everything outside the timed operator: code, packed weights, activations in the requested or the best
  /// layout. Replaces the earlier preparation. Returns the implementation that will run ("jit:avx512_core nchw to
  /// nChw16c"), or declines with a reason; this is how a provider reports its limits. The request has a layout or
  /// schedule only if the functions above allow it. Throws Error on failure.
  virtual Outcome<std::string> prepare(const Problem &problem, const ProviderRequest &request,
                                       const ProblemInputs &inputs) = 0;
  /// For providers that take schedules: returns the tuning task of the request, without its schedule. Declines as
  /// `prepare` does.
  virtual Outcome<std::string> task(const Problem & /*problem*/, const ProviderRequest & /*request*/) {
    return NotApplicable{name() + " takes no schedules"};
  }
  /// Tuning task and schedule of the prepared problem; nothing if it has none.
  virtual std::optional<TaskSchedule> scheduled() const { return std::nullopt; }
  /// Computes the prepared problem once. Only this call is timed.
  virtual void run() = 0;
  /// For providers that compute in another process and measure there: times `repetitions` runs after `warmup` untimed
  /// runs. Nothing means that calls of `run` are timed in this process.
  virtual std::optional<Timing> time(int /*warmup*/, int /*repetitions*/) { return std::nullopt; }
  /// True if the provider computes in this process, so that its memory can be evicted from the
  /// caches and its threads can be counted.
  virtual bool computesHere() const { return true; }
  /// For providers that compute in another process: the reason why hardware counters are missing in the result of
  /// `time`; "": none is missing.
  virtual std::string uncounted() const { return ""; }
  /// Memory ranges of the constant operands in the form that the run uses (packed, for example); nothing if unknown.
  virtual std::optional<std::vector<std::span<const char>>> constants() const { return std::nullopt; }
  /// The results of the last run, by position, row-major.
  virtual std::vector<Tensor> outputs() = 0;
};

/// Memory ranges of a problem's constant operands, for providers that use them unchanged.
std::vector<std::span<const char>> constantInputs(const Problem &problem, const ProblemInputs &inputs);

/// Answers the laboratory's requests on standard input until it ends. Returns the exit code of the program.
int serveProvider(Provider &provider);

} // namespace lathe::lab
