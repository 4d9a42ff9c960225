// A provider's program from the laboratory's side: the other end of lab/providers/Provider.h, in the protocol of
// docs/provider-protocol.md. What can go wrong: lab/TimingWorker.h.
#pragma once

#include "lab/Problem.h"
#include "lab/TimingWorker.h"

#include <map>

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

class ProviderWorker : public TimingWorker {
public:
  static process::Result<ProviderWorker> start(const ProviderSpec &spec, const process::Limits &limits = {},
                                               const ProviderTimeouts &timeouts = {});

  /// Variants of an operator, the default first; none where the provider does not have it.
  std::vector<std::string> variants(const std::string &op) const;

  /// `inputs`: operands' names -> .npy files; the second of a variadic operand is NAME.1.
  process::Result<ProviderPreparation> prepare(const Problem &problem, const std::string &variant, int threads,
                                               const std::map<std::string, std::string> &inputs);
  /// Runs once and writes the results below `directory`: name -> .npy file.
  process::Result<std::map<std::string, std::string>> run(const std::string &directory);

private:
  ProviderWorker(process::Worker worker, const ProviderSpec &spec, const ProviderTimeouts &timeouts)
      : TimingWorker(std::move(worker), spec.name, timeouts.run), timeouts(timeouts) {}

  ProviderTimeouts timeouts;
  std::map<std::string, std::vector<std::string>> operators;
};

} // namespace lathe::lab
