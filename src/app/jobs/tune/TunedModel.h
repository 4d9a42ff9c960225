// What `lathe tune --all` knows of each model, and the files that keep it over interruptions.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace lathe::jobs {

/// A model of the list: the report of `lathe tune`, and its packages beside ONNX Runtime.
struct TunedModel {
  std::string model;        // as in the list
  double tuningSeconds = 0; // all runs of `lathe tune` together
  double seconds = 0;       // with the comparisons
  nlohmann::json report;    // of `lathe tune --compare`; null: not tuned
  /// Reports of `lathe compare --with onnxruntime`: the package without and with tuning. null: not compared.
  nlohmann::json before, after;
  /// Why there is no comparison with ONNX Runtime; "": there is one, or it is not installed.
  std::string beforeReason, afterReason;
  std::string finished; // date and time
  std::string failure;  // why there is no report; "": none

  bool tuned() const { return !report.is_null(); }
  /// True if another schedule than the default one, or another graph, is kept.
  bool kept() const;
  /// True if the search found a faster schedule or graph, kept in the end or not.
  bool gained() const;
  /// Trials of all tasks, earlier runs included; those that failed.
  int64_t trials() const;
  int64_t failedTrials() const;
  /// Mean, median, max, min, standard deviation in ms of the untuned or the tuned package; the tuned one is the untuned one
  /// where nothing is kept.
  nlohmann::json times(bool tuned) const;
  /// Untuned time / tuned time, with interval and verdict.
  const nlohmann::json &speedup() const;
  /// ONNX Runtime's time / our time; null: unknown.
  nlohmann::json peerRatio(bool tuned) const;
  /// True if other programs disturbed a comparison.
  bool disturbed() const;
};

/// All figures of the model: what the table shows, and the reports.
nlohmann::json toJson(const TunedModel &model);

/// One file a model in a folder. A file counts only for the program, machine and settings that wrote it.
class TunedModels {
public:
  /// `identity`: program, machine and settings. Creates the folder. Throws Error if that fails.
  TunedModels(std::filesystem::path folder, nlohmann::json identity);

  const std::filesystem::path &folder() const { return place; }
  /// `content`: of the model. Returns a model without a report if there is no file.
  TunedModel read(const std::string &model, const std::string &content) const;
  void write(const TunedModel &model, const std::string &content) const;
  void remove(const std::string &model) const;

private:
  std::filesystem::path place;
  nlohmann::json identity;

  std::filesystem::path fileOf(const std::string &model) const;
};

} // namespace lathe::jobs
