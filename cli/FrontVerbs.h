// Verbs that only need the runtime.
#pragma once

#include "cli/Common.h"

namespace lathe::cli {

int runVerb(const Arguments &arguments);
int benchVerb(const Arguments &arguments);
int compareVerb(const Arguments &arguments);
int completionVerb(const Arguments &arguments);
int evaluateVerb(const Arguments &arguments);
int profileVerb(const Arguments &arguments);
int sweepVerb(const Arguments &arguments);
int opsVerb(const Arguments &arguments);
int storeVerb(const Arguments &arguments);
int recordsVerb(const Arguments &arguments);
int reportVerb(const Arguments &arguments);
// Verbs of `lathe ops`.
int analyzeVerb(const Arguments &arguments);
int diffVerb(const Arguments &arguments);

/// Loads the compiler library and runs one of its verbs.
int forwardToCompiler(const std::string &verb, const Arguments &arguments);

} // namespace lathe::cli
