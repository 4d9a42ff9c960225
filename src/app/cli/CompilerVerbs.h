// Verbs that need the compiler, in liblathe_cli_compiler.so.
#pragma once

#include "cli/RunFlags.h"
#include "cli/print/Progress.h"
#include "jobs/Source.h"

namespace lathe::cli {

#define LATHE_COMPILER_VERB(name, function, summary) int function(const Arguments &arguments);
#define LATHE_INNER_VERB(name, function, said) int function(const Arguments &arguments);
#include "cli/Verbs.inc"

/// Shows the progress of a compilation.
inline CompileWatch watchOf(Progress &progress) {
  return [&progress](const CompileProgress &at) { progress.update(at.what, at.done, at.total); };
}
/// jobs::compileOptions with this progress, which may be null.
inline CompileOptions compileOptions(const ModelOptions &model, Progress *progress) {
  return jobs::compileOptions(model, progress ? watchOf(*progress) : CompileWatch());
}

} // namespace lathe::cli
