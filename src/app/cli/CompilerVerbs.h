// Functions of the verbs of `lathe` that need the compiler; they are in liblathe_cli_compiler.so.
#pragma once

#include "cli/flags/RunFlags.h"
#include "jobs/Source.h"

namespace lathe::cli {

#define LATHE_COMPILER_VERB(name, function, summary) int function(const Arguments &arguments);
#define LATHE_INNER_VERB(name, function, said) int function(const Arguments &arguments);
#include "cli/Verbs.inc"

} // namespace lathe::cli
