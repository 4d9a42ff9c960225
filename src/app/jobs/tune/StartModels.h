// The trained models that searches start from: the models of --start-model, or the models that come with lathe
// (docs/tuning.md, "What a search knows beforehand").
#pragma once

#include "tune/ModelFile.h"
#include "tune/measure/Task.h"

namespace lathe::jobs {

/// Name of the file below data/models that has the trained cost models of a kind: "xgb_itervar.jsonl.gz".
std::string shippedModelName(const tune::ModelKind &kind);

struct StartModels {
  tune::TrainedModels models;
  std::string file; // path of the file with the models; "": there are no models
  bool isShipped = false;

  /// Reads the trained models in `file`. Throws Error if they cannot be used or belong to another searcher.
  static StartModels ofFile(const std::string &file, const std::string &searcher);
  /// Reads the trained models that come with lathe for a searcher, if any. None with LATHE_NO_RECORDS in the
  /// environment, or if they cannot be used, which is reported on stderr.
  static StartModels shipped(const std::string &searcher);

  /// True if there is a trained model for the kernel family of this task.
  bool serves(const tune::Task &task) const { return models.models.contains(task.family); }
  /// Returns a text that names the trained models, as part of a sentence: "the models in FILE".
  std::string str() const;
};

} // namespace lathe::jobs
