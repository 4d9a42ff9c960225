// Prints the results of `lathe evaluate` as text and as JSON.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/evaluate/Evaluate.h"

namespace lathe::cli {

/// Name of the class with number `index`, or the number if `names` does not have it.
std::string className(const std::vector<std::string> &names, size_t index);
/// The table of a confusion matrix: one row per class that occurs, one column per decision. `corner` is the column
/// with the classes.
Table confusionTable(const evaluate::Confusion &confusion, const std::vector<std::string> &names, TableColumn corner);

std::string evaluationText(const Evaluation &evaluation, const EvaluateJob &flags, const TableStyle &style);
nlohmann::json evaluationJson(const Evaluation &evaluation, const EvaluateJob &flags);

} // namespace lathe::cli
