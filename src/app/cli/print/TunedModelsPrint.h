// Output of `lathe tune --all`: a table for the terminal, and a page in Markdown.
#pragma once

#include "cli/tuning/TunedModel.h"
#include "support/Table.h"

#include <vector>

namespace lathe::cli {

/// Facts for the page about how all models were tuned and measured.
struct TunedModelsFacts {
  std::string machine; // "AMD EPYC 9755, 2 hardware threads, Linux 6.1.0; measured peak 98 GFLOPS fp32 on one thread"
  std::string program; // version and build of the lathe that tuned
  std::string command; // command that writes the page
  int threads = 1;
  double budget = 0;     // limit of tuning a model in seconds; 0: none
  double maxSeconds = 0; // limit of a comparison with ONNX Runtime in seconds
  std::string noPeer;    // why there is no comparison with ONNX Runtime; "": there is one
};

/// A result of store::timeNow() as minutes: "2026-11-23 20:15".
std::string minuteText(const std::string &time);
/// A judged ratio as text: "1.052 (1.044 to 1.060) faster"; "" for null. `judged` has the keys of
/// lab::toJson(JudgedRatio).
std::string ratioText(const nlohmann::json &judged);
/// One line about a model: "1.052 (1.044 to 1.060) faster, 9.9 min", or why it was not tuned.
std::string outcomeText(const TunedModel &model);

/// The results as a table: one row for each model, in the order of the list.
Table tunedModels(const std::vector<TunedModel> &models);
/// Lines below the table: missing figures with reasons, and the mean speedup.
std::vector<std::string> tunedModelsNotes(const std::vector<TunedModel> &models, const std::string &noPeer);
/// Geometric mean of the speedups of all tuned models; a model that keeps nothing counts as 1. Nothing if none was
/// tuned.
std::optional<double> meanSpeedup(const std::vector<TunedModel> &models);

/// The page as Markdown: machine, times, searches, and missing figures with reasons.
std::string tunedModelsPage(const std::vector<TunedModel> &models, const TunedModelsFacts &facts);

} // namespace lathe::cli
