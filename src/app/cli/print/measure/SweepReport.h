// The report that `lathe sweep` prints.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/sweep/Decisions.h"

namespace lathe::cli {

/// The label of a row of the sweep: "-O 3, native, 1 thread", with the model if there are several, and the layout if
/// the user asked for one; "tflite 2.14.0, 1 thread" for another runtime.
std::string rowText(const SweepRow &row, bool several);
bool severalModels(const Sweep &sweep);
/// The model of a row of the sweep as text: "zoo:resnet50", or the name of the file.
std::string shownModel(const SweepRow &row);

/// The sweep as a table: one line for each row of the sweep.
Table sweepTable(const Sweep &sweep);

/// The report of a sweep as text: the table, the operators without kernels with their shares of the time, and the
/// reasons for missing times.
std::string sweepText(const Sweep &sweep, const TableStyle &style);
nlohmann::json sweepJson(const Sweep &sweep, bool finished);

} // namespace lathe::cli
