// A provider's program from the laboratory's side: the other end of lab/providers/Provider.h, in the protocol of
// docs/provider-protocol.md. What can go wrong: lab/ops/TimingWorker.h.
#pragma once

#include "lab/ops/ProviderRequest.h"
#include "lab/ops/TimingWorker.h"
#include "lab/problems/Problem.h"
#include "runtime/Tensor.h"
#include "store/Records.h"

#include <map>
#include <set>

namespace lathe::lab {

/// How to start a provider.
struct ProviderSpec {
  std::string name; // "onednn"
  process::Command command;
  bool remote = false; // beyond the command's prefix lies a machine that shares no files with this one
};

/// The provider called `name`: the program lathe-provider-NAME beside this one, or an executable file NAME/provider in
/// $LATHE_PROVIDERS. Declines with what to do about it when it is not installed.
Outcome<ProviderSpec> findProvider(const std::string &name);
/// The same program at the other end of a command that passes pipes: `via` is "ssh board", "ip netns exec box", "sh
/// -c". What ssh and shells with -c are given is one text, others take words. The program is looked for in `directory`
/// there; where that is "", at its place here.
ProviderSpec viaCommand(ProviderSpec spec, const std::string &via, const std::string &directory);
/// Names of the providers this tree has sources of, installed or not; the first is our own.
const std::vector<std::string> &knownProviders();

/// What a provider computes on: files, or for one on another machine the seed to make the same values from.
struct ProviderOperands {
  std::map<std::string, std::string> files; // operand's name -> .npy; the second of a variadic operand is NAME.1
  uint64_t seed = 0;
};

/// A problem made ready, or why it was declined.
struct ProviderPreparation {
  std::string declined;       // the reason; "" when it is ready
  std::string implementation; // which one will run
  double seconds = 0;
  std::string task = {}, schedule = {}; // as tuning records name them; "" where the provider does not say
};

struct ProviderTimeouts {
  double start = 60, prepare = 120, run = 60; // seconds
};

/// Why a provider has no point under such a setting.
std::string cannotEmptyCaches(const std::string &provider);

class ProviderWorker : public TimingWorker {
public:
  static process::Result<ProviderWorker> start(const ProviderSpec &spec, const process::Limits &limits = {},
                                               const ProviderTimeouts &timeouts = {});

  /// The states to which it can bring the caches before a run.
  std::set<store::CacheState> caches() const;
  /// Variants of an operator, the default first; none where the provider does not have it.
  std::vector<std::string> variants(const std::string &op) const;

  bool takesSchedules() const { return schedules; }
  /// What it says of where it runs, in the fields of store::Platform; null where it says nothing.
  const nlohmann::json &platform() const { return statedPlatform; }

  /// Layouts and schedules that it cannot be asked for are declined, and states to which it cannot bring the caches.
  process::Result<ProviderPreparation> prepare(const Problem &problem, const ProviderRequest &request,
                                               const ProviderOperands &operands,
                                               store::CacheState state = store::CacheState::hot);
  /// The task that the problem is without the request's schedule, or why it was declined.
  process::Result<Outcome<std::string>> task(const Problem &problem, const ProviderRequest &request);
  /// Runs once; the results by name. Files of theirs are written below `directory` and gone when this returns.
  process::Result<std::map<std::string, Tensor>> run(const std::string &directory);
  /// As TimingWorker::time, with the caches in this state before every run; an error where it cannot.
  process::Result<Timing> time(int warmup, int repetitions, store::CacheState state);

private:
  ProviderWorker(process::Worker worker, const ProviderSpec &spec, const ProviderTimeouts &timeouts)
      : TimingWorker(std::move(worker), spec.name, timeouts.run), timeouts(timeouts), remote(spec.remote) {}

  ProviderTimeouts timeouts;
  /// Why it cannot be asked for this; "" where it can.
  std::string declines(const ProviderRequest &request) const;

  bool remote, takesSeeds = false, flushes = false, flushesConstants = false, schedules = false;
  std::map<std::string, std::vector<std::string>> operators;
  std::vector<std::string> layouts;
  nlohmann::json statedPlatform;
};

} // namespace lathe::lab
