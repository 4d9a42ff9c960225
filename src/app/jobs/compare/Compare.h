// The job of `lathe compare`: compares the outputs and the speed of a model with those of other runtimes, models or
// packages, at one or several input sizes.
#pragma once

#include "jobs/Recording.h"
#include "lab/compare/Compare.h"

namespace lathe::jobs {

struct CompareJob {
  ModelOptions model; // if --shape is given several times for an input, these are several sizes (jobs/Sizes.h)
  InputOptions inputs;
  RecordOptions record;
  Arguments command;           // command line of `lathe compare` as the store records it
  std::string with;            // names of the runtimes and files to compare with (findSides)
  std::string batches;         // list of batch sizes (jobs/Sizes.h)
  lab::CompareOptions compare; // inputs, extents and bounds in it are set from the model
  int maxRounds = 0;           // limit on the rounds of all starts together; 0: no limit
  // bounds of the differences; nothing: bounds that follow from the types in the packages
  std::optional<double> relative, maximum;

  /// Returns the settings by which every point was measured, as the store records them.
  nlohmann::json settings() const;
};

/// The result of the comparison at one input size.
struct ComparedSize {
  bool several = false; // true: several sizes are compared
  std::string inputs;   // the inputs and their extents: "data 1x3x224x224"
  Verification verification;
  const lab::Comparison &comparison;
  bool finished = true; // false: a signal ended the comparison early
  std::string kept;     // line that says where the results were stored (Recording::line)
};

nlohmann::json toJson(const ComparedSize &size, const CompareJob &job);

/// Compares the sides, each in a separate process. `report` is called after each size, or when a signal ends the
/// comparison of a size. Returns true if all sides agree at all sizes.
bool compare(CompareJob job, const std::function<void(const ComparedSize &)> &report);

} // namespace lathe::jobs
