// Text and JSON of `lathe compile --explain` (docs/kernels.md, "Why a schedule was chosen").
#pragma once

#include "cli/flags/Options.h"
#include "jobs/compile/CompileModel.h"
#include "support/Table.h"

#include <nlohmann/json.hpp>

namespace lathe::cli {

/// A predicted cost as JSON, in core cycles: the total, its parts, and the name of the largest part.
nlohmann::json predictionJson(const Prediction &prediction);

nlohmann::json explanationJson(const ModelOptions &model, const ExplainedNode &explained);
std::string explanationText(const Explanation &explanation, const TableStyle &style);

} // namespace lathe::cli
