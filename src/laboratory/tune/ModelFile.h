// Trained models as a file, which searches start from on machines without records.
//
// The first line is a JSON object with the searcher, the names of the features, the families with the algorithms that
// they had, and a hash of the whole file. Each of the other lines is the model of one family as XGBoost's JSON. Names that
// end in .gz are compressed.
//
// Versions of Lathe with more features or algorithms read the file, too: a model reads the features that it was trained on,
// by name. Where a family lacks an algorithm of the file, its model is left out.
#pragma once

#include "tune/ModelSearcher.h"

#include <map>

namespace lathe::tune {

/// Models of one kind, by kernel family.
struct TrainedModels {
  ModelKind kind;
  std::map<std::string, std::shared_ptr<const LearnedModel>> models;
  std::vector<std::string> leftOut = {}; // families of the file whose models do not fit this version
};

/// Writes trained models. Throws Error if there is none or the file cannot be written.
void writeModels(const std::string &path, const TrainedModels &models);

/// Reads them again. Throws Error, with the path, for another or a damaged file, for features that this version does not
/// have, and if no model fits.
TrainedModels readModels(const std::string &path);

} // namespace lathe::tune
