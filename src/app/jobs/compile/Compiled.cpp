#include "jobs/compile/Compiled.h"

namespace lathe::jobs {

Compiled compiled(const CompileJob &job, CompileWatch progress) {
  CompileOptions options = compileOptions(job.model, std::move(progress));
  options.jobs = job.threads;
  Source source = loadSource(job.model);
  Compiled result{compile(*source.module, options, job.output), source.fileBytes, {}};
  result.records = recordUse(result.report.origins);
  return result;
}

} // namespace lathe::jobs
