// Times of schedules with their predicted costs, and the files that keep them.
#pragma once

#include "codegen/Generate.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace lathe::study {

using Json = nlohmann::json;

/// The time of one schedule with its predicted cost.
struct TimedSchedule {
  std::string schedule;
  double seconds = 0;        // smallest time of all runs
  double halves[2] = {0, 0}; // smallest time of the runs in even rounds; in odd rounds
  Prediction prediction;
};

/// A kernel whose schedules are timed.
struct TimedKernel {
  std::string label, family; // such as "conv 64->64 @56 3x3", "contraction"
  std::string text;          // text of the kernel function
  double low = -1, high = 1; // range of the random inputs
  int threads = 1;
  int64_t kernels = 1; // number of kernels of models that are equal to this one
  int64_t wrong = 0;   // number of schedules with wrong results, which are not timed
  std::vector<TimedSchedule> schedules = {};
};

/// Sets the predictions of the kernel's schedules.
void predict(TimedKernel &kernel, const KernelFacts &facts);

Json toJson(const TimedKernel &kernel);
/// Reads the kernels from a document that `write` wrote, without predictions.
std::vector<TimedKernel> kernelsIn(const Json &document);
/// Reads a JSON file. Throws Error if it cannot be read.
Json readJson(const std::string &path);

/// The files of a study: `replay` is the file of an earlier run, whose times are used instead of measuring; `json` is
/// the file that is written.
struct TimesFiles {
  std::string replay, json;

  void addTo(CLI::App &command);
  /// Writes `json`, if the user named that file: an object with `kernels` (the measured times of each kernel), the target,
  /// the date and the members of `more`.
  void write(const Json &kernels, const Target &target, Json more) const;
};

} // namespace lathe::study
