// `--export-space`: writes the possible schedules of kernels as JSON (docs/kernels.md, "The search space").
#pragma once

#include "compile/KernelTasks.h"
#include "jobs/Common.h"
#include "tune/Tuner.h"

namespace lathe::jobs {

/// The flags --export-space and --points, and the seed with which points are drawn.
struct SpaceOptions {
  std::string file; // value of --export-space; "": the flag was not given
  size_t points = 100;
  uint64_t seed = 1;
};

/// A kernel, or several kernels with the same task, with its search space.
struct ExportedKernel {
  std::vector<std::string> kernels, nodes; // names of the kernels' functions, if they are known; names of source nodes
  std::string task, prior;                 // text of the task; the prior's schedule, "" if there is none
  tune::Space space;
};

/// Describes a kernel with its search space for the export. `kernel` must outlive the result.
ExportedKernel exported(const KernelTask &kernel);
ExportedKernel exported(const tune::TaskToTune &task);

/// What was written. Points are counted over all algorithms.
struct ExportedSpace {
  std::string file;
  size_t kernels = 0, algorithms = 0, written = 0; // `written`: points
  double points = 0, legal = 0;                    // `legal`: an estimate where points were sampled
};

/// Writes `document` with the kernels added to SpaceOptions::file. Throws Error.
ExportedSpace exportSpaces(nlohmann::json document, const std::vector<ExportedKernel> &kernels,
                           const SpaceOptions &flags);

} // namespace lathe::jobs
