// Text and JSON of `lathe evaluate`.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/evaluate/Evaluate.h"

namespace lathe::cli {

/// Name of class number `index`, or the number if `names` does not have it.
std::string className(const std::vector<std::string> &names, size_t index);
/// Counts of the classes that occur: one row per class, one column per decision. `corner` is the column of the classes.
Table confusionTable(const evaluate::Confusion &confusion, const std::vector<std::string> &names, TableColumn corner);

std::string evaluationText(const Evaluation &evaluation, const EvaluateJob &flags, const TableStyle &style);
nlohmann::json evaluationJson(const Evaluation &evaluation, const EvaluateJob &flags);

} // namespace lathe::cli
