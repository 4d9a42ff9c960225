// Flags of `lathe sweep`.
#pragma once

#include "cli/flags/RunFlags.h"
#include "jobs/sweep/SweepJob.h"

namespace lathe::cli {

struct SweepFlags {
  SweepJob job;
  std::string html, markdown;

  void add(Options &options);

private:
  void addGrid(Options &options);
  void addRuntimes(Options &options);
  void addPictures(Options &options);
};

} // namespace lathe::cli
