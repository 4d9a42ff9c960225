// `--export-space`: writes the possible schedules of kernels as JSON (docs/kernels.md, "The search space").
#pragma once

#include "cli/Common.h"
#include "compile/KernelTasks.h"
#include "tune/Tuner.h"

namespace lathe::cli {

/// The flags --export-space and --points, and the seed of random points.
struct SpaceFlags {
  std::string file; // file of --export-space; "": not given
  size_t points = 100;
  uint64_t seed = 1;

  /// Adds the flags; `help` is the help text of --export-space.
  void add(Options &options, const std::string &help);
};

/// A kernel, or several kernels with the same task, with its search space.
struct ExportedKernel {
  std::vector<std::string> kernels, nodes; // names of the kernels' functions, if they are known; names of source nodes
  std::string task, prior;                 // text of the task; the prior's schedule, "" if there is none
  tune::Space space;
};

/// Describes a kernel with its search space. `kernel` must outlive the result.
ExportedKernel exported(const KernelTask &kernel);
ExportedKernel exported(const tune::TaskToTune &task);

/// Writes `document` with the kernels added to SpaceFlags::file, and prints a line about it if `printsText`. Throws Error.
void exportSpaces(nlohmann::json document, const std::vector<ExportedKernel> &kernels, const SpaceFlags &flags,
                  bool printsText);

} // namespace lathe::cli
