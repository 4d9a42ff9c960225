// The laboratory's end of the provider protocol (docs/provider-protocol.md); the provider's end is
// lab/providers/Provider.h. Failures: see lab/judging/TimingWorker.h.
#pragma once

#include "lab/judging/TimingWorker.h"
#include "lab/ops/ProviderRequest.h"
#include "lab/problems/Problem.h"
#include "runtime/Tensor.h"
#include "store/Records.h"

#include <map>
#include <set>

namespace lathe::lab {

/// How to start a provider.
struct ProviderSpec {
  std::string name; // name of the provider, such as "onednn"
  process::Command command;
  bool remote = false; // true: the provider runs on a machine that shares no files with this one
};

/// Returns the provider called `name`: the program lathe-provider-NAME beside this one, or an executable file
/// NAME/provider in $LATHE_PROVIDERS. Declines with instructions if it is not installed.
Outcome<ProviderSpec> findProvider(const std::string &name);
/// Returns `spec` with the program run through the command `via`, which passes pipes: "ssh board", "ip netns exec box",
/// "sh -c". ssh and shells with -c receive one text; other commands receive an argument list. On the other side the
/// program is expected in `directory`, or at the same path as here if `directory` is "".
ProviderSpec viaCommand(ProviderSpec spec, const std::string &via, const std::string &directory);
/// Names of all providers in this source tree, installed or not; the first is our own.
const std::vector<std::string> &knownProviders();

/// The operands that a provider gets: files, or a seed from which a provider on another machine generates the same
/// values.
struct ProviderOperands {
  /// Path of the .npy file of each operand, by name; the second value of a variadic operand is called NAME.1.
  std::map<std::string, std::string> files;
  uint64_t seed = 0;
};

/// A provider's answer to a request to prepare a problem: what it has prepared, or the reason why it declined.
struct ProviderPreparation {
  std::string declined;       // the reason why the provider declines the problem; "": it is prepared
  std::string implementation; // the provider's implementation that will run
  double seconds = 0;
  std::string task = {}, schedule = {}; // texts as in tuning records; "": the provider does not report them
  double predictedCycles = 0;           // as in TaskSchedule
};

struct ProviderTimeouts {
  double start = 60, prepare = 120, run = 60; // limits of each request, in seconds
};

/// The message for a provider that cannot bring the caches into the requested state.
std::string cannotEmptyCaches(const std::string &provider);

class ProviderWorker : public TimingWorker {
public:
  static process::Result<ProviderWorker> start(const ProviderSpec &spec, const process::Limits &limits = {},
                                               const ProviderTimeouts &timeouts = {});

  /// The states into which the provider can bring the caches before a run.
  std::set<store::CacheState> caches() const;
  /// The variants that the provider has of an operator, the default first; empty if it does not have the operator.
  std::vector<std::string> variants(const std::string &op) const;

  bool takesSchedules() const { return schedules; }
  /// True if the provider can be a companion, and counts the runs of a companion beside its own.
  bool takesCompany() const { return company; }
  /// The platform that the provider reports, in the fields of store::Platform; null if it reports none.
  const nlohmann::json &platform() const { return statedPlatform; }

  /// Makes the provider prepare a problem. Declines layouts, schedules and cache states that the provider does not
  /// support.
  process::Result<ProviderPreparation> prepare(const Problem &problem, const ProviderRequest &request,
                                               const ProviderOperands &operands,
                                               store::CacheState state = store::CacheState::hot);
  /// Returns the tuning task of the problem, without the schedule of the request, or the reason why the provider
  /// declined.
  process::Result<Outcome<std::string>> task(const Problem &problem, const ProviderRequest &request);
  /// Runs the prepared problem once and returns its results by name. The provider writes temporary result files below
  /// `directory`, which are removed.
  process::Result<std::map<std::string, Tensor>> run(const std::string &directory);
  /// Times runs like TimingWorker::time, with the caches in `state` before every run. Fails if the provider does not
  /// support the state. `beside`: path of the shared memory of a companion, whose runs are counted
  /// (lab/ops/SharedRuns.h).
  process::Result<Timing> time(int warmup, int repetitions, store::CacheState state, const std::string &beside = "");

  /// Makes the provider run the prepared problem without end, and count its runs in the shared memory at the path
  /// `runs`. It answers nothing until the memory asks it to stop. It then writes the results of its last run below
  /// `directory`.
  std::optional<process::Failure> accompany(const std::string &runs, const std::string &directory);
  /// Returns the results of the last run of a provider that was asked to stop.
  process::Result<std::map<std::string, Tensor>> endOfCompany();

private:
  ProviderWorker(process::Worker worker, const ProviderSpec &spec, const ProviderTimeouts &timeouts)
      : TimingWorker(std::move(worker), spec.name, timeouts.run), timeouts(timeouts), remote(spec.remote) {}

  ProviderTimeouts timeouts;
  /// The reason why the provider does not support the request; "": it does.
  std::string declines(const ProviderRequest &request) const;
  /// Reads the results in an answer, and removes their files.
  process::Result<std::map<std::string, Tensor>> tensorsOf(const nlohmann::json &outputs, const char *request);

  bool remote, takesSeeds = false, flushes = false, flushesConstants = false, schedules = false, company = false;
  std::map<std::string, std::vector<std::string>> operators;
  std::vector<std::string> layouts;
  nlohmann::json statedPlatform;
};

} // namespace lathe::lab
