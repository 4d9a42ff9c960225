// A provider's program from the laboratory's side: the other end of lab/providers/Provider.h, in the protocol of
// docs/provider-protocol.md.
//
// As with runners (lab/Runner.h) all that can go wrong is a process::Failure: an error that it reports is `threw` and
// leaves it alive, everything else ends it.
#pragma once

#include "lab/ConvProblem.h"
#include "process/Worker.h"
#include "support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace lathe::lab {

/// How to start a provider.
struct ProviderSpec {
  std::string name; // "onednn"
  process::Command command;
};

/// The provider called `name`: the program lathe-provider-NAME beside this one, or an executable file NAME/provider in
/// $LATHE_PROVIDERS. Declines with what to do about it when it is not installed.
Outcome<ProviderSpec> findProvider(const std::string &name);
/// Names of the providers this tree has sources of, installed or not; the first is our own.
const std::vector<std::string> &knownProviders();

/// A problem made ready, or why it was declined.
struct ProviderPreparation {
  std::string declined;       // the reason; "" when it is ready
  std::string implementation; // which one will run
  double seconds = 0;
};

struct ProviderTimeouts {
  double start = 60, prepare = 120, run = 60; // seconds
};

class ProviderWorker {
public:
  static process::Result<ProviderWorker> start(const ProviderSpec &spec, const process::Limits &limits = {},
                                               const ProviderTimeouts &timeouts = {});

  const std::string &name() const { return spec.name; }
  const std::string &version() const { return statedVersion; }
  const nlohmann::json &settings() const { return statedSettings; }
  /// Variants of an operator, the default first; none where the provider does not have it.
  std::vector<std::string> variants(const std::string &op) const;

  /// `inputs`: "x", "w", "b" -> .npy files.
  process::Result<ProviderPreparation> prepare(const ConvProblem &problem, const std::string &variant, int threads,
                                               const std::map<std::string, std::string> &inputs);
  /// Runs once and writes the output below `directory`; its file.
  process::Result<std::string> run(const std::string &directory);
  /// Seconds of each of `repetitions` runs after `warmup` others, measured inside the provider.
  process::Result<std::vector<double>> time(int warmup, int repetitions);

  bool alive() const { return worker.alive(); }
  void pause() { worker.pause(); }
  void resume() { worker.resume(); }
  process::Usage usage() const { return worker.usage(); }
  /// Asks it to leave; ends it if it does not.
  void quit();

private:
  ProviderWorker(process::Worker worker, const ProviderSpec &spec, const ProviderTimeouts &timeouts)
      : worker(std::move(worker)), spec(spec), timeouts(timeouts) {}
  /// Asks, and turns the answer into a value with `read`; an answer of another shape is garbage.
  template <class T, class Read>
  process::Result<T> ask(const nlohmann::json &request, double timeoutSeconds, Read read);
  process::Failure garbage(const std::string &detail);

  process::Worker worker;
  ProviderSpec spec;
  ProviderTimeouts timeouts;
  std::string statedVersion;
  nlohmann::json statedSettings;
  std::map<std::string, std::vector<std::string>> operators;
};

} // namespace lathe::lab
