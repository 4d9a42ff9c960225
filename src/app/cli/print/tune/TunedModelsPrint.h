// Output of `lathe tune --all`: a table for the terminal, and a page in Markdown.
#pragma once

#include "jobs/tune/TuneAll.h"
#include "support/Table.h"

namespace lathe::cli {

/// A line about a model that `lathe tune --all` has finished; the arguments are those of TuneAllWatch.
std::string finishedText(size_t i, size_t count, const TunedModel &model, bool done, std::optional<double> secondsLeft);

/// The result of `lathe tune --all` as text: a table with a row for each model, the mean speedup, the figures that are
/// missing and why, and where the results are stored.
std::string tunedModelsText(const TunedAll &tuned, const TableStyle &style);
nlohmann::json tunedModelsJson(const TuneAllOptions &all, const TunedAll &tuned);
/// The result of `lathe tune --all` as a Markdown page: machine, times, searches, and the figures that are missing.
std::string tunedModelsPage(const TuneAllOptions &all, const TunedAll &tuned);

} // namespace lathe::cli
