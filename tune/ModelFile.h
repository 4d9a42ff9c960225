// Trained models as a file, which searches start from on machines without records.
//
// The first line is a JSON object that says what the models are of, with a hash of the whole file. Each
// of the other lines is one model as XGBoost's JSON. Names that end in .gz are compressed.
#pragma once

#include "tune/ModelSearcher.h"

#include <map>

namespace lathe::tune {

/// Models of one kind, by kernel family.
struct TrainedModels {
  ModelKind kind;
  std::map<std::string, std::shared_ptr<const LearnedModel>> models;
};

/// Writes trained models. Throws Error if there is none or the file cannot be written.
void writeModels(const std::string &path, const TrainedModels &models);

/// Reads them again. Throws Error, with the path, for another or a damaged file, and for models of features
/// or algorithms that this version does not have.
TrainedModels readModels(const std::string &path);

} // namespace lathe::tune
