// Text and JSON of `lathe ops analyze`.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/ops/Analyze.h"

namespace lathe::cli {

/// The tables of what was asked for, or one line for each analysis, below the number of points, problems, providers,
/// platforms and dates; then the analyses without figures. `store`: path of the store.
std::string analyzedText(const Analyzed &analyzed, const AnalyzeJob &job, const std::string &store,
                         const TableStyle &style);
nlohmann::json analyzedJson(const Analyzed &analyzed);

} // namespace lathe::cli
