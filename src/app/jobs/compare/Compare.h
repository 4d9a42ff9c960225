// Compares the outputs and the speed of a model with other runtimes, models or packages, at one size or several.
#pragma once

#include "jobs/Recording.h"
#include "lab/compare/Compare.h"

namespace lathe::jobs {

struct CompareJob {
  ModelOptions model; // several --shape of an input are several sizes (jobs/Sizes.h)
  InputOptions inputs;
  RecordOptions record;
  Arguments command;                       // of `lathe compare`, as the store keeps them
  std::string with;                        // names of runtimes and files (findSides)
  std::string batches;                     // a list (jobs/Sizes.h)
  lab::CompareOptions compare;             // inputs, extents and bounds follow from the model
  int maxRounds = 0;                       // of all starts; 0: no limit
  std::optional<double> relative, maximum; // bounds; nothing: of the types of the packages

  /// How every point is measured.
  nlohmann::json settings() const;
};

/// The comparison at one size.
struct ComparedSize {
  bool several = false; // sizes are compared
  std::string inputs;   // "data 1x3x224x224"
  Verification verification;
  const lab::Comparison &comparison;
  bool finished = true; // false: a signal ends the process
  std::string kept;     // Recording::line
};

nlohmann::json toJson(const ComparedSize &size, const CompareJob &job);

/// Does the job: the sides run in processes of their own. `report` is called when a size is compared, or when a signal ends its
/// comparison. Returns true if all sides agree at all sizes.
bool compare(CompareJob job, const std::function<void(const ComparedSize &)> &report);

} // namespace lathe::jobs
