// A provider: a library that runs single operators. Its program implements this interface and hands it to
// `serveProvider`, which speaks the protocol of docs/provider-protocol.md with the laboratory (lab/ops/ProviderWorker.h).
#pragma once

#include "lab/machine/Counts.h"
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

/// Values of a problem's operands in plain row-major order, by position in Problem::inputs(); undefined where one is
/// missing.
using ProblemInputs = std::vector<Tensor>;

/// What has been prepared, as tuning records name it (codegen/Task.h).
struct TaskSchedule {
  std::string task, schedule;
};

class Provider {
public:
  virtual ~Provider() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  /// Operator of the dialect ("conv") -> the ways it can be asked to compute it, the default first.
  virtual std::map<std::string, std::vector<std::string>> variants() const = 0;
  /// Kept with every result.
  virtual nlohmann::json settings() const { return nlohmann::json::object(); }
  /// Layouts of activations that it can be asked for beside `any`; of single problems it may decline one of them.
  virtual std::vector<ActivationLayout> layouts() const { return {ActivationLayout::row}; }
  /// Whether it can be asked for a schedule.
  virtual bool takesSchedules() const { return false; }

  /// Makes everything ready that is not the operator itself: code, packed weights, activations in the layout asked for,
  /// or that it likes best. Replaces what was prepared before. Hands back which implementation will run
  /// ("jit:avx512_core nchw to nChw16c"), or declines with the reason: this is how a provider states what it can do.
  /// The request has a layout or schedule only where the functions above say so. Throws Error when it breaks.
  virtual Outcome<std::string> prepare(const Problem &problem, const ProviderRequest &request,
                                       const ProblemInputs &inputs) = 0;
  /// Of a provider that takes schedules: the task that the request without its schedule is, whose tuning records may
  /// have a better one. Declines as `prepare` does.
  virtual Outcome<std::string> task(const Problem & /*problem*/, const ProviderRequest & /*request*/) {
    return NotApplicable{name() + " takes no schedules"};
  }
  /// Of what is prepared; nothing where it is no task with a schedule.
  virtual std::optional<TaskSchedule> scheduled() const { return std::nullopt; }
  /// Computes the prepared problem once: what is timed.
  virtual void run() = 0;
  /// Of a provider that computes in another process and measures there: `repetitions` runs after `warmup` others.
  /// Nothing where `run` is to be timed.
  virtual std::optional<Timing> time(int /*warmup*/, int /*repetitions*/) { return std::nullopt; }
  /// Whether it computes in this process, whose memory can be flushed from the caches before a run and whose threads
  /// can be counted.
  virtual bool computesHere() const { return true; }
  /// Why the Timing of `time` does not count everything; "" where it does. Of a provider that computes in another
  /// process.
  virtual std::string uncounted() const { return ""; }
  /// Where the operands of what is prepared that are constant lie as it computes with them: packed, say. Nothing where
  /// it does not know.
  virtual std::optional<std::vector<std::span<const char>>> constants() const { return std::nullopt; }
  /// What the last run computed, in plain row-major order: the results by position.
  virtual std::vector<Tensor> outputs() = 0;
};

/// The bytes of inputs that are constant: of providers that compute with them as they are.
std::vector<std::span<const char>> constantInputs(const Problem &problem, const ProblemInputs &inputs);

/// Answers requests on standard input until it ends; the program's exit code.
int serveProvider(Provider &provider);

} // namespace lathe::lab
