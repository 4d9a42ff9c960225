// Output of `lathe tune --all`: a table for the terminal, and a page in Markdown.
#pragma once

#include "cli/tuning/TunedModel.h"
#include "support/Table.h"

#include <vector>

namespace lathe::cli {

/// How all models were tuned and measured, for the page.
struct TunedModelsFacts {
  std::string machine; // "AMD EPYC 9755, 2 hardware threads, Linux 6.1.0; measured peak 98 GFLOPS fp32 on one thread"
  std::string program; // version and build of lathe
  std::string command; // that writes the page
  int threads = 1;
  double budget = 0;     // seconds of tuning a model; 0: no limit
  double maxSeconds = 0; // of timing beside ONNX Runtime
  std::string noPeer;    // why there is no comparison with ONNX Runtime; "": there is one
};

/// "2026-11-23 20:15" of a time of store::timeNow().
std::string minuteText(const std::string &time);
/// "1.052 (1.044 to 1.060) faster"; "" for null. `judged` has the keys of lab::toJson(JudgedRatio).
std::string ratioText(const nlohmann::json &judged);
/// One line about a model: "1.052 (1.044 to 1.060) faster, 9.9 min", or why it was not tuned.
std::string outcomeText(const TunedModel &model);

/// One row a model, in the order of the list.
Table tunedModels(const std::vector<TunedModel> &models);
/// Lines below the table: what has no figures and why, and the mean speedup.
std::vector<std::string> tunedModelsNotes(const std::vector<TunedModel> &models, const std::string &noPeer);
/// Geometric mean of the speedups of models that were tuned, 1 where nothing is kept; nothing if none was tuned.
std::optional<double> meanSpeedup(const std::vector<TunedModel> &models);

/// The page: machine, times, searches, and what has no figures.
std::string tunedModelsPage(const std::vector<TunedModel> &models, const TunedModelsFacts &facts);

} // namespace lathe::cli
