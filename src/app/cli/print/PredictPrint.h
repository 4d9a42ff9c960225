// Text and JSON of `lathe predict` (docs/predict.md).
#pragma once

#include "cli/flags/Options.h"
#include "jobs/predict/PredictModel.h"

#include "support/Table.h"

#include <nlohmann/json.hpp>

namespace lathe::cli {

/// Keys end in their units. What is not known is null.
nlohmann::json predictionJson(const PredictJob &job, const PredictedModel &model);
/// The latency with its interval, what it follows from, and the most expensive kernels.
std::string predictionText(const PredictJob &job, const PredictedModel &model, const TableStyle &style);

} // namespace lathe::cli
