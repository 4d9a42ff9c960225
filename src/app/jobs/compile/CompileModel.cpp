#include "jobs/compile/CompileModel.h"

#include "compile/KernelTasks.h"

namespace lathe::jobs {
namespace {

struct Compiling {
  Progress progress;
  CompileOptions options;
  Source source;

  explicit Compiling(const CompileJob &job)
      : progress("compile " + job.model.model), options(compileOptions(job.model, &progress)),
        source(loadSource(job.model)) {
    options.jobs = job.jobs;
  }
};

} // namespace

CompiledModel compileModel(const CompileJob &job) {
  Compiling compiling(job);
  CompileReport report = compile(*compiling.source.module, compiling.options, job.output);
  RecordUse records = recordUse(report.origins);
  return {std::move(report), compiling.source.fileBytes, std::move(records)};
}

StageText stageText(const CompileJob &job, const std::string &stage) {
  Compiling compiling(job);
  StageText result;
  result.text = emitLevel(*compiling.source.module, compiling.options, levelFromName(stage),
                          job.output == "-" ? "" : job.output, &result.written);
  return result;
}

ExplainedNode explainNode(const CompileJob &job, const std::string &node) {
  Compiling compiling(job);
  return {explain(*compiling.source.module, compiling.options, node), targetOf(compiling.options).str()};
}

ExportedSpace exportSpace(const CompileJob &job, const SpaceOptions &space) {
  Compiling compiling(job);
  std::vector<KernelTask> tasks = kernelTasks(*compiling.source.module, compiling.options);
  std::vector<ExportedKernel> kernels;
  for (const KernelTask &task : tasks)
    kernels.push_back(exported(task));
  return exportSpaces({{"model", job.model.model},
                       {"target", targetOf(compiling.options).str()},
                       {"threads", compiling.options.threads}},
                      kernels, space);
}

} // namespace lathe::jobs
