// `--export-space`: what the schedules of kernels may be, as JSON (docs/kernels.md, "The search space").
#pragma once

#include "cli/Common.h"
#include "compile/KernelTasks.h"
#include "tune/Tuner.h"

namespace lathe::cli {

/// --export-space, --points, and the seed with which points are drawn.
struct SpaceFlags {
  std::string file; // "": not given
  size_t points = 100;
  uint64_t seed = 1;

  /// `help`: of --export-space.
  void add(Options &options, const std::string &help);
};

/// A kernel, or kernels with one task, with its search space.
struct ExportedKernel {
  std::vector<std::string> kernels, nodes; // names of the functions, where they are known, and source nodes
  std::string task, prior;                 // prior: the schedule without search; "" if there is none
  tune::Space space;
};

/// The kernel with the space that a search has. `kernel` must outlive the result.
ExportedKernel exported(const KernelTask &kernel);
ExportedKernel exported(const tune::TaskToTune &task);

/// Writes `document` with the kernels added to SpaceFlags::file, and prints a line about it if `printsText`. Throws Error.
void exportSpaces(nlohmann::json document, const std::vector<ExportedKernel> &kernels, const SpaceFlags &flags,
                  bool printsText);

} // namespace lathe::cli
