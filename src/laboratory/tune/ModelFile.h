// Files of trained cost models, from which searches start on machines without tuning records.
//
// The first line is a JSON object with the searcher, the names of the features, the families with their algorithms at
// that time, and a hash of the whole file. Each other line is the model of one family as XGBoost's JSON. Files whose
// names end in .gz are compressed.
//
// Versions of Lathe with additional features or algorithms can read the file: a model reads the features that it was
// trained on, by name. If a family no longer has an algorithm of the file, its model is left out.
#pragma once

#include "tune/ModelSearcher.h"

#include <map>

namespace lathe::tune {

/// Trained cost models of one kind, by name of the kernel family.
struct TrainedModels {
  ModelKind kind;
  std::map<std::string, std::shared_ptr<const LearnedModel>> models;
  std::vector<std::string> leftOut = {}; // families whose models do not fit this version
};

/// Writes trained cost models to a file. Throws Error if there is none or the file cannot be written.
void writeModels(const std::string &path, const TrainedModels &models);

/// Reads a file of trained cost models. Throws Error, with the path, for other or damaged files, for features that
/// this version does not have, and if no model fits.
TrainedModels readModels(const std::string &path);

} // namespace lathe::tune
