// Text and JSON of `lathe evaluate`.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/evaluate/Evaluate.h"

namespace lathe::cli {

std::string evaluationText(const Evaluation &evaluation, const EvaluateJob &flags, const TableStyle &style);
nlohmann::json evaluationJson(const Evaluation &evaluation, const EvaluateJob &flags);

} // namespace lathe::cli
