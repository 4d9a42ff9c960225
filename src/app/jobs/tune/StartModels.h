// The trained models that searches start from: those of --start-model, or those that come with lathe
// (docs/tuning.md, "What a search knows beforehand").
#pragma once

#include "tune/ModelFile.h"
#include "tune/measure/Task.h"

namespace lathe::jobs {

/// Name of the file in data/models that has the models of a kind: "xgb_itervar.jsonl.gz".
std::string shippedModelName(const tune::ModelKind &kind);

struct StartModels {
  tune::TrainedModels models;
  std::string file; // "": there are no models
  bool isShipped = false;

  /// Reads the models in `file`. Throws Error if they cannot be used, or are of another searcher.
  static StartModels ofFile(const std::string &file, const std::string &searcher);
  /// The models that come with lathe for a searcher, if any. Models that cannot be used are said on stderr; then, and
  /// with LATHE_NO_RECORDS in the environment, there are none.
  static StartModels shipped(const std::string &searcher);

  /// True if there is a model for the kernel family of this task.
  bool serves(const tune::Task &task) const { return models.models.contains(task.family); }
  /// "the models in FILE", for a sentence.
  std::string str() const;
};

} // namespace lathe::jobs
