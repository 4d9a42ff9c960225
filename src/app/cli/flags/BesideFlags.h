// Flags about what runs beside a measurement.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/corun/Beside.h"

namespace lathe::cli {

/// Adds --beside-threads, --beside-place and --beside-runs to a verb that has --beside.
void addBesideSettings(Options &options, int &threads, std::string &place, int &leastRuns);

/// Adds --beside PACKAGE with its settings. `help` is that of --beside.
void addBeside(Options &options, BesideOptions &beside, const char *help);

} // namespace lathe::cli
