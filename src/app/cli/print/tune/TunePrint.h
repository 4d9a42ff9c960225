// Output of `lathe tune`: the tasks of a model, search spaces, and what a search has found.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/tune/Tune.h"
#include "support/Table.h"

namespace lathe::cli {

/// A table of the tasks before tuning: runs, operations, predicted share of the time, size of the space, trials in the
/// store.
Table listedTasks(const std::vector<tune::TaskToTune> &tasks);
/// A line about --export-space.
std::string spaceText(const ExportedSpace &space);

/// "starts from 12 measured schedules of 3 other tasks and the models in FILE".
std::string startText(const SearchStart &start);
/// A table of the tasks after tuning, sorted by their gain for the model.
Table tunedTasks(const Tuned &tuned);
nlohmann::json tunedJson(const TuneJob &job, const Tuned &tuned, const Table &tasks);
std::string tunedText(const TuneJob &job, const Tuned &tuned, const Table &tasks, const TableStyle &style);
/// Why nothing is kept; "" if tuning has not failed.
std::string failureText(const Tuned &tuned);

} // namespace lathe::cli
