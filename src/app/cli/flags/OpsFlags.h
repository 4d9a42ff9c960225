// Flags of `lathe ops bench`: problems, providers and settings.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/ops/OpsOptions.h"

namespace lathe::cli {

struct OpsFlags : OpsOptions {
  void add(Options &options);
  /// Throws Error for a flag that has no effect beside the other flags given.
  void requireHonoured(const Options &options) const;

private:
  void addProblems(Options &options);
  void addSettings(Options &options); // the settings over which rows vary, and the epilogue
  void addCompany(Options &options);  // what runs beside the measured problems
  void addEffort(Options &options);   // repetitions, and limits of time and memory
};

/// Adds --from-model with the help text `help`, and --suite, --problems and --epilogue.
void addNetwork(Options &options, OpsOptions &network, const char *help);

} // namespace lathe::cli
