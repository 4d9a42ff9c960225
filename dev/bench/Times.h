// Times of schedules with what is predicted for them, and the files that keep them.
#pragma once

#include "codegen/Generate.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace lathe::study {

using Json = nlohmann::json;

/// The time of one schedule with what was predicted for it.
struct TimedSchedule {
  std::string schedule;
  double seconds = 0;        // the least of all runs
  double halves[2] = {0, 0}; // the least of the runs of every other round
  Prediction prediction;
};

/// A kernel whose schedules are timed.
struct TimedKernel {
  std::string label, family; // "conv 64->64 @56 3x3", "contraction"
  std::string text;          // the kernel function
  double low = -1, high = 1; // range of random inputs
  int threads = 1;
  int64_t kernels = 1; // of models, that are the same
  int64_t wrong = 0;   // schedules with wrong results, which are not timed
  std::vector<TimedSchedule> schedules = {};
};

/// Sets the predictions of the schedules.
void predict(TimedKernel &kernel, const KernelFacts &facts);

Json toJson(const TimedKernel &kernel);
/// Reads the kernels that `write` wrote, but no predictions.
std::vector<TimedKernel> kernelsIn(const Json &document);
/// Throws Error if it cannot be read.
Json readJson(const std::string &path);

/// The files of a study: of an earlier run, whose times it takes instead of measuring, and of what it measures.
struct TimesFiles {
  std::string replay, json;

  void addTo(CLI::App &command);
  /// Writes the kernels, if that is asked for, with the target and the date. `more`: other members.
  void write(const Json &kernels, const Target &target, Json more) const;
};

} // namespace lathe::study
