// Functions of the verbs of `lathe` that only need the runtime.
#pragma once

#include "cli/flags/Options.h"

namespace lathe::cli {

#define LATHE_FRONT_VERB(name, function, summary) int function(const Arguments &arguments);
#include "cli/Verbs.inc"
// The verbs of the group `lathe ops`.
int analyzeVerb(const Arguments &arguments);
int diffVerb(const Arguments &arguments);

/// Loads the library of verbs that need the compiler, and runs the verb `verb`. Returns its exit code.
int forwardToCompiler(const std::string &verb, const Arguments &arguments);

} // namespace lathe::cli
