// The result of `lathe tune --all` for each model, and the files that keep the results across interruptions.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace lathe::jobs {

/// A model of the list: the report of `lathe tune`, and comparisons of its packages with ONNX Runtime.
struct TunedModel {
  std::string model;        // name of the model in the list
  double tuningSeconds = 0; // seconds that all runs of `lathe tune` took
  double seconds = 0;       // tuningSeconds plus the seconds that the comparisons took
  nlohmann::json report;    // JSON of `lathe tune --compare`; null: the model is not tuned
  /// JSON of `lathe compare --with onnxruntime` for the package without tuning and for the tuned package; null: not
  /// compared.
  nlohmann::json before, after;
  /// The reasons why there is no comparison with ONNX Runtime; "": there is one, or ONNX Runtime is not installed.
  std::string beforeReason, afterReason;
  std::string finished; // date and time when the model was finished
  std::string failure;  // the reason why there is no report; "": there is one

  bool tuned() const { return !report.is_null(); }
  /// True if the tuned model keeps a schedule other than the default, or another graph.
  bool kept() const;
  /// True if the search found a faster schedule or graph, even if it was not kept.
  bool gained() const;
  /// Number of trials of all tasks of the model, including earlier runs; number of these trials that failed.
  int64_t trials() const;
  int64_t failedTrials() const;
  /// Mean, median, max, min and standard deviation, in ms, of a run of the untuned or the tuned package. If nothing is
  /// kept, the tuned package is the untuned one.
  nlohmann::json times(bool tuned) const;
  /// Ratio of times, untuned / tuned package, with its interval and verdict.
  const nlohmann::json &speedup() const;
  /// Ratio of times, ONNX Runtime / Lathe, with the tuned or the untuned package; null: unknown.
  nlohmann::json peerRatio(bool tuned) const;
  /// True if other programs disturbed a comparison of this model.
  bool disturbed() const;
};

/// JSON of a tuned model: the columns of the table, and all reports.
nlohmann::json toJson(const TunedModel &model);

/// The files with the results of models, one per model in a folder. A file counts only for the program, machine and
/// settings that wrote it.
class TunedModels {
public:
  /// `identity`: program, machine and settings that files must have. Creates the folder. Throws Error if that fails.
  TunedModels(std::filesystem::path folder, nlohmann::json identity);

  const std::filesystem::path &folder() const { return place; }
  /// `content` is the key of the model's content. Returns a model without a report if there is no file.
  TunedModel read(const std::string &model, const std::string &content) const;
  void write(const TunedModel &model, const std::string &content) const;
  void remove(const std::string &model) const;

private:
  std::filesystem::path place;
  nlohmann::json identity;

  std::filesystem::path fileOf(const std::string &model) const;
};

} // namespace lathe::jobs
