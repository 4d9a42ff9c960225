// Compiles a model to a package. Needs the compiler.
#pragma once

#include "jobs/Source.h"
#include "jobs/UsedRecords.h"
#include "jobs/compile/CompileJob.h"

namespace lathe::jobs {

struct Compiled {
  CompileReport report;
  uint64_t originalBytes = 0; // Source::fileBytes
  RecordUse records;
};

/// Does the job in this process. Throws Error.
Compiled compiled(const CompileJob &job, CompileWatch progress);

} // namespace lathe::jobs
