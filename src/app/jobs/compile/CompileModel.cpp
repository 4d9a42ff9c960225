#include "jobs/compile/CompileModel.h"

#include "compile/KernelTasks.h"
#include "runtime/Context.h"

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

/// Bytes of the arena of a run of the package on the threads that it is planned for; 0 if inputs or the first output have
/// open extents.
uint64_t arenaBytes(const std::shared_ptr<const runtime::Model> &model, bool streams) {
  runtime::Context context(model, {.threads = model->plannedThreads(), .streams = streams});
  for (size_t i = 0; i < model->inputs().size(); ++i) {
    const runtime::Port &port = model->inputs()[i];
    if (port.kind != ValueKind::tensor || port.type == ElementType::string || !allConstant(port.dims))
      return 0;
    context.setInput(i, Tensor(port.type, constants(port.dims)));
  }
  if (!allConstant(model->outputs()[0].dims))
    return 0;
  context.outputDims(0); // plans the memory
  return context.memory().arenaBytes;
}

} // namespace

CompiledModel compileModel(const CompileJob &job) {
  Compiling compiling(job);
  CompileReport report = compile(*compiling.source.module, compiling.options, job.output);
  RecordUse records = recordUse(report.origins);
  CompiledModel result{std::move(report), compiling.source.fileBytes, std::move(records)};
  if (result.report.streams.instructions > 0) {
    auto model = runtime::Model::load(job.output);
    result.streamArenaBytes = arenaBytes(model, true);
    result.sequenceArenaBytes = arenaBytes(model, false);
  }
  return result;
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
