// Output of `lathe tune --all`: a table for the terminal, and a page in Markdown.
#pragma once

#include "jobs/tune/TuneAll.h"
#include "support/Table.h"

namespace lathe::cli {

/// A line about a model that is finished: TuneAllWatch has the arguments.
std::string finishedText(size_t i, size_t count, const TunedModel &model, bool done, std::optional<double> secondsLeft);

/// A table with a row a model, the mean speedup, what has no figures and why, and where all is kept.
std::string tunedModelsText(const TunedAll &tuned, const TableStyle &style);
nlohmann::json tunedModelsJson(const TuneAllOptions &all, const TunedAll &tuned);
/// The page: machine, times, searches, and what has no figures.
std::string tunedModelsPage(const TuneAllOptions &all, const TunedAll &tuned);

} // namespace lathe::cli
